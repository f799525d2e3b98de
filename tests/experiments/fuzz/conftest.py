"""The totals of the fuzzer, printed at the end of a run."""

from __future__ import annotations

from collections import Counter
from typing import Any


def fuzzed_shown(terminalreporter: Any) -> None:
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "fuzz" and report.when == "call":
                    totals[value[0]] += value[1]
    if totals:  # a test that fails says what went wrong, and does not stop at the first
        each = ", ".join(f"{name} {count:,}" for name, count in totals.items())
        terminalreporter.write_line(f"fuzzed: {sum(totals.values()):,} cases ({each})")
