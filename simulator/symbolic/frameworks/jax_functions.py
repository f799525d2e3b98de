"""Functions that jax traced (jaxprs), run equation by equation with loops and branches. Needs jax."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.simulator.lazy import jax_core, jax_lines, jnp
from draftproof.simulator.origins import is_audited
from draftproof.simulator.symbolic.frameworks.jax_values import is_followed, shaped, values, wrapped
from draftproof.simulator.symbolic.where import with_lines_from

#: One primitive: of a trace, a primitive, its arguments and parameters.
Process = Callable[[Any, Any, Any, Any], Any]
#: Primitives that draw random numbers: a function that has one is run step by step.
_DRAWS = {"random_bits", "random_seed", "random_split", "random_fold_in", "threefry2x32", "rng_bit_generator"}
_DRAWS |= {"rng_uniform", "pallas_call", "shard_map"}


@functools.lru_cache(maxsize=4096)
def draws(jaxpr: Any) -> bool:
    """Whether something is drawn in a function, or in one that it calls."""
    return any(eqn.primitive.name in _DRAWS or any(map(draws, _inside(eqn.params))) for eqn in _open(jaxpr).eqns)


def _inside(params: Any) -> list[Any]:
    """The functions among the parameters of a primitive."""
    listed = [item for value in params.values() for item in (value if isinstance(value, (tuple, list)) else [value])]
    return [element for element in listed if isinstance(element, (jax_core.Jaxpr, jax_core.ClosedJaxpr))]


def _open(jaxpr: Any) -> Any:
    return jaxpr.jaxpr if isinstance(jaxpr, jax_core.ClosedJaxpr) else jaxpr


def run(trace: Any, process: Process, jaxpr: Any, args: Sequence[Any]) -> list[Any]:
    """The results of a function, equation by equation."""
    known: dict[Any, Any] = {}
    inner = _open(jaxpr)
    consts = jaxpr.consts if jaxpr is not inner else ()
    known.update(zip(inner.constvars, consts, strict=True))
    known.update(zip(inner.invars, args, strict=True))
    at: list[Any] = [None]

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, jax_core.Literal) else known[atom]

    with with_lines_from(lambda: _line(at[0])):
        for eqn in inner.eqns:
            at[0] = eqn
            results = process(trace, eqn.primitive, [read(atom) for atom in eqn.invars], eqn.params)
            known.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True))
    return [_array(read(atom), atom.aval) for atom in inner.outvars]


def _array(value: Any, aval: Any) -> Any:
    """A literal as an array; anything else as it is."""
    return value if hasattr(value, "aval") else jnp.asarray(value, dtype=aval.dtype)


def _line(eqn: Any) -> tuple[str, int] | None:
    """File and line of the audited code in which an equation was written."""
    if eqn is None:
        return None
    frames = jax_lines.user_frames(eqn.source_info.traceback)
    return next(((frame.file_name, frame.start_line) for frame in frames if is_audited(frame.file_name)), None)


def _called(trace: Any, process: Process, primitive: Any, args: Any, params: Any) -> Any:
    jaxpr = params.get("jaxpr") or params.get("call_jaxpr")
    if not (any(map(is_followed, args)) or draws(jaxpr)):
        return primitive.bind(*args, **params)
    return run(trace, process, jaxpr, args)


def _cond(trace: Any, process: Process, primitive: Any, args: Any, params: Any) -> Any:
    branches = params["branches"]
    place = min(max(int(args[0]), 0), len(branches) - 1)
    return run(trace, process, branches[place], args[1:])


def _while(trace: Any, process: Process, primitive: Any, args: Any, params: Any) -> Any:
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    if not (any(map(is_followed, args)) or draws(test) or draws(body)):
        return primitive.bind(*args, **params)
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    carry = list(args[second:])
    while bool(run(trace, process, test, [*args[:first], *carry])[0]):
        carry = run(trace, process, body, [*args[first:second], *carry])
    return carry


def _scan(trace: Any, process: Process, primitive: Any, args: Any, params: Any) -> Any:
    body, length = params["jaxpr"], params["length"]
    if not (any(map(is_followed, args)) or draws(body)):
        return primitive.bind(*args, **params)
    consts, carried = params["num_consts"], params["num_carry"]
    carry, rows = list(args[consts : consts + carried]), args[consts + carried :]
    steps: list[list[Any]] = []
    for i in reversed(range(length)) if params["reverse"] else range(length):
        results = run(trace, process, body, [*args[:consts], *carry, *(_row(trace, row, i) for row in rows)])
        carry = results[:carried]
        steps.append(results[carried:])
    if params["reverse"]:
        steps.reverse()
    kinds = [var.aval for var in _open(body).outvars[carried:]]
    return [*carry, *(_stacked(trace, [step[j] for step in steps], kind) for j, kind in enumerate(kinds))]


def _row(trace: Any, array: Any, i: int) -> Any:
    if not is_followed(array):
        return array[i]
    return wrapped(trace, values(array)[i], shaped(array.shape[1:], array.dtype))


def _stacked(trace: Any, parts: list[Any], kind: Any) -> Any:
    if not any(map(is_followed, parts)):
        return jnp.stack(parts) if parts else jnp.zeros((0, *kind.shape), kind.dtype)
    stacked = np.stack([values(part) for part in parts])
    return wrapped(trace, stacked, shaped(stacked.shape, kind.dtype))


_CALLS = ("jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat")
#: Primitives that run functions, by their names.
CONTROL: dict[str, Callable[..., Any]] = dict.fromkeys(_CALLS, _called) | {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
}
