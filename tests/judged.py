"""How a liar is judged: which kinds of checks it fails, and that no theorem is proved about it."""

from draftproof.simulator import Delayed, InvalidVerifier, check
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.simulator.verdicts.conformance import checks_for


def kinds_failed(verifier: Verifier) -> set[str]:
    """The kinds of conformance checks that a verifier fails; one case of a kind is enough."""
    failed = set[str]()
    for each in checks_for(verifier, 2):
        kind = each.name.split("-V=")[0]
        if kind in failed:
            continue
        try:
            each()
        except (AssertionError, InvalidVerifier):
            failed.add(kind)
    return failed


def assert_no_theorem(liar: type, size: int, scheme: Delayed) -> None:
    """A proof about a liar is refused, or refutes it with an instance on which the check sees the same."""
    try:
        proof = prove(Subject.of(liar()), Shape(size, scheme))
    except InvalidVerifier:
        return
    found = proof.refutation
    assert found is not None
    again = check(liar(), found.instance.target, found.instance.draft, scheme, engine="enumerate")
    assert again.violation == found.violation
