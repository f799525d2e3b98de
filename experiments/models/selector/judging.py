"""What the selector is worth on held-out roots, beside a static action, cheap rivals and the oracle.

Tokens per time of a policy: the sum of `E` over the sum of `T` at the roots, which count alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.experiments.models.selector.training import Labelled, chosen_by, rate
from draftproof.experiments.policies import learned
from draftproof.experiments.policies.fitted import Learner, steps_of_entropy

#: Ranges of the entropy rule; drawings of roots for an interval.
STEPS, DRAWINGS = 4, 1000


def rivals() -> dict[str, Learner]:
    """Learners on the numbers alone; those of scikit-learn where it is installed."""
    found = {"entropy": steps_of_entropy(STEPS)}
    if find_spec("sklearn") is not None:
        found |= {"tree": learned.shallow_tree, "linear": learned.linear, "boosting": learned.boosting}
    return found


def oracle(tokens: Any, times: Any) -> Any:
    """The action of each root with which the sum of `E` over the sum of `T` is largest, shape `(n,)`, by Dinkelbach."""
    going = 0.0
    while True:
        choice = (tokens - going * times).argmax(1)
        found = rate(tokens, times, choice)
        if found <= going * (1 + 1e-12):
            return choice
        going = found


def judged(
    network: SelectorNetwork, seen: Labelled, held_out: Labelled, base: Mapping[int, int], seed: int
) -> list[dict[str, Any]]:
    """Rows of every setting and policy on the held-out roots. seen: the roots that rivals learn from."""
    rows = []
    for number in held_out.settings:
        known, new = seen.of(seen.setting == number), held_out.of(held_out.setting == number)
        choices = choices_of(network, known, new, base[number])
        best = rate(new.tokens, new.times, choices["oracle"])
        static = choices["static"]
        for name, choice in choices.items():
            found = rate(new.tokens, new.times, choice)
            low, high = _interval(new, choice, static, seed)
            rows.append(
                {
                    "setting": number,
                    "policy": name,
                    "tokens_per_time": found,
                    "tokens_per_block": float(new.tokens[np.arange(len(choice)), choice].mean()),
                    "over_static": found / rate(new.tokens, new.times, static) - 1,
                    "over_static_low": low,
                    "over_static_high": high,
                    "regret": 1 - found / best,
                    "used": len(set(choice.tolist())),
                }
            )
    return rows


def choices_of(network: SelectorNetwork, known: Labelled, new: Labelled, base: int) -> dict[str, Any]:
    """The action of each held-out root, by policy, in one sampling setting. known: the roots that rivals learn from."""
    static = np.full(len(new.tokens), base)
    going = rate(known.tokens, known.times, np.full(len(known.tokens), base))
    found = {"static": static}
    for name, learner in rivals().items():
        told: Callable[[Any], Any] = learner(
            known.inputs.scalars.numpy().astype(np.float64),
            known.tokens - going * known.times,
            np.ones(len(known.tokens)),
        )
        found[name] = np.asarray(told(new.inputs.scalars.numpy().astype(np.float64))).argmax(1)
    found["selector"] = chosen_by(network, new.inputs)
    found["oracle"] = oracle(new.tokens, new.times)
    return found


def _interval(labelled: Labelled, choice: Any, static: Any, seed: int) -> tuple[float, float]:
    """95 % of the gain over the static action, from drawing the roots again."""
    places = np.random.default_rng(seed).integers(len(choice), size=(DRAWINGS, len(choice)))
    roots = np.arange(len(choice))

    def rates(taken: Any) -> Any:
        return labelled.tokens[roots, taken][places].sum(1) / labelled.times[taken][places].sum(1)

    low, high = np.quantile(rates(choice) / rates(static) - 1, (0.025, 0.975))
    return float(low), float(high)
