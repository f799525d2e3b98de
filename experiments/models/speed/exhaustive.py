"""Every candidate measured, none left out, and whether the answer of `choose` is as good as the best of them.

A sweep writes one text of every candidate, and of plain generation, from one root: what else the machine does slows all
of a sweep alike. A round is a sweep from every root. The best of many measurements is flattered by chance, so it is
named by one half of the rounds and compared on the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, stdev
from typing import Any

from experiments.models.loop.coins import part_seed, text_seed
from experiments.models.speed.choice import Chosen
from experiments.models.speed.choosing import Candidate
from experiments.models.speed.paired import pooled_ratio
from experiments.models.speed.race import Runner, Turn, turns
from experiments.models.validation.contest import Setting
from experiments.shared.names import Player
from experiments.shared.progress import bar
from experiments.shared.rows import RowFile
from experiments.shared.sharing import share

#: The part of the seed that the first sweeps have: after those of `choose`.
FIRST_SWEEP = 100


def sweeps(
    setting: Setting,
    players: Sequence[Player],
    tokens: int,
    rounds: int,
    kept: RowFile,
    clock: str = "wall",
) -> list[list[list[Turn]]]:
    """All turns by round, root and runner, plain generation first; sweeps that are kept already are not made again."""
    keys = [[_key(setting, players, tokens, round_, root, clock) for root in setting.roots] for round_ in range(rounds)]
    work = {
        key: partial(_sweep, key, replace(setting, roots=(root,)), players, tokens, round_, number)
        for round_, row in enumerate(keys)
        for number, (key, root) in enumerate(zip(row, setting.roots, strict=True))
    }
    with bar("sweeps", len(work)) as tick:
        share(work, kept, tick)
    return [[[Turn(*each) for each in kept.rows[key]["turns"]] for key in row] for row in keys]


def _key(setting: Setting, players: Sequence[Player], tokens: int, round_: int, root: Sequence[int], clock: str) -> str:
    timed = {} if clock == "wall" else {"clock": clock}
    who = [[named.identity, scheme.as_dict()] for named, scheme in players]
    return setting.key(kind="sweep", players=who, tokens=tokens, round=round_, root=list(root), **timed)


def _sweep(
    key: str, setting: Setting, players: Sequence[Player], tokens: int, round_: int, number: int
) -> dict[str, Any]:
    started = time.perf_counter()
    runners: list[Runner] = [None, *players]
    if round_ == 0:
        turns(setting, runners, 1, 0)  # warm
    texts = turns(setting, runners, tokens, text_seed(part_seed(setting.seed, FIRST_SWEEP + round_), number))
    made = map(Turn.joined, texts)
    fields = [[each.tokens, each.blocks, each.seconds, each.passing, each.verifying] for each in made]
    return {"strong_id": key, "turns": fields, "seconds": round(time.perf_counter() - started, 3)}


@dataclass(frozen=True)
class Rates:
    """Tokens a second by runner, plain generation first. made: turns by round, root and runner."""

    made: Sequence[Sequence[Sequence[Turn]]]

    @property
    def runners(self) -> int:
        """How many there are."""
        return len(self.made[0][0])

    def rate(self, number: int, rounds: slice = slice(None)) -> float:
        """All texts of these rounds together."""
        parts = self._of(number, rounds)
        return sum(tokens for tokens, _ in parts) / sum(seconds for _, seconds in parts)

    def best(self, rounds: slice) -> int:
        """The fastest runner of these rounds, plain generation apart."""
        return max(range(1, self.runners), key=lambda number: self.rate(number, rounds))

    def ratio(self, number: int, to: int, rounds: slice) -> tuple[float, float, float]:
        """How many times the tokens a second of another, with the 95 % interval; texts of a sweep are pairs."""
        return pooled_ratio(self._of(number, rounds), self._of(to, rounds))

    def _of(self, number: int, rounds: slice) -> list[tuple[float, float]]:
        return [(sweep[number].tokens, sweep[number].seconds) for round_ in self.made[rounds] for sweep in round_]


def verdict(players: Sequence[Player], rates: Rates, chosen: Chosen) -> dict[str, Any]:
    """What was recommended beside the best: `agrees` where the interval of their ratio holds 1 or lies above."""
    first = chosen.worth[chosen.race.order[0]]
    own = _place(players, first)
    naming, comparing = slice(0, None, 2), slice(1, None, 2)
    best = rates.best(naming)
    mean, low, high = rates.ratio(own, best, comparing)
    ranked = sorted(range(1, len(players) + 1), key=lambda number: -rates.rate(number))
    return {
        "recommended": str(first),
        "recommended_tokens_per_second": rates.rate(own),
        "rank": ranked.index(own) + 1,
        "candidates": len(players),
        "measured_by_choose": len(chosen.worth),
        "best": _name(players[best - 1]),
        "best_tokens_per_second": rates.rate(best),
        "plain_tokens_per_second": rates.rate(0),
        "ratio": [mean, low, high],
        "agrees": high >= 1,
        "predicted": predicted_fields(players, rates, chosen),
        "table": [{"candidate": _name(players[each - 1]), "tokens_per_second": rates.rate(each)} for each in ranked],
    }


def predicted_fields(players: Sequence[Player], rates: Rates, chosen: Chosen) -> dict[str, Any]:
    """Predicted over measured tokens a second, both as shares of plain generation: the speed of the machine cancels.

    mean, deviation: over all candidates with a prediction; within_a_tenth: how many are.
    """
    known = [each for each in [*chosen.worth, *chosen.left_out] if each.expected is not None]
    level = chosen.plain / rates.rate(0)
    shares = [each.predicted / rates.rate(_place(players, each)) / level for each in known]
    return {
        "candidates": len(known),
        "mean": fmean(shares),
        "deviation": stdev(shares) if len(shares) > 1 else 0.0,
        "within_a_tenth": sum(abs(share - 1) <= 0.1 for share in shares),
    }


def _place(players: Sequence[Player], candidate: Candidate) -> int:
    return 1 + list(players).index(candidate.player)


def _name(player: Player) -> str:
    return f"{player[0].label} on {player[1]}"
