"""Verifiers and schemes that break their contract in every way that is not an algorithm."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.simulator import Card, Delayed, Verdict
from draftproof.simulator.structures import TopDown


def _fails(*_: Any) -> Any:
    raise RuntimeError("not today")


class Unshown:
    __repr__ = __str__ = _fails


class Lossy:
    """Resamples from the target."""

    card = Card(name="lossy", title="", source=None)

    def verify(self, root: Any, coin: Any) -> Any:
        node = root
        while node.children:
            token = node.children[0]
            if not coin.flip(min(1, node.target[token] / node.draft[token])):
                break
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))


class Stopping(Lossy):
    """Lossy for so many runs, and never again."""

    def __init__(self, runs: int = 200) -> None:
        self.left = runs

    def verify(self, root: Any, coin: Any) -> Any:
        self.left -= 1
        return super().verify(root, coin) if self.left > 0 else Verdict((), coin.choose(root.target))


def _returning(found: Any) -> type:
    return type("Returning", (Lossy,), {"verify": lambda self, root, coin: found})


def _offering(structure: Any) -> type:
    return type("Offering", (Lossy,), {"structure": structure})


async def _later(self: Any, root: Any, coin: Any) -> Any:
    return Verdict((), 0)


def _lazily(self: Any, root: Any, coin: Any) -> Any:
    yield Verdict((), 0)


VERIFIERS = {
    "CardRaises": type("CardRaises", (Lossy,), {"card": property(_fails)}),
    "CardIsNone": type("CardIsNone", (Lossy,), {"card": None}),
    "NoMethod": type("NoMethod", (Lossy,), {"verify": 3}),
    "StructureRaises": _offering(property(_fails)),
    "StructureIsNone": _offering(5),
    "BranchRaises": _offering(TopDown(branch=_fails)),
    "BranchReturnsNone": _offering(TopDown(branch=lambda p, q, drafted: None)),
    "ChildLawReturnsList": _offering(TopDown(child_law=lambda p, q, k: [1, 2])),
    "Generator": type("Generator", (Lossy,), {"verify": _lazily}),
    "Coroutine": type("Coroutine", (Lossy,), {"verify": _later}),
    "Nothing": _returning(None),
    "Pair": _returning(((), 0)),
    "ShownNowhere": _returning(Unshown()),
    "FloatToken": _returning(Verdict((), 0.0)),
    "ListToken": _returning(Verdict((), [0])),
    "HugeToken": _returning(Verdict((), 10**500)),
    "NegativeToken": _returning(Verdict((), -1)),
    "UnshownToken": _returning(Verdict((), Unshown())),
    "AcceptedList": _returning(Verdict([], 0)),
    "AcceptedNested": _returning(Verdict(([0],), 0)),
    "AcceptedHuge": _returning(Verdict((10**500,), 0)),
}


class Scheme:
    depth: Any = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        return [(coin.choose(draft.row(())),), (coin.choose(draft.row(())),)]


class Single(Scheme):
    def draw(self, draft: Any, coin: Any) -> Any:
        return [(coin.choose(draft.row(())),)]


class Reduced(Scheme):
    def reductions(self) -> Any:
        return [Single(), self]


class ReducedToOurs(Scheme):
    def reductions(self) -> Any:
        return [Delayed(1, 0, 1), self]


@dataclass(frozen=True)
class Sized:
    K: int = 2
    depth: int = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        return [(coin.choose(draft.row(())),) for _ in range(self.K)]

    def reductions(self) -> Any:
        return [Sized(1), self]


class Inheriting(Delayed):
    """Has K, L1 and L2, and is none of ours."""


def _drawing(found: Any) -> type:
    return type("Drawing", (Scheme,), {"draw": lambda self, draft, coin: found})


def _with(**fields: Any) -> type:
    return type("With", (Scheme,), fields)


SCHEMES = {
    "DrawsNone": _drawing(None),
    "DrawsNumbers": _drawing([0, 1]),
    "DrawsNumberByContext": _drawing({(): 3}),
    "DrawsListsByContext": _drawing({(): [[0], [1]]}),
    "DrawsByNothing": _drawing({None: (0,)}),
    "DrawsFloats": _drawing([(0.0,)]),
    "DrawsUnhashable": _drawing([([0],)]),
    "DrawsUnshown": _drawing(Unshown()),
    "DrawsArray": _drawing(np.array([[0], [1]])),
    "DrawRaises": _with(draw=_fails),
    "CountIsText": _with(count=lambda self, draft: "3"),
    "CountIsFloat": _with(count=lambda self, draft: 2.5),
    "CountIsNegative": _with(count=lambda self, draft: -1),
    "CountIsNone": _with(count=lambda self, draft: None),
    "CountRaises": _with(count=_fails),
    "CountIsNumber": _with(count=9),
    "NodesText": _with(nodes="3"),
    "NodesFloat": _with(nodes=2.5),
    "NodesNegative": _with(nodes=-1),
    "NodesHuge": _with(nodes=10**400),
    "DepthText": _with(depth="3"),
    "DepthNegative": _with(depth=-1),
    "DepthTrue": _with(depth=True),
    "DepthHuge": _with(depth=10**9),
    "DepthRaises": _with(depth=property(_fails)),
    "NameRaises": _with(name=property(_fails)),
    "TextRaises": _with(__str__=_fails),
}
globals().update(VERIFIERS, **SCHEMES)
