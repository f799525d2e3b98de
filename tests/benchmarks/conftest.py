"""`make speed` times work beside what it replaces or cannot beat; `make check` runs each benchmark once, and small."""

import time
from collections.abc import Callable
from typing import Any

import pytest

#: Seconds for the reference of one benchmark.
BUDGET = 1.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "benchmarks" in item.path.parts:
            item.add_marker(pytest.mark.benchmark)
            item.add_marker(pytest.mark.heavy)


def seconds_of(task: Callable[[], object]) -> float:
    """Processor time of one run, at least the resolution of the clock: others on a busy machine do not count."""
    begun = time.process_time()
    task()
    return max(time.process_time() - begun, time.get_clock_info("process_time").resolution)


def least(task: Callable[[], object], budget: float = BUDGET) -> float:
    """The least time of runs for so many seconds."""
    end, seconds = time.perf_counter() + budget, [seconds_of(task)]
    while time.perf_counter() < end:
        seconds.append(seconds_of(task))
    return min(seconds)


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether this is a run that measures."""
    return bool(request.config.pluginmanager.hasplugin("benchmark"))


@pytest.fixture
def timed(request: pytest.FixtureRequest, full: bool) -> Callable[..., None]:
    """Times a task beside its reference, a task or its seconds; rounds: how often it runs where that is fixed."""

    def run(
        task: Callable[[], object], what: str, reference: Any, goal: str = "", rounds: int = 0, note: str = ""
    ) -> None:
        if not full:
            task()
            if callable(reference):
                reference()
            return
        benchmark = request.getfixturevalue("benchmark")
        benchmark.pedantic(task, rounds=rounds) if rounds else benchmark(task)
        seconds = least(reference) if callable(reference) else reference
        measured = benchmark.stats.stats.min
        benchmark.extra_info.update(
            against=what, takes=measured, other=seconds, ratio=measured / seconds, goal=goal, note=note
        )

    return run


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Each time beside that of its reference, and the ratio of both."""
    session = getattr(config, "_benchmarksession", None)
    for each in session.benchmarks if session else ():
        if told := each.extra_info:
            line = f"{each.name:66} {1e3 * told['takes']:10,.3g} ms, {told['against']} {1e3 * told['other']:,.3g} ms:"
            terminalreporter.write_line(f"{line} {ratio_of(told)} {told['goal']} {told['note']}".rstrip())


def ratio_of(told: dict[str, Any]) -> str:
    """In percent where the goal is, else how many times as long or as fast."""
    ratio = told["ratio"]
    if told["goal"].endswith("%"):
        return f"{100 * ratio:.2g} %"
    return f"{ratio:,.3g} x" if ratio >= 1 else f"{1 / ratio:,.3g} x faster"
