"""Long checks, run by `make check`: every scheme that a card declares, on two hundred random instances a case."""

from __future__ import annotations

import pytest

from simulator import check
from simulator.verdicts.cases import CASES, case_instances
from verifiers import STANDALONE, make

DECLARED = [(name, scheme) for name in STANDALONE for scheme in make(name).card.lossless_for if scheme != "delayed"]


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "scheme"), DECLARED)
def test_lossless_on_every_declared_scheme(name, scheme):
    for case in CASES[scheme]:
        for instance in case_instances(case, 200):
            assert check(make(name), instance.target, instance.draft, case[1], engine="enumerate").max_deviation == 0
