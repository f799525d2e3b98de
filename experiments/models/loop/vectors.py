"""Turns logits into the rows of drafting and verifiers (float64, sampling applied), and makes their coins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from draftproof.experiments.models.loop.choosing import TokenOutput
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.instances.masks import Masks, dead_end
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context, Vector
from draftproof.simulator.sampling_coin import SamplingCoin

VECTORS = ("numpy", "torch")


def check_vectors(kind: str) -> None:
    """Raises `InvalidInput` for a kind of vectors that does not exist."""
    if kind not in VECTORS:
        raise InvalidInput(f"unknown vectors {kind!r}; choose {' or '.join(VECTORS)}")


@dataclass(frozen=True)
class TreeRows:
    """The rows of one draft tree, a `TokenProcess` defined at its nodes."""

    vocab_size: int
    known: dict[Context, Vector] = field(default_factory=dict)

    def row(self, context: Context) -> Vector:
        return self.known[context]


@dataclass(frozen=True)
class TextSoFar:
    """A text with its prompt, between two blocks.

    masks: of each model that has some, by role, as they stand behind it. unread: how many of its last tokens the draft
    has not read yet. features: the target's before these tokens, shape `(unread, H)`, where the draft is a head.
    outputs: what target and draft computed at the token before the last, where schemes are chosen.
    """

    tokens: Context
    masks: Mapping[str, Masks] = field(default_factory=dict)
    unread: int = 1
    features: torch.Tensor | None = None
    outputs: tuple[TokenOutput | None, ...] = (None, None)

    @property
    def waiting(self) -> Context:
        """The tokens that the draft has not read yet."""
        return self.tokens[len(self.tokens) - self.unread :]

    def after(self, tokens: Context, unread: int = 1) -> TextSoFar:
        masks = {role: masks.after(tokens) for role, masks in self.masks.items()}
        return TextSoFar(self.tokens + tokens, masks, unread)


@dataclass(frozen=True)
class RowsOf:
    """How logits become rows.

    sampling: temperature and the rest, of one model. vocab_size: logits beyond it are cut off.
    kind: "numpy" (on the host) or "torch" (where the models are). role: of the model.
    """

    sampling: Sampling
    vocab_size: int
    kind: str = "numpy"
    role: str = "target"

    def rows(
        self, logits: torch.Tensor, contexts: Sequence[Sequence[Context]] = (), texts: Sequence[TextSoFar] = ()
    ) -> torch.Tensor:
        """The rows of logits of shape `(B, n, V)` or wider, in float64, where the models are.

        contexts: for each sequence those that the logits come after, at most `n`; texts: those before its tree. They
        matter for a penalty and for masks. Raises `InvalidInput` where masks leave nothing after a context that is
        drawn.
        """
        logits = logits[..., : self.vocab_size]
        if not self.sampling.depends_on_text:
            rows: torch.Tensor = self.sampling.of_logits(logits)
            return rows
        before, allowed = None, None
        if self.sampling.repetition_penalty is not None:
            whole = [[text.tokens + context for context in nodes] for text, nodes in zip(texts, contexts, strict=True)]
            longest = max(len(tokens) for of_tree in whole for tokens in of_tree)
            before = torch.zeros(*logits.shape[:2], longest, dtype=torch.long)
            for sequence, of_tree in enumerate(whole):
                for place, tokens in enumerate(of_tree):  # to one length, with a token that is in the text anyway
                    before[sequence, place] = torch.tensor(tokens + tokens[:1] * (longest - len(tokens)))
            before = before.to(logits.device)
        if self.sampling.masked:
            allowed = self._allowed(logits, contexts, texts)
        closed = None if allowed is None else ~allowed.any(-1)
        rows = self.sampling.of_logits(
            logits, texts=before, allowed=None if allowed is None or closed is None else allowed | closed[..., None]
        )
        for sequence, place in [] if closed is None else closed.nonzero().tolist():
            places = {context: at for at, context in enumerate(contexts[sequence])}
            context = contexts[sequence][place]
            steps = [(places.get(context[:at]), token) for at, token in enumerate(context)]
            if all(at is None or rows[sequence, at, token] > 0 for at, token in steps):
                raise dead_end(context, texts[sequence].masks[self.role].names)
        return rows

    def _allowed(
        self, logits: torch.Tensor, contexts: Sequence[Sequence[Context]], texts: Sequence[TextSoFar]
    ) -> torch.Tensor:
        allowed = torch.ones(logits.shape, dtype=torch.bool)
        for sequence, (nodes, text) in enumerate(zip(contexts, texts, strict=True)):
            for place, context in enumerate(nodes):
                following = text.masks[self.role].allowed(context)
                if following is not None:
                    allowed[sequence, place] = torch.tensor(following)
        return allowed.to(logits.device) & (logits > -float("inf"))

    def vectors(self, rows: torch.Tensor) -> Any:
        """The same rows as the vectors that coins and verifiers take."""
        if self.kind != "numpy":
            return rows
        vectors = rows.cpu().numpy()
        vectors.setflags(write=False)  # rows are shared
        return vectors


def coin_for(vectors: str, seed: int, device: torch.device | str = "cpu") -> Coin:
    """The sampling coin that goes with these vectors ("numpy", or "torch" on a device)."""
    check_vectors(vectors)
    if vectors == "numpy":
        return SamplingCoin(np.random.default_rng(seed))
    return TorchCoin(torch.Generator(device).manual_seed(seed))


def text_seed(seed: int, number: int) -> int:
    """The seed of a text of the measurement with this seed."""
    return seed * 1_000_003 + number


def part_seed(seed: int, part: int) -> int:
    """The seed of a part of a measurement; part: below 1,000. Different seeds or parts give different results."""
    return seed * 1_000 + part


def coin_of_each(coin: Coin | Sequence[Coin], texts: int) -> Sequence[Coin]:
    """A coin for each text: separate ones as given, or one shared coin, which makes texts depend on each other.

    Raises `InvalidInput` for another number of coins.
    """
    if not isinstance(coin, Sequence):
        return [coin] * texts
    if len(coin) != texts:
        raise InvalidInput(f"{len(coin)} coins for {texts} texts; give each text one, or one to all of them")
    return coin


class TorchCoin:
    """See `draftproof.simulator.protocol.Coin`; from a torch generator that the caller seeds."""

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator

    def flip(self, probability: Any) -> bool:
        heads = float(probability)
        if not -1e-9 <= heads <= 1 + 1e-9:  # a margin for rounding
            raise InvalidVerifier(f"the coin was asked for probability {probability}; it must lie in [0, 1]")
        return float(self._uniform()) < heads

    def choose(self, weights: Any) -> int:
        if isinstance(weights, list):  # a few numbers, which the host adds up more quickly
            sums = list(accumulate(map(float, weights)))
            self._check(sums[-1], weights)
            return bisect_right(sums, float(self._uniform()) * sums[-1])
        given = torch.as_tensor(weights, dtype=torch.float64, device=self._generator.device)
        cumulative = given.cumsum(0)
        chosen = torch.searchsorted(cumulative, self._uniform() * cumulative[-1:], right=True)
        index, total = torch.cat([chosen.double(), cumulative[-1:]]).tolist()
        self._check(total, weights)
        return int(index)

    def _check(self, total: float, weights: Any) -> None:
        if not 0 < total < float("inf"):
            raise InvalidVerifier(f"the coin was asked to choose with weights {weights}; they must be >= 0, not all 0")

    def _uniform(self) -> torch.Tensor:
        return torch.rand((), dtype=torch.float64, generator=self._generator, device=self._generator.device)
