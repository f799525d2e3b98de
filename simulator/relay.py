"""Runs of a verifier or an audited function in another process, which has no part in the verdict.

This process enumerates the coin. The other one gets copies of the rows of one tree and answers of the coin, and replies
with the questions to the coin and the result; its reply counts as what the function does. Messages are JSON, with exact
numbers as text and floats as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_named, arithmetic_of
from draftproof.simulator.coins import STATE, EnumeratingCoin
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import DraftproofError, InvalidVerifier, NoFunction
from draftproof.simulator.protocol import Coin, Context, DraftNode, Vector, Verdict

#: Runs in one request: first few, then more on a tree that has many.
FEW, MANY = 16, 256

#: The verdict of a call on each of these trees with real random numbers, or its error, from their seed.
Sample: TypeAlias = Callable[[Sequence[DraftNode], Sequence[int]], Sequence[Verdict | DraftproofError]]
#: Sends a request to the other process and gives its reply.
Ask: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
#: Runs a function on trees with a coin and returns its verdicts; the dictionary gets other facts of the run.
Run: TypeAlias = Callable[[tuple[DraftNode, ...], Coin, dict[str, Any]], Sequence[Verdict]]


@dataclass
class _Answers:
    """The state after some answers of the coin: the next question, or the end of the run."""

    asked: Any = None
    below: dict[int, _Answers] = field(default_factory=dict)
    end: Mapping[str, Any] | None = None
    used: bool = False


_UNREADABLE = "the process that runs it gave no answer that could be read"


class OtherProcessVerifier:
    """A verifier in another process, which can make its next runs in advance."""

    def prefetch(self, roots: Sequence[DraftNode]) -> None:
        """Request the first runs on these trees together."""


class Relay:
    """Runs of the function on one group of trees, requested some at a time; each run is used once."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._roots: tuple[DraftNode, ...] = ()
        self._settings: Mapping[str, Any] = {}
        self._start = _Answers()
        self._most = FEW
        self._prefetched: dict[tuple[int, ...], tuple[tuple[DraftNode, ...], _Answers]] = {}

    def prefetch(
        self, groups: Sequence[tuple[tuple[DraftNode, ...], Sequence[DraftNode]]], settings: Mapping[str, Any]
    ) -> None:
        """Request the first runs on several groups: their trees, and these as the function sees them."""
        self._settings, self._roots, self._prefetched = dict(settings), (), {}
        arithmetic = arithmetic_of(groups[0][0][0].target)
        replies = self._asked([shown for _, shown in groups], arithmetic, [], FEW)
        for (roots, _), runs in zip(groups, replies, strict=True):
            self._prefetched[tuple(map(id, roots))] = roots, _learned(_Answers(), runs)

    def run(
        self,
        roots: tuple[DraftNode, ...],
        coin: Coin,
        settings: Mapping[str, Any],
        shown: Sequence[DraftNode],
        told: dict[str, Any],
        ahead: bool = True,
    ) -> list[Verdict]:
        """The verdicts of one run; raises the error of the function.

        shown: the trees as the function sees them. told: gets the other facts of the run. ahead: whether the runs that
        follow in an enumeration are requested with it.
        """
        if self._settings != settings:
            self._settings, self._roots, self._prefetched = dict(settings), (), {}
        key = tuple(map(id, roots))
        if key != tuple(map(id, self._roots)):
            _, start = self._prefetched.pop(key, (roots, _Answers()))
            self._roots, self._start, self._most = roots, start, FEW
        arithmetic = arithmetic_of(roots[0].target)
        answers: list[int] = []
        node = self._start
        while node.end is None or node.used:
            if node.asked is None:
                self._fetch(answers, shown, arithmetic, ahead)
            if node.asked is not None:
                asked = _numbers(node.asked, arithmetic)
                answers.append(int(coin.choose(asked) if isinstance(asked, list) else coin.flip(asked)))
                node = node.below.setdefault(answers[-1], _Answers())
        node.used = True
        told.update(node.end.get("told", {}))
        if "error" in node.end:
            raise error_from(node.end["error"])
        return [_verdict(item) for item in node.end["verdicts"]]

    def sampled(self, shown: Sequence[DraftNode], seed: Sequence[int]) -> list[Verdict | DraftproofError]:
        """The verdict of a call on each of these trees with real random numbers, or the error of the function."""
        trees = [_tree_fields(root) for root in shown]
        reply = self._ask({"sampled": trees, "arithmetic": arithmetic_of(shown[0].target).name, "seed": list(seed)})
        ends = reply.get("ends")
        if not (isinstance(ends, list) and len(ends) == len(shown) and all(map(_is_end, ends))):
            raise InvalidVerifier(_UNREADABLE)
        return [error_from(end["error"]) if isinstance(end, dict) else _verdict(end) for end in ends]

    def _fetch(self, answers: list[int], shown: Sequence[DraftNode], arithmetic: Arithmetic, ahead: bool) -> None:
        """Request the run with these first answers, and some of those that follow it in the enumeration."""
        [runs] = self._asked([shown], arithmetic, answers, self._most if ahead else 1)
        self._most = min(4 * self._most, MANY) if ahead else self._most
        if not runs or runs[0]["answers"][: len(answers)] != answers:
            raise NoFunction(STATE)
        _learned(self._start, runs)

    def _asked(
        self, groups: Sequence[Sequence[DraftNode]], arithmetic: Arithmetic, answers: list[int], most: int
    ) -> list[list[dict[str, Any]]]:
        trees = [[_tree_fields(root) for root in shown] for shown in groups]
        request = {"trees": trees, "arithmetic": arithmetic.name, "answers": answers, "most": most}
        reply = self._ask({**request, "settings": dict(self._settings)})
        if not _well_formed(reply, len(groups)):
            raise InvalidVerifier(_UNREADABLE)
        return list(reply["runs"])


def _well_formed(reply: Any, count: int) -> bool:
    """Whether a reply has the form that `Runner` sends for so many groups; the other process may send anything."""
    groups = reply.get("runs")
    return isinstance(groups, list) and len(groups) == count and all(
        isinstance(runs, list) and all(map(_is_run, runs)) for runs in groups
    )  # fmt: skip


def _is_run(run: Any) -> bool:
    match run:
        case {"asked": list(asked), "answers": list(answers), "end": {"error": {"kind": str(), "text": str()}}}:
            pass
        case {"asked": list(asked), "answers": list(answers), "end": {"verdicts": list(verdicts)}}:
            if not all(map(_is_verdict, verdicts)):
                return False
        case _:
            return False
    return len(asked) == len(answers) and all(isinstance(answer, int) for answer in answers)


def _is_end(fields: Any) -> bool:
    match fields:
        case {"error": {"kind": str(), "text": str()}}:
            return True
    return _is_verdict(fields)


def _is_verdict(fields: Any) -> bool:
    match fields:
        case [list(accepted), int()]:
            return all(isinstance(token, int) for token in accepted)
    return False


def _learned(start: _Answers, runs: Sequence[Mapping[str, Any]]) -> _Answers:
    """Add runs to the known ones; raises `NoFunction` where they contradict these or each other."""
    for run in runs:
        node = start
        for asked, answer in zip(run["asked"], run["answers"], strict=True):
            if node.asked is None:
                node.asked, node.end = asked, None
            if node.asked != asked:
                raise NoFunction(STATE)
            node = node.below.setdefault(answer, _Answers())
        if node.asked is not None:
            raise NoFunction(STATE)
        if node.end is not None and node.end.get("verdicts") != run["end"].get("verdicts"):
            raise NoFunction(STATE)
        node.end, node.used = run["end"], False
    return start


class Runner:
    """The side of the other process: runs the function on request.

    variant: gives it for the settings of a request. sample: calls it with real random numbers, where it is audited.
    """

    def __init__(self, variant: Callable[[Mapping[str, Any]], Run], sample: Sample | None = None) -> None:
        self._variant = variant
        self._sample = sample
        self._known: tuple[Any, tuple[DraftNode, ...], Run] | None = None

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """For each group of trees the run with the given first answers, and the next ones of the enumeration.

        An enumeration begins with a run with random answers, so that state kept from a first run shows in a second one.
        """
        if self._sample is not None and "sampled" in request:
            arithmetic = arithmetic_named(request["arithmetic"])
            roots = [_root(fields, arithmetic) for fields in request["sampled"]]
            return {"ends": list(map(_end_fields, self._sample(roots, request["seed"])))}
        return {"runs": [self._runs(trees, request) for trees in request["trees"]]}

    def _runs(self, trees: Any, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        key = trees, request["settings"]
        arithmetic = arithmetic_named(request["arithmetic"])
        first: list[dict[str, Any]] = []
        if not request["answers"] or self._known is None or self._known[0] != key:  # a new enumeration has its own
            roots = tuple(_root(fields, arithmetic) for fields in trees)
            self._known = key, roots, self._variant(request["settings"])
            if not request["answers"]:
                first = self._enumerated(_ScriptedCoin(arithmetic, (), Random(0)), 1)
        return first + self._enumerated(_ScriptedCoin(arithmetic, request["answers"]), request["most"])

    def _enumerated(self, coin: _ScriptedCoin, most: int) -> list[dict[str, Any]]:
        assert self._known is not None
        _, roots, run = self._known
        runs: list[dict[str, Any]] = []
        while len(runs) < most:
            coin.start()
            told: dict[str, Any] = {}
            try:
                end: dict[str, Any] = {"verdicts": [_verdict_fields(item) for item in run(roots, coin, told)]}
                _ = coin.weight  # raises if the run asked less than the one before
            except DraftproofError as error:
                end = {"error": error_fields(error)}
            runs.append({**coin.record(), "end": {**end, "told": told}})
            coin.free()
            if "error" in end or not coin.advance():
                break
        return runs


class _ScriptedCoin(EnumeratingCoin):
    """An enumerating coin whose first run has given answers. random: draws the answers after these."""

    def __init__(self, arithmetic: Arithmetic, answers: Sequence[int], random: Random | None = None) -> None:
        super().__init__(arithmetic)
        self._answers, self._random = list(answers), random

    def free(self) -> None:
        """Continue as a plain enumerating coin."""
        self._answers, self._random = [], None

    def record(self) -> dict[str, Any]:
        """The questions and answers of this run."""
        script = self._script[: self._next]
        answers = [int(item.answers[item.position][0]) for item in script]
        return {"asked": [self._told(element.asked) for element in script], "answers": answers}

    def _branch(self, asked: Any, answers: list[tuple[Any, Any]]) -> Any:
        place = self._next
        super()._branch(asked, answers)
        if place < len(self._answers):
            known = [position for position, (answer, _) in enumerate(answers) if int(answer) == self._answers[place]]
            if not known:
                raise NoFunction(STATE)
            self._script[-1].position = known[0]
        elif self._random is not None:
            self._script[-1].position = self._random.randrange(len(answers))
        return answers[self._script[-1].position][0]

    def _told(self, asked: Any) -> Any:
        if isinstance(asked, list):
            return [self._told(item) for item in asked]
        number = self._number(asked)
        return str(number) if self._arithmetic.exact else number


def error_fields(error: DraftproofError) -> dict[str, Any]:
    """An error as plain data."""
    return {"kind": type(error).__name__, "text": str(error), "fields": getattr(error, "fields", None)}


def error_from(fields: Mapping[str, Any]) -> DraftproofError:
    """The error from its plain data; an `InvalidVerifier` for an unknown type."""
    kinds: list[type[DraftproofError]] = [DraftproofError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    kind = next((item for item in kinds if item.__name__ == fields["kind"]), InvalidVerifier)
    more = fields.get("fields")
    return kind(**more) if more else kind(fields["text"])


@lru_cache(maxsize=100_000)
def _exact(text: str | int) -> fmpq:
    top, _, bottom = str(text).partition("/")
    return fmpq(int(top), int(bottom or 1))


def _numbers(asked: Any, arithmetic: Arithmetic) -> Any:
    if isinstance(asked, list):
        return [_numbers(item, arithmetic) for item in asked]
    return _exact(asked) if arithmetic.exact else float(asked)


def _end_fields(end: Verdict | DraftproofError) -> Any:
    return {"error": error_fields(end)} if isinstance(end, DraftproofError) else _verdict_fields(end)


def _verdict_fields(verdict: Verdict) -> list[Any]:
    if not isinstance(verdict.correction, (int, np.integer)):
        raise InvalidVerifier(f"correction {verdict.correction!r} is no token")
    return [[int(token) for token in verdict.accepted], int(verdict.correction)]


def _verdict(fields: Any) -> Verdict:
    accepted, correction = fields
    return Verdict(tuple(map(int, accepted)), int(correction))


def _tree_fields(root: DraftNode) -> list[list[Any]]:
    """Every node: context, drafted tokens, rows, and the laws of the drafts where not all are `q`."""
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        laws = node.laws
        own = None if all(law is node.draft for law in laws) else list(map(_row_fields, laws))
        nodes.append([list(node.context), list(node.children), _row_fields(node.target), _row_fields(node.draft), own])
        waiting += [node.child(token) for token in dict.fromkeys(node.children)]
    return nodes


def _row_fields(row: Vector) -> list[Any] | None:
    return None if row is None else [value if isinstance(value, float) else str(value) for value in row.tolist()]


@dataclass(frozen=True)
class _Given:
    """A piece whose law at one node was sent."""

    sent: Vector

    def law(self, row: Vector) -> Vector:
        """The law that was sent, the row itself where it is that."""
        return row if (self.sent == row).all() else self.sent


@dataclass(frozen=True)
class _Rows:
    """The rows of one tree as a process."""

    rows: Mapping[Context, Vector]
    vocab_size: int

    def row(self, context: Context) -> Vector:
        """The row of a context of the tree."""
        return self.rows[context]


def _root(fields: list[list[Any]], arithmetic: Arithmetic) -> DraftNode:
    def vector(numbers: Any) -> Vector:
        return None if numbers is None else arithmetic.vector(_numbers(numbers, arithmetic))

    def process(place: int) -> _Rows:
        return _Rows({tuple(field[0]): vector(field[place]) for field in fields}, len(fields[0][2]))

    children = {tuple(field[0]): tuple(field[1]) for field in fields if field[1]}
    told = any(field[4] for field in fields)
    pieces = {
        tuple(field[0]): tuple(_Given(vector(law)) for law in field[4] or [field[3]] * len(field[1]))
        for field in fields
        if told and field[1]
    }
    return DraftTree(children, pieces).root(process(2), process(3))
