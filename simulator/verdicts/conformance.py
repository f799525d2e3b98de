"""Conformance checks: what any verifier must satisfy, ours or an outsider's.

With pytest:

    @pytest.mark.parametrize("check", checks_for(MyVerifier()), ids=str)
    def test_my_verifier(check):
        check()

Every check raises `AssertionError` (or `InvalidVerifier`) with the instance or the tree that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from simulator.arithmetic import FLOAT64, RATIONAL
from simulator.coins import outcomes
from simulator.drafts import (
    Adaptive,
    AdaptiveDropping,
    Delayed,
    DynamicDepth,
    DySpec,
    DySpecPruned,
    DySpecThreshold,
    Eagle2,
    Greedy,
    OptTree,
    Sequoia,
    SpecHub,
    SpecInferConfig,
    TopK,
    Topology,
    WithoutReplacement,
)
from simulator.drafts.trees import DraftTree, first_path
from simulator.errors import InvalidInput
from simulator.instances.families import CORNER_CASES, FAMILIES
from simulator.instances.instance import Instance
from simulator.laws.enumeration import verdicts
from simulator.laws.structured import structure_of
from simulator.protocol import AttachedTree, Context, DraftNode, DraftScheme, TokenProcess, Vector, Verifier
from simulator.structures import Branch, branch_of
from simulator.verdicts.lossless import assert_verifier_lossless, block_law

#: A vocabulary size and a scheme.
SizedScheme: TypeAlias = tuple[int, DraftScheme]

#: (V, K, L1, L2) of the delayed trees.
SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1), (3, 3, 0, 1), (2, 4, 0, 1))
#: For every scheme the trees, with their vocabulary, on which a verifier that declares it is judged.
CASES: Mapping[str, tuple[SizedScheme, ...]] = MappingProxyType(
    {
        "delayed": tuple((V, Delayed(K, L1, L2)) for V, K, L1, L2 in SHAPES),
        "specinfer_config": (
            (2, SpecInferConfig((2, 2))),
            (3, SpecInferConfig((2, 1))),
            (2, SpecInferConfig((1, 2, 1))),
            (3, SpecInferConfig((3,))),
        ),
        "without_replacement": (
            (2, WithoutReplacement(2, 0, 2)),
            (3, WithoutReplacement(2, 0, 2)),
            (3, WithoutReplacement(2, 1, 1)),
            (3, WithoutReplacement(3, 0, 1)),
            (4, WithoutReplacement(3, 0, 1)),
        ),
        "top_k": ((2, TopK(2, 0, 2)), (3, TopK(3, 0, 1)), (3, TopK(2, 1, 1)), (3, TopK(2, 0, 2))),
        "greedy": ((2, Greedy(2, 0, 2)), (3, Greedy(3, 0, 1)), (3, Greedy(2, 1, 1)), (3, Greedy(2, 0, 2))),
        "topology": (
            (2, Topology((2, 1, 1, 0, 0))),
            (3, Topology((3, 2, 0, 0, 0, 0))),
            (3, Topology((2, 3, 0, 0, 0, 0))),
            (2, Topology((1, 2, 0, 1, 0))),
        ),
        "adaptive": ((2, Adaptive()), (3, Adaptive(1, 1, 1)), (3, Adaptive(1, 0, 2, Fraction(1, 3)))),
        "adaptive_dropping": ((2, AdaptiveDropping()), (3, AdaptiveDropping(1, 0, 2))),
        "dyspec": ((2, DySpec(4)), (3, DySpec(5)), (4, DySpec(2))),
        "dyspec_threshold": (
            (2, DySpecThreshold(Fraction(1, 4), 2)),
            (3, DySpecThreshold(Fraction(1, 3), 2)),
            (4, DySpecThreshold(Fraction(1, 3), 2, 3)),
        ),
        "sequoia": (
            (2, Sequoia(4, 2, (2, 2, 0, 0, 0))),
            (3, Sequoia(4, 2, (2, 1, 1, 0, 0))),
            (4, Sequoia(3, 1, (3, 0, 0, 0))),
        ),
        "opt_tree": ((2, OptTree(4)), (3, OptTree(4)), (3, OptTree(4, Fraction(1, 2)))),
        "eagle2": ((2, Eagle2(2, 3, 4)), (3, Eagle2(2, 2, 4)), (4, Eagle2(3, 2, 3))),
        "ddd": ((2, DynamicDepth(2, 3)), (3, DynamicDepth(2, 3, Fraction(1, 3))), (3, DynamicDepth(1, 2))),
        "spechub": ((2, SpecHub(2)), (3, SpecHub(1)), (3, SpecHub(2)), (4, SpecHub(1))),
        "dyspec_pruned": ((2, DySpecPruned(2)), (3, DySpecPruned(2))),
    }
)
#: Random and corner-case rows have probabilities in multiples of 1/20, which keeps exact sums short.
DENOMINATOR = 20
_RANDOM = ("dirichlet", "perturbed", "dirichlet", "temperature")


@dataclass(frozen=True)
class ConformanceCheck:
    """One named check; calling it raises if the verifier fails."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.name


def conformance_instances(shape: Sequence[int], count: int) -> Iterator[Instance]:
    """`count` random rational instances for (V, K, L1, L2) of three families, always the same ones."""
    size, _, trunk, length = shape
    for seed in range(count):
        family = FAMILIES[_RANDOM[seed % len(_RANDOM)]]
        yield family.instance(size, trunk + length, np.random.default_rng((seed, *shape)), DENOMINATOR)


def corner_instances(shape: Sequence[int]) -> Iterator[Instance]:
    """One instance of every corner case for (V, K, L1, L2)."""
    size, _, trunk, length = shape
    for number, name in enumerate(CORNER_CASES):
        yield FAMILIES[name].instance(size, trunk + length, np.random.default_rng((number, *shape)), DENOMINATOR)


def case_instances(case: SizedScheme, count: int) -> Iterator[Instance]:
    """`count` random instances and one of every corner case for a vocabulary and a scheme."""
    shape = shape_of(case)
    yield from conformance_instances(shape, count)
    yield from corner_instances(shape)


def checks_for(verifier: Verifier, count: int = 8) -> list[ConformanceCheck]:
    """All checks that apply to `verifier`, from what its card declares.

    count: random instances for each case. Losslessness is checked on every scheme of `card.lossless_for`, the rest on
    delayed trees, or on the first declared scheme if those are not among them.
    """
    declared = verifier.card.lossless_for
    checks = []
    for scheme in declared:
        if scheme not in CASES:
            raise InvalidInput(
                f"{verifier.card.name} declares the unknown scheme {scheme!r}; known: {', '.join(CASES)}"
            )
        for case in CASES[scheme]:
            checks += [
                _named(
                    "lossless-random",
                    case,
                    _lossless,
                    verifier,
                    case,
                    partial(conformance_instances, shape_of(case), count),
                ),
                _named("lossless-corner", case, _lossless, verifier, case, partial(corner_instances, shape_of(case))),
            ]
    for case in CASES["delayed" if "delayed" in declared or not declared else declared[0]]:
        checks += [
            _named("law-sums-to-one", case, _sums_to_one, verifier, case),
            _named("function-of-tree-and-coin", case, _is_function, verifier, case),
            _named("float-equals-rational", case, _float_agrees, verifier, case),
        ]
        if structure_of(verifier, case[1]) is not None:
            checks.append(_named("structured-equals-enumerated", case, _structure_agrees, verifier, case))
        if verifier.card.exchangeable and (branch := branch_of(verifier)) is not None:
            checks.append(_named("branch-ignores-order", case, _order_ignored, branch, case))
        if not verifier.card.reads_draft:
            checks.append(_named("does-not-read-draft", case, _ignores_draft, verifier, case))
        if verifier.card.single_path:
            checks.append(_named("reads-first-path-only", case, _first_path_only, verifier, case))
    return checks


def _named(name: str, case: SizedScheme, run: Callable[..., None], *arguments: Any) -> ConformanceCheck:
    size, scheme = case
    label = f"V={size}-{scheme}".replace(" ", "").replace("delayed(K", "K").replace(",", "-").rstrip(")")
    return ConformanceCheck(f"{name}-{label}", partial(run, *arguments))


def shape_of(case: SizedScheme) -> tuple[int, ...]:
    """(V, K, L1, L2) of a case, from which its instances are drawn; trees without branches stand as one path."""
    size, scheme = case
    fields = scheme.as_dict()
    return (size, fields["K"], fields["L1"], fields["L2"]) if "K" in fields else (size, 1, 0, scheme.depth)


def _lossless(verifier: Verifier, case: SizedScheme, instances: Callable[[], Iterator[Instance]]) -> None:
    for instance in instances():
        assert_verifier_lossless(verifier, instance.target, instance.draft, case[1], engine="enumerate")


def _sample_cases(case: SizedScheme) -> Iterator[tuple[Instance, AttachedTree]]:
    """Three instances with every draft tree on them."""
    for instance in conformance_instances(shape_of(case), 3):
        for tree, _ in outcomes(partial(case[1].draw, instance.draft), RATIONAL):
            yield instance, tree


def _sums_to_one(verifier: Verifier, case: SizedScheme) -> None:
    for instance in conformance_instances(shape_of(case), 2):
        law = block_law(verifier, instance.target, instance.draft, case[1], "rational", "enumerate")
        assert law.total == 1, f"the blocks of {verifier.card.name} have total mass {law.total}"


def _is_function(verifier: Verifier, case: SizedScheme) -> None:
    """Trees visited forwards, then backwards, give the same verdicts: nothing is carried between calls."""
    cases = list(_sample_cases(case))
    forwards = [_verdicts(verifier, tree, instance) for instance, tree in cases]
    backwards = [_verdicts(verifier, tree, instance) for instance, tree in reversed(cases)]
    assert forwards == backwards[::-1], f"{verifier.card.name} gives other verdicts when trees come in another order"


def _float_agrees(verifier: Verifier, case: SizedScheme) -> None:
    scheme = case[1]
    for instance in case_instances(case, 2):
        exact = block_law(verifier, instance.target, instance.draft, scheme, "rational", "enumerate")
        rounded = block_law(verifier, instance.target, instance.draft, scheme, "float64", "enumerate")
        for ours, theirs in zip(exact.correction, rounded.correction, strict=True):
            gap = abs(ours.astype(np.float64) - theirs).max()
            assert gap <= FLOAT64.tolerance, f"{verifier.card.name}: float64 differs from rational by {gap}"


def _structure_agrees(verifier: Verifier, case: SizedScheme) -> None:
    for instance in case_instances(case, 4):
        laws = [
            block_law(verifier, instance.target, instance.draft, case[1], "rational", engine)
            for engine in ("enumerate", "structured")
        ]
        for ours, theirs in zip(laws[0].correction, laws[1].correction, strict=True):
            assert (ours == theirs).all(), f"{verifier.card.name} does not do what it offers to structured engines"


def _order_ignored(branch: Branch, case: SizedScheme) -> None:
    """All arrangements of the drafts at the root have the same law of the next token."""
    drafts = case[1].as_dict().get("K", 2)
    for instance in case_instances(case, 2):
        p, q = instance.target.row(()), instance.draft.row(())
        tokens = [token for token, mass in enumerate(q) if mass > 0]
        for drafted in combinations_with_replacement(tokens, drafts):
            law = branch(p, q, drafted)
            for order in set(permutations(drafted)):
                assert (branch(p, q, order) == law).all(), f"branch tells {order} from {drafted}"


def _ignores_draft(verifier: Verifier, case: SizedScheme) -> None:
    for instance, tree in _sample_cases(case):
        hidden = _verdicts(verifier, _Hidden(tree), instance)
        assert hidden == _verdicts(verifier, tree, instance), f"{verifier.card.name} reads q"


def _first_path_only(verifier: Verifier, case: SizedScheme) -> None:
    for instance, tree in _sample_cases(case):
        leaf = first_path(tree.root(instance.target, instance.draft))[-1]
        alone = _verdicts(verifier, DraftTree.from_paths(leaf.context, ()), instance)
        assert alone == _verdicts(verifier, tree, instance), f"{verifier.card.name} reads more than the first path"


def _verdicts(verifier: Verifier, tree: AttachedTree, instance: Instance) -> dict[tuple[Context, int], Any]:
    return verdicts(verifier, tree, instance.target, instance.draft, RATIONAL)


class _Hidden:
    """A draft tree whose nodes show no draft row."""

    def __init__(self, tree: AttachedTree) -> None:
        self._tree = tree

    def __contains__(self, context: object) -> bool:
        return context in self._tree

    def root(self, target: TokenProcess, draft: TokenProcess) -> DraftNode:
        return _HiddenNode(self._tree.root(target, draft))


class _HiddenNode:
    """A node that shows None for its draft row."""

    def __init__(self, node: DraftNode) -> None:
        self._node = node
        self.context = node.context
        self.target: Vector = node.target
        self.draft: Vector = None
        self.children = node.children

    def child(self, token: int) -> DraftNode:
        return _HiddenNode(self._node.child(token))
