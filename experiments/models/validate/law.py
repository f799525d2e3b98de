"""The law of the first tokens that the loop writes, over several blocks, against the target's own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from math import log
from typing import Any

import numpy as np

from draftproof.experiments.models.loop.loop import Loop, many_texts
from draftproof.experiments.models.loop.sequential import (
    BUGS,
    Counts,
    RowsAfter,
    distance_and_power,
    engine_law,
    log_e_value,
    refutes,
    smallest_detected,
)
from draftproof.experiments.models.loop.setting import Setting, UnderTest, seed_of
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme, Progress

#: Runs from one root between two evaluations of the test.
PORTION = 128
#: Replaces the logarithm of an infinite e-value, which JSON cannot hold.
_INFINITE = 1e9


def law_row(
    setting: Setting,
    each: UnderTest,
    schemes: Sequence[DraftScheme],
    tables: Sequence[Case],
    length: int,
    runs: int,
    level: float,
    tick: Progress,
) -> dict[str, Any]:
    """Test the law of the first `length` tokens on up to `runs` runs from each root, shapes taking turns.

    Ends early when the e-process exceeds `1 / level`, which refutes the verifier. tick: called with numbers of runs.
    """
    started = time.perf_counter()
    key = law_key(setting, each, schemes, length, runs, level)
    coin = setting.coin(seed_of(key))
    loops = [Loop(setting.pair, each.executed.verifier, scheme, setting.warp, setting.vectors) for scheme in schemes]
    rows = [RowsAfter.of(root, length) for root in tables]
    size = setting.pair.vocab_size
    counts = [Counts.of(np.zeros((0, length)), size) for _ in tables]
    done, value = 0, 0.0
    with named_errors(each.executed.label):
        while done < runs and not refutes(value, level):
            portion = min(PORTION, runs - done)
            for number, root in enumerate(setting.roots):
                loop = loops[(done // PORTION + number) % len(loops)]
                counts[number] += Counts.of(many_texts(loop, root, portion, length, coin), size)
                tick(portion)
            done += portion
            value = log_e_value(counts, rows)
    return {
        "strong_id": key,
        "verifier": each.label,
        "length": length,
        "runs": done * len(setting.roots),
        "log10_e_value": min(value / log(10), _INFINITE),
        "log10_needed": -log(level) / log(10),
        "refuted": refutes(value, level),
        "seconds": round(time.perf_counter() - started, 3),
        **{name: value for name, value in setting.fields.items() if name != "roots"},
        "roots": len(setting.roots),
    }


def law_key(
    setting: Setting, each: UnderTest, schemes: Sequence[DraftScheme], length: int, runs: int, level: float
) -> str:
    """Hash of everything that defines the test."""
    shapes = [scheme.as_dict() for scheme in schemes]
    return setting.key(
        kind="law", verifier=each.identity, schemes=shapes, length=length, runs=runs, level=level, portion=PORTION
    )


def power_fields(
    tables: Sequence[Case], length: int, runs: int, level: float, schemes: Sequence[DraftScheme]
) -> dict[str, list[dict[str, Any]]]:
    """What the test finds, by simulation of its exact law. runs: from each root.

    found: the smallest bias of two kinds that is found. bugs: how often known bugs of engines are found, in
    token-by-token verification on these schemes in turn.
    """
    rows = [RowsAfter.of(each, length) for each in tables]
    trees = [(scheme.depth, int(scheme.as_dict().get("K", 1))) for scheme in schemes]
    bugs = []
    for bug, said in BUGS.items():
        laws = [sum(engine_law(each, *tree, bug) for tree in trees) / len(trees) for each in rows]
        distance, share = distance_and_power(rows, laws, runs, level, np.random.default_rng(0))
        bugs.append({"bug": said, "distance": distance, "share": share})
    kinds = ("draft", "uniform")
    found = [asdict(smallest_detected(rows, kind, runs, level, np.random.default_rng(0))) for kind in kinds]
    return {"found": found, "bugs": bugs}
