"""Conformance checks: what any verifier must satisfy, also a user-defined one.

With pytest:

    @pytest.mark.parametrize("check", checks_for(MyVerifier()), ids=str)
    def test_my_verifier(check):
        check()

Every check raises `AssertionError` (or `InvalidVerifier`) with the instance or the tree that breaks it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.changes import Watch
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.drafts.trees import DraftTree, first_path
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.structured.declared import declared_for
from draftproof.simulator.protocol import AttachedTree, Context, DraftScheme, Vector, Verifier
from draftproof.simulator.structures import Branch, branch_of
from draftproof.simulator.verdicts.cases import (
    CASES,
    SizedScheme,
    case_instances,
    conformance_instances,
    corner_instances,
    shape_of,
)
from draftproof.simulator.verdicts.lossless import block_law, check


@dataclass(frozen=True)
class ConformanceCheck:
    """One named check; calling it raises if the verifier fails."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.name


def checks_for(verifier: Verifier, count: int = 8) -> list[ConformanceCheck]:
    """All checks that apply to `verifier`, from what its card declares.

    count: random instances for each case. Losslessness is checked on every scheme that the card
    declares; the other checks run on delayed trees if declared, else on the first declared scheme.
    """
    declared = lossless_for(verifier.card)
    checks = []
    for scheme in declared:
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
    laws = _Laws(verifier)
    for case in CASES["delayed" if "delayed" in declared or not declared else declared[0]]:
        checks += [
            _named("law-sums-to-one", case, _sums_to_one, laws, case),
            _named("function-of-tree-and-coin", case, _is_function, verifier, case),
            _named("float-equals-rational", case, _float_agrees, laws, case),
        ]
        if declared_for(verifier, case[1]) is not None:
            checks.append(_named("structured-equals-enumerated", case, _structure_agrees, laws, case))
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


def _lossless(verifier: Verifier, case: SizedScheme, instances: Callable[[], Iterator[Instance]]) -> None:
    for instance in instances():
        check(verifier, instance.target, instance.draft, case[1], engine="enumerate").assert_lossless()


def _sample_cases(case: SizedScheme) -> Iterator[tuple[Instance, AttachedTree]]:
    """Three instances of a size and a scheme with every draft tree on them."""
    for instance in conformance_instances(shape_of(case), 3):
        for tree, _ in outcomes(partial(case[1].draw, instance.draft), RATIONAL):
            yield instance, tree


class _Laws:
    """The laws of a verifier; the enumerated one, which several checks use, is computed once."""

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier
        self.name = verifier.card.name
        self._known: dict[tuple[int, DraftScheme], tuple[Instance, BlockLaw]] = {}

    def exact(self, instance: Instance, scheme: DraftScheme) -> BlockLaw:
        key = id(instance), scheme
        if key not in self._known:
            self._known[key] = instance, self.law(instance, scheme, "rational", "enumerate")
        return self._known[key][1]

    def law(self, instance: Instance, scheme: DraftScheme, arithmetic: str, engine: str) -> BlockLaw:
        return block_law(self.verifier, instance.target, instance.draft, scheme, arithmetic, engine)


def _sums_to_one(laws: _Laws, case: SizedScheme) -> None:
    for instance in conformance_instances(shape_of(case), 2):
        law = laws.exact(instance, case[1])
        assert law.total == 1, f"the blocks of {laws.name} have total mass {law.total}"


def _is_function(verifier: Verifier, case: SizedScheme) -> None:
    """The verdicts do not depend on the order of the trees: calls share no state."""
    cases, watch = list(_sample_cases(case)), Watch.of(verifier)
    forwards = [_verdicts(verifier, tree, instance, watch) for instance, tree in cases]
    backwards = [_verdicts(verifier, tree, instance, watch) for instance, tree in reversed(cases)]
    assert forwards == backwards[::-1], f"{verifier.card.name} gives other verdicts when trees come in another order"


def _float_agrees(laws: _Laws, case: SizedScheme) -> None:
    for instance in case_instances(case, 2):
        exact, rounded = laws.exact(instance, case[1]), laws.law(instance, case[1], "float64", "enumerate")
        for ours, theirs in zip(exact.correction, rounded.correction, strict=True):
            gap = abs(ours.astype(np.float64) - theirs).max()
            assert gap <= FLOAT64.tolerance, f"{laws.name}: float64 differs from rational by {gap}"


def _structure_agrees(laws: _Laws, case: SizedScheme) -> None:
    for instance in case_instances(case, 4):
        exact, structured = laws.exact(instance, case[1]), laws.law(instance, case[1], "rational", "structured")
        for ours, theirs in zip(exact.correction, structured.correction, strict=True):
            assert (ours == theirs).all(), f"the declared structure of {laws.name} has another law than its source"


def _order_ignored(branch: Branch, case: SizedScheme) -> None:
    """The law of the next token does not depend on the order of the drafts at the root."""
    drafts = case[1].as_dict().get("K", 2)
    for instance in case_instances(case, 2):
        p, q = instance.target.row(()), instance.draft.row(())
        tokens = [token for token, mass in enumerate(q) if mass > 0]
        for drafted in combinations_with_replacement(tokens, drafts):
            law = branch(p, q, drafted)
            for order in set(permutations(drafted)):
                assert (branch(p, q, order) == law).all(), f"branch tells {order} from {drafted}"


def _ignores_draft(verifier: Verifier, case: SizedScheme) -> None:
    watch = Watch.of(verifier)
    for instance, tree in _sample_cases(case):
        hidden = verdicts(verifier, tree, instance.target, _NoRows(), RATIONAL, watch=watch)
        assert hidden == _verdicts(verifier, tree, instance, watch), f"{verifier.card.name} reads q"


def _first_path_only(verifier: Verifier, case: SizedScheme) -> None:
    watch = Watch.of(verifier)
    for instance, tree in _sample_cases(case):
        leaf = first_path(tree.root(instance.target, instance.draft))[-1]
        alone = _verdicts(verifier, DraftTree.from_paths(leaf.context, ()), instance, watch)
        whole = _verdicts(verifier, tree, instance, watch)
        assert alone == whole, f"{verifier.card.name} reads more than the first path"


def _verdicts(
    verifier: Verifier, tree: AttachedTree, instance: Instance, watch: Watch | None
) -> dict[tuple[Context, int], Any]:
    return verdicts(verifier, tree, instance.target, instance.draft, RATIONAL, watch=watch)


class _NoRows:
    """A draft without rows."""

    vocab_size = 0

    def row(self, context: Context) -> Vector:
        return None
