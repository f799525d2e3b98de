"""The command line: what every command has in common. The commands are in `experiments.commands`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from experiments.commands.audit.command import audit
from experiments.commands.bound.command import bound
from experiments.commands.check.command import check
from experiments.commands.compare.command import compare
from experiments.commands.listing.command import list_command
from experiments.commands.matrix.command import matrix
from experiments.commands.precision.command import precision
from experiments.commands.prove.command import prove
from experiments.commands.train.command import train
from experiments.commands.validate.command import validate
from experiments.shared.progress import INTERRUPTED, remark
from simulator.errors import DraftproofError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Exact answers about speculative-decoding verifiers: is it lossless, and how many tokens does a block bring?",
)

INTERNAL = 70


def main() -> None:
    """Run `draftproof`."""
    _run(app)


def run_command(command: Callable[..., int]) -> None:
    """Run one command as a program of its own, such as a study."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(command)
    _run(alone)


def _run(program: typer.Typer) -> None:
    """Exit 0 on success, 1 when something is refuted, 2 on bad input, 3 when a proof has gaps.

    130 on Ctrl-C, 70 on a fault of our own.
    """
    sys.set_int_max_str_digits(0)  # exact averages can have many thousand digits
    try:
        code = program(standalone_mode=False)
    except DraftproofError as error:
        code = _complain(str(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except typer.Abort:
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if not hasattr(error, "format_message"):  # not one of the command-line parser's: a fault of our own
            traceback.print_exc()
            sys.exit(INTERNAL)
        message = error.format_message()  # empty where the help was shown instead
        code = _complain(message) if message else 2
    sys.exit(code)


def _complain(message: str) -> int:
    remark(f"draftproof: {' '.join(message.split())}")
    return 2


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"draftproof {version('draftproof')}\n")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command("list")(list_command)
for command in (check, prove, audit, compare, bound, matrix, precision, train, validate):
    app.command()(command)
