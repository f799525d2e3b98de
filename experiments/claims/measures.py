"""Measurements for claims: acceptance along a path, delay, gain with depth, acceptance against draft probability.

The text is `topics` with four tokens, a target of order 3 and a draft of order 1, at the most frequent roots.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import sqrt

import numpy as np

from draftproof.experiments.claims.claim import Figures
from draftproof.experiments.claims.statements import verifier
from draftproof.experiments.grid.depths import mean_distances, trees
from draftproof.experiments.inputs.text import TOPICS, read_counted
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.verdicts.lossless import Evaluator, check

#: Families whose draft approximates the target, as with language models.
CLOSE: tuple[tuple[str, dict[str, float]], ...] = (
    ("perturbed", {"s": 0.5}),
    ("perturbed", {"s": 1.0}),
    ("temperature", {}),
)
ROOTS = 8
#: Depth of a path.
LONG = 4
#: Methods that solve a transport at every node.
TRANSPORT = ("nss", "naive_tree", "specinfer", "spectr", "khisti")


@cache
def roots(count: int, size: int = 4) -> list[Case]:
    """The most frequent roots of the text in `size` tokens."""
    pair = TextPair(read_counted(TOPICS), size, 3, 1, 2**16)
    return [
        Case(pair.show(context), *pair.processes(context), weight) for context, weight in pair.frequent_roots(count)
    ]


def acceptance_by_depth(falling: bool, times: int) -> Figures:
    """The share of drafts that token-by-token verification accepts at each depth of one path, exact."""
    chosen = roots(ROOTS * times)
    shares = accepted(chosen)
    shown = shares == sorted(shares, reverse=falling)
    return Figures(shown, f"accepted at depths 1, 2, ..: {listed(shares)}", len(chosen), ("text topics",))


def accepted(cases: Sequence[Case]) -> list[float]:
    """The shares that token-by-token verification accepts at each depth of one path, of those that reach it."""
    reached = [Fraction(0)] * (LONG + 1)
    for case in cases:
        masses = check(verifier("naive"), case.target, case.draft, Delayed(1, 0, LONG)).metrics.depth_distribution
        for depth in range(LONG + 1):
            reached[depth] += case.weight * Fraction(sum(masses[depth:]))
    return [float(later / before) for before, later in pairwise(reached)]


def distance_by_depth(rising: bool, times: int) -> Figures:
    """The mean L1 distance of p and q over contexts drawn from the draft, by depth, exact."""
    chosen = roots(ROOTS * times)
    totals = [float(mean) for mean in mean_distances(chosen, LONG) if mean is not None]
    shown = totals == sorted(totals, reverse=not rising)
    return Figures(shown, f"L1(p, q) at depths 0, 1, ..: {listed(totals)}", len(chosen), ("text topics",))


def delay(improves: bool, times: int) -> Figures:
    """At six drafted tokens the best delayed tree against two branches from the root, for each transport method."""
    delayed, undelayed = (Delayed(2, 2, 2), Delayed(2, 4, 1), Delayed(3, 3, 1)), (Delayed(2, 0, 3), Delayed(3, 0, 2))
    texts, ahead = [], 0
    chosen = roots(ROOTS * times)
    for name in TRANSPORT:
        runs = Evaluator(verifier(name), "float64")
        late, early = (
            max(
                sum(float(r.weight) * float(runs.check(r.target, r.draft, s).block_efficiency) for r in chosen)
                for s in item
            )
            for item in (delayed, undelayed)
        )
        texts.append(f"{name} {late:.4f} against {early:.4f}")
        ahead += (late > early) is improves
    return Figures(ahead == len(TRANSPORT), "; ".join(texts), len(chosen), ("text topics",))


def branch_by_depth(deeper: bool, times: int) -> Figures:
    """For each transport method the depth at which a second branch gains most per added token.

    Trees of depth four, at temperatures 1 and 0.5. deeper: whether the claim is that this is behind a trunk.
    """
    texts, shown = [], True
    fewer, more = trees(2, LONG)
    for temperature in (1.0, 0.5):
        chosen = Samplings(temperature).cases(roots(ROOTS * times), LONG, None)
        best = {}
        for name in TRANSPORT:
            runs = Evaluator(verifier(name), "float64")
            one, *two = (
                sum(float(r.weight) * float(runs.check(r.target, r.draft, scheme).block_efficiency) for r in chosen)
                for scheme in (fewer[0], *more)
            )
            gains = [(value - one) / (scheme.nodes - LONG) for value, scheme in zip(two, more, strict=True)]
            best[name] = 1 + max(range(LONG), key=gains.__getitem__)
        texts.append(f"at temperature {temperature:g} " + ", ".join(f"{name} {at}" for name, at in best.items()))
        shown = shown and all((at > 1) is deeper for at in best.values())
    return Figures(shown, f"best depth: {'; '.join(texts)}", len(chosen), ("text topics",))


def traversal_by_depth(growing: bool, times: int) -> Figures:
    """The gain of traversal over token-by-token verification on the same trees, at depths 1, 2 and 3."""
    gains = []
    for length in (1, 2, 3):
        scheme = Delayed(2, 0, length)
        at_length = [_gain(instance, scheme) for instance in _close(2, length, 4 * times)]
        gains.append(sum(at_length) / len(at_length))
    text = f"mean gain over naive_tree at L = 1, 2, 3: {', '.join(f'{gain:.2%}' for gain in gains)}"
    families = tuple(dict.fromkeys(name for name, _ in CLOSE))
    return Figures(gains == sorted(gains, reverse=not growing), text, 3 * 4 * times * len(CLOSE), families)


def _gain(instance: Instance, scheme: Delayed) -> float:
    ours, theirs = (
        check(verifier(name), instance.target, instance.draft, scheme).block_efficiency
        for name in ("traversal", "naive_tree")
    )
    return float(ours / theirs) - 1


def _close(size: int, depth: int, seeds: int) -> list[Instance]:
    return [
        FAMILIES[name].instance(size, depth, np.random.default_rng((seed, depth)), 20, RATIONAL, **parameters)
        for name, parameters in CLOSE
        for seed in range(seeds)
    ]


def draft_confidence(sign: int, times: int) -> Figures:
    """The correlation, over drafted tokens, of draft probability `q(x)` and acceptance `min(1, p(x)/q(x))`."""
    kinds = [("text topics", _text_rows(ROOTS * times))]
    kinds += [
        (f"{name} {parameters or ''}".strip(), _family_rows(name, parameters, 50 * times)) for name, parameters in CLOSE
    ]
    kinds.append(("dirichlet", _family_rows("dirichlet", {}, 50 * times)))
    correlations = {name: _correlation(rows) for name, rows in kinds}
    text = ", ".join(f"{name} {value:+.2f}" for name, value in correlations.items())
    shown = all(sign * value > 0 for name, value in correlations.items() if name != "dirichlet")
    return Figures(
        shown, f"correlation: {text} (dirichlet: p and q unrelated)", sum(len(r) for _, r in kinds), tuple(correlations)
    )


def _text_rows(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    cases = [root.converted(FLOAT64, 1) for root in roots(count)]
    return [(case.target.row(()), case.draft.row(())) for case in cases]


def _family_rows(name: str, parameters: dict[str, float], count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    p, q = FAMILIES[name].draw(np.random.default_rng(1), count, 8, **{**FAMILIES[name].parameters, **parameters})
    return list(zip(p, q, strict=True))


def _correlation(rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """The correlation of `q(x)` and `min(1, p(x)/q(x))`, weighted by `q`."""
    q = np.concatenate([row for _, row in rows])
    accepted = np.concatenate([np.minimum(1, p / np.maximum(row, 1e-300)) for p, row in rows])
    weights = q / q.sum()
    one, other = q - (weights * q).sum(), accepted - (weights * accepted).sum()
    return float((weights * one * other).sum() / sqrt((weights * one**2).sum() * (weights * other**2).sum()))


def listed(values: Sequence[float]) -> str:
    """The values with four digits."""
    return ", ".join(f"{value:.4f}" for value in values)
