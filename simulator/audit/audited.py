"""An outsider's function as a verifier: its randomness is asked from the coin, its result becomes a verdict.

So everything that judges verifiers judges it too: the enumerating engine, the balance equation, shrinking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from typing import Any, NamedTuple

from flint import fmpq

from draftproof.simulator.audit.bisecting.bisected import Bisected
from draftproof.simulator.audit.failures import FunctionFailed, blamed
from draftproof.simulator.audit.interfaces import Call, Interface
from draftproof.simulator.audit.interfaces.keys import keys_of
from draftproof.simulator.audit.interfaces.noise import WORDS, wanted
from draftproof.simulator.audit.presentation import Presentation
from draftproof.simulator.audit.rows import RowForm
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.laws.enumeration import assert_verdict
from draftproof.simulator.protocol import Card, Coin, DraftNode, Verdict
from draftproof.simulator.relay import Relay, Relayed
from draftproof.simulator.symbolic import ArgumentCoins, NotFollowed, Session, intercepted
from draftproof.simulator.symbolic.knowledge.session import Draw
from draftproof.simulator.symbolic.replay import Replay, last_common_line, point_of

_PLAIN = Presentation()
#: Runs less probable than this come from a rejection loop, whose probabilities leave the floats in the end.
SMALLEST = 1e-200


#: Of so many first different runs so many points each are tried with real random numbers, and one of every other run.
FIRST, PARTS = 24, 6


class Recorded(NamedTuple):
    """A run that is repeated on real numbers: what it drew, its point, and the answers of its two coins."""

    draws: Sequence[Draw]
    point: Mapping[int, float]
    of_session: Sequence[int]
    of_interface: Sequence[int]


@dataclass
class Log:
    """What the runs of a function showed beside its verdicts.

    reuse: places where one coin made two decisions. notes: what was taken for granted about its random numbers. sliver:
    the largest probability of a branch that was taken for rounding and not followed. replayed: trees and answers
    of the runs that were repeated on many real random numbers. events: corner coins of the last run.
    """

    reuse: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    sliver: float = 0.0
    replayed: set[Any] = field(default_factory=set)
    events: tuple[str, ...] = ()

    def told(self) -> dict[str, Any]:
        """What another process is told."""
        return {
            "reuse": list(self.reuse), "notes": list(self.notes), "sliver": self.sliver, "events": list(self.events)
        }  # fmt: skip

    def add(self, told: Mapping[str, Any]) -> None:
        """What another process told of one run."""
        self.reuse.update(dict.fromkeys(told.get("reuse", ())))
        self.notes.update(dict.fromkeys(told.get("notes", ())))
        self.sliver = max(self.sliver, told.get("sliver", 0.0))
        self.events = tuple(told.get("events", ()))


@dataclass(frozen=True)
class WorkerFunction:
    """A function that runs in a worker process: how it is called, and what asks for its runs."""

    adapter: str
    relay: Relay


@dataclass(frozen=True)
class Audited(Relayed):
    """A function with its interface; see the module.

    boundary: also the coins 0, the largest float below 1 and the threshold itself. fresh, wide: see `intercepted`.
    coins: "symbols" or "bisect". typed: arguments and what surrounds the function, as somebody typed them. notes: what
    was done to have the function. Raises `InvalidInput` for an interface that cannot do what is asked.
    """

    function: Callable[..., Any] | WorkerFunction
    interface: Interface
    rows: RowForm
    name: str = "function"
    keywords: Mapping[str, Any] = field(default_factory=dict)
    batched: bool = False
    coins: str = "symbols"
    boundary: bool = False
    fresh: str | None = None
    wide: bool = False
    presentation: Presentation = _PLAIN
    typed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    log: Log = field(default_factory=Log, compare=False)
    _bisected: Bisected = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bisected", Bisected(self.rows.dtype))
        if not callable(self.function) and not isinstance(self.function, WorkerFunction):
            raise InvalidInput(f"{self.name} is {type(self.function).__name__}, no function")
        if self.rows.library not in self.interface.libraries:
            known = " or ".join(self.interface.libraries)
            raise InvalidInput(f"the interface {self.interface.name} hands over rows of {known}")
        if self.batched and not self.interface.batches:
            raise InvalidInput(f"the interface {self.interface.name} takes one request at a time; leave out the batch")
        if self.coins not in ("symbols", "bisect"):
            raise InvalidInput(f"unknown coins {self.coins!r}; choose symbols or bisect")
        if self.coins == "bisect" and self.interface.name != "coins":
            raise InvalidInput("only coins that are arguments can be bisected: use the interface coins")
        if self.coins == "bisect" and self.rows.library == "jax":
            raise InvalidInput("coins are bisected as lists, or with numpy or torch: give another library than jax")

    @property
    def adapter(self) -> str:
        """How the function is called, in one line."""
        if isinstance(self.function, WorkerFunction):
            return self.function.adapter
        takes = self.interface.takes if self.batched else self.interface.takes.split("; in a batch")[0]
        places = takes.partition(")")[0].lstrip("(") if takes.startswith("(") else takes
        noise = wanted(self.function, len(places.split(",")), self.keywords) if self.interface.name == "chain" else {}
        typed = [f"{name}={self.typed.get(name, repr(value))}" for name, value in self.keywords.items()]
        rows = f"rows as {self.rows.library} {self.rows.kind.name}{', logarithms' if self.rows.logits else ''}"
        text = f"called as {self.name}({', '.join([places, *noise, *typed])}), {rows}"
        keys = keys_of(self.function) if self.rows.library == "jax" else ()
        text += "".join(f"; {name}: a key" for name in keys if name not in self.keywords)
        return text + "".join(f"; {name}: {WORDS[kind]}" for name, kind in noise.items())

    @property
    def card(self) -> Card:
        """A card that declares nothing."""
        return Card(self.name, self.name, None, needs=None, single_path=not self.interface.multi_path)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        [verdict] = self.verify_all((root,), coin)
        return verdict

    def verify_all(self, roots: tuple[DraftNode, ...], coin: Coin) -> list[Verdict]:
        """The verdicts of one call for one or several requests; whatever goes wrong names the line of the function."""
        nodes = tuple(self.presentation.of(root) for root in roots)
        if isinstance(self.function, WorkerFunction):
            return self._relayed(self.function, roots, nodes, coin)
        if self.coins == "bisect":
            return self._bisected.verdicts(partial(self._call_with, nodes), roots, coin)
        sliver = self.rows.kind.sliver
        steady = _SliverCoin(coin, sliver, self.log) if sliver else coin
        how: dict[str, Any] = {"boundary": self.boundary, "fresh": self.fresh, "wide": self.wide, "boundary_coin": coin}
        told, drawn = _Told(steady), _Told(steady)
        with intercepted(told, watch=(self.function,), **how) as session:
            try:
                outcome = self._outcome(nodes, ArgumentCoins(session), drawn)
            finally:
                self.log.reuse.update(dict.fromkeys(map(str, session.reuse)))
                self.log.notes.update(dict.fromkeys(session.notes))
                self.log.events = tuple(map(_event, session.boundary_events))
        broken_off = isinstance(outcome, FunctionFailed) and isinstance(outcome.__cause__, _Endless)
        if not (self.log.events or self.fresh or self.wide or broken_off):
            run = tuple(told.answers), tuple(drawn.answers), *map(_drafted, nodes)
            parts = PARTS if len(self.log.replayed) < FIRST and run not in self.log.replayed else 1
            for part in range(parts):
                point = None if session.draws is None else point_of(session.region, session.draws, part, parts)
                if point is not None:
                    self._replay(nodes, Recorded(session.draws or (), point, told.answers, drawn.answers), outcome)
            if parts > 1:
                self.log.replayed.add(run)
        if isinstance(outcome, FunctionFailed):
            raise outcome
        return outcome

    def _outcome(self, nodes: tuple[DraftNode, ...], coins: Any, coin: Coin) -> list[Verdict] | FunctionFailed:
        try:
            return self._call_with(nodes, coins, coin)
        except FunctionFailed as error:
            return error

    def _replay(self, nodes: tuple[DraftNode, ...], one: Recorded, outcome: list[Verdict] | FunctionFailed) -> None:
        """Raises `NotFollowed` where the function does something else on real numbers than where they are followed."""

        def run(coin: Any, replay: Session | None) -> Any:
            quiet = redirect_stderr(StringIO())  # what it prints was printed
            try:
                with quiet, intercepted(coin, watch=(self.function,), replay=replay) as again:
                    return self._outcome(nodes, ArgumentCoins(again), _Retold(one.of_interface))
            except InvalidVerifier as error:
                return error

        def followed() -> Any:
            return run(_Retold(one.of_session), None)

        def on_real_numbers() -> Any:
            return run(None, Replay(one.draws, one.point))

        if _same(outcome, on_real_numbers()):
            return
        if not all(_same(outcome, followed()) for _ in range(2)):
            raise InvalidVerifier(
                "it does something else when it is called again: it must be a function of its arguments and its random "
                "numbers, without state"
            )
        raise NotFollowed(
            "it does something else with real random numbers than with those that stand for them "
            f"({last_common_line(followed, on_real_numbers)}), which cannot be followed"
        )

    def _relayed(
        self, function: WorkerFunction, roots: tuple[DraftNode, ...], nodes: tuple[DraftNode, ...], coin: Coin
    ) -> list[Verdict]:
        told: dict[str, Any] = {}
        try:
            return function.relay.run(roots, coin, self._settings, nodes, told)
        finally:
            self.log.add(told)

    @property
    def _settings(self) -> dict[str, Any]:
        """The variant that the worker process runs; what the trees are shown as makes other runs, too."""
        return {"boundary": self.boundary, "fresh": self.fresh, "wide": self.wide, "shown": self.presentation.grouped}

    def foresee(self, roots: Sequence[DraftNode]) -> None:
        if isinstance(self.function, WorkerFunction):
            groups = [((root,), (self.presentation.of(root),)) for root in roots]
            self.function.relay.foresee(groups, self._settings)

    def _call_with(self, nodes: tuple[DraftNode, ...], coins: Any, coin: Coin) -> list[Verdict]:
        assert not isinstance(self.function, WorkerFunction)
        call = Call(self.function, nodes, self.rows, coins, coin, self.batched, self.keywords)
        takes = self.interface.takes if self.batched else self.interface.takes.split("; in a batch")[0]
        hint = f"; the {self.interface.name} interface calls it with {takes}"
        hint += "" if self.rows.library == "torch" else f", rows for {self.rows.library}"
        with blamed(call.made, hint):
            verdicts = list(self.interface.call(call))
            for verdict, root in zip(verdicts, nodes, strict=False):
                assert_verdict(verdict, _Below(root), len(root.target))
        return verdicts


@dataclass(frozen=True)
class _Below:
    """The contexts of the nodes below a root, itself included: of a tree that is known by its root alone."""

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


def _drafted(node: DraftNode) -> tuple[Any, ...]:
    """A node's row and drafted tokens, and what is below them: what tells one tree from another."""
    return str(node.target), *((token, _drafted(node.child(token))) for token in node.children)


def _event(event: Any) -> str:
    value = event.value
    number = "0" if value == 0 else "the largest float below 1" if float(1 - value) < 2**-20 else f"{float(value):.6g}"
    return f"{event.what} = {number}, met at {event.line}"


def _same(outcome: Any, other: Any) -> bool:
    """Whether two runs returned the same, or failed likewise."""
    if isinstance(outcome, FunctionFailed) and isinstance(other, FunctionFailed):
        return type(outcome.__cause__) is type(other.__cause__)
    return bool(outcome == other)


class _Told:
    """A coin that remembers its answers."""

    def __init__(self, coin: Coin) -> None:
        self._coin = coin
        self.answers: list[int] = []

    def flip(self, probability: Any) -> bool:
        self.answers.append(self._coin.flip(probability))
        return bool(self.answers[-1])

    def choose(self, weights: Any) -> int:
        self.answers.append(self._coin.choose(weights))
        return self.answers[-1]


class _Retold:
    """A coin that gives these answers."""

    def __init__(self, answers: Sequence[int]) -> None:
        self._left = iter(answers)

    def flip(self, probability: Any) -> bool:
        return bool(self.choose(()))

    def choose(self, weights: Any) -> int:
        answer = next(self._left, None)
        if answer is None:
            raise InvalidVerifier("it decides more when it is run again")
        return answer


class _Endless(InvalidVerifier):
    """A run was broken off."""


class _SliverCoin:
    """A coin without the branches that only rounding makes possible."""

    def __init__(self, coin: Coin, sliver: float, log: Log) -> None:
        self._coin = coin
        self._sliver = fmpq(*sliver.as_integer_ratio())
        self._log = log
        self._weight = 1.0

    def flip(self, probability: Any) -> bool:
        if probability <= self._sliver:
            self._note(probability)
            return False
        if 1 - probability <= self._sliver:
            self._note(1 - probability)
            return True
        answer = self._coin.flip(probability)
        self._went(probability if answer else 1 - probability)
        return answer

    def choose(self, weights: Any) -> int:
        listed = list(weights)
        least = sum(listed) * (self._sliver if isinstance(listed[0], fmpq) else float(self._sliver))
        for weight in listed:
            if 0 < weight <= least:
                self._note(weight)
        answer = self._coin.choose([weight if weight > least else weight * 0 for weight in listed])
        self._went(listed[answer] / sum(listed))
        return answer

    def _went(self, share: Any) -> None:
        self._weight *= float(share)
        if self._weight < SMALLEST:
            raise _Endless(
                f"one run has a probability below {SMALLEST:g}: a loop that may go on for ever cannot be enumerated"
            )

    def _note(self, probability: Any) -> None:
        self._log.sliver = max(self._log.sliver, float(probability))
