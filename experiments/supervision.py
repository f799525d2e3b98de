"""Code of others runs in a process of its own, so that whatever it does to that process is never read as a verdict.

`check` and `audit` are run here, and ask a process that holds the code for its runs: nothing is judged there. Any other
command that is given code of others runs as a whole in another process. That process tells its exit code through a pipe
once its own work has ended and all output has arrived; the code that it ends with stands for no verdict, and what lives
on in it after that, such as a thread, is ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

from draftproof.experiments.shared.code import PYTHON_FILE
from draftproof.experiments.shared.lifetime import end_with, ended
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.protocol import Card

#: Exit codes that say something about a verifier: lossless, refuted, a proof with gaps.
VERDICTS = (0, 1, 3)
#: Seconds that a command has to end by itself after Ctrl-C or SIGTERM.
PATIENCE = 5.0
#: Options that let a command run code which the command line itself does not name.
_OPTIONS = ("--allow-code", "--checkout")
_PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import supervised; supervised()"
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def names_code(arguments: Sequence[str]) -> bool:
    """Whether code of others may be run: a Python file, a module (`audit`), a checkout, or files that a TOML names."""
    return "audit" in arguments or any(
        PYTHON_FILE.search(argument) or argument.partition("=")[0] in _OPTIONS for argument in arguments
    )


def is_asked_for_runs(arguments: Sequence[str]) -> bool:
    """Whether the code is that of one verifier or function alone, which is asked for its runs."""
    command = next((each for each in arguments if not (each.startswith("-") or each.isdecimal())), "")
    schemes = [value for flag, value in pairwise((*arguments, "")) if flag == "--scheme"]
    schemes += [each for each in arguments if each.startswith("--scheme=")]
    engine = any("structured" in each for each in arguments)  # what a verifier offers for that cannot be asked for
    return command in ("check", "audit") and not engine and not any(map(PYTHON_FILE.search, schemes))


def supervise(arguments: Sequence[str]) -> int:
    """Run the command in another process and wait for what it tells; its exit code, 2 where it told nothing."""
    reading, writing = os.pipe()
    command = [sys.executable, "-P", "-c", _PROGRAM, str(writing), str(os.getpid()), *arguments]
    child = subprocess.Popen(command, pass_fds=(writing,), start_new_session=True)
    os.close(writing)
    came: list[tuple[float, int]] = []

    def forward(number: int, frame: Any) -> None:
        came.append((time.monotonic(), number))
        with suppress(ProcessLookupError):
            child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        told = _told(reading, child, came)
        code = ended(child)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
    if told is not None:
        return told
    if came:
        return 130 if came[0][1] == signal.SIGINT else 128 + came[0][1]
    how = f"with exit code {code}" if code >= 0 else f"by signal {-code} ({signal.Signals(-code).name})"
    remark(f"draftproof: no verdict: the process that ran your code was ended {how} before it gave one")
    return 2


def _told(reading: int, child: subprocess.Popen[bytes], came: Sequence[tuple[float, int]]) -> int | None:
    """The exit code that came through the pipe; None where the process ended, or was too slow to end, without one."""
    text = b""
    while not (came and time.monotonic() - came[0][0] > PATIENCE):
        alive = child.poll() is None
        if select.select([reading], [], [], 0.1 if alive else 0)[0]:
            part = os.read(reading, 4096)
            text += part
            if text.endswith(b"\n"):
                with suppress(ValueError, TypeError, KeyError):
                    return int(json.loads(text)["exit"])
                return None
            alive = alive and bool(part)
        if not alive:
            return None
    return None


def tell(channel: int, code: int) -> None:
    """Tell the exit code to the process that waits, and end with it."""
    with suppress(OSError):
        os.write(channel, json.dumps({"exit": code}).encode() + b"\n")
    sys.exit(code)


def supervised(channel: str, parent: str) -> int:
    """What a supervised process does first: it ends with the one that waits, and keeps the pipe from its children."""
    os.set_inheritable(int(channel), False)
    end_with(int(parent))
    return int(channel)


def serve(channel: str, parent: str) -> None:
    """Load what is asked for in the first request, and answer the others until the connection ends.

    `{"verifier": SPEC}` or `{"audit": [SPEC, ARGUMENTS, OPTIONS]}`, each with `max_input`.
    """
    number = supervised(channel, parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.set_int_max_str_digits(0)
    with suppress(OSError), socket.socket(fileno=number) as connection, connection.makefile("rwb") as stream:
        answer: Callable[[Mapping[str, Any]], dict[str, Any]] = _loaded
        for line in stream:
            request = json.loads(line)
            try:
                reply = answer(request)
                if answer is _loaded:
                    answer = reply.pop("answer")
            except BaseException as error:
                reply = _failed(error)
            stream.write(json.dumps(reply).encode() + b"\n")
            stream.flush()
    os._exit(0)


def _failed(error: BaseException) -> dict[str, Any]:
    from draftproof.simulator.errors import DraftproofError
    from draftproof.simulator.files import cut
    from draftproof.simulator.relay import error_fields

    if isinstance(error, DraftproofError):
        return {"error": error_fields(error)}
    return {"fatal": cut(f"{type(error).__name__}: {error}")}


def _card_fields(card: Card) -> dict[str, Any]:
    """A card as JSON."""
    return {**asdict(card), "needs": None if card.needs is None else card.needs.value}


def _loaded(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of what was loaded, and what answers the requests."""
    from draftproof.simulator import files
    from draftproof.simulator.relay import Runner

    files.allow(wanted["max_input"])
    if "verifier" in wanted:
        from draftproof.experiments.shared.names import find_verifier
        from draftproof.simulator.laws.enumeration import guarded

        verifier = find_verifier(wanted["verifier"]).verifier
        runner = Runner(lambda settings: lambda roots, coin, told: [guarded(verifier, roots[0])(coin)])
        return {"card": _card_fields(verifier.card), "answer": runner.reply}

    from draftproof.experiments.commands.audit.plan import load_audit
    from draftproof.simulator.audit.audited import Log

    spec, arguments, options = wanted["audit"]
    audited = load_audit(spec, arguments, **options).audited

    def variant(settings: Mapping[str, Any]) -> Any:
        changes = {key: settings[key] for key in ("boundary", "fresh", "wide")}

        def run(roots: Any, coin: Any, told: dict[str, Any]) -> Any:
            try:
                return made.verify_all(roots, coin)
            finally:
                told.update(made.log.as_fields())

        made = replace(audited, **changes, log=Log())
        return run

    return {
        "name": audited.name, "adapter": audited.adapter, "notes": list(audited.notes), "answer": Runner(variant).reply
    }  # fmt: skip
