"""A losslessness monitor that runs while text is written: it bets against the target, token by token, for ever.

If a loop is lossless, what follows a token has the target's law `p`, whatever came before and whether or not the block
went on: a block that makes `x` its whole and goes on with the target's law gives `p(x) g(x)` of all texts that begin
with `x`; as such parts add up to `p` for every text, `g` is a stopping time that looks at nothing to come, and tokens
of a block that has not ended yet have the target's law like all others.

A gambler has several laws to bet with: `p + a (q - p)`, cut off at 0, for several `a` of either sign, and `p` to
several powers; with each his wealth is multiplied by that law over `p` at the token that came. He bets where the
draft's row `q` is at hand whatever was drafted: which rows a tree needs may tell of its tokens. His money enters
slowly, so that what goes wrong late is found nearly as soon as what goes wrong from the start. Without a fault his
wealth is a martingale that begins with 1: it ever reaches `1 / level` with probability at most `level`, however often
one looks (Ville's inequality). Memory does not grow with the length of texts.

All texts need random numbers of their own: with the same ones a text comes again and wins again, without any fault. So
the first two numbers of every text are remembered, and texts that begin with the same two are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, DraftScheme

if TYPE_CHECKING:
    from draftproof.experiments.models.loop.generation import Piece
    from draftproof.experiments.models.loop.loop import Loop

#: How far he thinks that the rows lean to the draft.
LEANINGS = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4)
#: Powers of `p`: flatter and sharper rows.
POWERS = (0.8, 0.9, 1.1, 1.25)
#: Stands for infinite wealth, of which nobody could be ruined any more.
_NEVER = 1e9


@dataclass
class Monitor:
    """Bets against the target on all texts that it is told of.

    level: the probability of a false alarm, ever. tokens: how many were bet on. largest: the logarithm of the most that
    the gambler ever had. Raises `InvalidInput` for a level outside (0, 1).
    """

    level: float = 1e-3
    tokens: int = 0
    largest: float = 0.0
    _begun: set[bytes] = field(default_factory=set, repr=False)
    _logs: Any = field(default_factory=lambda: np.full(len(LEANINGS) + len(POWERS), -np.inf), repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InvalidInput(f"level {self.level} must lie between 0 and 1: it is the probability of a false alarm")

    @property
    def log_wealth(self) -> float:
        """The logarithm of what he has now."""
        return float(np.logaddexp.reduce([log(_reserve(self.tokens)), *self._logs]))

    @property
    def refuted(self) -> bool:
        """Whether he ever had `1 / level`: texts that have the target's law bring that with probability `level`."""
        return self.largest >= -log(self.level)

    def bet(self, p: Any, q: Any, token: int) -> None:
        """One token more, with the rows before it, shape `(V,)`: money enters, and all in play is won or lost."""
        entering = _reserve(self.tokens) - _reserve(self.tokens + 1)
        self.tokens += 1
        self._logs = np.logaddexp(self._logs, log(entering / len(self._logs))) + worth(p, q, token)
        self.largest = max(self.largest, self.log_wealth)

    def watching(self, loop: Loop, coins: Iterable[Coin]) -> Callable[[Piece], None]:
        """What is to be told of the pieces that a loop makes with these coins, which have drawn nothing for them yet.

        Raises `InvalidInput` for a loop that does not keep its rows, and for random numbers that came before. It raises
        `InvalidInput` itself for a block that began without a row of the draft.
        """
        from draftproof.experiments.models.loop.vectors import numbers_ahead

        if not loop.keep_rows:
            raise InvalidInput("the monitor reads the rows of the loop: Loop(.., keep_rows=True)")
        depth, begun = sure_rows(loop.scheme), set[bytes]()
        for place, coin in enumerate(coins):
            ahead = numbers_ahead(coin)
            if ahead in self._begun or ahead in begun:
                raise InvalidInput(
                    f"text {place}: its random numbers came before and are no new evidence; give a seed that was not "
                    "used, or None and call torch.manual_seed once"
                )
            begun.add(ahead)

        def told(piece: Piece) -> None:
            self._begun |= begun
            for token, (p, q) in list(zip(piece.tokens, piece.block.rows, strict=False))[:depth]:
                self.bet(p, q, token)

        return told

    def __str__(self) -> str:
        said = "NOT lossless" if self.refuted else "no sign of a loss"
        most = self.largest / log(10)
        return f"{said}: wealth 10^{most:.2f} at most in {self.tokens} tokens, alarm at {1 / self.level:g}"


def tokens_needed(growth: float, level: float = 1e-3) -> float:
    """About how many tokens an alarm takes, from the first one on, where one of the laws wins `growth` a token.

    growth: the mean of the logarithm of what it is worth at a token of the faulty texts, above 0. The gambler also pays
    for having several laws, and for money that has not entered yet (a factor of e^2, by experience).
    """
    return (-log(level) + log(len(LEANINGS) + len(POWERS)) + 2) / growth


def sure_rows(scheme: DraftScheme) -> int:
    """How many tokens of a block have a row of the draft, whatever is drafted and whatever becomes of it."""
    return scheme.depth if type(scheme) is Delayed else min(scheme.depth, 1)


def worth(p: Any, q: Any, token: int) -> Any:
    """The logarithm of each law over `p` at this token; `_NEVER` where the target never gives it."""
    if q is None:
        raise InvalidInput("the draft's row is missing where a block begins; the monitor takes schemes that ask for it")
    p, q = _numbers(p), _numbers(q)
    if p[token] <= 0:
        return np.full(len(LEANINGS) + len(POWERS), _NEVER)
    laws = [np.maximum(p + leaning * (q - p), 0) for leaning in LEANINGS] + [p**power for power in POWERS]
    with np.errstate(divide="ignore"):  # a law without this token is ruined
        return np.log([law[token] / law.sum() for law in laws]) - np.log(p[token] / p.sum())


def _numbers(row: Any) -> Any:
    """A row as numpy has it, wherever it is."""
    return np.asarray(row.cpu() if hasattr(row, "cpu") else row, np.float64)


def _reserve(tokens: int) -> float:
    """What has not entered after so many tokens: a fault that begins late costs the logarithm of its time."""
    return 1 / (1 + log(1 + tokens))
