"""Arguments of the Python interface as verifiers, processes and schemes: given as objects, by name or from a file.

A language model becomes a process whose rows after a prompt are computed on demand.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from draftproof.experiments.inputs.schemes import find_scheme, planned_on
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.simulator.arithmetic import as_rows
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.drafts.user_scheme import CONTRACT
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MarkovProcess, TableProcess
from draftproof.simulator.instances.softmax import from_softmax
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess
from draftproof.simulator.raised import user_lines
from draftproof.simulator.verdicts.validation import check_verifier


def as_verifier(verifier: Any) -> NamedVerifier:
    """A verifier from `traversal`, `mixed_order:a=1/3`, `FILE.py:NAME` or an object; raises `InvalidInput`."""
    if isinstance(verifier, str):
        return find_verifier(verifier)
    check_verifier(verifier)
    return NamedVerifier(verifier.card.name, verifier)


def as_verifiers(verifiers: Any) -> list[NamedVerifier]:
    """Verifiers from one argument of `as_verifier`, or several."""
    several = isinstance(verifiers, Iterable) and not isinstance(verifiers, str)
    named = [as_verifier(verifier) for verifier in (verifiers if several else [verifiers])]
    if not named:
        raise InvalidInput("no verifier is given; name one, such as 'traversal'")
    return named


def as_scheme(scheme: Any) -> DraftScheme:
    """A scheme from `delayed:K=3,L1=0,L2=2`, `FILE.py:NAME`, or an object with `draw` and `depth`; see `UserScheme`."""
    if isinstance(scheme, str):
        return find_scheme(scheme)
    if isinstance(scheme, type):
        raise InvalidInput(f"{scheme.__name__} is a class, not a scheme: call it, {scheme.__name__}()")
    complete = isinstance(scheme, UserScheme) or (is_library(scheme) and all(hasattr(scheme, x) for x in CONTRACT))
    made: DraftScheme = scheme if complete else UserScheme(scheme)
    return made


def planned_scheme(scheme: Any, pair: tuple[TokenProcess, TokenProcess]) -> DraftScheme:
    """The scheme for this target and draft; the tree of `sequoia` is planned on them."""
    return planned_on(as_scheme(scheme), [Case("the pair", *pair)])


def as_schemes(schemes: Any) -> list[DraftScheme]:
    """Schemes from one argument of `as_scheme`, or several."""
    several = isinstance(schemes, Iterable) and not isinstance(schemes, str)
    listed = [as_scheme(scheme) for scheme in (schemes if several else [schemes])]
    if not listed:
        raise InvalidInput("no scheme is given; give one, such as Delayed(K=2, L1=0, L2=2)")
    return listed


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
                f"{MOST_CONTEXTS:,}; take a shallower tree, or `draftproof compare --target --draft`, which keeps "
                "the most probable tokens"
            )
        with torch.no_grad():
            logits = model(torch.tensor([[*tokens, *context]], device=getattr(model, "device", None))).logits[0, -1]
        return from_softmax(logits.double().softmax(-1), denominator=denominator, name=name).row(())

    return CallableProcess(size, row, name)
