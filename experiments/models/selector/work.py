"""`draftproof train-selector` from its options to its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.models.loop.supported import check_pair
from draftproof.experiments.models.pair.opened import Opened, Wanted, load_wanted, on_threads
from draftproof.experiments.models.pair.roots import CONTEXT
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.selector.making import make_selector, planned
from draftproof.experiments.models.speed.latency_fit import measured_times
from draftproof.experiments.shared.latency import TimeModel
from draftproof.experiments.shared.names import NamedVerifier
from draftproof.experiments.shared.progress import remark
from draftproof.experiments.shared.rows import RowFile
from draftproof.simulator.drafts import Delayed


def train(
    folder: str,
    text: str,
    device: str,
    named: NamedVerifier,
    actions: Sequence[Delayed],
    warps: Sequence[Warp],
    times: TimeModel | None,
    amount: tuple[int, int, int],
    exact: bool | None,
    kept: RowFile,
) -> dict[str, Any]:
    """amount: roots, trees a label, seed. times: None to measure them. exact: see `planned`. Raises `InvalidInput`."""
    pair, corpus = load_wanted(Wanted(folder=folder, device=device, text=text))
    with on_threads(pair):
        check_pair(pair)
        if times is None:
            remark("times of passes")
            times = measured_times(pair, 2 * CONTEXT, actions)
        plan = planned(pair, named, actions, warps, times, *amount, exact)
        return make_selector(Opened(pair, corpus, None, None), folder, plan, kept)
