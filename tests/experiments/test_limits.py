"""A limit of time that rings at once, or just when the work ends, leaves no alarm behind."""

from __future__ import annotations

import signal
import time

import pytest

from draftproof.experiments.shared.limits import limited
from draftproof.simulator.errors import TooLarge


def test_a_limit_that_rings_at_once_is_gone_afterwards():
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(200):
        with pytest.raises(TooLarge, match="too long"), limited(1e-6, "too long"):
            time.sleep(1)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) is before


def test_work_that_is_quick_enough_is_not_cut_short():
    with limited(60, "too long"):
        done = sum(range(100))
    assert done == 4950
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def patient():
    """Work that goes on after errors of its own, as of values; `TooLarge` is one."""
    for _ in range(100):
        try:
            time.sleep(0.01)
        except ValueError:
            raise AssertionError("taken for an error of the work") from None


def test_work_that_handles_its_own_errors_is_cut_short_all_the_same():
    with pytest.raises(TooLarge, match="too long"), limited(0.01, "too long"):
        patient()
