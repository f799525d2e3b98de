"""What `--draft` may be beside a model: `lookup:n=3`, `ngram:order=4`, `early:layers=2`, `eagle:FOLDER`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from draftproof.simulator.errors import InvalidInput

#: By kind of draft its options, with what each is where it is left out; None where it must be given.
KINDS: Mapping[str, Mapping[str, int | float | None]] = {
    "lookup": {"n": 3, "fresh": 0.1},
    "ngram": {"order": 4},
    "early": {"layers": None},
}
#: The kind that is read from a folder.
HEAD = "eagle"


@dataclass(frozen=True)
class DraftSpec:
    """A draft to be made. kind: one of `KINDS` with all of its options, or `HEAD` with its folder."""

    kind: str
    options: Mapping[str, int | float] = field(default_factory=dict)
    folder: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is made from a text."""
        return self.kind == "ngram"

    def __str__(self) -> str:
        return f"{self.kind}:{self.folder}" + ",".join(f"{name}={value:g}" for name, value in self.options.items())


def parse_draft(text: str) -> DraftSpec | None:
    """The draft that `KIND[:option=value,..]` asks for; None for anything else, such as a folder of that name (`./..`).

    Raises `InvalidInput` for an option that the kind does not have, a value that is no number or not in range.
    """
    kind, colon, rest = text.partition(":")
    if kind == HEAD:
        return DraftSpec(HEAD, folder=rest)
    if kind not in KINDS:
        return None
    usual = KINDS[kind]
    way_out = f"write {kind}:" + ",".join(f"{name}={2 if value is None else value:g}" for name, value in usual.items())
    given: dict[str, int | float] = {}
    for part in rest.split(",") if colon else ():
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in usual or name in given:
            raise InvalidInput(f"--draft {text}: {part!r} is no option of {kind}, or it is there twice; {way_out}")
        try:
            given[name] = float(value) if isinstance(usual[name], float) else int(value)
        except ValueError:
            raise InvalidInput(f"--draft {text}: {value!r} is no number of that kind; {way_out}") from None
        least_missed = given[name] < 1 if isinstance(given[name], int) else not 0 < given[name] < 1
        if least_missed:
            raise InvalidInput(f"--draft {text}: {name} must be at least 1, a share between 0 and 1; {way_out}")
    options = {name: given.get(name, value) for name, value in usual.items()}
    missing = [name for name, value in options.items() if value is None]
    if missing:
        raise InvalidInput(f"--draft {text}: {missing[0]} is missing; {way_out}")
    return DraftSpec(kind, {name: value for name, value in options.items() if value is not None})
