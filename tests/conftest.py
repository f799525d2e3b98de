"""Settings for the whole suite: Hypothesis draws the same examples on every machine, without a database.

Tests that import an optional package are skipped where it is not installed: those of real models, and files that say so
by importing it.
"""

import ast
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

#: One thread a process: the suite runs on as many workers as there are processors.
os.environ.setdefault("OMP_NUM_THREADS", "1")

#: Kernels run without a GPU: Triton reads this once, when the first test of a worker imports it.
os.environ.setdefault("TRITON_INTERPRET", "1")

settings.register_profile(
    "tests", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


@pytest.fixture
def calls() -> Callable[[Callable[[], Any]], int]:
    """Runs something and counts the functions it calls, in Python and in C: its work, whatever the machine is doing."""

    def count(function: Callable[[], Any]) -> int:
        seen = 0

        def note(frame: Any, event: str, argument: Any) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            function()
        finally:
            sys.setprofile(before)
        return seen

    return count


OPTIONAL = ("torch", "transformers", "tokenizers", "huggingface_hub")
MODELS = Path(__file__).parent / "experiments" / "models"


@cache
def missing() -> tuple[str, ...]:
    return tuple(name for name in OPTIONAL if find_spec(name) is None)


def imported(path: Path) -> set[str]:
    """The packages that a file imports when it is imported."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    names = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in body if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


class Skipped(pytest.Module):
    """A file of tests for which something is not installed."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip(f"{missing()[0]} is not installed; MODELS=yes brings it", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    needed = set(missing()) if module_path.is_relative_to(MODELS) else imported(module_path) & set(missing())
    return Skipped.from_parent(parent, path=module_path) if needed else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test marked `one_in(every, first=0)`, all but one in every so many are heavy."""
    places: Counter[str] = Counter()
    for item in items:
        if (mark := item.get_closest_marker("one_in")) is not None and item.get_closest_marker("heavy") is None:
            test = item.nodeid.partition("[")[0]
            if places[test] % mark.args[0] != mark.kwargs.get("first", 0):
                item.add_marker(pytest.mark.heavy)
            places[test] += 1


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What faults and mutated inputs were tried, after a run of everything too; a test fails where one was lost."""
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "tried" and report.when == "call":
                    totals[value[0]] += value[1]
    for name, count in sorted(totals.items()):
        terminalreporter.write_line(f"tried: {count:8,} {name}")
