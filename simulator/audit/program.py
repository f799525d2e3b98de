"""A program in any language as a function: it is asked through a pipe, in lines of JSON.

A request has an id, the arguments of the interface by name, and the random numbers that the program takes, if any:

    {"id": 7, "tokens": [1], "q": [[0.5, 0.5]], "p": [[0.2, 0.8], [1.0, 0.0]], "uniforms": [0.3], "final_uniform": 0.9}

The answer is a line, too: `{"id": 7, "tokens": [1, 0]}`, the accepted tokens and the correction; in a batch a list for
each request. Several requests may wait; they are answered in their order. A program that takes numbers is followed
exactly, by bisecting them (`cells`); one that draws its own is sampled.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import Parameter, Signature
from math import inf, isfinite
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.audit.cells import ENDS, MISSED, RESOLUTION, Cells, Point
from draftproof.simulator.audit.interfaces import Interface
from draftproof.simulator.audit.interfaces._call import NOISE_WORDS, SEED_NAMES, kind_of, own_results, read_whole
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.symbolic.decide.session import followed, suspended
from draftproof.simulator.symbolic.where import SAMPLE
from draftproof.simulator.user_code import NodeView

#: Seconds in which an answer must come, unless another number is given.
PATIENCE = 30.0
#: How often a program that was killed from outside is started again, and after how many faults it is given up.
RESTARTS, FAULTS = 3, 3
#: Bytes of one line at most.
LONGEST = 2**24
#: Interfaces whose arguments are numbers, rows and tokens.
PIPED = ("tree", "chain", "paths", "posterior", "coins", "vllm", "sglang", "sglang-chain")
#: Arguments that a program does not get, by interface: buffers to be filled, and what others say as well.
_LEFT_OUT = {
    "coins": ("bonus_probs", "bonus_token_ids"),
    "vllm": ("target_logits", "logits", "metadata", "sampling_metadata"),
    "sglang": ("predicts", "accept_index", "accept_token_num", "deterministic"),
    "sglang-chain": ("predicts", "accept_index", "accept_token_num", "deterministic"),
}


class ProgramFailed(NotFollowed):
    """The program ended, was silent, or wrote what is no answer: no verdict about its law."""


class Pipe:
    """The process of a program. patience: seconds in which an answer must come. fields: of an answer."""

    def __init__(self, command: str, patience: float, fields: Sequence[str]) -> None:
        self.command, self.patience, self.fields = shlex.split(command), patience, fields
        self.answered, self.killed = 0, 0
        self._asked, self._faults = 0, list[str]()
        self._process: Any = None
        self._requests, self._lines = Queue[bytes](), Queue[bytes]()
        if not self.command:
            raise InvalidInput("program: give a command, as ./my_verifier")

    def ask(self, bodies: Sequence[str]) -> list[Any]:
        """What answers these requests, which are JSON objects without braces and id: its fields."""
        answers: list[Any] = []
        while len(answers) < len(bodies):
            if len(self._faults) >= FAULTS:
                raise ProgramFailed(f"it is not asked again after {FAULTS} faults: {'; '.join(self._faults)}")
            if self._process is None:
                self._start()
            try:
                for answer in self._exchange(bodies[len(answers) :]):
                    answers.append(answer)
                    self.answered += 1
            except ProgramFailed as error:
                self._faults.append(str(error))
                self.end()
                raise
        return answers

    def end(self) -> None:
        """End the program and its children."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._requests.put(b"")
        process.stdin.close()

    def _start(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        try:
            with suspended():
                self._process = subprocess.Popen(self.command, **pipes)  # type: ignore[call-overload]
        except OSError as error:
            raise InvalidInput(f"program: cannot run {self.command[0]}: {error.strerror}") from None
        self._requests, self._lines = Queue[bytes](), Queue[bytes]()
        for work, *given in (
            (_write, self._process.stdin.raw, self._requests),
            (_read, self._process.stdout, self._lines),
        ):
            Thread(target=work, args=given, daemon=True).start()

    def _exchange(self, bodies: Sequence[str]) -> Iterator[Any]:
        """The answers, as they come; fewer where the program was killed from outside."""
        first, self._asked = self._asked, self._asked + len(bodies)
        lines = (f'{{"id": {number}, {body}}}\n' for number, body in enumerate(bodies, first))
        self._requests.put("".join(lines).encode())
        for number in range(first, self._asked):
            try:
                line = self._lines.get(timeout=self.patience)
            except Empty:
                raise ProgramFailed(
                    f"the program gave no answer to request {number} within {self.patience:g} s, after "
                    f"{self.answered:,} answers; flush every line, or allow more answer_seconds"
                ) from None
            if not line:
                return self._after_its_end()
            yield self._fields(line, number)

    def _after_its_end(self) -> None:
        """Raise `ProgramFailed`, unless it was killed from outside and may be started again."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        if code == -signal.SIGKILL and self.killed < RESTARTS:
            self.killed += 1
            return self.end()
        how = "closed its output" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code} ({signal.Signals(-code).name})"
        raise ProgramFailed(f"the program {how} after {self.answered:,} answers")

    def _fields(self, line: bytes, expected: int) -> Any:
        if len(line) == LONGEST:
            raise ProgramFailed(f"the program wrote {LONGEST:,} bytes without the end of a line")
        try:
            answer = json.loads(line)
            number, parts = answer["id"], [_each(_READ[name], answer[name]) for name in self.fields]
            if not all(isinstance(part, list) for part in parts):
                raise TypeError
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            shown, wanted = (
                cut(line.decode(errors="replace").strip(), 80),
                ", ".join(f'"{name}": [..]' for name in self.fields),
            )
            raise ProgramFailed(
                f'the program wrote {shown!r} to request {expected}; write one line {{"id": {expected}, {wanted}}}'
            ) from None
        if number != expected:
            raise ProgramFailed(f"the program answered request {number} where {expected} is next; answer in order")
        return parts[0] if len(parts) == 1 else tuple(parts)


def _each(read: Callable[[Any], Any], value: Any) -> Any:
    """A nested list of JSON with each of its entries as it is read."""
    return [_each(read, item) for item in value] if isinstance(value, list) else read(value)


def _token(value: Any) -> int:
    """A whole number, which some languages write as 1.0."""
    if isinstance(value, bool) or int(value) != value:
        raise TypeError
    return int(value)


#: How the entries of a field are read; null is the logarithm of 0.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "tokens": _token,
    "logprobs": lambda value: -inf if value is None else float(value),
}


def _write(pipe: IO[bytes], requests: Queue[bytes]) -> None:
    """Hand requests to a program, up to an empty one; the pipe may be full for a while."""
    with suppress(OSError, ValueError):  # the end of the program shows in what it writes
        while left := requests.get():
            while left:
                left = left[pipe.write(left) :]


def _read(pipe: IO[bytes], lines: Queue[bytes]) -> None:
    """Take the lines of a program, and an empty one at their end."""
    with pipe:
        while line := pipe.readline(LONGEST):
            lines.put(line)
    lines.put(b"")


class Arguments:
    """A function that returns its arguments by name, those that a program gets.

    numbers: the names of the random numbers among them. Raises `InvalidInput` for an interface that hands over
    objects, and for other names.
    """

    def __init__(self, interface: Interface, numbers: Sequence[str] = (), batch: int = 1) -> None:
        if interface.name not in PIPED:
            raise InvalidInput(
                f"the interface {interface.name} hands over objects, which no pipe carries; choose {', '.join(PIPED)}"
            )
        for name in numbers:
            if (kind_of(name) is None and name not in SEED_NAMES) or interface.name == "posterior":
                known = ", ".join((*NOISE_WORDS, "seed"))
                raise InvalidInput(
                    f"numbers {name}: a program can take {known}, or what engines call these, and none with posterior"
                )
        self.numbers = tuple(numbers)
        names = [name for name in interface.arguments if kind_of(name) is None or not interface.by_name]
        names = [name for name in names if name not in _LEFT_OUT.get(interface.name, ())]
        names = names if interface.by_name or batch > 1 else [name for name in names if name != "lengths"]
        kinds = Parameter.POSITIONAL_OR_KEYWORD
        seeds = [name for name in self.numbers if name in SEED_NAMES]
        drawn = [name for name in self.numbers if name not in seeds]
        self.__signature__ = Signature(
            [
                *(Parameter(name, kinds) for name in (*names, *drawn)),
                *(Parameter(name, kinds, default=0) for name in seeds),
            ]
        )

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return {**dict(zip(self.__signature__.parameters, arguments, strict=False)), **named}


class Program(Arguments):
    """The function that a program is. numbers: of `Arguments`, none where it draws its own. logprobs: of `Audited`."""

    def __init__(
        self,
        command: str,
        interface: Interface,
        numbers: Sequence[str] = (),
        batch: int = 1,
        patience: float = PATIENCE,
        logprobs: bool = False,
    ) -> None:
        super().__init__(interface, numbers, batch)
        fields = ("tokens", "logprobs") if logprobs else ("tokens",)
        self._draftproof_pipe = Pipe(command, patience, fields)  # snapshots of state leave it out
        self._draftproof_cells: dict[str, Cells] = {}
        self.__name__ = Path(self._draftproof_pipe.command[0]).name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        given = super().__call__(*arguments, **named)
        flat: list[Any] = []
        places = {name: _noted(given.pop(name), flat) for name in self.numbers}
        body = ", ".join(f'"{name}": {json.dumps(plain(value))}' for name, value in given.items())
        numbers = json.dumps(places)[1:-1].replace('"#"', "%r")

        def ask(points: Sequence[Point]) -> list[Any]:
            filled = [numbers % tuple(point) for point in points]
            return self._draftproof_pipe.ask([", ".join(filter(None, (body, text))) for text in filled])

        cells = self._draftproof_cells.get(body)
        if not followed():
            [answer] = ask([tuple(flat)])
            if cells is not None and cells.root is not None and cells.answer(flat) != answer:
                raise NotFollowed(
                    f"bisecting missed an answer: with the numbers {flat} it gives {answer}, on others around them "
                    f"{cells.answer(flat)}; {SAMPLE}"
                )
            return answer
        if not places:
            raise NotFollowed(f"the program draws its own random numbers; {SAMPLE}, or let it take them")
        for name in places:
            if kind_of(name) not in ("uniforms", "final_uniforms"):
                raise NotFollowed(f"{name}: cells of uniform numbers alone are bisected; {SAMPLE}")
        if cells is None:
            cells = self._draftproof_cells[body] = Cells(ask, len(flat))
        with suspended():
            cells.find()
        return cells.answer(flat)

    @property
    def command(self) -> list[str]:
        """Its words."""
        return self._draftproof_pipe.command

    def ends(self) -> None:
        """End the process."""
        self._draftproof_pipe.end()

    @property
    def notes(self) -> list[str]:
        """What a verdict about it rests on, in words."""
        pipe, found = self._draftproof_pipe, [each for each in self._draftproof_cells.values() if each.root is not None]
        lines = [f"a program, {pipe.answered:,} answers through a pipe"]
        if pipe.killed:
            lines.append(f"it was killed from outside {_times(pipe.killed)}, started again and asked again")
        if found:
            lines.append(
                f"bisected: {sum(each.count for each in found):,} cells of random numbers in {len(found):,} calls, "
                f"edges up to {RESOLUTION:.1g}; answers that differ inside of a cell, on less than {MISSED:.1%} "
                f"of the numbers of a call, and closer to 0 and 1 than {ENDS:.1g}, can be missed"
            )
        return lines


def as_program(interface: Interface) -> Interface:
    """The interface for programs: rows are lists, and the answer is the whole output."""
    returns = "tokens, the whole output of each request"
    return replace(interface, results=own_results, read=read_whole, libraries=("python",), returns=returns)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def plain(value: Any) -> Any:
    """An argument as JSON has it: nodes as objects, what is named by a prefix as pairs, rationals as texts."""
    if isinstance(value, NodeView):
        below = {str(token): plain(value.child(token)) for token in dict.fromkeys(value.children)}
        rows = {"target": plain(value.target), "draft": plain(value.draft)}
        return {**rows, "drafted": list(value.children), "children": below}
    if isinstance(value, Mapping):
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None  # the logarithm of 0
    return str(as_python(value))


def _noted(value: Any, flat: list[Any]) -> Any:
    """A nested list with a mark in place of each number; the numbers are added to `flat`."""
    if isinstance(value, list):
        return [_noted(item, flat) for item in value]
    flat.append(value)
    return "#"
