"""Verifiers that are measured, each with the one that runs in its place; those of users are checked exactly first."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, find_verifier
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import UserScheme, lossless_for
from draftproof.simulator.errors import DraftproofError, Fails, InvalidInput
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.standard import standard_check

#: Seconds of the exact check of a verifier before real models run with it.
QUICK = 10.0


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

    @property
    def identity(self) -> dict[str, Any]:
        return {"claim": self.predicted.identity, "played": self.executed.identity}


def claims(named: NamedVerifier, scheme: DraftScheme) -> bool:
    """Whether a verifier is to be run on this scheme, by its card."""
    claimed = lossless_for(named.verifier.card)
    return isinstance(scheme, UserScheme) or named.user_defined or not claimed or scheme.name in claimed


def refuse_planned(verifiers: Sequence[NamedVerifier]) -> None:
    """Raise `InvalidInput` for a verifier that is solved for one instance."""
    for named in verifiers:
        if isinstance(named.verifier, Planned):
            raise InvalidInput(f"{named.spec} is planned for one instance; real models need a verifier of all rows")


def measured_verifiers(predicted: Sequence[NamedVerifier], replace: Sequence[str] = ()) -> list[MeasuredVerifier]:
    """Every verifier with the one that runs in its place, if one `NAME=OTHER` replaces it.

    Raises `InvalidInput` for a name that is not among them and for a verifier that is solved for one instance.
    """
    replaced: dict[str, NamedVerifier] = {}
    for text in replace:
        name, equals, other = text.partition("=")
        if not (equals and name and other):
            raise InvalidInput(f"replace {text!r}: write NAME=OTHER, as naive=ensemble or naive=FILE.py:NAME")
        if name in replaced:
            raise InvalidInput(f"replace names {name} twice; give it once")
        replaced[name] = find_verifier(other)
    refuse_planned([*predicted, *replaced.values()])
    if unknown := replaced.keys() - {named.label for named in predicted}:
        among, name = ", ".join(named.label for named in predicted), min(unknown)
        raise InvalidInput(f"replace {name}=..: {name} is not among {among}")
    return [MeasuredVerifier(named, replaced.get(named.label, named)) for named in predicted]


def exact_checks(
    verifiers: Mapping[str, NamedVerifier], schemes: Sequence[DraftScheme], seconds: float = QUICK
) -> list[dict[str, Any]]:
    """A row for each verifier of users, by label: whether it is lossless on small instances of these schemes.

    `lossless` is None where no scheme could be checked exactly, with the reason in `verdict`; `again` is the command
    that shows a witness.
    """
    return [_checked(label, named, schemes, seconds) for label, named in verifiers.items() if named.user_defined]


def _checked(label: str, named: NamedVerifier, schemes: Sequence[DraftScheme], seconds: float) -> dict[str, Any]:
    remark(f"exact check of {named.label} on small instances, up to {seconds:g} s")
    row: dict[str, Any] = {"verifier": label, "instances": 0, "lossless": None, "verdict": None}
    started = time.monotonic()
    for number, scheme in enumerate(schemes, 1):
        out_of_time = partial(_is_past, started + seconds * number / len(schemes))
        try:
            result = standard_check(named.verifier, late=out_of_time, facts=False, scheme=scheme)
        except Fails as failure:
            return row | {"lossless": False, "verdict": f"REFUTED, it fails: {failure}"}
        except DraftproofError as error:  # too many trees, trees it is not for, or no exact numbers
            row["verdict"] = row["verdict"] or f"not checked exactly: {error}"
            continue
        row["instances"] += result.instances
        if result.failed is not None:
            again = f"draftproof check {shlex.quote(named.spec)}" if named.from_file else None
            return row | {"lossless": False, "verdict": f"REFUTED on {scheme}", "again": again}
        row |= {"lossless": True, "verdict": "LOSSLESS on small instances, exactly"}
    return row


def _is_past(deadline: float) -> bool:
    return time.monotonic() > deadline
