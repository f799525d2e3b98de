"""Declared lossy: layer transport that spends a bias of at most `eps` a block, as early in the tree as it can.

New here: `budgeted` on the sweep of `layer_transport`. The bias is the total variation of the first `L + 1` tokens of
a block from the target. Every node has its score `a`, the probability that it is accepted or a node below it, and
`u`, its part of the mass that the target still owes; `b` is what is left of `eps`. At the root `a = u = 1` and
`b = eps`. For a layer whose node `c` has `k_c` of the `k` branches, `v_c = (a_c - u_c)+`, `t(c, y) = u_c p(y|c)`:
1. Let `t0 = min(t, x p)` with the least `x` for which `sum min(k_c q, x p) >= a_c`, and `s = q k_c / k`, the law of a
   branch taken at random. Aim at `t' = t0 + g_c d`, with `d` in proportion to `(s - t0)+` and of sum 1, and
   `g_c = v_c + z_c`; `z_c` is at most `(a_c - v_c - sum min(s, t0))+`, and all are reduced in proportion where they
   add up to more than `b`. `t'` never exceeds the larger of `s` and `t0`.
2. `layer_transport` with `t'` for the target's masses gives the drafted pairs scores whose means are
   `m(c, y) <= t'(c, y)`. Where they add up to more than `a_c`, what exceeds `t` is cut in proportion, and if that is
   not enough `m` is cut to `min(m, x p)` with the largest `x` that fits.
3. The corrections are `e = (t - h m)+` with the `h >= 1` for which `sum e = a_c - sum m`. If `h = 1` is not enough,
   what is missing is added in proportion to `p`.
4. `b` pays `sum (m + e - t)+ - v_c` at each node, and a drafted pair with score `a` has `u = a (t - e)+ / m`.

With one branch this is `budgeted`, and with `eps = 0` it is `layer_transport`, which needs trees whose branches are
independent; so does the bound on the bias.

*The bias is at most `eps`.* On average over drafts the output comes to a node with `E[a - u]` more mass than the
target's: `a` is accepted there, and `u` is what corrections above have left to do, or more, where `e > t`. What
`e - t` has in excess ends there and is paid for at once. So the bias is at most the mean of all that is paid and of
`sum (a - u)+` at the leaves. Given the layer, the children of `c` have `E[sum (a - u)+] <= sum (m + e - t)+`, as every
score is divided in the ratio of `m` and `t - e`; this is `v_c` and what is paid. From the root down it adds up to the
mean of what was paid in all layers. And no more than `b` is ever paid: if `sum (m - t)+ >= v_c`, then `e <= (t - m)+`,
so `sum (m + e - t)+ = sum (m - t)+ <= g_c`. Otherwise `m + e >= t` everywhere, so it is `a_c - u_c = v_c`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Vector, Verdict
from draftproof.simulator.residual import positive_part
from draftproof.simulator.vectors import minimum
from draftproof.verifiers._classes import WHOLE, groups_of, mean_drafts
from draftproof.verifiers._layers import Scored, Step, sweep
from draftproof.verifiers.layer_transport import LayerTransport
from draftproof.verifiers.lossy.budgeted import level, share


class _Owed:
    """A node with what the target owes to it. target: its row, until `settle` puts the law of what follows there."""

    def __init__(self, node: DraftNode, owed: Any) -> None:
        self._node, self.owed = node, owed
        self.context, self.children, self.laws = node.context, node.children, node.laws
        self.draft: Vector = node.draft
        self.target: Vector = node.target
        self._below: dict[int, Any] = {}

    def settle(self, target: Vector, below: dict[int, Any]) -> None:
        """The law of the next token, accepted or corrected, and what is owed to the drafted children."""
        self.target, self._below = target, below

    def child(self, token: int) -> _Owed:
        """See `DraftNode.child`."""
        return _Owed(self._node.child(token), self._below[token])


@dataclass
class _Spending:
    """The rule of a block. left: `b`."""

    left: Any

    def step(self, layer: Sequence[Scored]) -> Step:
        """Steps 1 to 4 for one layer."""
        forks = [scored for scored in layer if scored.node.children]
        nodes = [cast(_Owed, fork.node) for fork in forks]
        owed = [node.owed * node.target for node in nodes]
        over = [_above(fork.score - node.owed) for fork, node in zip(forks, nodes, strict=True)]
        drafts = [mean_drafts(groups_of(fork.node)) for fork in forks]
        branches = sum(len(fork.node.children) for fork in forks)
        posed, rooms, free = [], [], []
        for fork, t, mean, own in zip(forks, owed, drafts, over, strict=True):
            p = fork.node.target
            posed.append(minimum(t, p * share(p, mean, fork.score)))
            rooms.append(positive_part(mean / branches - posed[-1]))
            free.append(_above(fork.score - minimum(mean / branches, posed[-1]).sum() - own))
        total = sum(free)
        part = self.left / total if total > self.left else 1
        gains = [own + most * part for own, most in zip(over, free, strict=True)]
        chosen = _race_step(forks, [_raised(*aim) for aim in zip(posed, rooms, gains, strict=True)])
        scores, means = dict(chosen.scores), dict(chosen.means)
        for fork, node, t, own, gain in zip(forks, nodes, owed, over, gains, strict=True):
            chosen_mean = means[node.context](WHOLE)
            mean = _fitting(chosen_mean, t, node.target, fork.score, gain)
            correction = _corrections(t, mean, node.target, fork.score - mean.sum())
            self.left = _above(self.left - _above(positive_part(mean + correction - t).sum() - own))
            rest, below = positive_part(t - correction), {}
            for token in dict.fromkeys(node.children):
                context = (*node.context, token)
                if context in scores and mean[token] > 0:
                    scores[context] = scores[context] * (mean[token] / chosen_mean[token])
                    below[token] = scores[context] * (rest[token] / mean[token])
                else:
                    scores.pop(context, None)
            node.settle((mean + correction) / fork.score, below)
            means[node.context] = mean.__getitem__
        return Step(scores, means)


def _race_step(forks: Sequence[Scored], wanted: Sequence[Vector]) -> Step:
    """`layer_transport` with these masses, each of shape `(V,)`, for those of the target."""
    shown = []
    for fork, mass in zip(forks, wanted, strict=True):
        node = _Owed(fork.node, fork.score)
        node.target = mass / fork.score
        shown.append(Scored(node, fork.score))
    return LayerTransport().step(shown)


def _raised(mass: Vector, room: Vector, gain: Any) -> Vector:
    """Step 1: `t'` of a node."""
    width = room.sum()
    return mass + room * ((gain if gain < width else width) / width) if width > 0 else mass


def _above(x: Any) -> Any:
    return x if x > 0 else x * 0


def _fitting(chosen_mean: Vector, owed: Vector, p: Vector, score: Any, gain: Any) -> Vector:
    """Step 2: the means, cut to a sum of at most the score."""
    base = minimum(chosen_mean, owed)
    least, total = base.sum(), chosen_mean.sum()
    if least > score:
        return minimum(base, p * share(p, base, score))
    most = gain if gain < score - least else score - least
    return base + (chosen_mean - base) * (most / (total - least)) if total - least > most else chosen_mean


def _corrections(owed: Vector, mean: Vector, p: Vector, ended: Any) -> Vector:
    """Step 3."""
    if not ended > 0:
        return owed * 0
    corrections = positive_part(owed - mean * level(owed, mean, ended))
    total = corrections.sum()
    return corrections + p * (ended - total) if total < ended else corrections * (ended / total)


@dataclass(frozen=True)
class BudgetedTree:
    """See the module. eps: the largest total variation of a block, in [0, 1]; anything else raises `InvalidInput`."""

    eps: Fraction = Fraction(1, 50)

    card: ClassVar[Card] = Card(
        name="budgeted_tree",
        title="Layer transport with a budget of bias",
        source=None,
        needs=None,
        departs="The bound needs independent branches, and rounding in floats may add to the bias.",
        parameters={"eps": "largest total variation of a block; 0 is lossless"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 <= self.eps <= 1:
            raise InvalidInput(f"budgeted_tree: eps = {self.eps} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        one = root.target[0] * 0 + 1
        spending = _Spending(one * self.eps.numerator / self.eps.denominator)
        return sweep(_Owed(root, one), coin, spending.step)
