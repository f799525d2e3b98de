"""Verifiers that only claims use: a misreading of a paper, point-mass drafts, K-SEQ with several parameters."""

from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.vectors import without
from draftproof.verifiers._paths import count_iid_branches, verify_drawn
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.gbv import greedy_laws
from draftproof.verifiers.spectr import SpecTr, smallest_rho


@dataclass(frozen=True)
class LooseTies:
    """Greedy multi-path block verification that breaks ties in `min(1, p/q)` differently in selection and in its law.

    Among tokens with `p >= q` it selects the one that was drafted first; the law of the selected path, which it
    verifies against, ranks them by `p/q`.
    """

    card: ClassVar[Card] = Card(
        name="loose_ties", title="Greedy multi-path block verification, ties broken twice", source=None, control=True
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the selected branch and draw a correction token."""
        paths = count_iid_branches(root)
        path = [root]
        while path[-1].children:
            node = path[-1]
            path.append(node.child(max(dict.fromkeys(node.children), key=lambda token: _capped(node, token))))
        return verify_drawn(path, greedy_laws(path, paths), coin)


def _capped(node: DraftNode, token: int) -> Any:
    """`min(1, p/q)` of a drafted token."""
    ratio = node.target[token] / node.draft[token]
    return ratio if ratio < 1 else ratio / ratio


#: Steps of K-SEQ's `rho` from the smallest allowed number to K.
STEPS = 6


@dataclass(frozen=True)
class KSeq:
    """K-SEQ [sun2023spectr] with `rho` at `step` of `STEPS` from the smallest allowed number to K; lossless at each."""

    step: int = 0

    @property
    def card(self) -> Card:
        """A card whose name has the step."""
        return Card(name=f"kseq_{self.step}", title=f"K-SEQ at step {self.step} of {STEPS}", source=None)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return SpecTr(self.rho).verify(root, coin)

    def rho(self, p: Vector, q: Vector, k: int) -> Any:
        """Its number, shape `(n.., 1)`."""
        least = smallest_rho(p, q, k)
        return least + (k - least) * self.step / STEPS


@dataclass(frozen=True)
class PointMass:
    """Token-by-token verification that treats each drafted token as a point mass.

    The `k`-th child is accepted with its probability under the target without the earlier children, renormalised.
    """

    card: ClassVar[Card] = Card(
        name="point_mass",
        title="Token-by-token verification of point masses",
        source=None,
        needs=Draws.FIXED_BRANCHES,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _accept)


@dataclass(frozen=True)
class FirstPath:
    """Naive sampling along the first path: a token from the target is accepted where it is the first drafted one."""

    card: ClassVar[Card] = Card(
        name="first_path",
        title="Naive sampling along the first path",
        source=None,
        needs=Draws(0),
        reads_draft=False,
        single_path=True,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        node = root
        while node.children:
            token = coin.choose(node.target)
            if token != node.children[0]:
                return Verdict(node.context, token)
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))


def _accept(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    for token in dict.fromkeys(drafted):
        if coin.flip(p[token]):
            return token
        p = without(p, token)
    return coin.choose(p)
