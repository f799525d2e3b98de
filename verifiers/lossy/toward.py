"""Declared lossy: any verifier made lossless towards a surrogate target, such as that of a speculative cascade.

[narasimhan2025faster] verify drafts against a row `t(p, q)` in place of `p`, token by token. Here every verifier does,
blocks and trees, and `t` is the law of the next token of any lossy rule:
1. At every node of the tree `t` takes the place of the target; at a leaf, where no `q` is known, `p`, or `t` for rules
   that make it of `p` alone.
2. Run the verifier that is inside.

Where that one is lossless the next token has law `t` after every accepted prefix: token by token it has the bias of the
rule, and it accepts as much as it would for a target `t`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict, Verifier
from draftproof.simulator.structures import OnePath, Selection, Structure, TopDown, offered, with_functions
from draftproof.verifiers.layer_transport import LayerTransport
from draftproof.verifiers.lossy._rows import ShownNode
from draftproof.verifiers.lossy.ensemble import Ensemble


class Rule(Protocol):
    """A lossy verifier whose next token has a law that is known."""

    @property
    def card(self) -> Card: ...

    def verify(self, root: DraftNode, coin: Coin) -> Verdict: ...

    def surrogate(self, p: Vector, q: Vector | None) -> Vector:
        """The law of the next token, shape `(n.., V)`; `q` is None after the last drafted token."""
        ...


#: The first path, on trees too: the card says nothing of that, as it is one for all verifiers inside.
_FIRST = Selection(lambda like: (), lambda state, p, q, paths: (q, ()))
#: Which argument of the functions of a structure is the target.
_TARGET = {"branch": 0, "child_law": 0, "last_step": 0, "child_weights": 1, "at_rejection": 1}


@dataclass(frozen=True)
class Toward:
    """See the module. inner: the verifier that runs. target: the rule whose law it takes for the target's."""

    inner: Verifier = field(default_factory=LayerTransport)
    target: Rule = field(default_factory=Ensemble)

    card: ClassVar[Card] = Card(
        name="toward",
        title="Any verifier, lossless towards another target",
        source=Source("narasimhan2025faster", "speculative execution of a target that depends on p and q"),
        needs=None,
        departs="The paper verifies token by token; this is any verifier, and its target the law of any rule.",
        parameters={
            "inner": "a verifier, lossless on the drafts, as NAME or NAME:key=value",
            "target": "the lossy rule whose tokens it aims at, as NAME or NAME:key=value",
        },
    )
    #: The parameters that are verifiers, which may be given by name.
    verifiers: ClassVar[tuple[str, ...]] = ("inner", "target")

    def __post_init__(self) -> None:
        for name, method in (("inner", "verify"), ("target", "surrogate")):
            value = getattr(self, name)
            if not hasattr(value, method):
                known = getattr(getattr(value, "card", None), "name", value)
                raise InvalidInput(f"toward: {name} = {known} must be a verifier with `{method}`")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return self.inner.verify(ShownNode(root, self.target.surrogate), coin)

    @property
    def structure(self) -> Structure | None:
        """That of the verifier inside, for rules whose structure is known, with their surrogates as targets.

        None for verifiers that select a path, change rows or score layers: their functions do not get both rows, or
        engines add the target's own.
        """
        structure = offered(self.inner)
        if getattr(self.target, "structure", None) is None or not isinstance(structure, (TopDown, OnePath)):
            return None
        if isinstance(structure, OnePath):
            return None if structure.selection else replace(with_functions(structure, self._shown), selection=_FIRST)
        if self.inner.card.single_path:  # its child law is about a single draft
            return None
        return with_functions(structure, self._shown)

    def _shown(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        place = _TARGET.get(name)
        if place is None:
            return function

        def shown(*arguments: Any) -> Any:
            p, q = arguments[place : place + 2]
            return function(*arguments[:place], self.target.surrogate(p, q), *arguments[place + 1 :])

        return shown
