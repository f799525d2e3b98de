"""Every verifier of the registry passes every conformance check that applies to it.

`optimum` is made for one instance: `test_optimum_verifier.py` runs the checks instance by instance.
"""

from __future__ import annotations

import pytest

from simulator.verdicts.conformance import ConformanceCheck, checks_for
from verifiers import STANDALONE, make

#: Random instances a case; the heavy tests have 200 for each scheme, and of each two checks the other one.
RANDOM = 2
CHECKS = [
    pytest.param(check, id=f"{name}-{check}", marks=[pytest.mark.heavy] * ((turn + place + place // 2) % 2))
    for turn, name in enumerate(STANDALONE)
    for place, check in enumerate(checks_for(make(name), RANDOM))
]


@pytest.mark.parametrize("check", CHECKS)
def test_verifier_conforms(check: ConformanceCheck) -> None:
    check()


def test_every_verifier_is_checked_on_every_shape() -> None:
    for name in STANDALONE:
        assert len(checks_for(make(name))) >= 12
