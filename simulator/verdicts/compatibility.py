"""Which verifier is lossless on which draft scheme: computed on the conformance set, not declared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from draftproof.simulator.errors import Fails, InvalidVerifier, UnsupportedTree
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances
from draftproof.simulator.verdicts.lossless import check
from draftproof.simulator.verdicts.witness import Witness


@dataclass(frozen=True)
class Cell:
    """One verifier on one scheme.

    status: "refuted" if an instance refutes it or it fails on one, "undefined" if it refuses the trees of a case or
    raises on them. instances: on how many it was proved lossless. witness: the first instance that refutes it, if any.
    error: in which way it raised or failed first.
    """

    scheme: str
    status: Literal["lossless", "refuted", "undefined"]
    instances: int
    witness: Witness | None = None
    error: str | None = None


def compatibility(verifier: Verifier, scheme: str, count: int = 8, cases: Sequence[SizedScheme] | None = None) -> Cell:
    """Checks all conformance instances of a scheme, until one refutes the verifier.

    scheme: its name. count: random instances for each case, besides the corner cases. cases: for a scheme that has none
    in `CASES`.
    """
    proved, undefined, error = 0, False, None
    for case in CASES[scheme] if cases is None else cases:
        for instance in case_instances(case, count):
            try:
                checked = check(verifier, instance.target, instance.draft, case[1], engine="enumerate")
            except UnsupportedTree:
                undefined = True
                break
            except Fails as failure:
                return Cell(scheme, "refuted", proved, error=error or str(failure))
            except InvalidVerifier as failure:
                undefined, error = True, error or str(failure)
                break
            if not checked.lossless:
                return Cell(scheme, "refuted", proved, Witness.of(instance, checked, shrunk=False), error)
            proved += 1
    return Cell(scheme, "undefined" if undefined else "lossless", proved, error=error)
