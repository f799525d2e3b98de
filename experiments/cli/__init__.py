"""The command line: what every command has in common. Each command is a module of this package."""

import os
import re
import signal
import sys
import traceback
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from draftproof.experiments import runtime
from draftproof.experiments.runtime import VERDICTS
from draftproof.experiments.shared.progress import INTERRUPTED, remark, stderr
from draftproof.experiments.verbs import command
from draftproof.simulator import files
from draftproof.simulator.errors import (
    DraftproofError,
    InvalidInput,
    InvalidVerifier,
    TooLarge,
    UnsupportedTree,
    cut,
    printable,
)
from draftproof.simulator.raised import raised_by_user_code

#: Advice in messages of the library, as patterns, and the command-line option that does what it says.
FLAGS = {
    r"allow more memory": "--max-memory",
    r"allow more runs": "--max-runs",
    r"other cases can be chosen": "--cases",
    r"the denominator of the grid": "grid:denominator=D",
    r"allow larger files": "draftproof --max-input MIB ..",
    r"use arithmetic float64": "--arithmetic float64",
    r"use backend (torch or )?numpy": "--backend",
    r"choose a smaller vocabulary": "vocab=V of the world",
    r"choose a vocabulary( of \d+ or more)?": "--vocab",
    r"leave out the batch": "--batch",
    r"rows for (python|numpy)": "--library",
    r"interface(?= calls it)": "--interface",
    r"further arguments can be given": "--argument rng=np.random.default_rng()",
    r"test it on real random numbers": "--sample N",
    r"let it take them": "--numbers",
    r"allow more answer_seconds": "--answer-seconds",
}


def with_flags(message: str) -> str:
    """The message of a library error with the command-line option in brackets after each advice."""
    for pattern, flag in FLAGS.items():
        message = re.sub(pattern, rf"\g<0> ({flag})", message)
    return message


#: The commands in the order of the help, and the modules of this package that have them; "model .." are in a group.
COMMANDS = {
    "list": "listing:list_command",
    "check": "check:check",
    "prove": "prove:prove",
    "audit": "audit:audit",
    "vectors": "vectors:vectors",
    "compare": "compare:compare",
    "bound": "bound:bound",
    "claims": "claims:claims",
    "report": "report:report",
    "verify": "verify:verify",
    "model train": "model:train",
    "model validate": "model:validate",
    "model choose": "model:choose",
}
#: Exit codes other than verdicts: bad input, a closed pipe, SIGTERM, an internal error.
BAD_INPUT, CLOSED_PIPE, TERMINATED, INTERNAL = 2, 141, 143, 70
#: The pages that explain what is refused: of a verifier, and of a function in an audit.
REFUSALS = ("docs/howto/check.md: When it is refused", "docs/reference/audits.md: What is refused")
#: Largest value of --max-input, in MiB.
MAX_INPUT_LIMIT = 2**40
#: The variable that shells set to ask for completions, and the options that install and show them.
COMPLETING, COMPLETION = "_DRAFTPROOF_COMPLETE", ("--install-completion", "--show-completion")


def main() -> None:
    """Run `draftproof`; in a child process where the arguments name user-defined code."""
    if os.environ.get(COMPLETING) or (len(sys.argv) == 2 and sys.argv[1] in COMPLETION):
        _complete()
    if runtime.names_code(sys.argv[1:]):
        sys.exit(runtime.run_in_child(sys.argv[1:]))
    code = run(program(needed_commands(sys.argv[1:])), "draftproof")
    if code in (INTERRUPTED, TERMINATED):  # what a signal left incomplete may abort the process while Python ends
        runtime.flush_or_discard()
        os._exit(code)
    sys.exit(code)


def child() -> None:
    """Run `draftproof` as a child process. Its first two arguments are the pipe for the exit code and the parent."""
    channel = runtime.begin_child(sys.argv.pop(1), sys.argv.pop(1))
    runtime.send_exit_code(channel, run(program(needed_commands(sys.argv[1:])), "draftproof"))


def _complete() -> NoReturn:
    """Print what a shell asks for when the tab key is pressed, or install that; no command runs."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""  # of bash, of other shells
    program(needed_commands(line.split()[1:]))(prog_name="draftproof")
    sys.exit(0)


def needed_commands(arguments: Sequence[str]) -> Collection[str]:
    """The commands to import: the one that the first words name, else all."""
    given = list(arguments[2:] if arguments[:1] == ["--max-input"] else arguments)
    if given[:1] == ["--version"]:
        return []
    return [name for name in COMMANDS if given[: len(name.split())] == name.split()] or COMMANDS


def program(names: Collection[str] = COMMANDS) -> typer.Typer:
    """`draftproof` with these commands; no other is imported."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Exact answers about speculative-decoding verifiers: is it lossless, "
        "and how many tokens does a block bring?",
    )
    app.callback()(_options)
    model = typer.Typer(no_args_is_help=True, help="Real models: train, validate predictions, choose the fastest.")
    for name in names:
        module, _, function = COMMANDS[name].partition(":")
        *group, verb = name.split()
        made = getattr(import_module(f"{__name__}.{module}"), function)
        (model if group else app).command(verb)(command(made))
    if model.registered_commands:
        app.add_typer(model, name="model")
    return app


def run(program: typer.Typer, name: str | None = None) -> int:
    """The exit code: 0 on success, 1 when something is refuted, 3 when it is not proved; 2 on bad input.

    3 also stands for a check that rests on the structure of a user-defined verifier. 0, 1 and 3 are returned only after
    the command has returned and everything it wrote to stdout has arrived. 130 on Ctrl-C, 143 on SIGTERM, 141 on a
    closed pipe, 70 on an internal error.
    """
    sys.set_int_max_str_digits(0)  # exact averages can have many thousand digits
    signals: list[int] = []
    try:
        with runtime.interrupted_by_signals() as signals:
            code = _delivered_code(program, name, signals)
            runtime.flush_or_discard()
    except KeyboardInterrupt:  # it can come after the last line of the work, too
        code = INTERRUPTED
    exec("")  # Python ends by SIGINT if KeyboardInterrupt has left an `exec` of a text, unless another one follows
    if signals:  # also where something swallowed the exception
        return TERMINATED if signal.SIGTERM in signals else INTERRUPTED
    return code


def _delivered_code(program: typer.Typer, name: str | None, signals: Sequence[int]) -> int:
    """The exit code; one that is a verdict is returned only after all output has been written."""
    try:
        out = runtime.open_streams()
        code = _code_of(program, name, signals)
        return runtime.delivered(out, code) if code in VERDICTS else code
    except DraftproofError as error:
        if signals and isinstance(error.__context__, ImportError):  # the signal interrupted an import
            return INTERRUPTED
        message = with_flags(str(error))
        if isinstance(error, (UnsupportedTree, TooLarge, InvalidVerifier)):
            message += f" ({REFUSALS['audit' in sys.argv[1:2]]})"
        return _complain(message)
    except KeyboardInterrupt:  # not raised on: objects it left incomplete would print errors when they are removed
        return INTERRUPTED
    except BrokenPipeError:
        return CLOSED_PIPE


def _code_of(program: typer.Typer, name: str | None, signals: Sequence[int]) -> int:
    """What the command returned, or the exit code for the exception that it raised."""
    try:
        return int(program(prog_name=name, standalone_mode=False) or 0)
    except (DraftproofError, KeyboardInterrupt, BrokenPipeError):
        raise
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # the parser and the tables turn a closed pipe into this
            return CLOSED_PIPE
        return _complain(f"something called sys.exit({stop.code!r}) before there was a verdict; take that call out")
    except Exception as error:
        message = _message_for(error)
        if message is None and (where := raised_by_user_code(error)) is not None:
            message = f"your code raised {where}"
        if message is None and signals:  # some libraries turn KeyboardInterrupt into an error of their own
            raise KeyboardInterrupt from None
        if message is None:  # an internal error
            stderr.print(traceback.format_exc(), soft_wrap=True)
            return INTERNAL
        return _complain(message) if message else BAD_INPUT
    except BaseException as error:  # only user-defined code raises any other
        what = cut(f"{type(error).__name__}: {error}")
        return _complain(f"something raised {what}, before there was a verdict; raise an Exception instead")


def _message_for(error: Exception) -> str | None:
    """The message for an error that the user can mend; None for any other error, "" where it was printed before."""
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
    return str(error.format_message()) if hasattr(error, "format_message") else None


def _complain(message: str) -> int:
    remark(f"draftproof: {printable(' '.join(message.split()))}")
    return BAD_INPUT


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"draftproof {version('draftproof')}\n")
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
    max_input: Annotated[float, typer.Option(min=0, help="Largest input file, in MiB.")] = 64.0,
) -> None:
    if not max_input < MAX_INPUT_LIMIT:
        raise InvalidInput(
            f"--max-input {max_input:g} is not a file size; give a number of MiB below {MAX_INPUT_LIMIT:,}"
        )
    files.allow(int(max_input * 2**20))


if __name__ == "__main__":
    main()
