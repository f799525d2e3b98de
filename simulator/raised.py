"""Errors, results and output of user code: errors get the lines of that code, output goes to stderr."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import DraftproofError, Fails, InvalidVerifier, cut
from draftproof.simulator.origins import HOME, is_trusted

#: Innermost lines of a traceback in a message.
LINES = 3
#: Characters of an error's text in a message.
MOST = 300


def user_lines(error: BaseException) -> str:
    """`ValueError: bad row (mine.py line 7, in verify: `x = 1 / 0`)`, without the lines of the library around them."""
    # The first frame is that of the function that caught the error.
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)[1:] if "<frozen" not in frame.filename]
    outside = [frame for frame in frames if not frame.filename.startswith(HOME)] or frames
    return _message(error, list(dropwhile(lambda frame: is_trusted(frame.filename), outside)) or outside)


def user_places(error: BaseException) -> str:
    """The lines of user code alone, as `mine.py line 7, in verify: `x = 1 / 0``; "" where there are none."""
    frames = traceback.extract_tb(error.__traceback__)
    return _places([frame for frame in frames if not is_trusted(frame.filename)])


def raised_by_user_code(error: BaseException) -> str | None:
    """`user_lines` of an error that user code raised; None for any other error."""
    frames = traceback.extract_tb(error.__traceback__)
    # Python and installed libraries raise for whoever called them: draftproof, or user code.
    callers = [frame for frame in frames if frame.filename.startswith(HOME) or not is_trusted(frame.filename)]
    if not callers or callers[-1].filename.startswith(HOME):
        return None
    return _message(error, [frame for frame in callers if not frame.filename.startswith(HOME)])


def _message(error: BaseException, frames: Sequence[traceback.FrameSummary]) -> str:
    places = _places(frames)
    try:
        text = cut(error, MOST)
    except Exception:
        text = ""
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{reason} ({places})" if places else reason


def _places(frames: Sequence[traceback.FrameSummary]) -> str:
    return "; ".join(
        f"{Path(frame.filename).name} line {frame.lineno}, in {frame.name}"
        + (f": `{frame.line}`" if frame.line else "")
        for frame in frames[-LINES:]
    )


#: In how many threads and levels output is redirected now, and where it went before.
_redirected = 0
_before: Any = None
_redirecting = threading.Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Within it output of user code goes to stderr, as stdout is for results; the last thread to leave puts it back."""
    global _redirected, _before  # noqa: PLW0603 - as `sys.stdout` is
    with _redirecting:
        if not _redirected:
            _before, sys.stdout = sys.stdout, sys.stderr
        _redirected += 1
    try:
        yield
    finally:
        with _redirecting:
            _redirected -= 1
            if not _redirected:
                sys.stdout, _before = _before, None


@contextmanager
def named_errors(where: str) -> Iterator[None]:
    """Within it errors of draftproof get the prefix `where`, and output of user code goes to stderr."""
    try:
        with quiet():
            yield
    except DraftproofError as error:
        if str(error).startswith(where):
            raise
        if isinstance(error, Fails):
            raise Fails(error.what, error.instance, f"{where}: {error}") from error
        raise type(error)(f"{where}: {error}") from error
    except SystemExit as stop:
        raise InvalidVerifier(f"{where}: it called sys.exit({stop.code!r}), which is no verdict") from stop
