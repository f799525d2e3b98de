"""Settings for the whole suite: Hypothesis draws the same examples on every machine, without a database."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tests", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")
