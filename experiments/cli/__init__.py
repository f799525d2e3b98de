"""The command line: what every command has in common. Each command is a module of this package."""

from __future__ import annotations

import re
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from draftproof.experiments import runtime
from draftproof.experiments.inputs.worker import use_workers
from draftproof.experiments.runtime import VERDICTS
from draftproof.experiments.shared.progress import INTERRUPTED, remark, stderr
from draftproof.simulator import files
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.files import cut
from draftproof.simulator.raised import raised_by_user_code

#: What an error of the library advises, and the flag that does it.
FLAGS = {
    r"allow more memory": "--max-memory",
    r"allow more runs": "--max-runs",
    r"other cases can be chosen": "--cases",
    r"the denominator of the grid": "--exhaustive",
    r"allow larger files": "draftproof --max-input MIB ..",
    r"use arithmetic float64": "--arithmetic float64",
    r"use backend (torch or )?numpy": "--backend",
    r"choose a (smaller )?vocabulary( of \d+ or more)?": "--vocab",
    r"leave out the batch": "--batch",
    r"use coins symbols": "--coins symbols",
    r"use the interface coins": "--interface coins",
    r"rows for (python|numpy)": "--library",
}


def with_flags(message: str) -> str:
    """The message of a library error, with the flag in brackets after each advice that one follows."""
    for words, flag in FLAGS.items():
        message = re.sub(words, rf"\g<0> ({flag})", message)
    return message


#: The commands in the order of the help, and the modules of this package that have them.
COMMANDS = {
    "list": "listing:list_command",
    "check": "check:check",
    "prove": "prove:prove",
    "audit": "audit:audit",
    "compare": "compare:compare",
    "policies": "policies:policies",
    "bound": "bound:bound",
    "matrix": "matrix:matrix",
    "precision": "precision:precision",
    "train": "train:train",
    "train-head": "train_head:train_head",
    "train-selector": "train_selector:train_selector",
    "choose": "choose:choose",
    "validate": "validate:validate",
    "gallery": "gallery:gallery",
    "claims": "claims:claims",
    "sweep": "sweep:sweep",
    "rows": "rows:rows",
    "report": "report:report",
}
#: Exit codes beside those of verdicts (0, 1), bad input (2) and Ctrl-C: nobody reads; told to end; a fault of our own.
BAD_INPUT, UNREAD, TERMINATED, INTERNAL = 2, 141, 143, 70
#: Characters of a message.
MOST_MESSAGE = 280
#: MiB beyond which nobody has a file.
MOST_INPUT = 2**40


def main() -> None:
    """Run `draftproof`; in a process of its own where code of others is named."""
    if runtime.names_code(sys.argv[1:]):
        if not runtime.is_asked_for_runs(sys.argv[1:]):
            sys.exit(runtime.supervise(sys.argv[1:]))
        use_workers()
    sys.exit(run(program(named(sys.argv[1:])), "draftproof"))


def supervised() -> None:
    """Run `draftproof` for a process that waits for it; before its arguments come the pipe and that process."""
    channel = runtime.supervised(sys.argv.pop(1), sys.argv.pop(1))
    runtime.tell(channel, run(program(named(sys.argv[1:])), "draftproof"))


def named(arguments: Sequence[str]) -> Collection[str]:
    """The command that is named first, which is all that has to be imported; every command where none is."""
    after = 2 if arguments[:1] == ["--max-input"] else 0
    first = arguments[after] if len(arguments) > after else None
    return [] if first == "--version" else [first] if first in COMMANDS else COMMANDS


def program(names: Collection[str] = COMMANDS) -> typer.Typer:
    """`draftproof` with these commands; no other is imported."""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Exact answers about speculative-decoding verifiers: is it lossless, "
        "and how many tokens does a block bring?",
    )
    app.callback()(_options)
    for name in names:
        module, _, function = COMMANDS[name].partition(":")
        app.command(name)(getattr(import_module(f"{__name__}.{module}"), function))
    return app


def run_command(command: Callable[..., int]) -> None:
    """Run one command as a program of its own, such as a study."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(command)
    sys.exit(run(alone))


def run(program: typer.Typer, name: str | None = None) -> int:
    """The exit code: 0 on success, 1 when something is refuted, 3 when it is not proved; 2 on bad input.

    3 is that of a proof with gaps, and of a check that rests on a structure of others. 0, 1 and 3 are returned only
    after the command has returned and everything it wrote to stdout has arrived. 130 on Ctrl-C, 143 on SIGTERM, 141
    where nobody reads, 70 on a fault of our own.
    """
    sys.set_int_max_str_digits(0)  # exact averages can have many thousand digits
    came: list[int] = []
    try:
        with runtime.told_to_end() as came:
            code = _delivered_code(program, name, came)
            runtime.quietly_closed()
    except KeyboardInterrupt:  # it can come after the last line of the work, too
        code = INTERRUPTED
    if came:  # whatever became of the signal, and also where something swallowed it
        return TERMINATED if signal.SIGTERM in came else INTERRUPTED
    return code


def _delivered_code(program: typer.Typer, name: str | None, came: Sequence[int]) -> int:
    """That of a verdict only once everything that was written has arrived."""
    try:
        out = runtime.open_streams()
        code = _code_of(program, name, came)
        return runtime.delivered(out, code) if code in VERDICTS else code
    except DraftproofError as error:
        if came and isinstance(error.__context__, ImportError):  # the signal came in the midst of an import
            return INTERRUPTED
        return _complain(with_flags(str(error)))
    except KeyboardInterrupt:  # let go here: what it leaves half made complains while it is removed
        return INTERRUPTED
    except BrokenPipeError:
        return UNREAD


def _code_of(program: typer.Typer, name: str | None, came: Sequence[int]) -> int:
    """What the command returned, or the exit code for what it raised."""
    try:
        return int(program(prog_name=name, standalone_mode=False) or 0)
    except (DraftproofError, KeyboardInterrupt, BrokenPipeError):
        raise
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # what the parser and the tables make of a closed pipe
            return UNREAD
        return _complain(f"something called sys.exit({stop.code!r}) before there was a verdict; take that call out")
    except Exception as error:
        message = _words(error)
        if message is None and (theirs := raised_by_user_code(error)) is not None:
            message = f"your code raised {theirs}"
        if message is None and came:  # libraries make errors of their own of the exception that ends their work
            raise KeyboardInterrupt from None
        if message is None:  # a fault of our own
            stderr.print(traceback.format_exc(), soft_wrap=True)
            return INTERNAL
        return _complain(message) if message else BAD_INPUT
    except BaseException as error:  # nothing of ours raises any other: code of others does
        what = cut(f"{type(error).__name__}: {error}")
        return _complain(f"something raised {what}, before there was a verdict; raise an Exception instead")


def _words(error: Exception) -> str | None:
    """What to say about an error that the user can do something about; None for any other, "" where all is said."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; make the problem smaller"
    if isinstance(error, RecursionError):
        return "something is nested too deeply; make it flatter"
    if isinstance(error, UnicodeEncodeError):
        return f"{cut(ascii(error.object))} cannot be written in this locale; run with PYTHONUTF8=1"
    if isinstance(error, OSError):
        name = cut(error.filename) if error.filename is not None else "the files or streams of this run"
        return f"cannot use {name}: {error.strerror or error}"
    if isinstance(error, ValueError) and getattr(sys.stdout, "closed", False):
        return "something has closed standard output, so the verdict did not arrive; take that out"
    return error.format_message() if hasattr(error, "format_message") else None  # the command-line parser's


def _complain(message: str) -> int:
    remark(f"draftproof: {cut(' '.join(message.split()), MOST_MESSAGE)}")
    return BAD_INPUT


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"draftproof {version('draftproof')}\n")
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
    max_input: Annotated[float, typer.Option(min=0, help="Read files of up to so many MiB.")] = 64.0,
) -> None:
    if not max_input < MOST_INPUT:
        raise InvalidInput(f"--max-input {max_input:g} is no size of a file; give a number of MiB below {MOST_INPUT:,}")
    files.allow(int(max_input * 2**20))


if __name__ == "__main__":
    main()
