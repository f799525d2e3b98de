"""Training of the selector on a small grid of the hyperparameters that the paper does not publish, and evaluation.

`n` roots, `A` actions. The seed decides all results. Tokens per time of a policy on held-out roots is the sum of `E`
divided by the sum of `T`, with equal weights; it is compared with the best static action, the entropy rule
and the oracle.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch

from draftproof.experiments.grid.groups import FEWEST, mean_by_group
from draftproof.experiments.models.selector.features import Inputs
from draftproof.experiments.models.selector.network import Penalty, SelectorNetwork, loss
from draftproof.simulator.protocol import Progress

#: Epochs, roots of a batch, and the number of epochs between two evaluations.
EPOCHS, BATCH, JUDGED = 80, 64, 5
#: Weight decay of AdamW.
DECAY = 0.01


@dataclass(frozen=True)
class Labelled:
    """Roots with labels. tokens: `E`, shape `(n, A)`. setting: shape `(n,)`, the number of the sampling.

    times: `T`, shape `(A,)`. prompt: shape `(n,)`, the number of the prompt of a root, or of the root in a text.
    """

    inputs: Inputs
    tokens: Any
    times: Any
    setting: Any
    prompt: Any

    def of(self, places: Any) -> Labelled:
        chosen = torch.as_tensor(np.flatnonzero(places))
        return Labelled(self.inputs[chosen], self.tokens[places], self.times, self.setting[places], self.prompt[places])

    def sums(self, choice: Any) -> tuple[Any, Any]:
        """Tokens and times of a choice, summed over the roots of each prompt, in the order of prompts."""
        _, prompt = np.unique(self.prompt, return_inverse=True)
        roots = np.arange(len(choice))
        return np.bincount(prompt, self.tokens[roots, choice]), np.bincount(prompt, self.times[choice])

    @property
    def widths(self) -> tuple[int, int]:
        return self.inputs.target_before.shape[1], self.inputs.draft_root.shape[1]

    @property
    def settings(self) -> list[int]:
        return sorted(set(self.setting.tolist()))


@dataclass(frozen=True)
class Hyperparameters:
    """One point of the grid: lambda and alpha of the penalty, dropout, and the learning rate of AdamW.

    spread: weight of an entropy bonus of `pi`, in nats, which falls to 0 from the first epoch to the last. Without it
    `pi` can become deterministic within a few steps, and then has no gradient.
    """

    penalty: float
    share: float
    dropout: float
    rate: float
    spread: float


#: A point without penalty has the share 1, which has no effect.
GRID = tuple(
    Hyperparameters(penalty, share, dropout, 3e-4, spread)
    for (penalty, share), dropout, spread in product(((0.0, 1.0), (1.0, 0.1), (1.0, 0.3)), (0.0, 0.2), (0.02, 0.1))
)


@dataclass(frozen=True)
class Fitted:
    """A trained network. gain: of tokens per time over the base action on validation roots, averaged over settings."""

    network: SelectorNetwork
    choice: Hyperparameters
    epochs: int
    gain: float

    def fields(self) -> dict[str, Any]:
        return {**asdict(self.choice), "epochs": self.epochs, "gain": self.gain}


def rate(tokens: Any, times: Any, choice: Any) -> float:
    """Tokens per time, the sum of `E` over the sum of `T`; choice: the action at each root, shape `(n,)`."""
    return float(tokens[np.arange(len(choice)), choice].sum() / times[choice].sum())


def best_static(labelled: Labelled) -> dict[int, int]:
    """The best static action of each sampling setting."""
    return {
        number: int((labelled.tokens[labelled.setting == number].mean(0) / labelled.times).argmax())
        for number in labelled.settings
    }


@torch.inference_mode()
def chosen_by(network: SelectorNetwork, inputs: Inputs) -> Any:
    """The most probable action of each root, shape `(n,)`."""
    network.eval()
    return network(inputs).argmax(1).numpy()


def gain_over(base: dict[int, int], labelled: Labelled, choice: Any) -> float:
    """The relative gain in tokens per time over the base action, averaged over settings."""
    found = []
    for number in labelled.settings:
        here = labelled.setting == number
        tokens, static = labelled.tokens[here], np.full(here.sum(), base[number])
        found.append(rate(tokens, labelled.times, choice[here]) / rate(tokens, labelled.times, static) - 1)
    return float(np.mean(found))


def search(
    training: Labelled,
    validating: Labelled,
    widths: tuple[int, int],
    seed: int,
    progress: Progress,
    grid: Sequence[Hyperparameters] = GRID,
) -> list[Fitted]:
    """Train every point of the grid; the best on the validation roots first. progress: called with 1 after each."""
    base = best_static(training)
    found = []
    for choice in grid:
        found.append(fit(choice, training, validating, base, widths, seed))
        progress(1)
    return sorted(found, key=lambda each: -each.gain)


def fit(
    choice: Hyperparameters,
    training: Labelled,
    validating: Labelled,
    base: dict[int, int],
    widths: tuple[int, int],
    seed: int,
) -> Fitted:
    """Train one network; its weights are those of the epoch with the best gain on the validation roots."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SelectorNetwork(widths, training.tokens.shape[1], choice.dropout)
        network.standardise(training.inputs.scalars)
        best = Fitted(
            copy.deepcopy(network), choice, 0, gain_over(base, validating, chosen_by(network, validating.inputs))
        )
        for epoch in _epochs(network, choice, training, base):
            if epoch % JUDGED == 0:
                gain = gain_over(base, validating, chosen_by(network, validating.inputs))
                if gain > best.gain:
                    best = Fitted(copy.deepcopy(network), choice, epoch, gain)
    best.network.eval()
    return best


def _epochs(
    network: SelectorNetwork, choice: Hyperparameters, training: Labelled, base: dict[int, int]
) -> Iterator[int]:
    tokens, times = (
        torch.as_tensor(np.asarray(each), dtype=torch.float32) for each in (training.tokens, training.times)
    )
    static = torch.tensor([base[number] for number in training.setting.tolist()])
    optimizer = torch.optim.AdamW(network.parameters(), lr=choice.rate, weight_decay=DECAY)
    penalty = Penalty(choice.penalty, choice.share)
    for epoch in range(1, EPOCHS + 1):
        network.train()
        for places in torch.split(torch.randperm(len(tokens)), BATCH):
            optimizer.zero_grad()
            logits = network(training.inputs[places])
            found = loss(logits, tokens[places], times, static[places], penalty)
            spread = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
            torch.autograd.backward(found - choice.spread * (1 - epoch / EPOCHS) * spread)
            optimizer.step()
        yield epoch


#: Ranges of the entropy rule; bootstrap samples for an interval.
STEPS, DRAWINGS = 4, 1000


def entropy_rule(entropies: Any, worth: Any, new: Any) -> Any:
    """The actions at new entropies of the draft's root row: for each of `STEPS` equally likely ranges the best one.

    entropies, worth: those of known roots, shape `(n,)`, and what each action is worth there, `(n, A)`.
    """
    bounds = quantiles(entropies, STEPS)
    labels = np.searchsorted(bounds, entropies, side="right")
    means = np.array([worth[labels == label].sum(0) for label in range(STEPS)])
    return means[np.searchsorted(bounds, new, side="right")].argmax(1)


def quantiles(numbers: Any, bins: int) -> Any:
    """`bins - 1` bounds that split the numbers into parts that are as equal as they allow."""
    order = np.argsort(numbers, kind="stable")
    places = np.searchsorted(np.arange(1, len(numbers) + 1) / len(numbers), np.arange(1, bins) / bins)
    return numbers[order][np.minimum(places + 1, len(numbers) - 1)]


def oracle(tokens: Any, times: Any) -> Any:
    """The actions, shape `(n,)`, that maximise the sum of `E` over the sum of `T`, by Dinkelbach's method."""
    going = 0.0
    while True:
        choice = (tokens - going * times).argmax(1)
        found = rate(tokens, times, choice)
        if found <= going * (1 + 1e-12):
            return choice
        going = found


def judged(
    network: SelectorNetwork,
    seen: Labelled,
    held_out: Labelled,
    base: Mapping[int, int],
    seed: int,
    groups: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Rows of every setting and policy on the held-out roots. seen: the roots that the entropy rule learns from.

    groups: the group of each prompt; empty where roots come from a text.
    """
    rows = []
    own = [groups[number] for number in np.unique(held_out.prompt)] if groups else []
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
                    **({"groups": mean_by_group(own, *new.sums(choice))} if own else {}),
                }
            )
    return rows


def choices_of(network: SelectorNetwork, known: Labelled, new: Labelled, base: int) -> dict[str, Any]:
    """For each policy its actions at the held-out roots, in one sampling setting. known: the roots to learn from."""
    static = np.full(len(new.tokens), base)
    going = rate(known.tokens, known.times, np.full(len(known.tokens), base))
    seen, asked = (each.inputs.scalars.numpy().astype(np.float64)[:, 0] for each in (known, new))
    return {
        "static": static,
        "entropy": entropy_rule(seen, known.tokens - going * known.times, asked),
        "selector": chosen_by(network, new.inputs),
        "oracle": oracle(new.tokens, new.times),
    }


def _interval(labelled: Labelled, choice: Any, static: Any, seed: int) -> tuple[float, float]:
    """The 95 % bootstrap interval of the gain over the static action; all roots of a prompt are drawn together.

    For few prompts roots are drawn one by one; the interval is then valid for these prompts only.
    """
    if len(np.unique(labelled.prompt)) < FEWEST:
        labelled = replace(labelled, prompt=np.arange(len(choice)))
    count = len(np.unique(labelled.prompt))
    places = np.random.default_rng(seed).integers(count, size=(DRAWINGS, count))

    def rates(taken: Any) -> Any:
        tokens, times = labelled.sums(taken)
        return tokens[places].sum(1) / times[places].sum(1)

    low, high = np.quantile(rates(choice) / rates(static) - 1, (0.025, 0.975))
    return float(low), float(high)
