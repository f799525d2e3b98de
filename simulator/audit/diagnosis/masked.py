"""Hypotheses about masks (of a grammar, of a shortest length) that a function puts on rows by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

from draftproof.simulator.audit.diagnosis.evidence import Evidence, law_is_that_of
from draftproof.simulator.audit.diagnosis.processed import Reprocessed
from draftproof.simulator.audit.diagnosis.references import TokenWise, card_of
from draftproof.simulator.audit.judge import Finding
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.masks import Masks
from draftproof.simulator.instances.processes import TableProcess, tabulate
from draftproof.simulator.instances.sampling import masked_row
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Vector, Verdict, Verifier
from draftproof.simulator.vectors import acceptance, residual

#: From a context and the depth of the drafts to the context whose mask its row has, None for no mask.
_Where = Callable[[Context, int], Context | None]
_FROM: dict[str, _Where] = {
    "one position earlier": lambda context, _: context[:-1],
    "the first position": lambda *_: (),
}


@dataclass(frozen=True)
class _Moved:
    """A process whose rows have the masks of other contexts."""

    given: TableProcess
    masks: Masks
    where: _Where
    depth: int
    name: str = "process"

    @property
    def vocab_size(self) -> int:
        return self.given.vocab_size

    def row(self, context: Context) -> Vector:
        other = self.where(context, self.depth)
        return self.given.row(context) if other is None else masked_row(self.given.row(context), self.masks, other)


@dataclass(frozen=True)
class RawCorrection:
    """Token-by-token verification whose correction after a rejection comes from rows before the masks.

    rows: before the masks; names: of "target" and "draft", whose rows the correction has raw.
    """

    rows: Instance
    names: tuple[str, ...]

    card: ClassVar[Card] = card_of("token-by-token verification with raw corrections", single_path=True)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children:
            p, q, token = node.target, node.draft, node.children[0]
            if not coin.flip(acceptance(p, q, token)):
                p = self.rows.target.row(node.context) if "target" in self.names else p
                q = self.rows.draft.row(node.context) if "draft" in self.names else q
                return Verdict(node.context, coin.choose(residual(p, q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))


@dataclass(frozen=True)
class Unreset:
    """A loop of token-by-token verification whose masks have seen rejected drafts.

    rows: before the masks. length: drafts of a block. all_drafts: whether the masks have seen every draft of a block
    with a rejection, or those up to the rejected one. corrected: whether the correction then follows. counter: whether
    only the number of tokens is wrong, which the shortest length is compared with.
    """

    rows: Instance
    masks: Masks
    length: int
    all_drafts: bool
    corrected: bool
    counter: bool

    drafts: ClassVar[bool] = True
    card: ClassVar[Card] = card_of("a loop with masks", single_path=True)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        depth = self.rows.target.depth
        text: Context = ()
        seen: Context = ()
        while len(text) <= depth:
            new, seen = self._block(text, seen, min(self.length, depth + 1 - len(text)), coin)
            text += new
        return Verdict(text[:depth], text[depth])

    def _block(self, text: Context, seen: Context, length: int, coin: Coin) -> tuple[Context, Context]:
        """The new tokens of a block, and what the masks have seen."""
        drafted: Context = ()
        for _ in range(length):
            drafted += (coin.choose(self._row(self.rows.draft, text, seen, drafted)),)
        for place, token in enumerate(drafted):
            p, q = (self._row(side, text, seen, drafted[:place]) for side in (self.rows.target, self.rows.draft))
            if not coin.flip(acceptance(p, q, token)):
                last = coin.choose(residual(p, q))
                known = drafted if self.all_drafts else drafted[: place + 1]
                return (*drafted[:place], last), seen + known + (last,) * self.corrected
        if len(text) + length > self.rows.target.depth:
            return drafted, seen + drafted
        new = (*drafted, coin.choose(self._row(self.rows.target, text, seen, drafted)))
        return new, seen + new

    def _row(self, side: TableProcess, text: Context, seen: Context, drafted: Context) -> Vector:
        context = text + drafted
        row = side.row(context[max(len(context) - side.depth, 0) :])  # as models of loops answer
        if not self.counter:
            return masked_row(row, self.masks, seen + drafted)
        left = max(self.masks.min_new_tokens - (len(seen) - len(text)), 0)
        return masked_row(row, replace(self.masks, min_new_tokens=left, _known={}), context)


def wrong_row(evidence: Evidence) -> str | None:
    """Token-by-token verification with the masks of other rows."""
    for words, where in _FROM.items():
        for names in (("target",), ("draft",), ("target", "draft")):
            if _explains(evidence, names, where):
                rows = " and ".join({"target": "p", "draft": "q"}[name] for name in names)
                return law_is_that_of(f"token-by-token verification whose masks of {rows} are those of {words}")
    return None


def bonus_unmasked(evidence: Evidence) -> str | None:
    """Token-by-token verification whose bonus token has no mask."""
    if _explains(evidence, ("target",), lambda context, depth: None if len(context) == depth else context):
        return law_is_that_of(
            "token-by-token verification that draws the token after the last draft from p without its mask"
        )
    return None


def correction_unmasked(evidence: Evidence) -> str | None:
    """Token-by-token verification whose correction after a rejection has no mask."""
    for names in (("target",), ("target", "draft"), ("draft",)):

        def suspect(finding: Finding, names: tuple[str, ...] = names) -> Verifier:
            raw = evidence.given_rows(finding)
            masked = evidence.audit.processing.instance(raw)
            return Reprocessed(RawCorrection(raw, names), masked, ("target", "draft"))

        if _masked(evidence) and evidence.behaves_like(suspect):
            rows = " and ".join({"target": "p", "draft": "q"}[name] for name in names)
            return law_is_that_of(
                f"token-by-token verification that draws the token after a rejection from {rows} without their masks"
                if len(names) > 1
                else f"token-by-token verification that draws the token after a rejection from {rows} without its mask"
            )
    return None


def not_rolled_back(evidence: Evidence) -> str | None:
    """A loop whose masks have seen rejected drafts."""
    if not _masked(evidence) or not evidence.audit.audited.interface.drafts:
        return None
    for length, all_drafts, corrected, counter in product((1, 2), *[(True, False)] * 3):
        if length == 1 and not all_drafts:  # the same
            continue

        def suspect(finding: Finding, how: tuple[Any, ...] = (length, all_drafts, corrected, counter)) -> Verifier:
            return Unreset(evidence.given_rows(finding), _masks(evidence, finding), *how)

        if evidence.behaves_like(suspect):
            what = "counter of tokens keeps" if counter else "masks keep"
            seen = "all drafts of a block" if all_drafts else "the rejected draft"
            then = "and then the correction" if corrected else "and not the correction"
            return law_is_that_of(f"a loop of blocks of {length} whose {what} {seen} after a rejection, {then}")
    return None


def _masked(evidence: Evidence) -> bool:
    return evidence.audit.processing.masked and evidence.audit.batch == 1


def _explains(evidence: Evidence, names: tuple[str, ...], where: _Where) -> bool:
    def suspect(finding: Finding) -> Verifier:
        raw, masks = evidence.given_rows(finding), _masks(evidence, finding)

        def moved(side: TableProcess, name: str) -> TableProcess:
            made = _Moved(side, masks, where if name in names else lambda context, _: context, finding.scheme.depth)
            return tabulate(made, side.depth, side.arithmetic, name)

        shown = Instance(moved(raw.target, "target"), moved(raw.draft, "draft"))
        return Reprocessed(TokenWise(), shown, ("target", "draft"))

    return _masked(evidence) and evidence.behaves_like(suspect)


def _masks(evidence: Evidence, finding: Finding) -> Masks:
    return evidence.audit.processing.masks(finding.instance.vocab_size)
