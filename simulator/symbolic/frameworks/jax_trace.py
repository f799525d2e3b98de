"""The jax trace under which an audited call runs. jax hands it every primitive of the call. Needs jax.

That includes primitives in compiled functions, loops and `vmap`. Primitives on plain arrays are computed by jax itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from draftproof.simulator.lazy import jax_core, jax_module
from draftproof.simulator.symbolic.frameworks import jax_functions, jax_rules
from draftproof.simulator.symbolic.frameworks.jax_values import followed_class, is_followed, of_jax, shaped, wrapped
from draftproof.simulator.symbolic.knowledge.session import Session, current
from draftproof.simulator.symbolic.random.jax_keys import Keys
from draftproof.simulator.symbolic.where import refusal, refused_operation


@contextmanager
def intercepting(session: Session, wide: bool = False) -> Iterator[None]:
    """A context in which jax draws random symbols of this session, and its default precision is 64 bits.

    wide: lower precisions are replaced by float64, so every function is traced again and no cached trace is used.
    """
    jax = jax_module()
    followed_class()
    session.keys = Keys(session, _random_array)
    # This setting changes no number here; it is a part of the key of jax's cache of traces.
    retraced = jax.default_matmul_precision("highest") if wide else nullcontext()
    with jax.enable_x64(True), retraced, jax_core.set_current_trace(the_trace()):
        yield


@functools.cache
def warm() -> None:
    """Use jax once before functions are replaced: what its first use imports and starts must see the originals."""
    jax = jax_module()
    with jax.enable_x64(True):
        key = jax.random.key(0)
        row = jax.random.uniform(jax.random.split(key)[0], (2,))
        jax.jit(jax.vmap(lambda start: jax.lax.while_loop(lambda x: x < 1, lambda x: x + 1, start)))(row)
        jax.numpy.searchsorted(jax.numpy.cumsum(row), row).block_until_ready()


def _random_array(array: Any, dtype: Any) -> Any:
    return wrapped(the_trace(), array, shaped(array.shape, dtype or "float64"))


@functools.cache
def the_trace() -> Any:
    """The trace that gets every primitive; one for all calls, since jax caches functions by their trace."""
    methods = {
        "process_primitive": process,
        "stage_value": lambda self, value: (
            value if isinstance(value, _arrays()) else jax_core.eval_trace.stage_value(value)
        ),
        "process_custom_jvp_call": _plain_call,
        "process_custom_vjp_call": _plain_call,
        "process_call": lambda self, primitive, function, args, params: _plain_call(self, primitive, function, args),
        "process_shard_map": lambda self, *args, **options: _unfollowed("shard_map"),
        "cur_qdd": lambda self, value: value.cur_qdd(),
        "__slots__": (),
    }
    return type("Following", (jax_core.Trace,), methods)()


def _arrays() -> Any:
    return jax_module().Array


def _unfollowed(name: str) -> Any:
    raise refusal(f"jax {name} cannot be followed")


def _plain_call(self: Any, primitive: Any, function: Any, *rest: Any, **options: Any) -> Any:
    """A function with a custom derivative: the function itself is run."""
    args = next(item for item in rest if isinstance(item, (list, tuple)))
    with jax_core.set_current_trace(self):
        return function.call_wrapped(*args)


def process(trace: Any, primitive: Any, args: Any, params: Any) -> Any:
    """The result of one primitive: by its rule where an argument holds symbols, else by jax itself."""
    session = current()
    name = primitive.name
    if session is None or session.keys is None:
        return primitive.bind(*args, **params)
    args = [of_jax(argument) for argument in args]
    if name in jax_functions.CONTROL:
        return jax_functions.CONTROL[name](trace, process, primitive, args, params)
    if name in _KEYS and any(map(is_followed, args)):
        raise refusal("a jax key is made with a random number, which cannot be followed")
    if name in _KEYS:
        return _KEYS[name](trace, session.keys, primitive, args, params)
    if name in _REFUSED or (name in _CALLBACKS and any(map(is_followed, args))):
        _unfollowed(name)
    if not any(map(is_followed, args)):
        return primitive.bind(*args, **params)
    rule = jax_rules.RULES.get(name)
    if rule is None:
        raise refused_operation(f"jax.lax.{name}")
    try:
        result = rule(primitive, args, params)
    except (TypeError, ValueError, IndexError) as error:
        raise refused_operation(f"jax.lax.{name} ({error})") from error
    avals, _ = primitive.abstract_eval(*map(jax_core.typeof, args), **params)
    if not primitive.multiple_results:
        return wrapped(trace, result, avals)
    return [wrapped(trace, item, aval) for item, aval in zip(result, avals, strict=True)]


def _bits(trace: Any, keys: Any, primitive: Any, args: Any, params: Any) -> Any:
    aval, _ = primitive.abstract_eval(*map(jax_core.typeof, args), **params)
    return wrapped(trace, keys.bits(args[0], params["bit_width"], tuple(params["shape"])), aval)


def _seed(trace: Any, keys: Any, primitive: Any, args: Any, params: Any) -> Any:
    made = primitive.bind(*args, **params)
    keys.seeded(made, args[0])
    return made


def _split(trace: Any, keys: Any, primitive: Any, args: Any, params: Any) -> Any:
    parts = primitive.bind(*args, **params)
    keys.split(args[0], parts)
    return parts


def _fold(trace: Any, keys: Any, primitive: Any, args: Any, params: Any) -> Any:
    made = primitive.bind(*args, **params)
    keys.folded(args[0], args[1], made)
    return made


_KEYS = {"random_bits": _bits, "random_seed": _seed, "random_split": _split, "random_fold_in": _fold}
#: Primitives that draw by themselves, or run outside of every trace.
_REFUSED = {"threefry2x32", "rng_bit_generator", "rng_uniform", "pallas_call", "shard_map", "xla_pmap"}
_CALLBACKS = {"pure_callback", "io_callback", "ffi_call"}
