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
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import Parameter, Signature
from math import inf, isfinite
from pathlib import Path
from select import select
from typing import Any

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
#: Bytes that are read at once.
BUFFER = 2**16
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


class _Killed(ProgramFailed):
    """It was ended by SIGKILL, which comes from outside."""


class Pipe:
    """The process of a program. patience: seconds in which an answer must come. fields: of an answer."""

    def __init__(self, command: str, patience: float, fields: Sequence[str]) -> None:
        self.command, self.patience, self.fields = shlex.split(command), patience, fields
        self.answered, self.killed = 0, 0
        self._faults = list[str]()
        self._process: Any = None
        self._unsent, self._unread = b"", bytearray()
        if not self.command:
            raise InvalidInput("program: give a command, as ./my_verifier")

    def ask(self, bodies: Sequence[str]) -> list[Any]:
        """What answers these requests, which are JSON objects without braces and id: its fields."""
        answers: list[Any] = []
        while len(answers) < len(bodies):
            if len(self._faults) >= FAULTS:
                raise ProgramFailed(f"it is not asked again after {FAULTS} faults: {'; '.join(self._faults)}")
            try:
                with suspended():
                    self._send(bodies[len(answers) :])
                    while len(answers) < len(bodies):
                        answers.append(self._fields(self._line()))
                        self.answered += 1
            except BaseException as error:  # after Ctrl-C, too: what it still writes answers no other request
                self.close()
                if isinstance(error, _Killed) and self.killed < RESTARTS:
                    self.killed += 1
                    continue
                self._faults += [str(error)] if isinstance(error, ProgramFailed) else []
                raise
        return answers

    def close(self) -> None:
        """End the program and its children."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdin.close()
            process.stdout.close()

    def _send(self, bodies: Sequence[str]) -> None:
        """Start the program where it does not run; the requests are sent while answers are read."""
        if self._process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0, "start_new_session": True}
            try:
                self._process = subprocess.Popen(self.command, **pipes)  # type: ignore[call-overload]
            except OSError as error:
                raise InvalidInput(f"program: cannot run {self.command[0]}: {error.strerror}") from None
            os.set_blocking(self._process.stdin.fileno(), False)
            self._unread.clear()
        lines = (f'{{"id": {number}, {body}}}\n' for number, body in enumerate(bodies, self.answered))
        self._unsent = "".join(lines).encode()

    def _line(self) -> bytes:
        """The next line of the program."""
        ends = time.monotonic() + self.patience
        to, of = self._process.stdin, self._process.stdout
        while b"\n" not in self._unread and len(self._unread) < LONGEST:
            left = max(ends - time.monotonic(), 0)
            readable, writable, _ = select([of], [to] if self._unsent else [], [], left)
            if readable:
                part = of.read(BUFFER)
                if not part:
                    raise self._ended()
                self._unread += part
            elif writable:
                try:
                    self._unsent = self._unsent[to.write(self._unsent) :]
                except BrokenPipeError:  # its end shows in what it writes
                    self._unsent = b""
            else:
                raise ProgramFailed(
                    f"the program gave no answer to request {self.answered} within {self.patience:g} s; flush every "
                    "line, or allow more answer_seconds"
                )
        line, ended, self._unread = self._unread.partition(b"\n")
        if not ended:
            raise ProgramFailed(f"the program wrote {LONGEST:,} bytes without the end of a line")
        return bytes(line)

    def _ended(self) -> ProgramFailed:
        """How the program ended, where it closed its output."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code} ({signal.Signals(-code).name})"
        inside = f", within the line {_shown(self._unread)}" if self._unread else ""
        kind = _Killed if code == -signal.SIGKILL else ProgramFailed
        return kind(f"the program {how} after {self.answered:,} answers{inside}")

    def _fields(self, line: bytes) -> Any:
        """Those of the answer that is expected next."""
        try:
            answer = json.loads(line)
            number, parts = answer["id"], [_each(_READ[name], answer[name]) for name in self.fields]
            if not all(isinstance(part, list) for part in parts):
                raise TypeError
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            wanted = ", ".join([f'"id": {self.answered}', *(f'"{name}": [..]' for name in self.fields)])
            raise ProgramFailed(
                f"the program wrote {_shown(line)} to request {self.answered}; write one line {{{wanted}}}"
            ) from None
        if number != self.answered:
            raise ProgramFailed(f"the program answered request {number} where {self.answered} is next; answer in order")
        return parts[0] if len(parts) == 1 else tuple(parts)


def _shown(line: bytes | bytearray) -> str:
    return repr(cut(line.decode(errors="replace").strip(), 80))


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
        self.numbers = tuple(sorted(numbers, key=SEED_NAMES.__contains__))
        left_out = _LEFT_OUT.get(interface.name, ("lengths",) if batch == 1 and not interface.by_name else ())
        names = [name for name in interface.arguments if name not in left_out]
        names = [name for name in names if not (interface.by_name and kind_of(name))]
        defaults = dict.fromkeys(SEED_NAMES, 0)
        self.__signature__ = Signature(
            [
                Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(name, Parameter.empty))
                for name in (*names, *self.numbers)
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
        self._draftproof_cells: dict[str, Cells | NotFollowed] = {}
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
            if isinstance(cells, Cells) and cells.answer(flat) != answer:
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
            try:
                with suspended():
                    cells = Cells(ask, len(flat))
            except NotFollowed as error:
                cells = error
            self._draftproof_cells[body] = cells
        if isinstance(cells, NotFollowed):
            raise cells
        return cells.answer(flat)

    @property
    def command(self) -> list[str]:
        """Its words."""
        return self._draftproof_pipe.command

    def close(self) -> None:
        """End the process."""
        self._draftproof_pipe.close()

    @property
    def notes(self) -> list[str]:
        """What a verdict about it rests on, in words."""
        pipe = self._draftproof_pipe
        bisected = [cells for cells in self._draftproof_cells.values() if isinstance(cells, Cells)]
        lines = [f"a program, {pipe.answered:,} answers through a pipe"]
        if pipe.killed:
            times = "once" if pipe.killed == 1 else f"{pipe.killed} times"
            lines.append(f"it was killed from outside {times}, started again and asked again")
        if bisected:
            count = sum(cells.count for cells in bisected)
            lines.append(
                f"bisected: {count:,} cells of random numbers in {len(bisected):,} calls, "
                f"edges up to {RESOLUTION:.1g}; answers that differ inside of a cell, on less than {MISSED:.1%} "
                f"of the numbers of a call, and closer to 0 and 1 than {ENDS:.1g}, can be missed"
            )
        return lines


def as_program(interface: Interface) -> Interface:
    """The interface for programs: rows are lists, and the answer is the whole output."""
    returns = "tokens, the whole output of each request"
    return replace(interface, results=own_results, read=read_whole, libraries=("python",), returns=returns)


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
