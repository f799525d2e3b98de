"""Verifiers that do one thing and offer another to structured engines; each is named after what lies."""

from dataclasses import replace
from typing import Any

from draftproof.simulator import Card
from draftproof.simulator.protocol import Draws
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.structures import Continued, TopDown, declared
from draftproof.simulator.vectors import one_hot
from draftproof.verifiers import make
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.block import Block
from draftproof.verifiers.gbv import GreedyBlock
from draftproof.verifiers.gbv_tree import GreedyBlockTree
from draftproof.verifiers.layer_verification import LayerVerification
from draftproof.verifiers.nss import NaiveSampling
from draftproof.verifiers.traversal import Traversal

HONEST_PATH, GREEDY, TRAVERSAL = (declared(make(name)) for name in ("block", "gbv", "traversal"))


def named(name: str, **fields: Any) -> Card:
    """The card of naive sampling under another name."""
    return replace(make("nss").card, name=name, title=name, source=None, reads_draft=True, exchangeable=False, **fields)


def in_order(p, q, drafted):
    """Law of the next token given the drafts in their order."""
    law, left = p * 0, 1
    for token in drafted:
        accepted = acceptance(p, q, token)
        law = law + left * accepted * one_hot(law, token)
        left, p = left * (1 - accepted), residual(p, q)
    return law + left * p


class InOrder:
    """Honest: tries the drafts one after the other, as they come; `branch` is all that it offers."""

    card = named("in_order", needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)

    def verify(self, root, coin):
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, lambda p, q, drafted, coin: coin.choose(in_order(p, q, drafted)))

    structure = TopDown(branch=in_order)


def likeliest_half(p, q, drafted):
    """Law of the next token given the drafts."""
    return (p + one_hot(p, max(sorted(drafted), key=lambda token: p[token]))) / 2


class LikeliestHalf:
    """Honest but lossy: half of the time the likeliest draft, else a draw from the target; the order plays no part."""

    card = replace(named("likeliest_half", needs=None), exchangeable=True)

    def verify(self, root, coin):
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, lambda p, q, drafted, coin: coin.choose(likeliest_half(p, q, drafted)))

    structure = TopDown(branch=likeliest_half)


class LyingBranch(InOrder):
    """Forgets the second draft in what it offers."""

    card = named("lying_branch", needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)

    structure = TopDown(branch=lambda p, q, drafted: in_order(p, q, drafted[:1]))


class LyingCard(InOrder):
    """Declares that the order of the drafts does not matter."""

    card = replace(named("lying_card", needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS), exchangeable=True)


class LyingChildLaw(NaiveSampling):
    """Offers the child law of another lossless verifier."""

    card = named("lying_child_law", needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)
    structure = replace(declared(make("nss")), child_law=declared(make("naive_tree")).child_law)


class LyingLastStep(NaiveSampling):
    """Offers a last step that always goes on."""

    card = named("lying_last_step", needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)

    structure = replace(declared(make("nss")), last_step=lambda p, q, masses: (p * 0, p * sum(masses.values())))


class LyingSettle(Block):
    """Offers to accept with the weights themselves."""

    card = replace(Block.card, name="lying_settle", dominates=())

    structure = replace(
        HONEST_PATH, at_rejection=lambda weight, p, q: (HONEST_PATH.at_rejection(weight, p, q)[0], weight)
    )


class LyingSelect(GreedyBlock):
    """Offers the first path."""

    card = replace(GreedyBlock.card, name="lying_select")

    structure = replace(
        GREEDY, selection=replace(GREEDY.selection, step=lambda *given: (given[2], GREEDY.selection.step(*given)[1]))
    )


class LyingBeside(GreedyBlockTree):
    """Ranks the tokens by their numbers to say where other paths may go, not by `p/q`."""

    card = replace(GreedyBlockTree.card, name="lying_beside")

    structure = Continued(GREEDY, lambda p, q: declared(make("gbv_tree")).beside(p * 0 + 1, q * 0 + 1))


class LyingRule(LayerVerification):
    """Offers the scores of layer transport."""

    card = replace(LayerVerification.card, name="lying_rule")

    structure = declared(make("layer_transport"))


class LyingReject(Traversal):
    """Forgets that the weight of a node falls with every rejected child."""

    card = replace(Traversal.card, name="lying_reject")

    structure = replace(TRAVERSAL, reject=lambda weight, *given: (*TRAVERSAL.reject(weight, *given)[:2], weight))


class LyingInTheDeep(NaiveSampling):
    """Tells the truth about up to two drafts."""

    card = named("lying_in_the_deep", needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)

    structure = replace(
        declared(make("nss")),
        child_law=lambda p, q, k: declared(make("naive_tree" if k > 2 else "nss")).child_law(p, q, k),
    )


class LossyInThirds:
    """Lossless as its structure says, but for rows in thirds, where a rejected token is drawn from p again."""

    card = Card(name="lossy_in_thirds", title="Lossy in thirds", source=None)
    structure = declared(make("naive_tree"))

    def verify(self, root, coin):
        lossy = all((3 * mass).q == 1 for mass in root.target) if root.target.dtype == object else False
        return make("naive_from_target" if lossy else "naive_tree").verify(root, coin)
