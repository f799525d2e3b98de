"""Processes from what Python has: a row, tables, a function from context to row, a language model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import as_rows
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.instances.softmax import from_softmax
from draftproof.simulator.protocol import Context, TokenProcess
from draftproof.simulator.raised import user_lines
from draftproof.simulator.tables import TableProcess


def as_process(process: Any, name: str) -> TokenProcess:
    """A process from an object, a function, one row, or a list of tables; raises `InvalidInput` for anything else.

    A single row of shape `(V,)` holds after every context; table `d` of a list has shape `(V**d, V)`.
    """
    if hasattr(process, "row") and hasattr(process, "vocab_size"):
        made: TokenProcess = process
        return made
    if isinstance(process, str):
        raise InvalidInput(f"{name} is {process!r}; give a process, such as from_softmax(rows) or Instance.load(FILE)")
    if hasattr(process, "config") and callable(process):
        raise InvalidInput(f"{name} is a model; from_model(model, prompt) makes a process of it")
    if callable(process):
        return _function_process(process, name)
    if isinstance(process, (list, tuple)) and process and all(np.ndim(table) == 2 for table in process):
        return TableProcess(process, name)
    if np.ndim(process) == 1:
        return MarkovProcess(_rows([process], name), (), name)
    raise InvalidInput(
        f"{name} is {type(process).__name__} of shape {np.shape(process)}: give one row, a list of tables, a function "
        "from context to row, MarkovProcess(table, root=..), or from_softmax(rows, root=..)"
    )


def _function_process(function: Callable[[Context], Any], name: str) -> CallableProcess:
    """The process of a function from context to row; its vocabulary is that of the first row."""
    try:
        row = function(())
    except DraftproofError:
        raise
    except Exception as error:
        raise InvalidInput(f"{name} row after the empty context: the function raised {user_lines(error)}") from error
    return CallableProcess(len(_rows(row, name)), function, name)


def _rows(rows: Any, name: str) -> Any:
    """The rows as an array; errors name the process."""
    try:
        return as_rows(rows)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from error


def as_pair(target: Any, draft: Any) -> tuple[TokenProcess, TokenProcess]:
    """Target and draft over one vocabulary."""
    pair = as_process(target, "target"), as_process(draft, "draft")
    sizes = pair[0].vocab_size, pair[1].vocab_size
    if sizes[0] != sizes[1]:
        raise InvalidInput(f"target has {sizes[0]} tokens, draft has {sizes[1]}; they must share a vocabulary")
    return pair


#: Rows of a model are computed at a depth with at most this many contexts: depth 2 at V = 256, 1 at V = 65,536.
MOST_CONTEXTS = 2**16


def from_model(
    model: Any, prompt: Sequence[int], denominator: int | None = 2**16, name: str = "model"
) -> CallableProcess:
    """The process of a causal Hugging Face model after the tokens of `prompt`, at least one.

    Each row is one call of the model, made once. The softmax is computed in float64 and made rational with
    `from_softmax`, over `denominator` (None keeps every bit). Raises `InvalidInput` for other models. `row`
    raises `TooLarge` at depths of more than `MOST_CONTEXTS` contexts: trees are at most two tokens deep up to
    V = 256, else one.
    """
    size = getattr(getattr(model, "config", None), "vocab_size", None)
    if not callable(model) or not isinstance(size, int):
        raise InvalidInput(f"{name}: {type(model).__name__} is no causal model with config.vocab_size")
    tokens = [int(token) for token in prompt]
    if not tokens or any(not 0 <= token < size for token in tokens):
        raise InvalidInput(f"{name}: prompt {tokens} must hold tokens of 0..{size - 1}, at least one")
    import torch

    def row(context: Context) -> Any:
        if size ** len(context) > MOST_CONTEXTS:
            raise TooLarge(
                f"{name} has {size:,} tokens and {size ** len(context):,} contexts of length {len(context)}, more than "
                f"{MOST_CONTEXTS:,}; take a shallower tree, or the world models:target=PATH,draft=PATH, "
                "which keeps the most probable tokens"
            )
        with torch.no_grad():
            logits = model(torch.tensor([[*tokens, *context]], device=getattr(model, "device", None))).logits[0, -1]
        return from_softmax(logits.double().softmax(-1), denominator=denominator, name=name).row(())

    return CallableProcess(size, row, name)
