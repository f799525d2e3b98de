"""What a selector, or a policy of one's own, chooses after contexts of a pair's text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.roots import pair_digest
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.selector.deciding import ByFunction, BySelector
from draftproof.experiments.models.selector.features import hidden_widths, views_of
from draftproof.experiments.models.selector.saved import Saved, load_selector
from draftproof.experiments.policies.own import Own
from draftproof.experiments.shared.latency import TimeModel
from draftproof.experiments.shared.names import NamedVerifier
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.protocol import Context

#: Where nobody says what passes take.
NO_TIMES = TimeModel({1: 0.0, 2: 0.0}, {0: 0.0, 1: 0.0}, open_ended=True)


@torch.inference_mode()
def selector_choices(
    path: Path, label: str, pair: Pair, warp: Warp, contexts: Sequence[Context], actions: Sequence[Delayed]
) -> list[int]:
    """The position among `actions` of what the selector of a file chooses after each context.

    Raises as `load_selector` does, and `InvalidInput` for one that was trained for other sampling.
    """
    widths = hidden_widths(pair)
    found = load_selector(path, label, pair_digest(pair), pair.vocab_size, widths, actions)
    check_sampling(path, found, warp)
    chooser = BySelector(found.network, warp)
    views = views_of(pair, contexts, warp, found.times)
    return [list(actions).index(found.actions[chooser(view)]) for view in views]


def own_choices(
    policy: Own,
    named: NamedVerifier,
    pair: Pair,
    warp: Warp,
    contexts: Sequence[Context],
    actions: Sequence[Delayed],
    times: TimeModel | None,
) -> list[int]:
    """The same of a policy of one's own; raises `InvalidInput` for an action that is none of those."""
    chooser = ByFunction(policy, tuple(Action(scheme, named.verifier) for scheme in actions))
    return [chooser(view) for view in views_of(pair, contexts, warp, times or NO_TIMES)]


def check_sampling(path: Path, found: Saved, warp: Warp) -> int:
    """The number of this sampling among those that a selector was trained for; raises `InvalidInput`."""
    if warp.as_dict() not in found.settings:
        known = "; ".join(
            ", ".join(f"{name}={value}" for name, value in each.items() if value is not None) for each in found.settings
        )
        raise InvalidInput(f"{path} was trained for {known}, not for {warp}; train one for this sampling")
    return found.settings.index(warp.as_dict())
