"""Triton kernels in Triton's own interpreter, with symbols in their loads, arithmetic and stores. Needs triton.

The interpreter computes with numpy arrays and uses memory by address; here an address is looked up among the symbols of
torch's tensors. `tl.rand` gives the same symbol for the same seed and offset.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray, boxed, plain
from draftproof.simulator.symbolic.knowledge.session import current
from draftproof.simulator.symbolic.numbers.functions import is_random
from draftproof.simulator.symbolic.numbers.seeds import Seed
from draftproof.simulator.symbolic.where import refusal, refused_operation


def _is_followed(data: Any) -> bool:
    return isinstance(data, SymbolicArray) or (isinstance(data, np.ndarray) and data.dtype == object)


def _symbolic(array: Any) -> Any:
    return np.asarray(array, dtype=object).view(SymbolicArray)


def _load(original: Any) -> Any:
    def method(self: Any, ptrs: Any, mask: Any, other: Any, *policies: Any) -> Any:
        if other is not None and _is_followed(other.data):
            raise refused_operation("tl.load with other=")
        loaded = original(self, ptrs, mask, other, *policies)
        session = current()
        if session is None:
            return loaded
        wanted = np.broadcast_to(mask.data, ptrs.data.shape)
        symbols = [(i, session.tensors.at(int(ptrs.data[i]))) for i in np.ndindex(*ptrs.data.shape) if wanted[i]]
        if any(symbol is not None for _, symbol in symbols):
            array = loaded.data.astype(object)
            for i, symbol in symbols:
                array[i] = array[i] if symbol is None else symbol
            loaded.data = _symbolic(array)
        return loaded

    return method


def _store(original: Any) -> Any:
    def method(self: Any, ptrs: Any, value: Any, mask: Any, *policies: Any) -> Any:
        session = current()
        if session is None:
            return original(self, ptrs, value, mask, *policies)
        shape = ptrs.data.shape
        values, wanted = np.broadcast_to(plain(value.data), shape), np.broadcast_to(mask.data, shape)
        known = wanted.copy()
        for i in np.ndindex(*shape):
            if wanted[i]:
                random = is_random(values[i])
                session.tensors.put(int(ptrs.data[i]), values[i] if random else None)
                known[i] = not random
        interpreter = sys.modules["triton.runtime.interpreter"]
        if values.dtype == object:
            values = np.where(known, values, 0).astype(interpreter._get_np_dtype(value.dtype))
        handle = interpreter.TensorHandle
        return original(self, ptrs, handle(np.array(values), value.dtype), handle(known, mask.dtype), *policies)

    return method


def _fits(original: Any) -> Any:
    return lambda array, dtype: _is_followed(array) or original(array, dtype)


def _splat(original: Any) -> Any:
    def method(self: Any, kind: Any, arg: Any) -> Any:
        if not _is_followed(arg.data):
            return original(self, kind, arg)
        data = np.broadcast_to(plain(arg.data).reshape(-1)[0:1], kind.shape)
        return type(arg)(_symbolic(data), arg.dtype.scalar)

    return method


def _to_tensor(original: Any) -> Any:
    def method(self: Any, ret: Any, dtype: Any) -> Any:
        if not (is_random(ret) or (_is_followed(ret) and np.shape(ret) == ())):
            return original(self, ret, dtype)
        module = sys.modules["triton.runtime.interpreter"]
        handle = module.TensorHandle(_symbolic(plain(boxed(ret) if is_random(ret) else ret).reshape(1)), dtype.scalar)
        return module.tl.core.tensor(handle, dtype)

    return method


def _cast(original: Any) -> Any:
    def method(self: Any, src: Any, kind: Any, *rounding: Any) -> Any:
        if _is_followed(src.data):
            if not kind.scalar.is_floating() or kind.scalar.primitive_bitwidth < 32:
                raise refused_operation(f"a cast to {kind.scalar}")
            return type(src)(src.data, kind.scalar)
        return original(self, src, kind, *rounding)

    return method


def _restore(original: Any) -> Any:
    def method(self: Any, args: Any, host: Any, kwargs: Any, kwargs_host: Any) -> Any:
        if current() is None:  # within a call everything is on the CPU, and its memory is shared
            original(self, args, host, kwargs, kwargs_host)

    return method


def _number(value: Any) -> Any:
    data = getattr(getattr(value, "handle", None), "data", getattr(value, "value", value))
    if not _is_followed(data):
        return np.asarray(data)
    array = plain(data)
    if not all(isinstance(item, (int, np.integer, Seed)) for item in array.flat):
        raise refusal("tl.rand with a random offset, or with a random number as a seed, cannot be followed")
    return array


def _rand(original: Any) -> Any:
    def function(seed: Any, offset: Any, n_rounds: Any = 10, **options: Any) -> Any:
        session = current()
        if session is None:
            return original(seed, offset, n_rounds, **options)
        module = sys.modules["triton.runtime.interpreter"]
        seeds, offsets = np.broadcast_arrays(_number(seed), _number(offset))
        array = np.empty(offsets.shape, dtype=object)
        for i in np.ndindex(*offsets.shape):
            one: Any = seeds[i]
            key = one.key if isinstance(one, Seed) else int(one)
            array[i] = session.placed_uniform(("triton", key), int(offsets[i]), "tl.rand", 24)
        single = not getattr(getattr(offset, "type", None), "is_block", lambda: False)()
        handle = module.TensorHandle(_symbolic(array.reshape(-1) if single else array), module.tl.float32)
        kind = module.tl.float32 if single else module.tl.block_type(module.tl.float32, list(array.shape))
        return module.tl.tensor(handle, kind)

    return function


def _absolute(original: Any) -> Any:
    return lambda self, arg: type(arg)(np.abs(arg.data), arg.dtype) if _is_followed(arg.data) else original(self, arg)


def _guarded(name: str, original: Any) -> Any:
    """An operation of the interpreter; an error that it raises because of a symbol becomes a refusal."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        handles = [getattr(item, "handle", item) for item in _flat(arguments)]
        if current() is None or not any(_is_followed(getattr(handle, "data", None)) for handle in handles):
            return original(self, *arguments, **options)
        try:
            return original(self, *arguments, **options)
        except InvalidVerifier:
            raise
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise refused_operation(f"{name} in a Triton kernel") from error

    return method


def _flat(values: Any) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, (tuple, list)) else [value])]


def _atomic(name: str, original: Any) -> Any:
    """An atomic operation, which the interpreter computes in memory itself."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        session: Any = current()
        for argument in arguments if session is not None else ():
            data: Any = getattr(argument, "data", None)
            addresses = data.flat if data is not None and argument.dtype.is_ptr() else ()
            if _is_followed(data) or any(session.tensors.at(int(address)) is not None for address in addresses):
                raise refused_operation(f"{name} in a Triton kernel")
        return original(self, *arguments, **options)

    return method


def _unfollowed(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        if current() is not None:
            raise refusal(f"tl.{name} cannot be followed", "use tl.rand")
        return original(*arguments, **options)

    return function


#: Functions of `libdevice` with one argument: the interpreter has no body for them, and they would give None.
_LIBDEVICE: dict[str, Any] = {
    "log": np.log, "log2": np.log2, "log1p": np.log1p, "exp": np.exp, "expm1": np.expm1, "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "fast_logf": np.log, "fast_expf": np.exp,
    "fast_log2f": np.log2,
}  # fmt: skip


def _of_device(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        if current() is None:
            return original(*arguments, **options)
        rule = _LIBDEVICE.get(name)
        handle = getattr(arguments[0], "handle", None) if len(arguments) == 1 else None
        if rule is None or handle is None:
            raise refusal(f"libdevice.{name} has no body in Triton's interpreter", "use a function of tl")
        with np.errstate(all="ignore"):
            return type(arguments[0])(type(handle)(rule(handle.data), handle.dtype), arguments[0].type)

    return function


def device_replacements(library: Any) -> list[tuple[Any, str, Any]]:
    """(module, name, what to put there) for all functions of a module `libdevice`."""
    return [
        (library, name, _of_device(name, value))
        for name, value in vars(library).items()
        if callable(value) and getattr(value, "__module__", "") == library.__name__
    ]


_METHODS = {
    "create_masked_load": _load, "create_masked_store": _store, "create_splat": _splat, "cast_impl": _cast,
    "create_fp_to_fp": _cast, "create_fabs": _absolute,
}  # fmt: skip


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for Triton's interpreter and its random numbers."""
    interpreter: Any = sys.modules["triton.runtime.interpreter"]
    language: Any = sys.modules["triton.language"]
    builder, reductions = interpreter.InterpreterBuilder, interpreter.ReduceScanOpInterface
    replaced = []
    for name in (item for item in dir(builder) if item in _METHODS or item.startswith("create_")):
        original = getattr(builder, name)
        rule = _METHODS.get(name)
        guard = _atomic if name.startswith("create_atomic") else _guarded
        replaced.append((builder, name, rule(original) if rule else guard(name.removeprefix("create_"), original)))
    for kind in (interpreter.ReduceOps, interpreter.ScanOps):
        replaced.append((kind, "apply_impl", _guarded("a reduction", kind.apply_impl)))
    replaced += [
        (interpreter, "_validate_np_data_size", _fits(interpreter._validate_np_data_size)),
        (reductions, "to_tensor", _to_tensor(reductions.to_tensor)),
        (interpreter.GridExecutor, "_restore_args_dev", _restore(interpreter.GridExecutor._restore_args_dev)),
    ]
    for holder in (language, language.random):
        replaced.append((holder, "rand", _rand(holder.rand)))
        for name in ("rand4x", "randn", "randn4x", "randint", "randint4x", "philox"):
            if hasattr(holder, name):
                replaced.append((holder, name, _unfollowed(name, getattr(holder, name))))
    for name in ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"):
        with suppress(ImportError):
            replaced += device_replacements(importlib.import_module(name))
    return replaced
