"""What somebody else's code raises and prints: told with the lines of theirs that led there, and kept off stdout."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from simulator.errors import DraftproofError, InvalidVerifier
from simulator.origins import ROOMS

#: Lines of the traceback that are told, the innermost ones.
LINES = 3


def own_lines(error: BaseException) -> str:
    """`ValueError: bad row (mine.py line 7, in verify: `x = 1 / 0`)`, without the lines of the library around them."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    theirs = [frame for frame in frames if not frame.filename.startswith(ROOMS)]
    told = [
        f"{Path(frame.filename).name} line {frame.lineno}, in {frame.name}"
        + (f": `{frame.line}`" if frame.line else "")
        for frame in (theirs or frames)[-LINES:]
    ]
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{reason} ({'; '.join(told)})" if told else reason


def quiet() -> AbstractContextManager[Any]:
    """Whatever an outsider's verifier prints goes to stderr: stdout is for results."""
    return redirect_stdout(sys.stderr)


@contextmanager
def named_errors(where: str) -> Iterator[None]:
    """For whatever runs a verifier: errors raised on purpose get the culprit before them, prints go to stderr."""
    try:
        with quiet():
            yield
    except DraftproofError as error:
        if str(error).startswith(where):
            raise
        raise type(error)(f"{where}: {error}") from error
    except SystemExit as stop:
        raise InvalidVerifier(f"{where}: it called sys.exit({stop.code!r}), which is no verdict") from stop
