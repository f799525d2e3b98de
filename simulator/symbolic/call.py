"""The context manager `intercepted`: within it every random number that a function draws is a symbol."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.generators import generator_state, generators_of
from draftproof.simulator.origins import in_simulator
from draftproof.simulator.protocol import Coin
from draftproof.simulator.symbolic import patches, where
from draftproof.simulator.symbolic.decide.region import AS_IT_IS, Settings
from draftproof.simulator.symbolic.decide.session import Session, enter, leave
from draftproof.simulator.symbolic.loading import files as loading
from draftproof.simulator.symbolic.loading import reach, unfollowed
from draftproof.simulator.symbolic.where import NotFollowed, location


@contextmanager
def intercepted(
    coin: Coin,
    *,
    watch: tuple[Any, ...] = (),
    settings: Settings = AS_IT_IS,
    boundary_coin: Coin | None = None,
    replay: Session | None = None,
) -> Iterator[Session]:
    """Within it `random`, `numpy.random` and torch give symbols; the coin is asked whenever one decides something.

    Run it under `draftproof.simulator.outcomes` for the exact law of what a function returns; take the result with
    `concrete` before leaving. The probability of each decision is an exact rational, or one to 256 bits where a
    logarithm is in it.

    watch: the functions that will be called; generators in their globals, defaults and closures are replaced.
    boundary_coin: is asked about boundary values in place of the coin. replay: a session that gives real numbers.
    Raises `InvalidVerifier` with operation and line for what has no exact rule, even if the function catches that
    error, and for draws from a generator that was not replaced. Everything is restored on leaving.
    """
    session = replay or Session(coin, settings, boundary_coin)
    torch_mode = _torch_mode()
    before = _states()
    with ExitStack() as stack:
        where.listeners.append(session.failed)
        stack.callback(where.listeners.remove, session.failed)
        stack.enter_context(noted_warnings(session.region.note))
        stack.enter_context(loading.imports_followed())
        stack.enter_context(patches.applied())
        stack.enter_context(reach.only_recording(watch, session.region.note))
        enter(session)
        stack.callback(leave)
        stack.callback(session.restore_generators)
        if torch_mode is not None:
            stack.enter_context(torch_mode.intercepting(session))
        try:
            yield session
        except NotFollowed:
            raise
        except Exception as error:  # the audited code may have turned a refusal into another error
            if session.failure is not None:
                raise session.failure from error
            raise
    if session.failure is not None:
        raise session.failure
    _compare(before, _states())
    moved = session.moved()
    if moved is not None:
        raise InvalidVerifier(f"the function draws from the bit generator {moved} directly, which cannot be followed")


def _torch_mode() -> Any:
    """The module `torch_mode`, imported before anything is replaced; None where torch is not loaded."""
    if "torch" not in sys.modules:
        return None
    from draftproof.simulator.symbolic.torch import mode as torch_mode  # noqa: PLC0415 - only where torch is loaded

    return torch_mode


def _states() -> dict[str, Any]:
    """The true states of the global generators; of torch only where it is loaded."""
    states = {name: generator_state(one) for name, one in generators_of("random", "numpy.random", "torch")}
    states |= {name: None for name in unfollowed.LIBRARIES if name in sys.modules}
    return states


def _compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, state in after.items():
        if name not in before:
            raise InvalidVerifier(f"the function imports {name} while it runs; import it at the top of its file")
        if before[name] != state:
            raise InvalidVerifier(
                f"the function draws from the global generator of {name} in a way that cannot be followed"
            )


@contextmanager
def noted_warnings(note: Callable[[str], None]) -> Iterator[None]:
    """Within it warnings go to `note`; one whose line is in draftproof gets the audited line that caused it."""
    original = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        audited = location() if in_simulator(filename) else None
        if audited is not None:
            filename, lineno = audited
        note(f"{category.__name__}: {message} ({os.path.basename(filename)}:{lineno})")

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original
