"""The schemes that `map_of_trees` compares at a budget of tokens and draft passes: optima and block efficiencies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from draftproof import verifiers
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.lp_analysis import ListedTrees, optimum
from draftproof.lp_analysis.oracles.sets import set_efficiency
from draftproof.lp_analysis.reference.cuts import solve_cuts
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import SamplingCoin, outcomes
from draftproof.simulator.drafts import (
    Delayed,
    DynamicDepth,
    DySpec,
    DySpecThreshold,
    Eagle2,
    Greedy,
    Sequoia,
    SpecHub,
    SpecInferConfig,
    TopK,
    Topology,
    WithoutReplacement,
)
from draftproof.simulator.drafts.sequoia import plan
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.estimator import TreeEfficiency
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers.sequoia import acceptance_vector

#: Certified gap of the optima of delayed trees.
GAP = 1e-3
#: The most draft trees that are listed; the number that is sampled where there are more; and the most trees on which a
#: verifier without closed form is enumerated.
MOST_LISTED, SAMPLED, MOST_ENUMERATED = 1_000, 300, 60
#: `path_transport` runs up to this value of `V**L (K - 1)`, `layer_transport` beyond.
MOST_LAYERS = 170
#: Values of DySpec's threshold that are tried.
THRESHOLDS = (Fraction(1, 4), Fraction(1, 12))

#: Kinds of trees, from most to least random, and the schemes of each.
KINDS = {
    "independent": ("delayed", "specinfer_config"),
    "without replacement": ("without_replacement", "sequoia", "topology", "dyspec", "dyspec_threshold"),
    "partly fixed": ("greedy", "spechub"),
    "deterministic": ("eagle2", "ddd", "top_k"),
}
#: Verifiers of each scheme; those of `_ENUMERATED` have no closed form and run on few trees only.
VERIFIERS = {
    "delayed": ("layer_transport", "path_transport", "traversal"),
    "specinfer_config": ("traversal", "specinfer", "layer_transport"),
    "without_replacement": ("traversal", "rejection_without_replacement", "layer_without_replacement"),
    "sequoia": ("sequoia",),
    "topology": ("traversal", "layer_without_replacement"),
    "dyspec": ("traversal", "rejection_without_replacement"),
    "dyspec_threshold": ("traversal", "rejection_without_replacement"),
    "greedy": ("greedy_multi_draft", "layer_greedy"),
    "spechub": ("spechub", "layer_greedy"),
    "eagle2": ("nss",),
    "ddd": ("nss",),
    "top_k": ("nss",),
}
_ENUMERATED = ("layer_transport", "layer_without_replacement", "layer_greedy", "spechub")


@dataclass(frozen=True)
class Candidate:
    """A scheme that fits a budget. passes: the most draft passes, one after the other."""

    scheme: DraftScheme
    passes: int

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return next(kind for kind, names in KINDS.items() if self.scheme.name in names)


def candidates(floats: Instance, nodes: int, passes: int) -> Iterator[Candidate]:
    """The schemes within a budget of tokens and passes, without those inside a larger one of the same kind."""
    size = floats.target.vocab_size
    least = 1 if nodes < 8 else passes // 2 if nodes < 16 else passes  # shallow trees cannot use large budgets
    for L1, L2 in ((L1, L - L1) for L in range(least, passes + 1) for L1 in range(L)):
        K = (nodes - L1) // L2
        if K > 1 or (K == 1 and not L1 and passes == L2):
            yield Candidate(Delayed(K, L1, L2), L1 + L2)
        if passes > L1 + L2:
            continue
        for kind in (Greedy, *((WithoutReplacement, TopK) if L1 == 0 else ())):
            K = max((k for k in range(2, size + 1) if kind(k, L1, L2).nodes <= nodes), default=1)
            if K > 1:
                yield Candidate(kind(K, L1, L2), L1 + L2)
    for widths in _configurations(floats, nodes, passes):
        yield Candidate(SpecInferConfig(widths), len(widths))
    vector = acceptance_vector(floats.target, floats.draft, passes, min(nodes, size))
    tree = plan(vector, nodes, passes)
    if len(tree) > 1:
        depth = Topology(tree).depth
        yield Candidate(Sequoia(nodes, depth, tree), depth)
        yield Candidate(Topology(tree), depth)
    if nodes <= passes:
        yield Candidate(DySpec(nodes), nodes)
    for value in THRESHOLDS:
        yield Candidate(DySpecThreshold(value, passes, nodes), passes)
    depth = max((d for d in range(1, passes + 1) if SpecHub(d).nodes <= nodes), default=0)
    if depth:
        yield Candidate(SpecHub(depth), depth)
    yield Candidate(Eagle2(nodes, passes, nodes), passes)
    yield Candidate(DynamicDepth(max(nodes // passes, 1), passes, Fraction(0)), passes)


def _configurations(floats: Instance, nodes: int, passes: int) -> list[tuple[int, ...]]:
    """Widths of trees that branch at two levels or more and can be listed, without those inside a larger one."""
    fitting = [
        widths
        for depth in range(2, passes + 1)
        for widths in product(range(1, 4), repeat=depth)
        if SpecInferConfig(widths).nodes <= nodes
        and sum(width > 1 for width in widths) > 1
        and SpecInferConfig(widths).count(floats.draft) <= MOST_LISTED
    ]

    def inside(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return one != other and len(one) <= len(other) and all(a <= b for a, b in zip(one, other, strict=False))

    return [one for one in fitting if not any(inside(one, other) for other in fitting)]


def evaluated(candidate: Candidate, exact: Instance, floats: Instance, seed: int) -> dict[str, Any]:
    """Optimum and block efficiencies of one candidate, as plain data; see `map_of_trees`."""
    scheme = candidate.scheme
    fields = {
        "scheme": scheme_spec(scheme),
        "kind": candidate.kind,
        "nodes": scheme.nodes,
        "passes": candidate.passes,
        "mean_passes": float(candidate.passes),
        "trees": 0,
        "drawn": 0,
        "lower": None,
        "upper": None,
        "errors": {},
    }
    if isinstance(scheme, Delayed):
        bounds = optimum(exact.target, exact.draft, scheme, gap=GAP)
        return fields | {
            "lower": float(bounds.lower),
            "upper": float(bounds.upper),
            "pairs": dict(_on_delayed(scheme, floats)),
        }
    trees, listed = _trees(scheme, floats, seed)
    fields |= {"trees": len(trees) if listed else None, "drawn": 0 if listed else len(trees)}
    if scheme.name in ("dyspec", "dyspec_threshold"):
        fields["mean_passes"] = float(sum(mass * _passes(scheme, tree) for tree, mass in trees))
    if len(trees) == 1:
        best = float(set_efficiency(floats.target, _nodes(trees[0][0])[1:]))
        return fields | {"lower": best, "upper": best, "pairs": {VERIFIERS[scheme.name][0]: best}}
    if listed:
        best = solve_cuts(floats.target.tables, _listed(trees, scheme, floats)).value
        fields |= {"lower": best, "upper": best}
    efficiencies, errors = {}, {}
    for name in VERIFIERS[scheme.name]:
        if name in _ENUMERATED and len(trees) > MOST_ENUMERATED:
            continue
        efficiencies[name], errors[name] = _mean(name, trees, floats, listed)
    return fields | {"pairs": efficiencies, "errors": {} if listed else errors}


def _on_delayed(scheme: Delayed, floats: Instance) -> Iterator[tuple[str, float]]:
    size = floats.target.vocab_size**scheme.depth * (scheme.K - 1)
    for name in VERIFIERS["delayed"]:
        if name != ("path_transport" if size <= MOST_LAYERS else "layer_transport"):
            check = Evaluator(verifiers.make(name), "float64").check(floats.target, floats.draft, scheme)
            yield name, float(check.block_efficiency)


def _trees(scheme: DraftScheme, floats: Instance, seed: int) -> tuple[list[tuple[DraftTree, float]], bool]:
    """Trees with their probabilities, and whether these are all trees; otherwise they are sampled."""
    draw = partial(scheme.draw, floats.draft)
    trees: Any = list(islice(outcomes(draw, FLOAT64), MOST_LISTED + 1))
    if len(trees) <= MOST_LISTED:
        return trees, True
    coin = SamplingCoin(np.random.default_rng(seed))
    return [(draw(coin), 1 / SAMPLED) for _ in range(SAMPLED)], False  # type: ignore[misc]


def _mean(name: str, trees: Sequence[tuple[DraftTree, float]], floats: Instance, listed: bool) -> tuple[float, float]:
    """The block efficiency as a mean over trees, and its standard error where the trees were sampled."""
    efficiency = TreeEfficiency(verifiers.make(name))
    values = np.array([float(efficiency.of(tree.root(floats.target, floats.draft))) for tree, _ in trees])
    masses = np.array([float(mass) for _, mass in trees])
    error = 0.0 if listed else float(values.std(ddof=1)) / len(values) ** 0.5
    return float((values * masses).sum()), error


def _listed(trees: Sequence[tuple[DraftTree, float]], scheme: DraftScheme, floats: Instance) -> ListedTrees:
    masses: dict[frozenset[Any], float] = {}
    for tree, mass in trees:
        nodes = frozenset(_nodes(tree))
        masses[nodes] = masses.get(nodes, 0.0) + float(mass)
    return ListedTrees(list(masses.items()), floats.target.vocab_size, scheme.depth)


def _nodes(tree: DraftTree) -> list[tuple[int, ...]]:
    """The contexts of a tree, the root first."""
    return [(), *dict.fromkeys((*context, token) for context, tokens in tree.children.items() for token in tokens)]


def _passes(scheme: DraftScheme, tree: DraftTree) -> int:
    """Draft passes of a tree: one a level; for `dyspec`, which draws token after token, one a node with children."""
    if scheme.name == "dyspec":
        return len(tree.children)
    return 1 + max((len(context) for context in tree.children), default=-1)
