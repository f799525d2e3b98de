"""Verifiers that are measured, each with the one that runs in its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned
from draftproof.simulator.drafts import UserScheme, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme


@dataclass(frozen=True)
class MeasuredVerifier:
    """predicted: the verifier whose law is predicted; executed: what runs in the loop, another where it is replaced."""

    predicted: NamedVerifier
    executed: NamedVerifier

    @property
    def label(self) -> str:
        if self.executed is self.predicted:
            return self.predicted.label
        return f"{self.predicted.label} (runs {self.executed.label})"

    def claims(self, scheme: DraftScheme) -> bool:
        """Whether the predicted verifier is to be tested on this scheme, by its card."""
        claimed = lossless_for(self.predicted.verifier.card)
        return isinstance(scheme, UserScheme) or self.predicted.from_file or not claimed or scheme.name in claimed

    @property
    def identity(self) -> dict[str, Any]:
        return {"claim": self.predicted.identity, "played": self.executed.identity}


def measured_verifiers(
    predicted: Sequence[NamedVerifier], replaced: dict[str, NamedVerifier]
) -> list[MeasuredVerifier]:
    """Every verifier with the one that runs in its place, if it is replaced.

    Raises `InvalidInput` for a name that is not among them and for a verifier that is solved for one instance.
    """
    for each in (*predicted, *replaced.values()):
        if isinstance(each.verifier, Planned):
            raise InvalidInput(f"{each.spec} is planned for one instance; real models need a verifier of all rows")
    for name in replaced:
        if name not in {each.label for each in predicted}:
            raise InvalidInput(
                f"--replace {name}=..: {name} is not among {', '.join(each.label for each in predicted)}"
            )
    return [MeasuredVerifier(each, replaced.get(each.label, each)) for each in predicted]
