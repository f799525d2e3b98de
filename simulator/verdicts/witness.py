"""Witnesses: instances that refute a verifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.laws.metrics import as_fields
from draftproof.simulator.shown import fields_html
from draftproof.simulator.verdicts.lossless import Check


@dataclass(frozen=True, repr=False)
class Witness:
    """An instance, with its scheme, on which a verifier is not lossless, and the violation."""

    verifier: str
    instance: Instance
    violation: Violation
    shrunk: bool

    @classmethod
    def of(cls, instance: Instance, check: Check, shrunk: bool) -> Witness:
        """The witness that a failed check of `instance` holds."""
        assert check.violation is not None
        place = check.violation
        about = {
            "refutes": check.verifier,
            "context": list(place.context),
            "token": place.token,
            "target asks for": str(place.expected),
            "block has": str(place.found),
        }
        return cls(check.verifier, replace(instance, scheme=check.scheme, about=about), place, shrunk)

    def to_dict(self) -> dict[str, Any]:
        """The place and the instance as its file has it."""
        fields = {"verifier": self.verifier, "shrunk": self.shrunk, **as_fields(self.violation)}
        return {**fields, "scheme": str(self.instance.scheme), "instance": self.instance.as_dict()}

    def __repr__(self) -> str:
        size = f"V = {self.instance.vocab_size}, {self.instance.scheme}"
        return f"Witness({self.verifier} on {size}: {self.violation})"

    def _repr_html_(self) -> str:
        place = {**as_fields(self.violation), "scheme": self.instance.scheme}
        return fields_html(f"{self.verifier} is not lossless", place) + self.instance._repr_html_()
