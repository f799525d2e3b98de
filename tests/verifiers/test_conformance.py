"""Every verifier of the registry passes every conformance check that applies to it.

`optimum` is made for one instance: `test_optimum_verifier.py` runs the checks instance by instance.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from draftproof.simulator.verdicts.conformance import ConformanceCheck, checks_for
from draftproof.verifiers import STANDALONE, make

#: Random instances a case; the heavy tests have 200 for each scheme.
RANDOM = 2


def by_kind() -> Iterator[Any]:
    """Every check of every verifier; of each kind all but every fourth or sixth are heavy, by turns."""
    for turn, name in enumerate(STANDALONE):
        checks = checks_for(make(name), RANDOM)
        many = Counter(kind_of(check) for check in checks)
        seen = Counter[str]()
        for check in checks:
            kind = kind_of(check)
            every = 6 if kind.startswith("lossless") else 4
            heavy = many[kind] >= every and (turn + seen[kind]) % every > 0
            seen[kind] += 1
            yield pytest.param(check, id=f"{name}-{check}", marks=[pytest.mark.heavy] * heavy)


def kind_of(check: ConformanceCheck) -> str:
    return check.name.split("-V=")[0]


CHECKS = list(by_kind())


@pytest.mark.one_in(24)
@pytest.mark.parametrize("check", CHECKS)
def test_verifier_conforms(check: ConformanceCheck) -> None:
    check()


def test_every_verifier_is_checked_on_every_shape() -> None:
    for name in STANDALONE:
        assert len(checks_for(make(name))) >= 12
