"""Errors of an audited function on a legal case, with line and arguments."""

import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from itertools import dropwhile
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.origins import folder_of, is_trusted
from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.symbolic.result import plain_values

#: Errors that a call with wrong arguments may raise; other errors are failures of the function itself.
_PERHAPS_CALLED_WRONGLY = (TypeError, LookupError, AttributeError, SystemExit, InvalidVerifier)


class FunctionFailed(InvalidVerifier):
    """The function raised an error, or returned something other than a block of the tree.

    what: in words, with the line. arguments: of that call, as text. called_wrongly: whether wrong arguments or a wrong
    interface would explain it, too.
    """

    def __init__(self, what: str, hint: str = "", arguments: str = "", called_wrongly: bool = False) -> None:
        super().__init__(what + hint)
        self.what = what
        self.arguments = arguments
        self.called_wrongly = called_wrongly


class BrokenResult(InvalidVerifier):
    """A result that is wrong however the function is to be called."""


@contextmanager
def function_errors(arguments: Mapping[str, Any], hint: str) -> Iterator[None]:
    """Within it errors of the audited code become `FunctionFailed`, and its output goes to stderr.

    arguments: those of the call by name, for the message. hint: how it was called, for errors that this may explain.
    """
    try:
        with redirect_stdout(sys.stderr), _whole_stack():
            yield
    except NotFollowed:
        raise
    except InvalidVerifier as error:
        raise FunctionFailed(str(error), "", _shown(arguments), not isinstance(error, BrokenResult)) from error
    except DraftproofError:
        raise
    except ModuleNotFoundError as error:
        raise NotFollowed(f"it imports {error.name}, which is not installed{_place(error)}") from error
    except (Exception, SystemExit) as error:  # sys.exit(0) must not be taken for a verdict
        _refuse_limits(error)
        wrongly = isinstance(error, _PERHAPS_CALLED_WRONGLY)
        shown_hint = hint if isinstance(error, (TypeError, LookupError, AttributeError)) else ""
        what = f"it raised {type(error).__name__}: {error}{_place(error)}"
        raise FunctionFailed(what, shown_hint, _shown(arguments), wrongly) from error


def _shown(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={' '.join(repr(plain_values(value)).split())}" for name, value in arguments.items())


@contextmanager
def _whole_stack() -> Iterator[None]:
    """Within it calls may nest as deeply as at the top of a program, whatever is on the stack already."""
    limit, depth, frame = sys.getrecursionlimit(), 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(limit + depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _refuse_limits(error: BaseException) -> None:
    """Raise `NotFollowed` for a limit of the audit, of the machine or of Triton's interpreter."""
    first = error
    while first.__cause__ is not None:
        first = first.__cause__
    if isinstance(first, MemoryError):
        raise NotFollowed(f"its call needs more memory than there is{_place(first)}") from error
    if isinstance(first, RecursionError) and not _only_of_the_function(first):
        raise NotFollowed(
            f"calls nest too deeply{_place(first)}, and not only those of the function: a limit of the audit"
        ) from error
    if "triton" in sys.modules and innermost_file(first).startswith(folder_of("triton")):
        raise NotFollowed(f"Triton's interpreter raised {type(first).__name__}: {first}{_place(first)}") from error


def innermost_file(error: BaseException) -> str:
    """The file whose code raised an error."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1] if frames else ""


def _only_of_the_function(error: BaseException) -> bool:
    """Whether all frames from the first one of user code on are user code."""
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    return all(not is_trusted(file) for file in dropwhile(is_trusted, files))


def _place(error: BaseException) -> str:
    """The innermost line of user code, as text."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not is_trusted(frame.filename) and Path(frame.filename).exists():
            return f" ({Path(frame.filename).name} line {frame.lineno})"
    return ""
