"""Figures of abstracts: gains in block efficiency, and what block efficiency and times a speed-up needs.

The text is `topics`, a target of order 3 and a draft of order 1, at the most frequent roots. Values on large trees are
means over sampled draft trees, exact on each tree; `+-` is their standard error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from draftproof.experiments.claims.claim import Figures
from draftproof.experiments.claims.measures import ROOTS, roots
from draftproof.experiments.claims.rules import GAP
from draftproof.experiments.claims.statements import check_spec, verifier
from draftproof.experiments.inputs.latency import time_model
from draftproof.lp_analysis import optimum
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import Delayed, DySpec, Topology
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.laws.estimator import TreeEfficiency
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Evaluator, check

#: Temperatures of both models that stand for the papers' range.
TEMPERATURES = (0.2, 0.6, 1.0)
#: Rows of the search for large gains are multiples of one in so many.
STEPS = 20
#: Tokens of the text.
VOCABULARY = 8
TEXT = (f"text topics, V = {VOCABULARY}",)


def at_most_times(factor: Fraction, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether no lossless verifier accepts more than `K + factor` times what block verification accepts."""
    assert isinstance(scheme, Delayed)
    upper = optimum(instance.target, instance.draft, scheme).upper - 1
    one = check_spec("block", instance, scheme).block_efficiency - 1
    times = scheme.K + factor
    return None if upper <= times * one + GAP else f"up to {upper} accepted, {times} times {one} is {times * one}"


@dataclass
class _Climb:
    """A search for an instance of two tokens on which `gbv` brings most in terms of `block`.

    target, draft: for each context, level by level, the probability of token 0 in multiples of 1/20.
    """

    scheme: Delayed
    target: list[list[int]]
    draft: list[list[int]]

    @classmethod
    def start(cls, scheme: Delayed, target: int, draft: int) -> "_Climb":
        """Target rows below the root, and draft rows, are alike; the target always begins with token 0."""
        p, q = ([[row] * 2**depth for depth in range(scheme.depth)] for row in (target, draft))
        p[0], q[0] = [STEPS], [2 * STEPS // 5]
        return cls(scheme, [*p, [STEPS] * 2**scheme.depth], q)

    def ratio(self) -> Fraction:
        target, draft = (
            TableProcess([[[Fraction(a, STEPS), 1 - Fraction(a, STEPS)] for a in row] for row in rows], name)
            for rows, name in ((self.target, "target"), (self.draft, "draft"))
        )
        ours, block = (check(verifier(name), target, draft, self.scheme).block_efficiency for name in ("gbv", "block"))
        return Fraction(ours) / Fraction(block)

    def climbed(self) -> Fraction:
        """The ratio where no change of one row by 1/20, 1/10 or 1/5 raises it."""
        best, before = self.ratio(), Fraction(0)
        while best > before:
            before = best
            for row in (*self.target[:-1], *self.draft):
                for place, change in product(range(len(row)), (1, -1, 2, -2, 4, -4)):
                    kept = row[place]
                    row[place] = min(max(kept + change, 0), STEPS)
                    new = self.ratio() if row[place] != kept else best
                    best, row[place] = (new, row[place]) if new > best else (best, kept)
        return best


@cache
def _largest(paths: int, length: int) -> Fraction:
    starts = product((STEPS, STEPS // 2), (STEPS, 3 * STEPS // 5))
    return max(_Climb.start(Delayed(paths, 0, length), *rows).climbed() for rows in starts)


def greedy_gain(shapes: Sequence[tuple[int, int]], least: Fraction, times: int) -> Figures:
    """The largest gain of `gbv` over `block` that a search finds, by shape (K, L), with its bound; usual gains."""
    found = {shape: _largest(*shape) for shape in shapes}
    largest = [
        f"K = {K}, L = {L} {float(ratio) - 1:+.1%} (never above {float(Fraction(K * (L + 1), K + L)) - 1:+.1%})"
        for (K, L), ratio in found.items()
    ]
    usual = [_family_gains(name, s, times) for name, s in (("perturbed", 1), ("perturbed", 2), ("dirichlet", None))]
    on_text = [
        f"K = {K} "
        + ", ".join(
            f"{_on_text('gbv', Delayed(K, 0, 3), T, times) / _on_text('block', Delayed(1, 0, 3), T, times) - 1:+.1%}"
            for T in TEMPERATURES
        )
        for K in (2, 4)
    ]
    text = (
        f"largest found: {', '.join(largest)}; at K = L = 3, mean (least to most): {', '.join(usual)}; on text at "
        f"L = 3 and T = {_numbers(TEMPERATURES)}: {'; '.join(on_text)}"
    )
    families = ("two tokens", "perturbed", "dirichlet", "text topics, V = 8")
    return Figures(max(found.values()) > 1 + least, text, len(shapes) + (60 + ROOTS) * times, families)


def _family_gains(name: str, s: int | None, times: int) -> str:
    runs = [Evaluator(verifier(one), "float64") for one in ("gbv", "block")]
    gains = []
    for seed in range(20 * times):
        given = {} if s is None else {"s": float(s)}
        instance = FAMILIES[name].instance(4, 3, np.random.default_rng((seed, 3)), 20, FLOAT64, **given)
        ours, block = (
            float(run.check(instance.target, instance.draft, Delayed(3, 0, 3)).block_efficiency) for run in runs
        )
        gains.append(ours / block - 1)
    shown = name if s is None else f"{name} s = {s}"
    return f"{shown} {sum(gains) / len(gains):+.1%} ({min(gains):+.1%} to {max(gains):+.1%})"


@cache
def _on_text(name: str, scheme: DraftScheme, temperature: float, times: int) -> float:
    runs = Evaluator(verifier(name), "float64")
    cases = _sampled(ROOTS * times, temperature, scheme.depth)
    total = sum(float(case.weight) for case in cases)
    values = (
        float(case.weight) * float(runs.check(case.target, case.draft, scheme).block_efficiency) for case in cases
    )
    return sum(values) / total


@cache
def _sampled(count: int, temperature: float, depth: int) -> list[Case]:
    return Samplings(temperature).cases(roots(count, VOCABULARY), depth, None)


#: A draft pass in terms of a target pass; a branch more takes a tenth of it, a drafted token 0.01 of the target pass.
DRAFTS = ("0.02", "0.1", "0.3")


def greedy_times(rivals: Sequence[str], least: float, temperatures: Sequence[float], times: int) -> Figures:
    """The most tokens per time of `gbv` on 2 to 4 branches against the most of rivals; `block` has one path.

    least: the gain that is claimed.
    """
    paths = [Delayed(1, 0, length) for length in (1, 2, 3)]
    trees = [Delayed(K, L1, L2) for K in (2, 3, 4) for L1 in range(3) for L2 in range(1, 4 - L1)]
    gains: dict[str, list[float]] = {}
    for draft, T in product(DRAFTS, temperatures):
        model = time_model(f"draft={draft},branch={float(draft) / 10:g},target=1,node=0.01")
        ours, theirs = (
            max(
                _on_text(name, scheme, T, times) / model.time(scheme.as_dict())
                for name in names
                for scheme in (paths if name == "block" else trees)
            )
            for names in (("gbv",), rivals)
        )
        gains.setdefault(draft, []).append(ours / theirs - 1)
    shown = [f"{draft} {', '.join(f'{gain:+.1%}' for gain in row)}" for draft, row in gains.items()]
    text = f"tokens per time at T = {_numbers(temperatures)}, with draft passes of {'; '.join(shown)} target passes"
    return Figures(max(map(max, gains.values())) >= least, text, ROOTS * times, TEXT)


#: Sampled trees of each root.
DRAWN = 24


def dyspec_speed_up(
    claimed: Sequence[float], temperatures: Sequence[float], sizes: Sequence[int], times: int
) -> Figures:
    """The block efficiency of DySpec's trees; the share of a target pass that a draft pass may take for a speed-up.

    Algorithm 1 drafts token after token: `N` passes for `N` tokens, so a speed-up `s` needs `E / (1 + N t) >= s`.
    """
    texts, possible = [], []
    for T in temperatures:
        means = {
            size: next(_means(("rejection_without_replacement",), DySpec(size), T, DRAWN * times)) for size in sizes
        }
        rooms = {speed: max((mean / speed - 1) / size for size, (mean, _) in means.items()) for speed in claimed}
        possible.append(min(rooms.values()) >= 0)
        efficiencies = ", ".join(f"N = {size} {mean:.2f} +- {error:.2f}" for size, (mean, error) in means.items())
        needed = (
            f"{speed:g} needs draft passes of at most {room:.4f} target passes"
            if room >= 0
            else f"{speed:g} is not reached"
            for speed, room in rooms.items()
        )
        texts.append(f"at T = {T:g} E[tau+1] is {efficiencies}, and {', '.join(needed)}")
    return Figures(any(possible), "; ".join(texts), ROOTS, TEXT)


#: The sparse tree of EAGLE's released code, 25 drafted tokens to depth 5, as numbers of children level by level.
EAGLE = (4, 3, 2, 2, 1, 3, 2, 2, 1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0)
SHAPES = {
    "chain of 5": Topology((1,) * 5 + (0,)),
    "binary tree of depth 4": Topology((2,) * 15 + (0,) * 16),
    "EAGLE's tree": Topology(EAGLE),
}


def traversal_by_temperature(rising: bool, shapes: Sequence[str], times: int) -> Figures:
    """The gain of traversal over token-level verification on some of the trees, at three temperatures."""
    gains = {name: [_traversal_gain(SHAPES[name], T, times) for T in TEMPERATURES] for name in shapes}
    texts = (f"{name} {', '.join(f'{gain:+.2%} +- {error:.2%}' for gain, error in row)}" for name, row in gains.items())
    shown = all(row == sorted(row, reverse=not rising) for row in gains.values())
    return Figures(shown, f"gain at T = {_numbers(TEMPERATURES)}: {'; '.join(texts)}", ROOTS, TEXT)


def traversal_in_range(least: float, most: float, temperature: float, shapes: Sequence[str], times: int) -> Figures:
    """Whether the gain of traversal on each of some trees lies in a range, up to two standard errors."""
    gains = {name: _traversal_gain(SHAPES[name], temperature, times) for name in shapes}
    text = ", ".join(f"{name} {gain:+.2%} +- {error:.2%}" for name, (gain, error) in gains.items())
    shown = all(least - 2 * error <= gain <= most + 2 * error for gain, error in gains.values())
    return Figures(shown, f"gain at T = {temperature:g}: {text}", ROOTS, TEXT)


@cache
def _traversal_gain(scheme: DraftScheme, temperature: float, times: int) -> tuple[float, float]:
    names = ("traversal", "rejection_without_replacement")
    _, (theirs, _), (more, error) = _means(names, scheme, temperature, 4 * DRAWN * times)
    return more / theirs, error / theirs


def _means(names: Sequence[str], scheme: DraftScheme, temperature: float, count: int) -> Iterator[tuple[float, float]]:
    """Block efficiencies with standard errors, of verifiers on the same trees; of two their difference, too."""
    cases = _sampled(ROOTS, temperature, scheme.depth)
    total = sum(float(case.weight) for case in cases)
    means, variances = [], []
    for seed, case in enumerate(cases):
        coin, runs = SamplingCoin(np.random.default_rng(seed)), [TreeEfficiency(verifier(name)) for name in names]
        drawn = (scheme.draw(case.draft, coin) for _ in range(count))
        values = np.array([[float(run.of(tree.root(case.target, case.draft))) for run in runs] for tree in drawn])
        if len(names) == 2:
            values = np.column_stack([values, values[:, 0] - values[:, 1]])
        weight = float(case.weight) / total
        means.append(weight * values.mean(axis=0))
        variances.append(weight**2 * values.var(axis=0, ddof=1) / count)
    return zip(np.sum(means, axis=0).tolist(), np.sqrt(np.sum(variances, axis=0)).tolist(), strict=True)


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
