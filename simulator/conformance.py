"""Conformance checks: what any verifier must satisfy, ours or an outsider's.

With pytest:

    @pytest.mark.parametrize("check", checks_for(MyVerifier()), ids=str)
    def test_my_verifier(check):
        check()

Every check raises `AssertionError` (or `InvalidVerifier`) with the instance or the tree that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from simulator.arithmetic import FLOAT64, RATIONAL
from simulator.coins import outcomes
from simulator.enumerate import verdicts
from simulator.families import CORNER_CASES, FAMILIES
from simulator.instance import Instance
from simulator.lossless import assert_lossless, block_law
from simulator.protocol import AttachedTree, Context, DraftNode, DraftScheme, TokenProcess, Vector, Verifier
from simulator.schemes import Delayed
from simulator.trees import DraftTree

#: (V, K, L1, L2) of the random instances.
SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1))
#: Random and corner-case rows have probabilities in multiples of 1/20, which keeps exact sums short.
DENOMINATOR = 20


@dataclass(frozen=True)
class ConformanceCheck:
    """One named check; calling it raises if the verifier fails."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.name


def conformance_instances(shape: tuple[int, int, int, int], count: int) -> Iterator[Instance]:
    """`count` random rational instances for (V, K, L1, L2), half dirichlet and half perturbed, always the same ones."""
    size, _, trunk, length = shape
    for seed in range(count):
        family = FAMILIES["perturbed" if seed % 2 else "dirichlet"]
        yield family.instance(size, trunk + length, np.random.default_rng((seed, *shape)), DENOMINATOR)


def corner_instances(shape: tuple[int, int, int, int]) -> Iterator[Instance]:
    """One instance of every corner case for (V, K, L1, L2)."""
    size, _, trunk, length = shape
    for number, name in enumerate(CORNER_CASES):
        yield FAMILIES[name].instance(size, trunk + length, np.random.default_rng((number, *shape)), DENOMINATOR)


def checks_for(verifier: Verifier, count: int = 8) -> list[ConformanceCheck]:
    """All checks that apply to `verifier`, from what its card declares.

    count: random instances for each shape. Losslessness is checked on the schemes of `card.lossless_for`.
    """
    checks = []
    for shape in SHAPES:
        size, K, L1, L2 = shape
        scheme = Delayed(K, L1, L2)
        label = f"V={size}-K={K}-L1={L1}-L2={L2}"
        if scheme.name in verifier.card.lossless_for:
            checks += [
                ConformanceCheck(
                    f"lossless-random-{label}",
                    partial(_lossless, verifier, shape, partial(conformance_instances, shape, count)),
                ),
                ConformanceCheck(
                    f"lossless-corner-{label}", partial(_lossless, verifier, shape, partial(corner_instances, shape))
                ),
            ]
        checks += [
            ConformanceCheck(f"law-sums-to-one-{label}", partial(_sums_to_one, verifier, shape)),
            ConformanceCheck(f"function-of-tree-and-coin-{label}", partial(_is_function, verifier, shape)),
            ConformanceCheck(f"float-equals-rational-{label}", partial(_float_agrees, verifier, shape)),
        ]
        if not verifier.card.reads_draft:
            checks.append(ConformanceCheck(f"does-not-read-draft-{label}", partial(_ignores_draft, verifier, shape)))
        if verifier.card.single_path:
            checks.append(
                ConformanceCheck(f"reads-first-path-only-{label}", partial(_first_path_only, verifier, shape))
            )
    return checks


def _lossless(
    verifier: Verifier, shape: tuple[int, int, int, int], instances: Callable[[], Iterator[Instance]]
) -> None:
    for instance in instances():
        assert_lossless(verifier, instance.target, instance.draft, Delayed(*shape[1:]))


def _sample_cases(shape: tuple[int, int, int, int]) -> Iterator[tuple[Instance, AttachedTree]]:
    """Three instances with every draft tree on them."""
    scheme: DraftScheme = Delayed(*shape[1:])
    for instance in islice(conformance_instances(shape, 3), 3):
        for tree, _ in outcomes(partial(scheme.draw, instance.draft), RATIONAL):
            yield instance, tree


def _sums_to_one(verifier: Verifier, shape: tuple[int, int, int, int]) -> None:
    for instance in conformance_instances(shape, 2):
        law = block_law(verifier, instance.target, instance.draft, Delayed(*shape[1:]), "rational")
        assert law.total == 1, f"the blocks of {verifier.card.name} have total mass {law.total}"


def _is_function(verifier: Verifier, shape: tuple[int, int, int, int]) -> None:
    """Trees visited forwards, then backwards, give the same verdicts: nothing is carried between calls."""
    cases = list(_sample_cases(shape))
    forwards = [_verdicts(verifier, tree, instance) for instance, tree in cases]
    backwards = [_verdicts(verifier, tree, instance) for instance, tree in reversed(cases)]
    assert forwards == backwards[::-1], f"{verifier.card.name} gives other verdicts when trees come in another order"


def _float_agrees(verifier: Verifier, shape: tuple[int, int, int, int]) -> None:
    for instance in conformance_instances(shape, 2):
        scheme = Delayed(*shape[1:])
        exact = block_law(verifier, instance.target, instance.draft, scheme, "rational")
        rounded = block_law(verifier, instance.target, instance.draft, scheme, "float64")
        for ours, theirs in zip(exact.correction, rounded.correction, strict=True):
            gap = abs(ours.astype(np.float64) - theirs).max()
            assert gap <= FLOAT64.tolerance, f"{verifier.card.name}: float64 differs from rational by {gap}"


def _ignores_draft(verifier: Verifier, shape: tuple[int, int, int, int]) -> None:
    for instance, tree in _sample_cases(shape):
        hidden = _verdicts(verifier, _Hidden(tree), instance)
        assert hidden == _verdicts(verifier, tree, instance), f"{verifier.card.name} reads q"


def _first_path_only(verifier: Verifier, shape: tuple[int, int, int, int]) -> None:
    for instance, tree in _sample_cases(shape):
        context: Context = ()
        path: dict[Context, tuple[int, ...]] = {}
        node: DraftNode = tree.root(instance.target, instance.draft)
        while node.children:
            path[context] = node.children[:1]
            context = (*context, node.children[0])
            node = node.child(node.children[0])
        alone = _verdicts(verifier, DraftTree(path), instance)
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
