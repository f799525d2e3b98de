"""Triton kernels in Triton's own interpreter, with symbols in their loads, arithmetic and stores. Needs triton.

The interpreter computes with numpy arrays and uses memory by address; here an address is looked up among the symbols of
torch's tensors. `tl.rand` gives the same symbol for the same seed and offset.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray, plain
from draftproof.simulator.symbolic.arrays.elements import boxed
from draftproof.simulator.symbolic.decide.session import current, in_calls, refused_in_calls, suspended
from draftproof.simulator.symbolic.numbers.functions import is_random
from draftproof.simulator.symbolic.numbers.seeds import Seed, without_seeds
from draftproof.simulator.symbolic.triton.lanes import (
    Lanes,
    blocked,
    chosen,
    densified,
    elementwise,
    taken,
)
from draftproof.simulator.symbolic.where import refusal, refused_operation

_OBJECT = np.dtype(object)


def _is_followed(data: Any) -> bool:
    if type(data) is np.ndarray:
        return data.dtype is _OBJECT
    return isinstance(data, (SymbolicArray, Lanes))


def _symbolic(array: Any) -> Any:
    return np.asarray(array, dtype=object).view(SymbolicArray)


def _interpreter() -> Any:
    return sys.modules["triton.runtime.interpreter"]


_ADDRESS = np.dtype(np.uint64)


def _types(original: Any) -> Any:
    """The type of numpy for a type of Triton."""
    known: dict[str, Any] = {}  # the original makes a table of all types each time

    def function(kind: Any) -> Any:
        scalar = kind.scalar
        if scalar.is_ptr():
            return _ADDRESS
        if scalar.name not in known:
            known[scalar.name] = original(scalar)
        return known[scalar.name]

    return function


def _load(original: Any) -> Any:
    def rule(session: Any, self: Any, ptrs: Any, mask: Any, other: Any, *policies: Any) -> Any:
        if other is not None and _is_followed(other.data):
            raise refused_operation("tl.load with other=")
        module, kind = _interpreter(), ptrs.get_element_ty()
        stored = module._get_np_dtype(kind)
        wanted = _mask(mask, ptrs.data.shape)
        addresses = _addresses(ptrs.data)
        if other is not None:
            filler = other.data.astype(stored)
        elif wanted.all():
            filler = np.zeros(wanted.shape, stored)
        else:
            how = "lanes that are masked in a load without `other`"
            filler = session.memory.unwritten(wanted.shape, np.dtype(stored), how)
        if session.memory.places and not session.tensors.lent(addresses[wanted]):  # computed from made-up numbers
            raise IndexError("a kernel reads outside of the tensors that it was given")
        loaded = module._interpreter.load(addresses, wanted, filler, stored)
        if session.tensors.stores:
            at = np.flatnonzero(wanted)
            values = session.tensors.symbols_at(addresses.reshape(-1)[at])
            if values is not None:
                random = np.array([value is not None for value in values], dtype=bool)
                loaded = Lanes.of(values[random], loaded, at[random])
        return module.TensorHandle(loaded, kind)

    return in_calls(original, rule)


def _mask(mask: Any, shape: tuple[int, ...]) -> Any:
    """The lanes that are loaded or stored; random ones are decided."""
    data = mask.data
    if _is_followed(data):
        data = np.array([bool(item) for item in densified(data).flat], dtype=bool).reshape(data.shape)
    return data if data.shape == shape else np.ascontiguousarray(np.broadcast_to(data, shape))


def _addresses(data: Any) -> Any:
    """The addresses of a load or store; raises the refusal of one that is random."""
    if _is_followed(data):
        raise refused_operation("an address in a Triton kernel")
    return data


def _store(original: Any) -> Any:
    def rule(session: Any, self: Any, ptrs: Any, value: Any, mask: Any, *policies: Any) -> Any:
        shape, stored = ptrs.data.shape, _interpreter()._get_np_dtype(ptrs.get_element_ty())
        wanted = _mask(mask, shape).copy()
        at, addresses = np.flatnonzero(wanted), _addresses(ptrs.data)
        if _is_followed(value.data):
            values = taken(value.data, shape, at)
            random = np.array([is_random(item) for item in values], dtype=bool)
            known = np.zeros(shape, dtype=stored)
            known.reshape(-1)[at[~random]] = values[~random]
            wanted.reshape(-1)[at[random]] = False
            values[~random] = None
        else:
            values, known = None, np.array(np.broadcast_to(value.data, shape)).astype(stored, copy=False)
        session.tensors.put_all(addresses.reshape(-1)[at], values)
        _interpreter()._interpreter.store(addresses, known, wanted)

    return in_calls(original, rule)


def _fits(original: Any) -> Any:
    return lambda array, dtype: _is_followed(array) or original(array, dtype)


def _splat(original: Any) -> Any:
    def method(self: Any, kind: Any, arg: Any) -> Any:
        if not _is_followed(arg.data):
            return original(self, kind, arg)
        block = blocked(arg.data)
        data = elementwise(np.add, block, np.zeros(kind.shape, dtype=block.dtype)) if block.size == 1 else arg.data
        return type(arg)(data, arg.dtype.scalar)

    return method


def _to_tensor(original: Any) -> Any:
    def method(self: Any, ret: Any, dtype: Any) -> Any:
        if not (is_random(ret) or (_is_followed(ret) and np.shape(ret) == ())):
            return original(self, ret, dtype)
        module = _interpreter()
        single = plain(boxed(ret) if is_random(ret) else densified(ret))
        handle = module.TensorHandle(_symbolic(single.reshape(1)), dtype.scalar)
        return module.tl.core.tensor(handle, dtype)

    return method


def _cast(original: Any) -> Any:
    def method(self: Any, src: Any, kind: Any, *rounding: Any) -> Any:
        to = kind.scalar
        if _is_followed(src.data):
            if blocked(src.data).dtype == np.bool_:  # answers of comparisons that are not decided yet
                return type(src)(blocked(src.data).astype(_interpreter()._get_np_dtype(to)), to)
            seeds = to.is_int() and all(isinstance(item, (Seed, int)) for item in densified(src.data).flat)
            if not seeds and (not to.is_floating() or to.primitive_bitwidth < 32):
                raise refused_operation(f"a cast to {to}")
            return type(src)(src.data, to)
        return original(self, src, kind, *rounding)

    return method


def _of_blocks(original: Any) -> Any:
    """A unary, binary or ternary operation of the builder, with blocks among its operands."""

    def method(self: Any, *handles_and_function: Any) -> Any:
        *handles, function = handles_and_function
        for handle in handles:
            if _is_followed(handle.data):
                break
        else:
            return original(self, *handles, getattr(function, "original", function))
        blocks = [handle.data for handle in handles]
        data = chosen(*blocks) if function is np.where else elementwise(function, *blocks)
        return type(handles[0])(data, handles[-1 if len(handles) == 3 else 0].dtype.scalar)

    return method


def _multiplied_and_added(original: Any) -> Any:
    def method(self: Any, x: Any, y: Any, z: Any) -> Any:
        if not any(_is_followed(handle.data) for handle in (x, y, z)):
            return original(self, x, y, z)
        return type(z)(elementwise(np.add, elementwise(np.multiply, x.data, y.data), z.data), z.dtype.scalar)

    return method


def _silent(original: Any) -> Any:
    """The launch of a kernel, whose NaN and infinite numbers a device does not warn of."""

    def rule(session: Any, self: Any, *arguments: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"):
            return original(self, *arguments, **options)

    return in_calls(original, rule)


def _argument(original: Any) -> Any:
    """The conversion of arguments of a kernel; a seed stays one."""

    def function(arg: Any) -> Any:
        if type(arg) is not Seed:
            return original(arg)
        module = _interpreter()
        return module.tl.tensor(module.TensorHandle(_symbolic(boxed(arg).reshape(1)), module.tl.int64), module.tl.int64)

    return function


def _number(value: Any) -> Any:
    data = getattr(getattr(value, "handle", None), "data", getattr(value, "value", value))
    if not _is_followed(data):
        return np.asarray(data)
    array = plain(densified(data))
    if not all(isinstance(item, (int, np.integer, Seed)) for item in array.flat):
        raise refusal("tl.rand with a random offset, or with a random number as a seed, cannot be followed")
    return array


def _drawn(seed: Any, offset: Any, number: Callable[[Any, int], Any], kind: Any) -> Any:
    """A tensor of the numbers at offsets. number: gives one, of a seed and an offset."""
    module = _interpreter()
    seeds, offsets = np.broadcast_arrays(_number(seed), _number(offset))
    made: dict[int, Any] = {}

    def make(at: Any) -> Any:
        result = np.empty(len(at), dtype=object)
        for place, i in enumerate(at.tolist()):
            if i not in made:
                one: Any = seeds.flat[i]
                made[i] = number(one if isinstance(one, Seed) else int(one), int(offsets.flat[i]))
            result[place] = made[i]
        return result

    shape = offsets.shape or (1,)
    block = Lanes(np.zeros(shape, dtype=module._get_np_dtype(kind)), None, make)
    single = not getattr(getattr(offset, "type", None), "is_block", lambda: False)()
    handle = module.TensorHandle(block.dense().reshape(1) if single else block, kind)
    return module.tl.tensor(handle, kind if single else module.tl.block_type(kind, list(shape)))


def _keyed(original: Any, number: Callable[..., Any], kind: str, parts: int) -> Any:
    """A function of `tl` that draws by seed and offset, one block of numbers or several independent ones.

    number: gives one for a session and a stream, from the number of the part and the offset.
    """

    def rule(session: Any, seed: Any, offset: Any, n_rounds: Any = 10, **options: Any) -> Any:
        streams: dict[Any, Any] = {}

        def stream(seed: Any, part: int) -> Any:
            key = without_seeds(seed), part
            if key not in streams:
                streams[key] = session.seeded("triton", seed, key=key)
            return streams[key]

        seeds, _ = _number(seed), _number(offset)
        constant = seeds.dtype != _OBJECT and all(stream(int(item), 0).constant for item in np.unique(seeds))
        if constant and session.gives_true_numbers(stream(int(seeds.flat[0]), 0)):
            with suspended():
                return original(seed, offset, n_rounds, **options)

        def of_part(part: int, seed: Any, position: int) -> Any:
            return number(session, stream(seed, part), part, position)

        tensor_type = getattr(_interpreter().tl, kind)
        made = tuple(_drawn(seed, offset, partial(of_part, part), tensor_type) for part in range(parts))
        return made if parts > 1 else made[0]

    return in_calls(original, rule)


def _rand(session: Any, stream: Any, part: int, position: int) -> Any:
    """A number of `tl.rand`, or of a part of `tl.rand4x`, whose first is `tl.rand`."""
    return session.placed_uniform(stream, position, f"part {part} of tl.rand4x" if part else "tl.rand", 24)


def _randint(session: Any, stream: Any, part: int, position: int) -> Any:
    """Likewise of `tl.randint`, as a seed: numbers drawn with different ones are independent."""
    what = f"part {part} of tl.randint4x" if part else "tl.randint"
    return session.placed_seed(f"{what} number {position} of {stream.name}")


def _absolute(original: Any) -> Any:
    return in_calls(original, lambda _, self, arg: type(arg)(_of(np.absolute, arg.data), arg.dtype.scalar))


def _of(function: Any, data: Any) -> Any:
    """A function of one number, on an array or a block."""
    with np.errstate(all="ignore"):
        return elementwise(function, data) if _is_followed(data) else function(data)


def _guarded(name: str, original: Any) -> Any:
    """An operation of the interpreter; an error that it raises because of a symbol becomes a refusal."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return original(self, *arguments, **options)
        except InvalidVerifier:
            raise
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            handles = [getattr(item, "handle", item) for item in _flat(arguments)]
            if current() is None or not any(_is_followed(getattr(handle, "data", None)) for handle in handles):
                raise
            raise refused_operation(f"{name} in a Triton kernel") from error

    return method


def _flat(values: Any) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, (tuple, list)) else [value])]


def _atomic(name: str, original: Any) -> Any:
    """An atomic operation, which the interpreter computes in memory itself."""

    def rule(session: Any, self: Any, *arguments: Any, **options: Any) -> Any:
        for argument in arguments:
            data: Any = getattr(argument, "data", None)
            pointers = data is not None and argument.dtype.is_ptr()
            if _is_followed(data) or (pointers and session.tensors.random_at(data.reshape(-1))):
                raise refused_operation(f"{name} in a Triton kernel")
        return original(self, *arguments, **options)

    return in_calls(original, rule)


#: Functions of `libdevice` with one argument: the interpreter has no body for them, and they would give None.
_LIBDEVICE: dict[str, Any] = {
    "log": np.log, "log2": np.log2, "log1p": np.log1p, "exp": np.exp, "expm1": np.expm1, "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "fast_logf": np.log, "fast_expf": np.exp,
    "fast_log2f": np.log2,
}  # fmt: skip


def _of_device(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        rule = _LIBDEVICE.get(name)
        handle = getattr(arguments[0], "handle", None) if len(arguments) == 1 else None
        if rule is None or handle is None:
            raise refusal(f"libdevice.{name} has no body in Triton's interpreter", "use a function of tl")
        return type(arguments[0])(type(handle)(_of(rule, handle.data), handle.dtype), arguments[0].type)

    return function


def of_libdevice() -> list[tuple[Any, str, Any]]:
    """(module, name, what to put there) for `libdevice`; it computes outside of calls, too."""
    replaced = []
    for name in ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"):
        with suppress(ImportError):
            replaced += device_replacements(importlib.import_module(name))
    return replaced


def device_replacements(library: Any) -> list[tuple[Any, str, Any]]:
    """(module, name, what to put there) for all functions of a module `libdevice`."""
    return [
        (library, name, _of_device(name, value))
        for name, value in vars(library).items()
        if callable(value) and getattr(value, "__module__", "") == library.__name__
    ]


_METHODS = {
    "create_masked_load": _load, "create_masked_store": _store, "create_splat": _splat, "cast_impl": _cast,
    "create_fp_to_fp": _cast, "create_fabs": _absolute, "unary_op": _of_blocks, "binary_op": _of_blocks,
    "ternary_op": _of_blocks, "create_fma": _multiplied_and_added,
}  # fmt: skip


def _language() -> list[tuple[Any, str, Any]]:
    """What the interpreter replaces in Triton's language at every launch, to be replaced once for a whole call."""
    interpreter: Any = _interpreter()
    language: Any = sys.modules["triton.language"]
    if not hasattr(interpreter, "_LangPatchScope"):
        return []
    scope = interpreter._patch_lang(SimpleNamespace(__globals__={"tl": language, "core": language.core}))
    changes = {(id(holder), name): (holder, name, getattr(holder, name)) for holder, name, _ in scope._changes}
    added = {(id(holder), name) for holder, name, before in scope._changes if before is interpreter._MISSING}
    scope.restore()
    for holder, name, value in (changes.pop(key) for key in added):  # nothing to be put back after a call
        setattr(holder, name, value)
    key = id(language.tensor), "__bool__"
    holder, name, value = changes.pop(key, (language.tensor, "__bool__", language.tensor.__bool__))
    replaced = [(holder, name, _truth(value)), *changes.values()]
    return [*replaced, (interpreter, "_patch_lang", in_calls(interpreter._patch_lang, lambda *_: _NOTHING))]


def _truth(original: Any) -> Any:
    """Whether a tensor is true. Triton's front end asks this to see if there is an `other` or a `mask`, also of 0."""

    def method(self: Any) -> bool:
        return sys._getframe(1).f_code.co_filename.endswith(_SEMANTIC) or bool(original(self))

    return method


_SEMANTIC = os.path.join("triton", "language", "semantic.py")
#: What undoes nothing.
_NOTHING = SimpleNamespace(restore=lambda: None)


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for Triton's interpreter and its random numbers."""
    interpreter: Any = _interpreter()
    language: Any = sys.modules["triton.language"]
    builder, reductions = interpreter.InterpreterBuilder, interpreter.ReduceScanOpInterface
    replaced = _language()
    for name in (item for item in dir(builder) if item in _METHODS or item.startswith("create_")):
        original = getattr(builder, name)
        rule = _METHODS.get(name)
        guard = _atomic if name.startswith("create_atomic") else _guarded
        followed = rule(original) if rule else guard(name.removeprefix("create_"), original)
        replaced.append((builder, name, followed))
    for kind in (interpreter.ReduceOps, interpreter.ScanOps):
        replaced.append((kind, "apply_impl", _guarded("a reduction", kind.apply_impl)))
    executor, options = interpreter.GridExecutor, interpreter.interpreter_builder.options
    if getattr(options, "sanitize_overflow", False) and not options.debug:  # it computes what nothing reads
        replaced.append((interpreter.interpreter_builder, "options", replace(options, sanitize_overflow=False)))
    replaced += [
        (interpreter, "_validate_np_data_size", _fits(interpreter._validate_np_data_size)),
        (interpreter, "_get_np_dtype", _types(interpreter._get_np_dtype)),
        (interpreter, "_implicit_cvt", _argument(interpreter._implicit_cvt)),
        (reductions, "to_tensor", _to_tensor(reductions.to_tensor)),
        (executor, "__call__", _silent(executor.__call__)),
        # Within a call everything is on the CPU, and its memory is shared.
        (executor, "_restore_args_dev", in_calls(executor._restore_args_dev, lambda *_: None)),
        (executor, "_init_args_hst", in_calls(executor._init_args_hst, lambda _, self, *given: given)),
    ]
    for holder in (language, language.random):
        for name, number, kind in (("rand", _rand, "float32"), ("randint", _randint, "uint32")):
            replaced.append((holder, name, _keyed(getattr(holder, name), number, kind, 1)))
            replaced.append((holder, f"{name}4x", _keyed(getattr(holder, f"{name}4x"), number, kind, 4)))
        for name in ("randn", "randn4x", "philox"):
            if hasattr(holder, name):
                refused = refused_in_calls(getattr(holder, name), f"tl.{name} cannot be followed", "use tl.rand")
                replaced.append((holder, name, refused))
    return [*replaced, *of_libdevice()]
