"""Fitting of the network with the loss of the paper, on a small grid of the hyperparameters that it does not publish.

`n` roots, `A` actions. The seed decides all results.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import torch

from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.experiments.models.selector.rivals import Labelled, best_static, gain_over
from draftproof.simulator.progress import Progress

#: Epochs, roots of a batch, and the number of epochs between two evaluations.
EPOCHS, BATCH, JUDGED = 80, 64, 5
#: Weight decay of AdamW.
DECAY = 0.01


@dataclass(frozen=True)
class Hyperparameters:
    """One point of the grid: weight and share of the penalty (see `loss`), dropout, and the learning rate of AdamW.

    entropy_bonus: weight of the entropy of `pi` in nats, which falls to 0 from the first epoch to the last. Without it
    `pi` can become deterministic within a few steps, and then has no gradient.
    """

    penalty: float
    share: float
    dropout: float
    rate: float
    entropy_bonus: float


#: A point without penalty has the share 1, which has no effect.
GRID = tuple(
    Hyperparameters(penalty, share, dropout, 3e-4, bonus)
    for (penalty, share), dropout, bonus in product(((0.0, 1.0), (1.0, 0.1), (1.0, 0.3)), (0.0, 0.2), (0.02, 0.1))
)


def loss(
    logits: torch.Tensor, tokens: torch.Tensor, times: torch.Tensor, base: torch.Tensor, penalty: float, share: float
) -> torch.Tensor:
    """`mean(-log(TPS_pi / TPS_base))` and a penalty; `TPS_pi = sum pi E / sum pi T` at each root.

    tokens: `E`, shape `(n, A)`. times: `T`, shape `(A,)`. base: the position of the base action, shape `(n,)`.
    penalty, share: lambda and alpha; the penalty is lambda times the mean square over the worst share alpha of the
    roots, of how much they are worse than the base action.
    """
    policy = logits.softmax(1)
    rates = (policy * tokens).sum(1) / (policy * times).sum(1)
    ratio = rates / (tokens.gather(1, base[:, None])[:, 0] / times[base])
    mean = -ratio.log().mean()
    if not penalty:
        return mean
    short = (1 - ratio).clamp(min=0) ** 2
    return mean + penalty * short.topk(ceil(share * len(short))).values.mean()


@dataclass(frozen=True)
class Fitted:
    """A trained network. gain: of tokens per time over the base action on validation roots, averaged over settings."""

    network: SelectorNetwork
    choice: Hyperparameters
    epochs: int
    gain: float

    def fields(self) -> dict[str, Any]:
        return {**asdict(self.choice), "epochs": self.epochs, "gain": self.gain}


def search(
    training: Labelled,
    validating: Labelled,
    widths: tuple[int, int],
    seed: int,
    progress: Progress,
    grid: Sequence[Hyperparameters],
) -> list[Fitted]:
    """Train every point of the grid; the best on the validation roots first. progress: called with 1 after each."""
    base = best_static(training)
    fitted = []
    for choice in grid:
        fitted.append(fit(choice, training, validating, base, widths, seed))
        progress(1)
    return sorted(fitted, key=lambda one: -one.gain)


def fit(
    choice: Hyperparameters,
    training: Labelled,
    validating: Labelled,
    base: Mapping[int, int],
    widths: tuple[int, int],
    seed: int,
) -> Fitted:
    """Train one network; its weights are those of the epoch with the best gain on the validation roots."""

    def now(epoch: int) -> Fitted:
        return Fitted(network, choice, epoch, gain_over(base, validating, network.choices(validating.inputs)))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SelectorNetwork(widths, training.tokens.shape[1], choice.dropout)
        network.standardise(training.inputs)
        best = copy.deepcopy(now(0))
        for epoch in _epochs(network, choice, training, base):
            if epoch % JUDGED == 0 and (fitted := now(epoch)).gain > best.gain:
                best = copy.deepcopy(fitted)
    best.network.eval()
    return best


def _epochs(
    network: SelectorNetwork, choice: Hyperparameters, training: Labelled, base: Mapping[int, int]
) -> Iterator[int]:
    tokens, times = (
        torch.as_tensor(np.asarray(values), dtype=torch.float32) for values in (training.tokens, training.times)
    )
    static = torch.tensor([base[number] for number in training.setting.tolist()])
    optimizer = torch.optim.AdamW(network.parameters(), lr=choice.rate, weight_decay=DECAY)
    for epoch in range(1, EPOCHS + 1):
        network.train()
        for places in torch.split(torch.randperm(len(tokens)), BATCH):
            optimizer.zero_grad()
            logits = network(training.inputs[places])
            mean = loss(logits, tokens[places], times, static[places], choice.penalty, choice.share)
            entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
            torch.autograd.backward(mean - choice.entropy_bonus * (1 - epoch / EPOCHS) * entropy)
            optimizer.step()
        yield epoch
