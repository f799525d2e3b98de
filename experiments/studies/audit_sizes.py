"""`python -m experiments.studies.audit_sizes`: what an audit announces before it begins, against what it then takes.

Twenty audits of verifiers of the zoo, called as somebody else's functions with Python's own random numbers. A line is
an audit: how many calls were announced and made, and the same of the seconds of computing. Ratios are what counts:
seconds depend on the machine. Exit 1 if any ratio is beyond a factor of `WITHIN`.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import verifiers
from experiments.commands.audit.report import Report
from experiments.commands.audit.work import announced
from experiments.shared.progress import quiet
from simulator.audit import default_cases, make_audit
from simulator.audit.verdict import Request, judge, survey
from simulator.drafts import Delayed
from simulator.protocol import DraftScheme

WITHIN = 3.0
#: Seconds below this are noise: a ratio of two of them says nothing.
LEAST = 0.5
#: What every verifier takes.
CASES = ("context", "three_tokens", "zeros", "equal", "disjoint", "context_free", "short")
#: Verifiers of the zoo with the schemes on which they are audited.
AUDITS: tuple[tuple[str, DraftScheme], ...] = (
    ("naive", Delayed(1, 0, 2)), ("block", Delayed(1, 0, 2)), ("hsd", Delayed(1, 0, 2)),
    ("layer_verification", Delayed(1, 0, 2)), ("naive", Delayed(1, 0, 3)), ("block", Delayed(1, 0, 3)),
    ("block", Delayed(1, 0, 4)), ("naive_tree", Delayed(2, 0, 2)), ("naive_tree", Delayed(2, 1, 1)),
    ("naive_tree", Delayed(3, 0, 1)), ("specinfer", Delayed(2, 0, 1)), ("specinfer", Delayed(2, 1, 1)),
    ("specinfer", Delayed(2, 0, 2)), ("traversal", Delayed(2, 0, 2)), ("traversal", Delayed(3, 0, 1)),
    ("traversal", Delayed(2, 0, 1)), ("gbv", Delayed(2, 0, 1)), ("gbv", Delayed(2, 0, 2)), ("spectr", Delayed(2, 0, 1)),
    ("tree_monte_carlo", Delayed(2, 0, 2)),
)  # fmt: skip


class PythonCoin:
    """A coin of Python's own generator, whose numbers an audit follows."""

    def flip(self, probability: Any) -> bool:
        """See `Coin.flip`."""
        return bool(random.random() < probability)

    def choose(self, weights: Any) -> int:
        """See `Coin.choose`."""
        return random.choices(range(len(weights)), weights=list(weights))[0]


def rows(audits: Any = AUDITS) -> Iterator[dict[str, Any]]:
    """One audit after the other: calls and seconds, announced and taken."""
    for name, scheme in audits:
        calls = [0]
        audit = make_audit(_counted(verifiers.make(name), calls), "tree", library="numpy", name=name)
        report = Report(Request(name, audit, default_cases(audit.audited.interface, scheme, CASES), max_runs=10**7))
        with quiet():
            surveyed = survey(report)
            seconds = announced(report, surveyed)
            calls[0], started = 0, time.thread_time()
            judge(report, [case for case, _ in surveyed])
        taken = time.thread_time() - started
        wanted = sum(size.runs for _, size in surveyed)
        yield {
            "audit": f"{name} on {scheme or 'its usual drafts'}",
            "calls": (wanted, calls[0]),
            "seconds": (seconds, taken),
        }


def _counted(verifier: Any, calls: list[int]) -> Callable[[Any], Any]:
    def verify(root: Any) -> Any:
        calls[0] += 1
        return verifier.verify(root, PythonCoin())

    return verify


def far(announced: float, taken: float, least: float) -> bool:
    """Whether two numbers are beyond the factor; small ones never are."""
    low, high = sorted((max(announced, least), max(taken, least)))
    return high > WITHIN * low


def main() -> int:
    """Print the table; 1 if any line is beyond the factor."""
    beyond = 0
    print("audit | calls announced | made | ratio | seconds announced | taken | ratio")
    for row in rows():
        (wanted, made), (seconds, taken) = row["calls"], row["seconds"]
        wrong = far(wanted, made, 50) or far(seconds, taken, LEAST)
        beyond += wrong
        numbers = (
            f"{wanted:,.0f} | {made:,} | {wanted / made:.2f} | {seconds:.1f} | {taken:.1f} | {seconds / taken:.2f}"
        )
        print(f"{row['audit']} | {numbers}{' <- beyond a factor of 3' if wrong else ''}", flush=True)
    return int(beyond > 0)


if __name__ == "__main__":
    sys.exit(main())
