"""Errors of an audited function on a legal case, with line and arguments."""

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.origins import is_trusted
from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.symbolic.result import plain_values

#: Arguments longer than this are cut where they are shown.
SHOWN = 400
#: Errors that a call with wrong arguments may raise; other errors are failures of the function itself.
_PERHAPS_CALLED_WRONGLY = (TypeError, LookupError, AttributeError, SystemExit, InvalidVerifier)


class FunctionFailed(InvalidVerifier):
    """The function raised an error, or returned something other than a block of the tree.

    what: in words, with the line. arguments: of that call, as text. called_wrongly: whether wrong arguments or a wrong
    interface would explain it, too.
    """

    def __init__(self, what: str, hint: str, arguments: str, called_wrongly: bool) -> None:
        super().__init__(what + hint)
        self.what = what
        self.arguments = arguments
        self.called_wrongly = called_wrongly
        self.fields = {"what": what, "hint": hint, "arguments": arguments, "called_wrongly": called_wrongly}


@contextmanager
def function_errors(arguments: Sequence[Any], hint: str) -> Iterator[None]:
    """Within it errors of the audited code become `FunctionFailed`, and its output goes to stderr.

    arguments: those of the call, for the message. hint: how it was called, for errors that this may explain.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except NotFollowed:
        raise
    except InvalidVerifier as error:
        raise FunctionFailed(str(error), "", _shown(arguments), True) from error
    except DraftproofError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit(0) must not be taken for a verdict
        wrongly = isinstance(error, _PERHAPS_CALLED_WRONGLY)
        shown_hint = hint if isinstance(error, (TypeError, LookupError, AttributeError)) else ""
        what = f"it raised {type(error).__name__}: {error}{_place(error)}"
        raise FunctionFailed(what, shown_hint, _shown(arguments), wrongly) from error


def _shown(arguments: Sequence[Any]) -> str:
    text = ", ".join(" ".join(repr(plain_values(argument)).split()) for argument in arguments)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _place(error: BaseException) -> str:
    """The innermost line of user code, as text."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not is_trusted(frame.filename) and Path(frame.filename).exists():
            return f" ({Path(frame.filename).name} line {frame.lineno})"
    return ""
