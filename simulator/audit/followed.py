"""An audited function as a `Verifier`: its random decisions ask the coin, and its result becomes a `Verdict`.

So the enumerating engine, the balance equation and shrinking apply to it as to any verifier.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from math import floor, inf, ldexp, log
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from draftproof.simulator.audit.failures import BrokenResult, FunctionFailed, function_errors, innermost_file
from draftproof.simulator.audit.interfaces import Call, Interface
from draftproof.simulator.audit.interfaces._call import NOISE_WORDS, kind_of
from draftproof.simulator.audit.real import RealCoins
from draftproof.simulator.audit.recorded import RecordingCoin, ReplayingCoin
from draftproof.simulator.audit.rows import RowForm
from draftproof.simulator.changes import REPEATED, TRIES, Snapshot
from draftproof.simulator.counters import Counters
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, NoFunction
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import assert_verdict
from draftproof.simulator.origins import in_simulator
from draftproof.simulator.protocol import Card, Coin, DraftNode, Vector, Verdict
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.symbolic import AS_IT_IS, ArgumentCoins, NotFollowed, Session, Settings, intercepted
from draftproof.simulator.symbolic.decide.region import Region
from draftproof.simulator.symbolic.decide.session import Draw
from draftproof.simulator.symbolic.loading.reach import sorts
from draftproof.simulator.symbolic.numbers.exact import as_float
from draftproof.simulator.symbolic.replay import Replay, last_common_line, point_of, same_choices
from draftproof.simulator.symbolic.where import SAMPLE, caller
from draftproof.simulator.user_code import NodeView


def rows_from(instance: Instance, *names: str) -> Callable[[DraftNode], tuple[Vector, Vector]]:
    """Gives `p` and `q` of a node: those of an instance for "target" and "draft" among the names, else its own."""

    def rows(node: DraftNode) -> tuple[Vector, Vector]:
        target = instance.target.row(node.context) if "target" in names else node.target
        drafts = "draft" in names and node.children
        return target, instance.draft.row(node.context) if drafts else node.draft

    return rows


class _Grouped(NodeView):
    """A node whose equal children stand side by side, in place of their draft order."""

    __slots__ = ()

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.children = tuple(sorted(self.children, key=self.children.index))

    @property
    def laws(self) -> tuple[Vector, ...]:
        """See `DraftNode.laws`."""
        drafted, laws = self._node.children, super().laws
        return tuple(laws[place] for place in sorted(range(len(drafted)), key=lambda at: drafted.index(drafted[at])))


_STATELESS = "it must be a function of its arguments and its random numbers, without state"
#: All that a function can reach is compared around so many first calls.
WATCHED = 50
#: The rounding of a log-probability down to -30 in float32.
LOG_ROUNDING = 2e-6
#: A run less probable than this is stopped: it is in a rejection loop that may not end.
SMALLEST = 1e-100


#: The first `FIRST` different runs on each target row are repeated at `PARTS` points of real numbers, others at one.
FIRST, PARTS = 24, 6
#: Relative distance within which a number and a bound may be equal in float16.
HALF_ROUNDING = 2**-10
#: Runs by which a difference at a bound is told from state: at the bound each is wrong, further inside each is right.
AT_BOUND = (False, False, True, False, True, True, False, True, True, True, False, False, False, True)


class Recorded(NamedTuple):
    """A run to be repeated on real numbers: its draws, its point, and the answers of its two coins."""

    draws: Sequence[Draw]
    point: Mapping[int, float]
    of_session: Sequence[int]
    of_interface: Sequence[int]


@dataclass
class Log:
    """What the runs of a function showed beside their verdicts.

    reuse: places where one coin decides twice. constants: generators with a constant seed. notes: what the law assumes.
    left_out: the largest probability of a branch that counts as rounding and is left out (see `NumberKind`). raced:
    places in races of numbers that were coins before. raced_twice: lines of two races with one number. replayed: by
    target row, trees and answers of the runs that were repeated at several points of real numbers. events: coins with
    boundary values in the last run. memory: places where memory is read that nothing was written to. called: the names
    of the arguments of a call. calls: of the function. counters: what it only adds to.
    """

    reuse: dict[str, None] = field(default_factory=dict)
    constants: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    left_out: float = 0.0
    raced: dict[int, None] = field(default_factory=dict)
    raced_twice: dict[tuple[str, str], None] = field(default_factory=dict)
    replayed: dict[tuple[Any, ...], set[Any]] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    memory: dict[str, None] = field(default_factory=dict)
    called: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    counters: Counters = field(default_factory=Counters)


@dataclass(frozen=True)
class Audited:
    """A function with its interface; see the module.

    settings: under which it is followed. ends: the token that ends a text, where there is one. raw: rows in place of
    those of the nodes, for a function that processes rows itself. grouped: whether equal children are shown side by
    side instead of in draft order: paths drawn independently may come in any order, so a lossless verifier stays
    lossless; where a wrong one becomes lossless, that is a hint at its bug. typed: the text of arguments as they were
    given on the command line. notes: how the function was loaded. logprobs: whether it returns log-probabilities beside
    its tokens, which must be those of the target's rows.
    Raises `InvalidInput` for an interface that does not support these settings.
    """

    function: Callable[..., Any]
    interface: Interface
    rows: RowForm
    name: str = "function"
    keywords: Mapping[str, Any] = field(default_factory=dict)
    batched: bool = False
    settings: Settings = AS_IT_IS
    ends: int | None = None
    raw: Instance | None = None
    grouped: bool = False
    typed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    logprobs: bool = False
    log: Log = field(default_factory=Log, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInput(f"{self.name} is {type(self.function).__name__}, no function")
        if self.rows.library not in self.interface.libraries:
            known = " or ".join(self.interface.libraries)
            raise InvalidInput(f"the interface {self.interface.name} hands over rows of {known}")
        if self.batched and not self.interface.batches:
            raise InvalidInput(f"the interface {self.interface.name} takes one request at a time; leave out the batch")

    @property
    def adapter(self) -> str:
        """How the function was called, in one line."""
        names = [name for name in self.log.called if name not in self.keywords]
        typed = [f"{name}={self.typed.get(name, repr(value))}" for name, value in self.keywords.items()]
        rows = f"rows as {self.rows.library} {self.rows.kind.name}{', logarithms' if self.rows.logits else ''}"
        noise = [f"; {name}: {NOISE_WORDS[kind]}" for name in names if (kind := kind_of(name))]
        return f"called as {self.name}({', '.join([*names, *typed])}), {rows}{''.join(noise)}"

    @property
    def sorts(self) -> bool:
        """Whether it sorts rows or keeps their largest entries, as far as the names that it calls show."""
        return sorts((self.function,))

    @property
    def card(self) -> Card:
        """A card that declares nothing."""
        return Card(self.name, self.name, None, needs=None, single_path=not self.interface.multi_path)

    def _shown(self, root: DraftNode) -> DraftNode:
        """The root as the function gets it."""
        if self.raw is None and not self.grouped:
            return root
        kind = _Grouped if self.grouped else NodeView
        if self.raw is not None:
            return kind(root, rows_from(self.raw, "target", "draft"))
        return kind(root, lambda node: (node.target, node.draft), lambda law: law)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        [verdict] = self.verify_all((root,), coin)
        return verdict

    def verify_all(self, roots: tuple[DraftNode, ...], coin: Coin) -> list[Verdict]:
        """The verdicts of one call for one or several requests; errors name the line of the function."""
        nodes = tuple(map(self._shown, roots))
        self.log.calls += 1
        if self.log.calls == 1:
            self._first_call(nodes)
        negligible = self.rows.kind.negligible
        steady = _RoundingCoin(coin, negligible, self.log) if negligible else coin
        of_session, of_interface = RecordingCoin(steady), RecordingCoin(steady)
        is_watched = self.log.calls <= WATCHED or not self.log.calls & (self.log.calls - 1)  # 64, 128, 256, ..
        before = Snapshot(self.function) if is_watched else None
        with intercepted(of_session, watch=(self.function,), settings=self.settings, boundary_coin=coin) as session:
            try:
                outcome = self._outcome(nodes, ArgumentCoins(session), of_interface)
            finally:
                self.log.reuse.update(dict.fromkeys(map(str, session.reuse)))
                self.log.notes.update(dict.fromkeys(session.notes))
                self.log.memory.update(session.memory.places)
                self.log.constants.update(session.constants)
                self.log.raced.update({item.place: None for item in session.reuse if item.place is not None})
                self.log.raced_twice.update(dict.fromkeys(session.region.raced_twice))
                self.log.events = tuple(map(_event, session.boundary_events))
        if isinstance(outcome, FunctionFailed) and self.log.counters:
            with self.log.counters.shown():
                again, _ = self._silently(nodes, ReplayingCoin(of_session.answers), ReplayingCoin(of_interface.answers))
            if not _same(outcome, again):
                raise InvalidVerifier(f"{self.log.counters.names} changes with every call, and is used: {_STATELESS}")
        if not (self.log.events or replace(self.settings, boundary=False) != AS_IT_IS):
            if before is not None:
                self._assert_steady(before, nodes, of_session.answers, of_interface.answers)
            parts = PARTS if self._is_new(nodes, of_session.answers, of_interface.answers) else 1
            for part in range(parts):
                point = None if session.draws is None else point_of(session.region, session.draws, part, parts)
                if point is not None:
                    recorded = Recorded(session.draws or (), point, of_session.answers, of_interface.answers)
                    self._replay(nodes, recorded, partial(_further_inside, session.region, point), outcome)
        if isinstance(outcome, FunctionFailed):
            cause = outcome.__cause__
            of_rules = (
                cause is not None and not isinstance(cause, InvalidVerifier) and in_simulator(innermost_file(cause))
            )
            if of_rules and session.draws is None:  # no run on real numbers has shown that it raises this itself
                raise NotFollowed(f"{outcome.what}, in a rule of the audit for random numbers") from outcome
            raise outcome
        return outcome

    def _is_new(self, nodes: tuple[DraftNode, ...], *answers: Sequence[int]) -> bool:
        """Whether a run is one of the first different ones on its target row; from now on it is known."""
        known = self.log.replayed.setdefault(_row(nodes[0]), set())
        if len(known) == FIRST:
            return False
        before = len(known)
        known.add((*map(tuple, answers), *map(_drafted, nodes)))
        return len(known) > before

    def _outcome(self, nodes: tuple[DraftNode, ...], coins: Any, coin: Coin) -> list[Verdict] | FunctionFailed:
        try:
            with self.log.counters.hidden():
                return self._call_with(nodes, coins, coin)
        except FunctionFailed as error:
            return error
        except NoFunction as error:
            raise InvalidVerifier(f"{error}: {_STATELESS}") from error

    def _first_call(self, nodes: tuple[DraftNode, ...]) -> None:
        """A call in advance, in which the function makes what it keeps, such as a generator that it makes once."""
        coin = SamplingCoin(np.random.default_rng(0))
        of_session, of_interface = RecordingCoin(coin), RecordingCoin(coin)
        first, session = self._silently(nodes, of_session, of_interface)
        again, _ = self._silently(nodes, ReplayingCoin(of_session.answers), ReplayingCoin(of_interface.answers))
        if session is not None and not session.constants and not _same(first, again):
            raise InvalidVerifier(f"its first call does something else than the same call again: {_STATELESS}")

    def _silently(
        self, nodes: tuple[DraftNode, ...], coin: Any, of_interface: Any, replay: Session | None = None
    ) -> tuple[Any, Session | None]:
        """The outcome of a further call, whose output is left out, with its session; a refusal without one."""
        try:
            with redirect_stderr(StringIO()), intercepted(coin, watch=(self.function,), replay=replay) as session:
                outcome = self._outcome(nodes, ArgumentCoins(session), of_interface)
        except InvalidVerifier as error:
            if self.log.counters.read is not None:
                raise
            return error, None
        return outcome, session

    def _assert_steady(self, before: Snapshot, nodes: tuple[DraftNode, ...], *answers: Sequence[int]) -> None:
        """Raise `InvalidVerifier` if each repetition of a call changes what the function can reach, beside counters."""
        for number in range(TRIES):
            after = Snapshot(self.function)
            changed = before.change(after)
            if changed is None:
                return
            if number >= REPEATED and not self.log.counters.add(changed):
                break
            before = after
            of_session, of_interface = map(ReplayingCoin, answers)
            self._silently(nodes, of_session, of_interface)
        assert changed is not None
        raise InvalidVerifier(f"{changed.name} changes with every call{after.line_of(changed)}: {_STATELESS}")

    def _replay(
        self,
        nodes: tuple[DraftNode, ...],
        one: Recorded,
        further_inside: Callable[[], Mapping[int, float]],
        outcome: list[Verdict] | FunctionFailed,
    ) -> None:
        """Raise `NotFollowed` if the function's result on real numbers differs from that on symbols.

        further_inside: gives numbers near those of `one`, where rounding in the function's own low precision decides
        nothing; empty where no number of `one` is at the bound of a decision, so that rounding explains no difference.
        """

        def run(coin: Any, replay: Session | None) -> Any:
            repeated, again = self._silently(nodes, coin, ReplayingCoin(one.of_interface), replay)
            if again is None or again.draws is None or replay is not None or same_choices(one.draws, again.draws):
                return repeated
            return InvalidVerifier("it draws with other probabilities when it is called again")

        def followed() -> Any:
            return run(ReplayingCoin(one.of_session), None)

        def on_real_numbers(point: Mapping[int, float] = one.point) -> Any:
            return run(None, Replay(one.draws, point))

        first = on_real_numbers()
        if _same(outcome, first):
            return
        inside = further_inside()
        if inside and all(
            _same(first, on_real_numbers()) if at_bound else _same(outcome, on_real_numbers(inside))
            for at_bound in AT_BOUND
        ):
            return
        if not all(_same(outcome, followed()) for _ in range(2)):
            raise InvalidVerifier(f"it does something else when it is called again: {_STATELESS}")
        raise NotFollowed(
            "it does something else with real random numbers than with those that stand for them "
            f"({last_common_line(followed, on_real_numbers)}), which cannot be followed"
        )

    def sampled(
        self, batches: Iterable[Sequence[DraftNode]], coins: RealCoins
    ) -> list[list[Verdict] | InvalidVerifier]:
        """What a call on the trees of each batch with real random numbers gives: its verdicts, or how it fails.

        coins: determine all numbers but those of generators that the function seeds by itself. A refusal is the last
        entry: no further call is made.
        """
        outcomes: list[list[Verdict] | InvalidVerifier] = []
        with coins.of_modules():
            for roots in batches:
                try:
                    outcomes.append(self._outcome(tuple(map(self._shown, roots)), coins, coins.coin))
                except NotFollowed as error:
                    return [*outcomes, error]
        return outcomes

    def _call_with(self, nodes: tuple[DraftNode, ...], coins: Any, coin: Coin) -> list[Verdict]:
        call = Call(self.function, nodes, self.rows, coins, coin, self.batched, self.keywords, self.ends)
        call = replace(call, beside=[]) if self.logprobs else call
        hint = f"; the {self.interface.name} interface calls it with {self.interface.how(self.batched)}"
        hint += "" if self.rows.library == "torch" else f", rows for {self.rows.library}"
        hint += "; further arguments can be given"
        with function_errors(call.made, hint):
            try:
                verdicts = list(self.interface.call(call))
            finally:
                self.log.called.update(dict.fromkeys(call.made))
            for verdict, root in zip(verdicts, nodes, strict=False):
                assert_verdict(verdict, _Below(root), len(root.target))
            if call.beside is not None:
                logprobs = [call.beside[-1]] if len(verdicts) == 1 and not self.batched else call.beside[-1]
                for verdict, root, given in zip(verdicts, nodes, logprobs, strict=True):
                    assert_logprobs(verdict, root, given, self.rows.kind.tolerance)
        return verdicts


def assert_logprobs(verdict: Verdict, root: DraftNode, given: Any, rounding: float) -> None:
    """Raise `BrokenResult` unless the numbers are the logarithms of the probabilities of the tokens of a block.

    Those that an engine returns are of float32: up to `LOG_ROUNDING`, or what the kind of its rows allows.
    """
    block, node = (*verdict.accepted[len(root.context) :], verdict.correction), root
    if not isinstance(given, (list, tuple)) or len(given) != len(block):
        raise BrokenResult(f"it returned {given!r} as log-probabilities of {len(block)} tokens; give one for each")
    for place, (token, number) in enumerate(zip(block, given, strict=True)):
        wanted = log(float(node.target[token])) if node.target[token] > 0 else -inf
        if not isinstance(number, float) or not (
            number == wanted or abs(number - wanted) <= LOG_ROUNDING + 10 * rounding
        ):
            raise BrokenResult(
                f"it returned {number!r} as log-probability of token {token} after {node.context}, which has "
                f"{wanted:.9g} in the target's row"
            )
        node = node.child(token) if place < len(block) - 1 else node


@dataclass(frozen=True)
class _Below:
    """The contexts of all nodes of the tree below a root, the root included."""

    root: DraftNode

    def __contains__(self, context: object) -> bool:
        node, start = self.root, len(self.root.context)
        if not isinstance(context, tuple) or context[:start] != node.context:
            return False
        for token in context[start:]:
            if token not in node.children:
                return False
            node = node.child(token)
        return True


def _further_inside(region: Region, point: Mapping[int, float]) -> dict[int, float]:
    """The point moved by a 16th towards the middle of the interval of each number; empty if none is at a bound.

    A comparison of a Python float with a float16 rounds the float first, so it may come out differently at its bound.
    """
    moved, at_bound = {}, False
    for variable, number in point.items():
        bounds = [as_float(bound) for bound in region.interval(variable)]
        at_bound |= any(0 < bound < 1 and abs(number - bound) <= HALF_ROUNDING * bound for bound in bounds)
        moved[variable] = ldexp(floor(ldexp(number + (sum(bounds) / 2 - number) / 16, 24)), -24)
    return moved if at_bound else {}


def _drafted(node: DraftNode) -> tuple[Any, ...]:
    """A key of a tree: the row and the drafted tokens of every node."""
    return _row(node), *((token, _drafted(node.child(token))) for token in node.children)


def _row(node: DraftNode) -> tuple[Any, ...]:
    return tuple(node.target.tolist())


def _event(event: Any) -> str:
    value = event.value
    number = "0" if value == 0 else "the largest float below 1" if float(1 - value) < 2**-20 else f"{float(value):.6g}"
    return f"{event.what} = {number}, met at {event.line}"


def _same(outcome: Any, other: Any) -> bool:
    """Whether two runs returned the same result, failed with the same type of error, or were refused alike."""
    if isinstance(outcome, FunctionFailed) and isinstance(other, FunctionFailed):
        return type(outcome.__cause__) is type(other.__cause__)
    if isinstance(outcome, InvalidVerifier) and isinstance(other, InvalidVerifier):
        return str(outcome) == str(other)
    return bool(outcome == other)


class Endless(NotFollowed):
    """A run was stopped, as its loop may have no end."""


class _RoundingCoin:
    """A coin that leaves out branches less probable than `negligible`, which only rounding makes possible."""

    def __init__(self, coin: Coin, negligible: float, log: Log) -> None:
        self._coin = coin
        self._negligible = fmpq(*negligible.as_integer_ratio())
        self._log = log
        self._weight = 1.0

    def flip(self, probability: Any) -> bool:
        if probability <= self._negligible:
            self._note(probability)
            return False
        if 1 - probability <= self._negligible:
            self._note(1 - probability)
            return True
        answer = self._coin.flip(probability)
        self._went(probability if answer else 1 - probability)
        return answer

    def choose(self, weights: Any) -> int:
        listed = list(weights)
        least = sum(listed) * (self._negligible if isinstance(listed[0], fmpq) else float(self._negligible))
        for weight in listed:
            if 0 < weight <= least:
                self._note(weight)
        answer = self._coin.choose([weight if weight > least else weight * 0 for weight in listed])
        self._went(listed[answer] / sum(listed))
        return answer

    def _went(self, share: Any) -> None:
        self._weight *= float(share)
        if self._weight < SMALLEST:
            raise Endless(
                f"one run has a probability below {SMALLEST:g}: a loop that may go on for ever cannot be enumerated "
                f"({caller()}); draw from the residual itself, or {SAMPLE}"
            )

    def _note(self, probability: Any) -> None:
        self._log.left_out = max(self._log.left_out, float(probability))
