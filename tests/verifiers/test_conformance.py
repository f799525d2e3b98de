"""Every verifier of the registry passes every conformance check that applies to it; grids refute the others.

`optimum` is made for one instance: `test_optimum_verifier.py` runs the checks instance by instance.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from draftproof.simulator import check
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.verdicts.cases import CASES, case_instances
from draftproof.simulator.verdicts.conformance import ConformanceCheck, checks_for
from draftproof.simulator.verdicts.grids import grid
from draftproof.verifiers import STANDALONE, make

#: Random instances a case; the heavy tests have 200 for each scheme.
RANDOM = 2
DECLARED = [(name, scheme) for name in STANDALONE for scheme in lossless_for(make(name).card)]


def by_kind() -> Iterator[Any]:
    """Every check of every verifier; of each kind all but every fourth or sixth are heavy, by turns."""
    for turn, name in enumerate(STANDALONE):
        checks = checks_for(make(name), RANDOM)
        assert len(checks) >= 12
        many = Counter(map(kind_of, checks))
        seen = Counter[str]()
        for one in checks:
            kind = kind_of(one)
            every = 6 if kind.startswith("lossless") else 4
            heavy = many[kind] >= every and (turn + seen[kind]) % every > 0
            seen[kind] += 1
            yield pytest.param(one, id=f"{name}-{one}", marks=[pytest.mark.heavy] * heavy)


def kind_of(one: ConformanceCheck) -> str:
    return one.name.split("-V=")[0]


@pytest.mark.one_in(24)
@pytest.mark.parametrize("one", list(by_kind()))
def test_verifier_conforms(one: ConformanceCheck) -> None:
    one()


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "scheme"), DECLARED)
def test_lossless_on_every_declared_scheme(name: str, scheme: str) -> None:
    for case in CASES[scheme]:
        for instance in case_instances(case, 200 if scheme == "delayed" else 30):
            assert check(make(name), instance.target, instance.draft, case[1], engine="enumerate").max_deviation == 0


#: `spechub` takes its own pairs only; the others leave rows in thirds as they are.
NOT_BY_GRIDS = ("spechub", "truncation", "eta", "fuzzy")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [name for name in STANDALONE if (name, "delayed") not in DECLARED and name not in NOT_BY_GRIDS]
)
def test_grids_can_refute(name: str) -> None:
    """Every pair of rows in thirds, or three paths of two tokens in halves, refutes what is not declared lossless."""
    trees = [(Delayed(3, 1, 1), 3), (Delayed(2, 0, 2), 3), (Delayed(3, 0, 2), 2)]
    assert any(
        not check(make(name), instance.target, instance.draft, scheme, engine="enumerate").lossless
        for scheme, denominator in trees
        for instance in grid(2, scheme.depth, denominator)
    )
