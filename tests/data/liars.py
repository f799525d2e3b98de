"""Verifiers that do one thing and offer another to structured engines; each is named after the method that lies."""

from dataclasses import replace
from typing import Any

from simulator import Card
from simulator.vectors import acceptance, layers, one_hot, residual
from verifiers import make
from verifiers._top_down import walk
from verifiers.block import Block
from verifiers.gbv import GreedyBlock
from verifiers.naive_tree import NaiveTree
from verifiers.nss import NaiveSampling
from verifiers.traversal import Traversal


def named(name: str, **fields: Any) -> Card:
    """The card of naive sampling under another name."""
    return replace(make("nss").card, name=name, title=name, source=None, reads_draft=True, exchangeable=False, **fields)


class InOrder:
    """Honest: tries the drafts one after the other, as they come; `branch` is all that it offers."""

    card = named("in_order", lossless_for=("delayed",))

    def verify(self, root, coin):
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, lambda p, q, drafted, coin: coin.choose(InOrder.branch(self, p, q, drafted)))

    def branch(self, p, q, drafted):
        """Law of the next token given the drafts in their order."""
        law, left = p * 0, 1
        for token in drafted:
            accepted = acceptance(p, q, token)
            law = law + left * accepted * one_hot(law, token)
            left, p = left * (1 - accepted), residual(p, q)
        return law + left * p


class LikeliestHalf:
    """Honest but lossy: half of the time the likeliest draft, else a draw from the target; the order plays no part."""

    card = replace(named("likeliest_half", lossless_for=()), exchangeable=True)

    def verify(self, root, coin):
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, lambda p, q, drafted, coin: coin.choose(self.branch(p, q, drafted)))

    def branch(self, p, q, drafted):
        """Law of the next token given the drafts."""
        return (p + one_hot(p, max(sorted(drafted), key=lambda token: p[token]))) / 2


class LyingBranch(InOrder):
    """Forgets the second draft in what it offers."""

    card = named("lying_branch", lossless_for=("delayed",))

    def branch(self, p, q, drafted):
        """The law for the first draft alone."""
        return super().branch(p, q, drafted[:1])


class LyingCard(InOrder):
    """Declares that the order of the drafts does not matter."""

    card = replace(named("lying_card", lossless_for=("delayed",)), exchangeable=True)


class LyingChildLaw(NaiveSampling):
    """Offers the child law of another lossless verifier."""

    card = named("lying_child_law", lossless_for=("delayed",))
    child_law = NaiveTree.child_law


class LyingLastChildLaw(NaiveSampling):
    """Offers a child law for leaves that always goes on."""

    card = named("lying_last_child_law", lossless_for=("delayed",))

    def last_child_law(self, p, q, k):
        """Nothing is ever a correction."""
        return layers([p * 0, p * 1])


class LyingSettle(Block):
    """Offers to accept with the weights themselves."""

    card = replace(Block.card, name="lying_settle", dominates=())

    def settle(self, weight, p, q):
        """The correction of block verification, and the weight in place of the probability."""
        return Block.settle(weight, p, q)[0], weight


class LyingSelect(GreedyBlock):
    """Offers the first path."""

    card = replace(GreedyBlock.card, name="lying_select")

    def select(self, state, p, q, paths):
        """The law of the first path."""
        return q, super().select(state, p, q, paths)[1]


class LyingReject(Traversal):
    """Forgets that the weight of a node falls with every rejected child."""

    card = replace(Traversal.card, name="lying_reject")

    def reject(self, weight, p, q, token):
        """The right target and draft, the old weight."""
        rest, draft, _ = super().reject(weight, p, q, token)
        return rest, draft, weight


class LyingInTheDeep(NaiveSampling):
    """Tells the truth about up to two drafts."""

    card = named("lying_in_the_deep", lossless_for=("delayed",))

    def child_law(self, p, q, k):
        """Another verifier's from three drafts on."""
        return (NaiveTree if k > 2 else NaiveSampling).child_law(self, p, q, k)
