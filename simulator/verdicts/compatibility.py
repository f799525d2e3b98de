"""Which verifier is lossless on which draft scheme: computed on the conformance set, not declared."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from draftproof.simulator.errors import Fails, InvalidVerifier, UnsupportedTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Progress, Verifier
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances
from draftproof.simulator.verdicts.lossless import check
from draftproof.simulator.verdicts.witness import Witness


@dataclass(frozen=True)
class Cell:
    """One verifier on one scheme.

    instances: on how many it was proved lossless. witness: the first instance that refutes it, if any. undefined: how
    many cases the verifier refused, or raised on. broken: the first instance on which it did, or failed; error: in
    which way; failed: whether it gave the coin no probabilities or a verdict that is none.
    """

    verifier: str
    scheme: str
    instances: int
    undefined: int
    witness: Witness | None
    error: str | None = None
    broken: Instance | None = None
    failed: bool = False

    @property
    def status(self) -> str:
        """`witness` if an instance refutes it, `not defined` if it refuses a case or raises on it, else `lossless`."""
        if self.witness is not None or self.failed:
            return "witness"
        return "not defined" if self.undefined else "lossless"


def compatibility(
    verifier: Verifier,
    scheme: str,
    count: int = 8,
    progress: Progress | None = None,
    cases: Sequence[SizedScheme] | None = None,
    given: Callable[[SizedScheme], Iterable[Instance]] | None = None,
) -> Cell:
    """One cell of the matrix: checks all conformance instances of the scheme, until one refutes the verifier.

    scheme: its name. count: random instances for each case, besides the corner cases. progress: called with 1 after
    each case. cases: for a scheme that has none in `CASES`. given: makes other instances of a case.
    """
    proved, undefined, failed = 0, 0, False
    witness = error = broken = None
    for case in CASES[scheme] if cases is None else cases:
        instances = case_instances(case, count) if given is None else given(case)
        for instance in instances if witness is None and not failed else ():
            try:
                checked = check(verifier, instance.target, instance.draft, case[1], engine="enumerate")
            except UnsupportedTree:
                undefined += 1
                break
            except InvalidVerifier as failure:
                failed |= isinstance(failure, Fails)
                undefined += not isinstance(failure, Fails)
                error = error or str(failure)
                broken = broken or replace(instance, scheme=case[1], about={"fails": verifier.card.name})
                break
            if not checked.lossless:
                witness = Witness.of(instance, checked, shrunk=False)
                break
            proved += 1
        if progress:
            progress(1)
    return Cell(verifier.card.name, scheme, proved, undefined, witness, error, broken, failed)
