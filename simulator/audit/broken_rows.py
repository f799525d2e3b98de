"""Rows that are no probabilities, on which a function must raise: of NaN, with one NaN, or without any token.

Every run of the function is followed, on all draft trees of a small case, with one such row in place of the true one. A
run that returns a block although it goes through the context of the row has taken a token from it in silence. Of `q`
such a row is judged only where it changes the law: a function may not read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from draftproof.simulator.audit.failures import FunctionFailed
from draftproof.simulator.audit.instances import broken_case
from draftproof.simulator.audit.interfaces._call import nodes_of
from draftproof.simulator.audit.judge import Audit
from draftproof.simulator.audit.rows import BROKEN, BrokenRow
from draftproof.simulator.coins import outcomes
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import DraftNode, DraftScheme, Verdict
from draftproof.simulator.raised import named_errors


def silent_output(audit: Audit, scheme: DraftScheme | None) -> tuple[Case, FunctionFailed | None, list[str]]:
    """The case, what the function returns from broken rows, if anything, and the errors that it raises on them.

    scheme: that of the audit. Raises as `assert_breakable` does, and what the audit cannot follow.
    """
    assert_breakable(audit)
    case = broken_case(audit.audited.interface, scheme)
    found: dict[tuple[str, str], str] = {}
    raised: dict[str, None] = {}
    expected = audit.expected_instance(case.instance, case.scheme)
    for tree, _ in drawn_trees(case.scheme, expected.draft, expected.target.arithmetic):
        root = tree.root(expected.target, expected.draft)
        plain = list(_ends(audit, root, None))
        for row in _rows(root):
            if (row.process, row.kind) in found:
                continue
            with named_errors(f"{audit.name} on {row}"):
                ends = list(_ends(audit, root, row))
            loud = [end for end, _ in ends if isinstance(end, FunctionFailed) and end.raised]
            raised |= {error.what.split(":")[0]: None for error in loud}
            silent = [end for end, _ in ends if end not in loud and _uses(end, row)]
            if silent and (row.process == "p" or ends != plain):
                found[row.process, row.kind] = _told(silent[0], row)
    error = FunctionFailed("; ".join(found.values()), "", "", False) if found else None
    return case, error, list(raised)


def assert_breakable(audit: Audit) -> None:
    """Raise `InvalidInput` where rows cannot be broken."""
    if audit.batch > 1:
        raise InvalidInput(
            "rows of NaN are tried with one request a call, since an error ends the call of a whole batch and does not "
            "say which request it is about; leave out the batch, or nan"
        )
    if audit.audited.rows.kind.arithmetic.exact:
        raise InvalidInput("fractions hold no NaN; use arithmetic float64")
    if not audit.processing.is_identity:
        raise InvalidInput("rows of NaN need rows that are handed over as they are")


def _rows(root: DraftNode) -> Iterator[BrokenRow]:
    for kind in BROKEN:
        for node in nodes_of(root):
            yield BrokenRow("p", node.context, kind)
            if node.children:
                yield BrokenRow("q", node.context, kind)


def _ends(audit: Audit, root: DraftNode, row: BrokenRow | None) -> Iterator[tuple[Verdict | FunctionFailed, Any]]:
    audited = replace(audit.audited, presentation=replace(audit.audited.presentation, broken=row))

    def run(coin: Any) -> Verdict | FunctionFailed:
        try:
            return audited.verify(root, coin)
        except FunctionFailed as error:
            return error

    yield from outcomes(run, audited.rows.kind.arithmetic)


def _uses(end: Verdict | FunctionFailed, row: BrokenRow) -> bool:
    return isinstance(end, FunctionFailed) or end.accepted[: len(row.context)] == row.context


def _told(end: Verdict | FunctionFailed, row: BrokenRow) -> str:
    if isinstance(end, FunctionFailed):
        return f"{end.what}, from {row}"
    token = (*end.accepted, end.correction)[len(row.context)]
    return f"it returns token {token} from {row}"
