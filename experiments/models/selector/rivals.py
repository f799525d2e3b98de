"""A selector against what knows less and against what knows all: static, the entropy rule, the oracle.

`n` roots, `A` actions. Tokens per time of a policy is the sum of `E` divided by the sum of `T`, with equal weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from draftproof.experiments.grid.groups import FEWEST, mean_by_group
from draftproof.experiments.models.selector.features import SCALARS
from draftproof.experiments.models.selector.network import SelectorNetwork


@dataclass(frozen=True)
class Labelled:
    """Roots with labels. inputs: of the network, shape `(n, D)`. tokens: `E`, shape `(n, A)`. times: `T`, shape `(A,)`.

    setting: shape `(n,)`, the number of the sampling under which a root was labelled. prompt: shape `(n,)`, the number
    of the prompt of a root, or of the root in a text.
    """

    inputs: torch.Tensor
    tokens: Any
    times: Any
    setting: Any
    prompt: Any

    def where(self, chosen: Any) -> Labelled:
        """The roots where `chosen`, shape `(n,)`, is true."""
        inputs = self.inputs[torch.as_tensor(np.flatnonzero(chosen))]
        return Labelled(inputs, self.tokens[chosen], self.times, self.setting[chosen], self.prompt[chosen])

    def sums(self, choice: Any) -> tuple[Any, Any]:
        """Tokens and times of a choice, summed over the roots of each prompt, in the order of prompts."""
        _, prompt = np.unique(self.prompt, return_inverse=True)
        roots = np.arange(len(choice))
        return np.bincount(prompt, self.tokens[roots, choice]), np.bincount(prompt, self.times[choice])

    @property
    def settings(self) -> list[int]:
        """The numbers of the samplings."""
        return sorted(set(self.setting.tolist()))


def rate(tokens: Any, times: Any, choice: Any) -> float:
    """Tokens per time; choice: the action at each root, shape `(n,)`."""
    return float(tokens[np.arange(len(choice)), choice].sum() / times[choice].sum())


def best_static(labelled: Labelled) -> dict[int, int]:
    """The best static action of each sampling setting."""
    return {
        number: int((labelled.tokens[labelled.setting == number].mean(0) / labelled.times).argmax())
        for number in labelled.settings
    }


def gain_over(base: Mapping[int, int], labelled: Labelled, choice: Any) -> float:
    """The relative gain in tokens per time over the base action, averaged over settings."""
    gains = []
    for number in labelled.settings:
        here = labelled.setting == number
        tokens, static = labelled.tokens[here], np.full(here.sum(), base[number])
        gains.append(rate(tokens, labelled.times, choice[here]) / rate(tokens, labelled.times, static) - 1)
    return float(np.mean(gains))


#: Ranges of the entropy rule; bootstrap samples for an interval.
RANGES, DRAWINGS = 4, 1000


def entropy_rule(entropies: Any, worth: Any, new: Any) -> Any:
    """The actions at new entropies of the draft's root row: for each of `RANGES` equally likely ranges the best one.

    entropies, worth: those of known roots, shape `(n,)`, and what each action is worth there, `(n, A)`.
    """
    bounds = quantiles(entropies, RANGES)
    ranges = np.searchsorted(bounds, entropies, side="right")
    sums = np.array([worth[ranges == number].sum(0) for number in range(RANGES)])
    return sums[np.searchsorted(bounds, new, side="right")].argmax(1)


def quantiles(numbers: Any, bins: int) -> Any:
    """`bins - 1` bounds that split the numbers into parts that are as equal as they allow, each the least of a part."""
    order = np.argsort(numbers, kind="stable")
    last_of_parts = np.searchsorted(np.arange(1, len(numbers) + 1) / len(numbers), np.arange(1, bins) / bins)
    return numbers[order][np.minimum(last_of_parts + 1, len(numbers) - 1)]


def oracle(tokens: Any, times: Any) -> Any:
    """The actions, shape `(n,)`, that maximise the sum of `E` over the sum of `T`, by Dinkelbach's method."""
    best = 0.0
    while True:
        choice = (tokens - best * times).argmax(1)
        better = rate(tokens, times, choice)
        if better <= best * (1 + 1e-12):
            return choice
        best = better


def judged(
    network: SelectorNetwork,
    seen: Labelled,
    held_out: Labelled,
    base: Mapping[int, int],
    seed: int,
    groups: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Rows of every setting and policy on the held-out roots. seen: the roots that the entropy rule learns from.

    base: the static action of each setting. groups: the group of each prompt; empty where roots come from a text.
    """
    rows = []
    own_groups = [groups[number] for number in np.unique(held_out.prompt)] if groups else []
    for number in held_out.settings:
        new = held_out.where(held_out.setting == number)
        choices = _choices(network, seen.where(seen.setting == number), new, base[number])
        best, static = rate(new.tokens, new.times, choices["oracle"]), choices["static"]
        for name, choice in choices.items():
            tokens_per_time = rate(new.tokens, new.times, choice)
            low, high = gain_interval(new, choice, static, seed)
            rows.append(
                {
                    "setting": number,
                    "policy": name,
                    "tokens_per_time": tokens_per_time,
                    "tokens_per_block": float(new.tokens[np.arange(len(choice)), choice].mean()),
                    "over_static": tokens_per_time / rate(new.tokens, new.times, static) - 1,
                    "over_static_low": low,
                    "over_static_high": high,
                    "regret": 1 - tokens_per_time / best,
                    "used": len(set(choice.tolist())),
                    **({"groups": mean_by_group(own_groups, *new.sums(choice))} if own_groups else {}),
                }
            )
    return rows


def _choices(network: SelectorNetwork, seen: Labelled, new: Labelled, base: int) -> dict[str, Any]:
    """For each policy its actions at the held-out roots `new`, in one sampling setting."""
    static_rate = rate(seen.tokens, seen.times, np.full(len(seen.tokens), base))
    entropy = -len(SCALARS)  # "H(q root)" is the first of the scalars, and these are the last of the inputs
    entropies = [roots.inputs[:, entropy].numpy().astype(np.float64) for roots in (seen, new)]
    return {
        "static": np.full(len(new.tokens), base),
        "entropy": entropy_rule(entropies[0], seen.tokens - static_rate * seen.times, entropies[1]),
        "selector": network.choices(new.inputs),
        "oracle": oracle(new.tokens, new.times),
    }


def gain_interval(labelled: Labelled, choice: Any, static: Any, seed: int) -> tuple[float, float]:
    """The 95 % bootstrap interval of the gain over the static action; all roots of a prompt are drawn together.

    For few prompts roots are drawn one by one; the interval is then valid for these prompts only.
    """
    if len(np.unique(labelled.prompt)) < FEWEST:
        labelled = replace(labelled, prompt=np.arange(len(choice)))
    count = len(np.unique(labelled.prompt))
    drawn = np.random.default_rng(seed).integers(count, size=(DRAWINGS, count))

    def rates(choice: Any) -> Any:
        tokens, times = labelled.sums(choice)
        return tokens[drawn].sum(1) / times[drawn].sum(1)

    low, high = np.quantile(rates(choice) / rates(static) - 1, (0.025, 0.975))
    return float(low), float(high)
