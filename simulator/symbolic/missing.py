"""What stands for a name whose package is not installed: anything that is done with it is refused by name."""

from __future__ import annotations

from typing import Any, NoReturn

from draftproof.simulator.symbolic.where import refusal


class Missing:
    """A name that could not be imported. Its attributes are as missing as itself."""

    def __init__(self, name: str, package: str) -> None:
        self._missing = name, package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._missing[0]}.{name}", self._missing[1])

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        name, package = self._missing
        raise refusal(
            f"it uses {name}, and {package} cannot be imported here",
            f"say what it is: an argument global.{name}=VALUE",
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{self._missing[0]}, which cannot be imported>"


_REFUSED = (
    "call bool len iter next int float index contains getitem setitem enter exit eq ne lt le gt ge add radd sub rsub",
    "mul rmul truediv rtruediv floordiv mod pow neg and or xor invert matmul",
)
for _name in " ".join(_REFUSED).split():
    setattr(Missing, f"__{_name}__", Missing._refuse)
