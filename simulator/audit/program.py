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
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import Parameter, Signature
from math import isfinite
from pathlib import Path
from typing import Any

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.audit.cells import MISSED, RESOLUTION, Bisection, Point
from draftproof.simulator.audit.interfaces import Call, Interface
from draftproof.simulator.audit.interfaces._call import NOISE_WORDS, SEED_NAMES, kind_of, read_block, read_requests
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.protocol import Verdict
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
        self._next, self._faults = 0, list[str]()
        self._process: Any = None
        self._read = b""
        if not self.command:
            raise InvalidInput("program: give a command, as ./my_verifier")

    def ask(self, bodies: Sequence[str]) -> list[Any]:
        """What answers these requests, which are JSON objects without braces and id: its fields."""
        answers: list[Any] = []
        while len(answers) < len(bodies):
            if len(self._faults) >= FAULTS:
                raise ProgramFailed(f"it is not asked again after {FAULTS} faults: {'; '.join(self._faults)}")
            process = self._process or self._started()
            try:
                for answer in self._exchange(process, bodies[len(answers) :]):
                    answers.append(answer)
                    self.answered += 1
            except (BrokenPipeError, EOFError):
                self._after_its_end(process)
            except ProgramFailed as error:
                self._faults.append(str(error))
                self.end()
                raise
        return answers

    def end(self) -> None:
        """End the program and its children."""
        process, self._process, self._read = self._process, None, b""
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            pipe.close()

    def _started(self) -> Any:
        try:
            with suspended():
                self._process = subprocess.Popen(
                    self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
                )
        except OSError as error:
            raise InvalidInput(f"program: cannot run {self.command[0]}: {error.strerror}") from None
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _after_its_end(self, process: Any) -> None:
        """Go on where it was killed from outside; raises `ProgramFailed` where it ended by itself."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        code = process.returncode
        self.end()
        if code == -signal.SIGKILL and self.killed < RESTARTS:
            self.killed += 1
            return
        how = "closed its output" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code} ({signal.Signals(-code).name})"
        self._faults.append(f"the program {how} after {self.answered:,} answers")
        raise ProgramFailed(self._faults[-1])

    def _exchange(self, process: Any, bodies: Sequence[str]) -> Iterator[Any]:
        expected, self._next = self._next, self._next + len(bodies)
        lines = (f'{{"id": {expected + place}, {body}}}\n' for place, body in enumerate(bodies))
        left = memoryview("".join(lines).encode())
        last, deadline = self._next, time.monotonic() + self.patience
        while expected < last:
            while b"\n" in self._read:
                line, _, self._read = self._read.partition(b"\n")
                yield self._fields(line, expected)
                expected, deadline = expected + 1, time.monotonic() + self.patience
            if expected == last:
                break
            writing = [process.stdin] if left else []
            seconds = deadline - time.monotonic()
            ready, writable, _ = select.select([process.stdout], writing, [], max(seconds, 0))
            if writable:
                left = left[os.write(process.stdin.fileno(), left[: 2**16]) :]
            if ready:
                data = os.read(process.stdout.fileno(), 2**16)
                if not data:
                    raise EOFError
                self._read += data
            if not (ready or writable):
                raise ProgramFailed(
                    f"the program gave no answer to request {expected} within {self.patience:g} s, after "
                    f"{self.answered:,} answers; flush every line, or allow more answer_seconds"
                )
            if len(self._read) > LONGEST:
                raise ProgramFailed(f"the program wrote {len(self._read):,} bytes without the end of a line")
        if self._read:
            raise ProgramFailed(f"the program wrote more than one answer to request {last - 1}")

    def _fields(self, line: bytes, expected: int) -> Any:
        try:
            answer = json.loads(line)
            number, *parts = (answer[name] for name in ("id", *self.fields))
            if not all(isinstance(part, list) for part in parts):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            shown, wanted = cut(line.decode(errors="replace"), 80), ", ".join(f'"{name}": [..]' for name in self.fields)
            raise ProgramFailed(
                f'the program wrote {shown!r} to request {expected}; write one line {{"id": {expected}, {wanted}}}'
            ) from None
        if number != expected:
            raise ProgramFailed(f"the program answered request {number} where {expected} is next; answer in order")
        return parts[0] if len(parts) == 1 else tuple(parts)


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
        self._draftproof_cells: dict[str, Bisection] = {}
        self.__name__ = Path(self._draftproof_pipe.command[0]).name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        given = super().__call__(*arguments, **named)
        flat: list[Any] = []
        places = {name: _indexed(given.pop(name), flat) for name in self.numbers}
        body = ", ".join(f'"{name}": {json.dumps(plain(value))}' for name, value in given.items())
        if not followed():
            return self._draftproof_pipe.ask([body + _filled(places, flat)])[0]
        if not places:
            raise NotFollowed(f"the program draws its own random numbers; {SAMPLE}, or let it take them")
        for name in places:
            if kind_of(name) not in ("uniforms", "final_uniforms"):
                raise NotFollowed(f"{name}: cells of uniform numbers alone are bisected; {SAMPLE}")

        def ask(points: Sequence[Point]) -> list[Any]:
            return self._draftproof_pipe.ask([body + _filled(places, point) for point in points])

        if body not in self._draftproof_cells:
            self._draftproof_cells[body] = Bisection(ask, len(flat))
        with suspended():
            self._draftproof_cells[body].find()
        return self._draftproof_cells[body].answer(flat)

    def ends(self) -> None:
        """End the process."""
        self._draftproof_pipe.end()

    @property
    def notes(self) -> list[str]:
        """What a verdict about it rests on, in words."""
        pipe, found = self._draftproof_pipe, [each for each in self._draftproof_cells.values() if each.root]
        lines = [f"a program, {pipe.answered:,} answers through a pipe"]
        if pipe.killed:
            lines.append(f"it was killed from outside {_times(pipe.killed)}, started again and asked again")
        if found:
            lines.append(
                f"bisected: {sum(each.cells for each in found):,} cells of random numbers in {len(found):,} calls, "
                f"edges up to {RESOLUTION:.1g}; answers that differ inside of a cell, on less than {MISSED:.1%} of the "
                "numbers of a call, can be missed"
            )
        return lines


def as_program(interface: Interface) -> Interface:
    """The interface for programs: rows are lists, and the answer is the whole output."""

    def read(call: Call, result: Any, wants: str) -> list[Verdict]:
        return read_requests(call, result, wants) if call.batched else [read_block(result, (), wants)]

    return replace(interface, read=read, libraries=("python",), returns="tokens, the whole output of each request")


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


def _indexed(value: Any, flat: list[Any]) -> Any:
    """A nested list of numbers with the places of its numbers in `flat`, to which they are added."""
    if isinstance(value, list):
        return [_indexed(item, flat) for item in value]
    flat.append(value)
    return len(flat) - 1


def _filled(places: Mapping[str, Any], flat: Sequence[float]) -> str:
    """Numbers by name as a part of a request."""

    def like(place: Any) -> Any:
        return [like(item) for item in place] if isinstance(place, list) else flat[place]

    return "".join(f', "{name}": {json.dumps(like(place))}' for name, place in places.items())
