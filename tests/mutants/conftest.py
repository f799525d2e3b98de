"""How a liar is judged: which kinds of checks it fails, and that no theorem is proved about it."""

from collections.abc import Callable

import pytest

from draftproof.simulator import Delayed, InvalidVerifier, check
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.simulator.verdicts.conformance import checks_for


@pytest.fixture
def kinds_failed() -> Callable[[Verifier], set[str]]:
    """The kinds of conformance checks that a verifier fails."""

    def kinds(verifier: Verifier) -> set[str]:
        failed = set()
        for each in checks_for(verifier):
            try:
                each()
            except (AssertionError, InvalidVerifier):
                failed.add(each.name.split("-V=")[0])
        return failed

    return kinds


@pytest.fixture
def assert_no_theorem() -> Callable[[type, int, Delayed], None]:
    """A proof about a liar is refused, or refutes it with an instance on which the check sees the same."""

    def judge(liar: type, size: int, scheme: Delayed) -> None:
        try:
            proof = prove(Subject.of(liar()), Shape(size, scheme))
        except InvalidVerifier:
            return
        found = proof.refutation
        assert found is not None
        again = check(liar(), found.instance.target, found.instance.draft, scheme, engine="enumerate")
        assert again.violation == found.violation

    return judge
