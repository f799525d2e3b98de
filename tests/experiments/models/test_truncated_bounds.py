"""Bounds from truncated tables hold for the whole vocabulary, from both sides, against exact numbers at small `V`."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof.experiments.models.expect import truncated
from draftproof.experiments.models.expect.truncated import REST, Truncated, cut_tables
from draftproof.lp_analysis import optimum
from draftproof.simulator import Delayed, TableProcess, Verdict, block_law
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.instances.families import family_named
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.tables import context_index
from draftproof.verifiers import make

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Whole:
    """An instance of `V` tokens and what is cut from it; the draft has rows at full depth too."""

    target: TableProcess
    draft: TableProcess
    cut: Truncated
    scheme: Delayed


def whole(size, kept, shape, seed, family="dirichlet"):
    scheme = Delayed(*shape)
    made = family_named(family).instance(size, scheme.depth + 1, np.random.default_rng(seed), 20, RATIONAL)
    tables = {"target": made.target.tables[: scheme.depth + 1], "draft": made.draft.tables[: scheme.depth + 1]}

    def rows(which, contexts):
        return tables[which][contexts.shape[1]][[context_index(tuple(each), size) for each in contexts.tolist()]]

    target, draft = TableProcess(tables["target"]), TableProcess(tables["draft"][:-1])
    return Whole(target, draft, cut_tables(rows, scheme.depth, kept), scheme)


def bounds(each):
    """The optimum of `below`, of the whole and of `above`: each certified from both sides in rationals."""
    pairs = (each.cut.target, each.cut.draft), (each.target, each.draft), each.cut.above
    below, middle, above = (optimum(*pair, each.scheme) for pair in pairs)
    return below, middle, above


def holds(each):
    """Whether what is attained below the cut is no more than the whole allows, nor what the whole attains than above.

    Trees of one path or one layer have exact optima, so that there is no room at all.
    """
    below, middle, above = bounds(each)
    return below.lower <= middle.upper and middle.lower <= above.upper


LEAN = [
    *((size, kept, (K, 0, 1)) for size in (4, 5, 6) for kept in (1, 2, 3) for K in (1, 2)),
    *((size, kept, shape) for size in (4, 6) for kept in (1, 3) for shape in ((1, 0, 2), (1, 0, 3))),
    *((4, kept, shape) for kept in (1, 2, 3) for shape in ((2, 0, 2), (2, 1, 1))),
]


@pytest.mark.one_in(20)
@pytest.mark.parametrize(("size", "kept", "shape"), LEAN, ids=str)
def test_the_optimum_of_the_whole_lies_between(size, kept, shape):
    for family in ("dirichlet", "perturbed"):
        assert holds(whole(size, kept, shape, size + kept, family))


@pytest.mark.parametrize("shape", [(1, 0, 2), (2, 0, 2), (2, 1, 1)], ids=str)
def test_with_nothing_outside_both_are_the_optimum(shape):
    each = whole(3, 3, shape, 5)
    assert each.cut.outside_target[-1] == each.cut.outside_draft[-1] == 0
    below, middle, above = bounds(each)
    # One path: exact. Else each is certified to 1e-6, and three certified intervals of one number meet.
    assert max(each.lower for each in (below, middle, above)) <= min(each.upper for each in (below, middle, above))
    if shape[0] == 1:
        assert below.lower == middle.lower == above.upper


@pytest.mark.parametrize("kept", [1, 2, 4])
def test_one_drafted_token_leaves_no_room_between(kept):
    below, middle, above = bounds(whole(5, kept, (1, 0, 1), 3, "perturbed"))
    assert below.lower == middle.lower == above.upper


def test_more_tokens_kept_never_widen_the_interval():
    found = [bounds(whole(6, kept, (1, 0, 3), 2)) for kept in range(1, 7)]
    lower, upper = [each[0].lower for each in found], [each[2].upper for each in found]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[0] < found[0][1].lower < upper[0]
    assert lower[-1] == upper[-1]


def forgetting_what_follows(placed, parts, kept, rest, which):
    """Above: nothing may be accepted after a token that is not kept, as if such blocks did not exist."""
    tables = placed(parts, kept, rest, which)
    for table in tables if rest != REST and which == 1 else ():
        free = (table[:, 1:] == 0).all(axis=1) & (np.arange(len(table)) >= kept)
        table[free, 0] -= 1
        table[free, -1] += 1
    return tables


def forgetting_what_is_outside(merged, part, kept, rest):
    """Above: rows of the kept tokens alone, the mass outside given to the target and not to the draft."""
    rows = merged(part, kept, rest)
    if rest != REST:
        total = rows[..., kept:].sum(axis=-1)
        rows[..., kept:] *= 0
        rows[0, :, kept], rows[1, :, kept + 1] = total[0], total[1]
    return rows


def one_token_for_the_rest(merged, part, kept, rest):
    """Below: all of the rest is accepted as if it were one token, which gains where its tokens are not alike."""
    rows = merged(part, kept, rest)
    if rest == REST:
        rows[..., kept] = rows[..., kept:].sum(axis=-1)
        rows[..., kept + 1 :] *= 0
    return rows


@pytest.mark.parametrize(
    ("bug", "place", "shape"),
    [
        (forgetting_what_follows, "_placed", (1, 0, 3)),
        (forgetting_what_is_outside, "_merged", (1, 0, 1)),
        (one_token_for_the_rest, "_merged", (1, 0, 1)),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_a_wrong_bound_is_noticed(bug, place, shape, monkeypatch):
    assert all(holds(whole(5, 1, shape, seed, "perturbed")) for seed in range(4))
    monkeypatch.setattr(truncated, place, partial(bug, getattr(truncated, place)))
    assert not all(holds(whole(5, 1, shape, seed, "perturbed")) for seed in range(4))


@dataclass
class Node:
    """A node of the tree of `below`."""

    context: tuple[int, ...]
    target: Any
    draft: Any
    children: tuple[int, ...] = ()
    below: "dict[int, Node]" = field(default_factory=dict)

    @property
    def laws(self):
        return (self.draft,) * len(self.children)

    def child(self, token):
        return self.below[token]


class Behind:
    """A verifier of `below` as one of the whole, step by step as the proof has it."""

    def __init__(self, name, cut, scheme):
        self.inner, self.cut, self.scheme = make(name), cut, scheme
        self.card = self.inner.card
        self.kept = cut.tokens[0].shape[1]
        self.shared, self.twice, self.surplus, self.excess = range(self.kept, self.kept + REST)

    def verify(self, root, coin):
        first = {}
        seen = self.inner.verify(self._labelled(root, (), coin, first), coin)
        node, kept = root, [token for token in seen.accepted if token < self.kept]
        for depth, rank in enumerate(kept):
            node = node.child(int(self._tokens(tuple(kept[:depth]))[rank]))
        if len(kept) < len(seen.accepted):
            assert seen.accepted[len(kept) :] in ((self.shared,), (self.twice,))
            node = node.child(first[seen.accepted])
            return Verdict(node.context, coin.choose(node.target))
        return Verdict(node.context, self._correction(node, tuple(kept), seen.correction, coin))

    def _tokens(self, kept):
        return self.cut.tokens[len(kept)][context_index(kept, self.kept)]

    def _correction(self, node, kept, token, coin):
        tokens = self._tokens(kept)
        if token < self.kept:
            return int(tokens[token])
        assert token != self.excess
        if node.draft is None:
            weights = node.target.copy()  # no draft: all of the rest is drawn as the target has it
        else:
            p, q = node.target, node.draft
            core = np.where(2 * q < p, 2 * q, np.minimum(p, q))
            weights = core * ((2 * q < p) == (token == self.twice)) if token < self.surplus else p - core
        weights[tokens] *= 0
        return coin.choose(weights)

    def _labelled(self, node, kept, coin, first):
        own = self._node(kept)
        if node.draft is None:
            return own
        ranks, labels = {int(token): rank for rank, token in enumerate(self._tokens(kept))}, []
        for token in node.children:
            if token in ranks:
                labels.append(ranks[token])
                continue
            p, q = node.target[token], node.draft[token]
            if 2 * q < p:
                labels.append(self.twice)
            else:
                labels.append(self.shared if coin.flip(min(p, q) / q) else self.excess)
            first.setdefault((*kept, labels[-1]), token)
        own.children = tuple(labels)
        for token, label in zip(node.children, labels, strict=True):
            if label < self.kept and label not in own.below:
                own.below[label] = self._labelled(node.child(token), (*kept, label), coin, first)
            elif label not in own.below:
                own.below[label] = self._lost((*kept, label), labels.count(label))
        return own

    def _node(self, context):
        deep = len(context) == self.scheme.depth
        return Node(context, self.cut.target.row(context), None if deep else self.cut.draft.row(context))

    def _lost(self, context, paths):
        """What follows a token of the rest: `excess` all the way down, once a path."""
        own = self._node(context)
        if own.draft is not None:
            if len(context) == self.scheme.L1:
                paths = self.scheme.K
            own.children = (self.excess,) * (1 if len(context) < self.scheme.L1 else paths)
            own.below[self.excess] = self._lost((*context, self.excess), paths)
        return own


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("name", "size", "kept", "shape"),
    [
        (name, *given)
        for given in ((4, 2, (1, 0, 2)), (4, 1, (2, 0, 1)), (3, 1, (2, 1, 1)))
        for name in ("naive", "block", "traversal", "specinfer")
    ],
    ids=str,
)
def test_a_verifier_behind_the_cut_is_lossless_on_the_whole_with_the_efficiency_of_the_tables(name, size, kept, shape):
    each = whole(size, kept, shape, 1)
    law = enumerate_law(Behind(name, each.cut, each.scheme), each.target, each.draft, each.scheme)
    assert law.max_deviation(each.target) == 0
    behind = block_law(make(name), each.cut.target, each.cut.draft, each.scheme)
    assert law.block_efficiency == behind.block_efficiency
