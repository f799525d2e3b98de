"""What measured claims measure: gains, acceptance and distances as means over instances.

The text is `topics`, a target of order 3 and a draft of order 1, at the most frequent roots.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import prod, sqrt
from types import MappingProxyType
from typing import Any

import numpy as np

from draftproof.experiments.claims.runs import checked, verifier
from draftproof.experiments.grid.depths import mean_distances
from draftproof.experiments.inputs.schemes import find_scheme, scheme_spec
from draftproof.experiments.inputs.text import TOPICS, read_counted
from draftproof.lp_analysis import measure
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.simulator.laws.estimator import TreeEfficiency
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.lossless import Evaluator, block_law, check

#: Families whose draft approximates the target, as with language models.
CLOSE: tuple[tuple[str, dict[str, float]], ...] = (
    ("perturbed", {"s": 0.5}),
    ("perturbed", {"s": 1.0}),
    ("temperature", {}),
)
ROOTS = 8
#: Depth of a path.
LONG = 4
#: Tokens of the text on large trees; on others it has four.
LARGE = 8
#: Sampled trees of each root.
DRAWN = 96
TEXT = ("text topics",)
LARGE_TEXT = f"text topics, V = {LARGE}"


@dataclass(frozen=True)
class Figures:
    """A measurement. shown: whether it agrees with the claim. text: the numbers. instances: how many, of `families`."""

    shown: bool
    text: str
    instances: int
    families: tuple[str, ...]


def listed(values: Iterable[float], form: str = ".4f") -> str:
    """The values with the digits of a format."""
    return ", ".join(format(value, form) for value in values)


@cache
def roots(count: int, size: int = 4) -> list[Case]:
    """The most frequent roots of the text in `size` tokens."""
    pair = TextPair(read_counted(TOPICS), size, 3, 1, 2**16)
    return [Case(pair.show(root), *pair.processes(root), weight) for root, weight in pair.frequent_roots(count)]


@cache
def on_text(spec: str, tree: str, temperature: float, size: int = 4) -> float:
    """The mean block efficiency on the text, in floats."""
    scheme, run = find_scheme(tree), Evaluator(verifier(spec), "float64")
    cases = tempered(temperature, scheme.depth, size)
    values = [float(run.check(case.target, case.draft, scheme).block_efficiency) for case in cases]
    weights = [float(case.weight) for case in cases]
    return sum(map(float.__mul__, weights, values)) / sum(weights)


@cache
def tempered(temperature: float, depth: int, size: int) -> list[Case]:
    """Roots of the text with both models sampled at a temperature."""
    return Samplings(temperature).cases(roots(ROOTS, size), depth, None)


def acceptance_by_depth(falling: bool) -> Figures:
    """The share of drafts that token-by-token verification accepts at each depth of one path, exact."""
    shares = accepted(roots(ROOTS))
    shown = shares == sorted(shares, reverse=falling)
    return Figures(shown, f"accepted at depths 1, 2, ..: {listed(shares)}", ROOTS, TEXT)


def accepted(cases: Sequence[Case]) -> list[float]:
    """The shares that token-by-token verification accepts at each depth of one path, of those that reach it."""
    reached = [Fraction(0)] * (LONG + 1)
    for case in cases:
        masses = check(verifier("naive"), case.target, case.draft, Delayed(1, 0, LONG)).metrics.depth_distribution
        for depth in range(LONG + 1):
            reached[depth] += case.weight * Fraction(sum(masses[depth:]))
    return [float(later / before) for before, later in pairwise(reached)]


def distance_by_depth(rising: bool) -> Figures:
    """The mean L1 distance of p and q over contexts drawn from the draft, by depth, exact."""
    totals = [float(mean) for mean in mean_distances(roots(ROOTS), LONG) if mean is not None]
    shown = totals == sorted(totals, reverse=not rising)
    return Figures(shown, f"L1(p, q) at depths 0, 1, ..: {listed(totals)}", ROOTS, TEXT)


def best_trees(verifiers: Sequence[str], left: Sequence[str], right: Sequence[str], more: bool) -> Figures:
    """For each verifier the best of some trees against the best of others; more: the first brings more."""
    pairs = [[max(on_text(spec, text, 1.0) for text in texts) for texts in (left, right)] for spec in verifiers]
    shown = all((one > other) is more for one, other in pairs)
    texts = (f"{spec} {one:.4f} against {other:.4f}" for spec, (one, other) in zip(verifiers, pairs, strict=True))
    return Figures(shown, "; ".join(texts), ROOTS, TEXT)


def branch_by_depth(verifiers: Sequence[str], temperatures: Sequence[float], deeper: bool) -> Figures:
    """The depth at which a second branch gains most per added token, on trees of depth four.

    deeper: whether this is behind a trunk.
    """
    texts, shown = [], True
    branches = [Delayed(2, at, LONG - at) for at in range(LONG)]
    for temperature in temperatures:
        best = {}
        for spec in verifiers:
            one, *two = (on_text(spec, scheme_spec(scheme), temperature) for scheme in (Delayed(1, 0, LONG), *branches))
            gains = [(value - one) / (scheme.nodes - LONG) for value, scheme in zip(two, branches, strict=True)]
            best[spec] = 1 + max(range(LONG), key=gains.__getitem__)
        texts.append(f"at temperature {temperature:g} " + ", ".join(f"{spec} {at}" for spec, at in best.items()))
        shown = shown and all((at > 1) is deeper for at in best.values())
    return Figures(shown, f"best depth: {'; '.join(texts)}", ROOTS, TEXT)


def gain_by_depth(growing: bool) -> Figures:
    """The gain of traversal over token-by-token verification on the same trees of two branches, at depths 1 to 3."""
    gains = []
    for length in (1, 2, 3):
        instances = [
            FAMILIES[name].instance(2, length, np.random.default_rng((seed, length)), 20, RATIONAL, **parameters)
            for name, parameters in CLOSE
            for seed in range(4)
        ]
        gains.append(sum(_gain(instance, Delayed(2, 0, length)) for instance in instances) / len(instances))
    text = f"mean gain over naive_tree at L = 1, 2, 3: {listed(gains, '.2%')}"
    shown = gains == sorted(gains, reverse=not growing)
    return Figures(shown, text, 3 * 4 * len(CLOSE), tuple(dict.fromkeys(name for name, _ in CLOSE)))


def _gain(instance: Instance, scheme: DraftScheme) -> float:
    ours, theirs = (checked(spec, instance, scheme).block_efficiency for spec in ("traversal", "naive_tree"))
    return float(ours / theirs) - 1


def draft_confidence(sign: int) -> Figures:
    """The correlation, over drafted tokens, of draft probability `q(x)` and acceptance `min(1, p(x)/q(x))`."""
    cases = [root.converted(FLOAT64, 1) for root in roots(ROOTS)]
    kinds = {"text topics": [(case.target.row(()), case.draft.row(())) for case in cases]}
    for name, parameters in (*CLOSE, ("dirichlet", {})):
        family = FAMILIES[name]
        p, q = family.draw(np.random.default_rng(1), 50, 8, **{**family.parameters, **parameters})
        kinds[f"{name} {parameters or ''}".strip()] = list(zip(p, q, strict=True))
    correlations = {name: _correlation(rows) for name, rows in kinds.items()}
    text = ", ".join(f"{name} {value:+.2f}" for name, value in correlations.items())
    shown = all(sign * value > 0 for name, value in correlations.items() if name != "dirichlet")
    text = f"correlation: {text} (dirichlet: p and q unrelated)"
    return Figures(shown, text, sum(map(len, kinds.values())), tuple(correlations))


def _correlation(rows: Sequence[tuple[Any, Any]]) -> float:
    """The correlation of `q(x)` and `min(1, p(x)/q(x))`, weighted by `q`."""
    q = np.concatenate([row for _, row in rows])
    acceptance = np.concatenate([np.minimum(1, p / np.maximum(row, 1e-300)) for p, row in rows])
    weights = q / q.sum()
    one, other = q - (weights * q).sum(), acceptance - (weights * acceptance).sum()
    return float((weights * one * other).sum() / sqrt((weights * one**2).sum() * (weights * other**2).sum()))


def greedy_gain(shapes: Sequence[tuple[int, int]], least: float) -> Figures:
    """The gain of `gbv` over `block` by shape (K, L) where the target has one path, with its bound."""
    gains = {(K, L): max(_one_path_gain(Delayed(K, 0, L), Fraction(b, 20)) for b in range(1, 20)) for K, L in shapes}
    largest = [
        f"K = {K}, L = {L} {gain:+.1%} (never above {K * (L + 1) / (K + L) - 1:+.1%})" for (K, L), gain in gains.items()
    ]
    text = f"where the target has one path, {', '.join(largest)}"
    return Figures(max(gains.values()) > least, text, len(shapes), ("one path",))


def _one_path_gain(scheme: Delayed, first: Fraction) -> float:
    """The gain where the target draws token 0 alone, and the draft first with probability `found`, then always."""
    zero = [Fraction(1), Fraction(0)]
    target = TableProcess([[zero] * 2**depth for depth in range(scheme.depth + 1)], "target")
    rows = [[[first, 1 - first]], *([zero] * 2**depth for depth in range(1, scheme.depth))]
    instance = Instance(target, TableProcess(rows, "draft"))
    ours, block = (checked(spec, instance, scheme).block_efficiency for spec in ("gbv", "block"))
    return float(ours / block) - 1


def gain_by_temperature(trees: Mapping[str, str], temperatures: Sequence[float], rising: bool) -> Figures:
    """The gain of traversal over token-level verification on some trees, at several temperatures."""
    gains = {name: [_sampled_gain(text, T) for T in temperatures] for name, text in trees.items()}
    texts = (f"{name} {', '.join(f'{gain:+.2%} +- {error:.2%}' for gain, error in row)}" for name, row in gains.items())
    shown = all(row == sorted(row, reverse=not rising) for row in gains.values())
    return Figures(shown, f"gain at T = {listed(temperatures, 'g')}: {'; '.join(texts)}", ROOTS, (LARGE_TEXT,))


def gain_in_range(trees: Mapping[str, str], temperature: float, least: float, most: float) -> Figures:
    """Whether that gain on each of some trees lies in a range, up to two standard errors."""
    gains = {name: _sampled_gain(text, temperature) for name, text in trees.items()}
    text = ", ".join(f"{name} {gain:+.2%} +- {error:.2%}" for name, (gain, error) in gains.items())
    shown = all(least - 2 * error <= gain <= most + 2 * error for gain, error in gains.values())
    return Figures(shown, f"gain at T = {temperature:g}: {text}", ROOTS, (LARGE_TEXT,))


@cache
def _sampled_gain(tree: str, temperature: float) -> tuple[float, float]:
    """The gain with its standard error, over sampled draft trees, exact on each tree."""
    scheme = find_scheme(tree)
    cases = tempered(temperature, scheme.depth, LARGE)
    total, count = sum(float(case.weight) for case in cases), DRAWN
    means, variances = [], []
    for seed, case in enumerate(cases):
        coin = SamplingCoin(np.random.default_rng(seed))
        runs = [TreeEfficiency(verifier(spec)) for spec in ("traversal", "rejection_without_replacement")]
        drawn = (scheme.draw(case.draft, coin) for _ in range(count))
        values = np.array([[float(run.of(tree.root(case.target, case.draft))) for run in runs] for tree in drawn])
        more, weight = values[:, 0] - values[:, 1], float(case.weight) / total
        means.append((weight * values[:, 1].mean(), weight * more.mean()))
        variances.append(weight**2 * more.var(ddof=1) / count)
    theirs, gain = np.sum(means, axis=0).tolist()
    return gain / theirs, float(np.sqrt(np.sum(variances))) / theirs


def tokens_and_bias(first: str, second: str) -> Figures:
    """Tokens of two verifiers on one path, by its length, and the bias of the second, as means over roots."""
    chosen, lengths, texts, ahead = roots(ROOTS), (3, 4, 5, 6), [], True
    for length in lengths:
        (one, _), (other, bias) = (_tokens_and_bias(spec, length, chosen) for spec in (first, second))
        texts.append(f"{one:.3f} and {other:.3f} at bias {bias:.3f}")
        ahead &= one > other
    text = f"{first} and {second} at L = {listed(lengths, 'd')}: {'; '.join(texts)}"
    return Figures(ahead, text, len(chosen), TEXT)


def _tokens_and_bias(spec: str, length: int, chosen: Sequence[Case]) -> tuple[float, float]:
    tokens, bias, whole = 0.0, 0.0, 0.0
    for root in chosen:
        law, weight = block_law(verifier(spec), root.target, root.draft, Delayed(1, 0, length)), float(root.weight)
        tables = tabulate(root.target, length, RATIONAL, "target").tables
        whole, tokens = whole + weight, tokens + weight * float(law.block_efficiency)
        bias += weight * float(measure("block", law, tables))
    return tokens / whole, bias / whole


def gain_of_a_sampled_draft(temperature: float) -> Figures:
    """What block verification gains on one path where the draft alone is sampled at a temperature, by kind of rows."""
    texts, gains, count = [], [], 0
    kinds = [("text topics", roots(ROOTS))]
    for name, parameters in (*CLOSE, ("dirichlet", {})):
        draws = (np.random.default_rng(seed) for seed in range(8))
        drawn = (FAMILIES[name].instance(4, LONG, rng, 20, RATIONAL, **parameters) for rng in draws)
        pairs = [Case(name, instance.target, instance.draft) for instance in drawn]
        kinds.append((f"{name} {parameters or ''}".strip(), pairs))
    for name, cases in kinds:
        plain, sampled = (_on_path(cases, at) for at in (1.0, temperature))
        gains.append(sampled / plain - 1)
        texts.append(f"{name} {gains[-1]:+.2%}")
        count += len(cases)
    text = f"draft at temperature {temperature:g}: {', '.join(texts)}"
    return Figures(min(gains) > 0, text, count, tuple(name for name, _ in kinds))


def _on_path(cases: Sequence[Case], temperature: float) -> float:
    """The mean block efficiency of block verification on one path, the draft sampled at a temperature."""
    sampled = Samplings(draft=Sampling(temperature)).cases(cases, LONG, 2**16)
    run, total = Evaluator(verifier("block"), "float64"), sum(float(case.weight) for case in cases)
    values = (run.check(case.target, case.draft, Delayed(1, 0, LONG)).block_efficiency for case in sampled)
    return sum(float(case.weight) * float(value) for case, value in zip(cases, values, strict=True)) / total


def places_of_a_block(places: int) -> Figures:
    """Acceptance by depth of the target's own marginals within blocks, and of an order-1 draft, exact."""
    chosen = roots(ROOTS)
    ideal = accepted([replace(case, draft=_in_blocks(case.target, places, LONG)) for case in chosen])
    shown = max(ideal[places - 1 :: places]) < min(ideal[::places]) == 1
    text = f"accepted at depths 1, 2, ..: {listed(ideal)}; of an order-1 draft {listed(accepted(chosen))}"
    return Figures(shown, text, len(chosen), TEXT)


def _in_blocks(process: TokenProcess, places: int, depth: int) -> TableProcess:
    """The rows of a process, given the tokens before a block of so many depths only; tables to `depth`."""
    size, tables = process.vocab_size, []
    for length in range(depth):
        place, rows = length % places, []
        for start in product(range(size), repeat=length - place):
            within = product(range(size), repeat=place)
            row = sum(_mass(process, start, path) * process.row((*start, *path)) for path in within)
            rows += [row] * size**place
        tables.append(rows)
    return TableProcess(tables, "blocks")


def _mass(process: TokenProcess, start: Context, path: Context) -> Any:
    """The probability that a text goes on with the path."""
    return prod(process.row((*start, *path[:depth]))[token] for depth, token in enumerate(path))


def spellings(first: int) -> Figures:
    """The number of spellings of strings of up to five letters, of which all substrings are tokens.

    first: of one letter; each further letter doubles it.
    """
    counts = []
    for n in range(1, 6):
        text = "abcde"[:n]  # different letters, so that every place has tokens of its own
        counts.append(_spelt(text, {text[i:j] for i, j in combinations(range(n + 1), 2)}))
    shown = counts == [first * 2**n for n in range(5)]
    return Figures(shown, f"of 1 to 5 letters: {listed(counts, 'd')}", 5, ("strings",))


def _spelt(text: str, pieces: set[str]) -> int:
    return 1 if not text else sum(_spelt(text[len(p) :], pieces) for p in pieces if text.startswith(p))


#: The measurements, as the ledger names them.
MEASUREMENTS: Mapping[str, Callable[..., Figures]] = MappingProxyType(
    {
        "acceptance by depth": acceptance_by_depth,
        "distance by depth": distance_by_depth,
        "best trees": best_trees,
        "branch by depth": branch_by_depth,
        "gain by depth": gain_by_depth,
        "draft confidence": draft_confidence,
        "greedy gain": greedy_gain,
        "gain by temperature": gain_by_temperature,
        "gain in range": gain_in_range,
        "tokens and bias": tokens_and_bias,
        "places of a block": places_of_a_block,
        "gain of a sampled draft": gain_of_a_sampled_draft,
        "spellings": spellings,
    }
)
