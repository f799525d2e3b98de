"""The step interface: FUNCTION gets `p` and `q` as functions of a context, drafts by itself, returns the block.

So drafting and verification are judged together: a row `q` that is not the one drafted from shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from draftproof.simulator.audit.interfaces._call import Call, Interface, read_whole, tokens
from draftproof.simulator.drafts._shape import Parameters
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.protocol import Coin, TokenProcess
from draftproof.simulator.symbolic.where import refusal


@dataclass(frozen=True)
class SelfDrafted(Parameters):
    """The scheme of a function that drafts by itself: nothing is drawn, and every context is a node.

    length: of the longest path that it may accept. Raises `InvalidInput` unless that is at least 0.
    """

    length: int = 2

    name: ClassVar[str] = "self_drafted"

    def __post_init__(self) -> None:
        if self.length < 0:
            raise InvalidInput(f"length {self.length} of the drafts must be at least 0")

    @property
    def depth(self) -> int:
        """The length."""
        return self.length

    @property
    def nodes(self) -> int:
        """Drafted tokens."""
        return self.length

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """A tree that has every context, so that the function can ask for the row of any."""
        tokens = tuple(range(draft.vocab_size))
        return DraftTree({context: tokens for n in range(self.length) for context in product(tokens, repeat=n)})

    def count(self, draft: TokenProcess) -> int:
        """One: the function draws."""
        return 1

    def reductions(self) -> list[SelfDrafted]:
        """Only itself: how much is drafted is the function's own choice."""
        return [self]


def _row(call: Call, name: str) -> Callable[[Any], Any]:
    def row(context: Any) -> Any:
        node = call.nodes[0]
        prefix = tokens(list(context), f"a context of {'p' if name == 'target' else 'q'}")
        for token in prefix:
            if token not in node.children:
                if not node.children:
                    raise refusal(
                        f"it asks for the row after {len(prefix)} tokens, more than it was to draft",
                        f"give the number that it drafts: L2={len(prefix)}",
                    )
                raise InvalidVerifier(f"it asks for the row of {prefix}; {token} is no token")
            node = node.child(token)
        if getattr(node, name) is None:
            raise refusal(
                f"it drafts more than {len(prefix)} tokens", f"give the number that it drafts: L2={len(prefix) + 1}"
            )
        return call.rows.array(getattr(node, name))

    return row


STEP = Interface(
    name="step",
    arguments={"p": lambda call: _row(call, "target"), "q": lambda call: _row(call, "draft")},
    read=read_whole,
    takes="(p, q): functions from a context tuple to a row",
    returns="the block: the accepted tokens and the correction token, as one list",
    drafts=True,
)
