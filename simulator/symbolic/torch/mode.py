"""The modes of torch under which a call runs: they get every operation. Needs torch.

A dispatch mode gets every operation under whatever name it is called; a function mode gets the steps from tensors to
Python numbers (`item`, `tolist`, `float`), which give symbols.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch, torch_module
from draftproof.simulator.origins import in_simulator, is_audited
from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray, note_narrow_type, plain, random_inside
from draftproof.simulator.symbolic.arrays.elements import boxed, objects
from draftproof.simulator.symbolic.decide.session import Session, in_calls
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.torch import operations as torch_operations
from draftproof.simulator.symbolic.torch import random as torch_random
from draftproof.simulator.symbolic.torch.memory import Tensors
from draftproof.simulator.symbolic.where import innermost, refusal, refused_operation, text_of


@contextmanager
def intercepting(session: Session) -> Iterator[None]:
    """Within it torch's random numbers are those of the session."""
    session.tensors = Tensors(session, torch)
    operations, functions = _modes()
    with _eager(), operations(session), functions(session):
        yield


def _eager() -> Any:
    """Within it compiled functions run operation by operation, so that no kernel reads the memory of a symbol."""
    if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
        return torch.compiler.set_stance("force_eager")
    return nullcontext()


@functools.cache
def _modes() -> tuple[Any, Any]:
    """The classes of the two modes."""
    from torch.overrides import TorchFunctionMode  # noqa: PLC0415 - only where torch is loaded
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415 - only where torch is loaded

    class Operations(TorchDispatchMode):
        """Random operations, and every operation on random elements."""

        def __init__(self, session: Session) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.session = session

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # else every operation goes through torch._dynamo, and imports it in the middle of a call

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return _operation(self.session, func, args, kwargs or {})

    class Functions(TorchFunctionMode):
        """The steps between tensors and Python, and Python's random numbers among the arguments."""

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.tensors, self.note = session.tensors, session.region.note
            self.moves = {torch.Tensor.cuda, torch.Tensor.pin_memory}
            self.steps, self.makers, self.fetches, self.sharing = _steps()

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if func in self.moves:
                self.note(_STAYS)
                return args[0]
            if "device" in options or "pin_memory" in options or func is torch.Tensor.to:
                args, options = _on_cpu(self.note, args, options)
            if func is torch.Tensor.data_ptr and _from_kernel():
                self.tensors.lend(args[0])
                return func(*args)
            rule = self.steps.get(func)
            if rule is not None and any(map(self.tensors.is_random, args)):
                return rule(self.tensors, *args, **options)
            if func in self.makers:
                made = _made(self.tensors, func, args, options)
                if made is not None:
                    return made
            elif _any_symbol(args) or (options and _any_symbol(options.values())):
                args = tuple(_tensor(self.tensors, argument) for argument in args)
                options = {key: _tensor(self.tensors, argument) for key, argument in options.items()}
            result = func(*args, **options)
            if func in self.sharing:
                for argument in (result, *args):
                    self.tensors.share(argument)
            return _fetched(self.tensors, args[0], result) if func in self.fetches and self.tensors.stores else result

    return Operations, Functions


#: Devices that a function may name; the CPU computes in their place.
_DEVICES = ("cuda", "npu", "xpu", "hpu", "mps")
_STAYS = "tensors stay on the CPU where it asks for another device or for pinned memory"


def _on_cpu(note: Any, args: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments with the CPU in place of other devices and without pinned memory, with a note."""

    def on_cpu(value: Any) -> Any:
        name = value.type if isinstance(value, torch.device) else value
        if not (isinstance(name, str) and name.partition(":")[0] in _DEVICES):
            return value
        note(_STAYS)
        return "cpu"

    if options.get("pin_memory"):
        note(_STAYS)
    moved = {name: on_cpu(value) if name == "device" else value for name, value in options.items()}
    moved.pop("pin_memory", None)
    return (*args[:1], *map(on_cpu, args[1:])), moved


def _from_kernel() -> bool:
    """Whether Triton's interpreter asks."""
    return sys._getframe(2).f_code.co_filename.endswith(_INTERPRETER)


_INTERPRETER = os.path.join("triton", "runtime", "interpreter.py")


def _operation(session: Session, func: Any, args: Any, options: Any) -> Any:
    rule = _random_rule(func)
    if rule is not None:
        return _random_numbers(session, rule, func, args, options)
    tensors = session.tensors
    if func._schema.name in _EMPTY and is_audited(_maker()):
        return tensors.unwritten(func(*args, **options))
    if not tensors.stores or not _any_random(tensors, args, options):
        return func(*args, **options)
    into = options.get("out")
    if isinstance(into, torch.Tensor) and not _any_random(tensors, args, {**options, "out": None}):
        func(*args, **options)
        tensors.written(into)
        return into
    return torch_operations.apply(tensors, func, args, options)


def _random_numbers(session: Session, rule: Any, func: Any, args: Any, options: Any) -> Any:
    into = options.get("out")
    if session.gives_true_numbers(torch_random.stream(session, options.get("generator"))):
        return _true_numbers(session.tensors, func, args, options)
    if into is None:
        return rule(session, *args, **options)
    result = rule(session, *args, **options | {"dtype": into.dtype})
    session.tensors.write(into.resize_(result.shape), session.tensors.values(result))
    return into


def _true_numbers(tensors: Tensors, func: Any, args: Any, options: Any) -> Any:
    """What a generator with a constant seed gives."""
    name = func._schema.name.removeprefix("aten::")
    into, given = (args[0], args[1:]) if name.endswith("_") else (options.get("out"), args)
    if _any_random(tensors, given, {**options, "out": None}):
        raise refused_operation(f"torch {name} of a generator with a constant seed")
    result = func(*args, **options)
    if into is not None:
        tensors.written(into)
    return result


_random_rules: dict[Any, Any] = {}
#: Operations that take memory and do not write to it.
_EMPTY = {f"aten::{name}" for name in ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")}


def _maker() -> str:
    """The file of the code that called torch."""
    frame = innermost(sys._getframe(2), lambda file: not in_simulator(file))
    return "" if frame is None else str(frame.f_code.co_filename)


def _random_rule(func: Any) -> Any:
    """The rule of an operation that draws random numbers; None for all others."""
    rule = _random_rules.get(func, _random_rules)
    if rule is _random_rules:
        name = func._schema.name.removeprefix("aten::")
        rule = torch_random.RULES.get(name)
        if rule is None and torch.Tag.nondeterministic_seeded in func.tags:
            rule = torch_random.refused(name)
        _random_rules[func] = rule
    return rule


def _any_random(tensors: Tensors, args: Any, options: Any) -> bool:
    for argument in (*args, *options.values()) if options else args:
        if isinstance(argument, torch.Tensor):
            if tensors.store_of(argument) is not None and tensors.is_random(argument):
                return True
        elif isinstance(argument, (list, tuple)) and _any_random(tensors, argument, {}):
            return True
    return False


def _fetched(tensors: Tensors, source: Any, result: Any) -> Any:
    """The result of a fetch from an array of coins, under a fetch of its own; any other result as it is."""
    store = tensors.store_of(source)
    if store is None or not store.argument:
        return result
    if isinstance(result, torch.Tensor):
        return tensors.fetched(result) if tensors.is_random(result) else result
    return iter([_fetched(tensors, source, item) for item in result])


def _any_symbol(values: Any) -> bool:
    for value in values:  # noqa: SIM110 - a generator would double the cost of every call
        if isinstance(value, (Symbol, SymbolicArray)):
            return True
    return False


def _tensor(tensors: Tensors, value: Any) -> Any:
    """A random Python number as a tensor without dimensions."""
    if isinstance(value, SymbolicArray):
        return tensors.wrap(value.view(np.ndarray), torch.float64)
    return tensors.wrap(boxed(value), torch.get_default_dtype()) if isinstance(value, Symbol) else value


def _made(tensors: Tensors, func: Any, args: Any, options: Any) -> Any:
    """A tensor made from Python data with random numbers in it; None if there are none."""
    filled = func in (torch.full, torch.Tensor.new_full)
    place = {torch.full: 1, torch.Tensor.new_tensor: 1, torch.Tensor.new_full: 2}.get(func, 0)
    data = args[place] if len(args) > place else options.get("fill_value" if filled else "data")
    if isinstance(data, torch.Tensor) or not random_inside(data):
        return None
    array = _elements(tensors, data)
    own = func in (torch.Tensor.new_tensor, torch.Tensor.new_full)
    dtype = options.get("dtype") or (args[0].dtype if own else torch.get_default_dtype())
    if filled:
        size = args[place - 1] if len(args) >= place else options["size"]
        array = np.broadcast_to(array, tuple(size) if isinstance(size, (list, tuple)) else (size,))
    return tensors.wrap(array, dtype, options.get("device"))


def _elements(tensors: Tensors, data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return np.stack([_elements(tensors, item) for item in data])
    return tensors.values(data) if isinstance(data, torch.Tensor) else objects(data)


def _numpy(tensors: Tensors, tensor: Any, *args: Any, **options: Any) -> Any:
    note_narrow_type(str(tensor.dtype).removeprefix("torch."))
    array = tensors.values(tensor).view(SymbolicArray)
    array.flags.writeable = False  # a copy: what is written to it would not reach the tensor
    return array


def _repr(tensors: Tensors, tensor: Any, *args: Any, **options: Any) -> str:
    return text_of(f"<tensor {tuple(tensor.shape)} of random numbers>", "a text is made of a tensor of random numbers")


def _refuse(name: str) -> Any:
    def rule(tensors: Tensors, tensor: Any, *args: Any, **options: Any) -> Any:
        raise refused_operation(name)

    return rule


@functools.cache
def _steps() -> tuple[dict[Any, Any], set[Any], set[Any], set[Any]]:
    """Rules for steps from tensors to Python, makers of tensors from Python data, fetches, and what shares memory."""
    kind = torch.Tensor
    steps = {
        kind.item: lambda tensors, tensor: tensors.item(tensor),
        kind.tolist: lambda tensors, tensor: tensors.values(tensor).tolist(),
        kind.numpy: _numpy,
        kind.__array__: _numpy,
        kind.__float__: lambda tensors, tensor: float(tensors.item(tensor)),
        kind.__int__: lambda tensors, tensor: int(tensors.item(tensor)),
        kind.__bool__: lambda tensors, tensor: bool(tensors.item(tensor)),
        kind.__repr__: _repr,
        kind.__format__: _repr,
        kind.__index__: _refuse("use as an index"),
        kind.data_ptr: _refuse("the address of a tensor"),
        kind.__dlpack__: _refuse("dlpack"),
        kind.__deepcopy__: lambda tensors, tensor, memo: tensor.clone(),
    }
    steps |= {getattr(kind, name): _refuse(f"Tensor.{name}") for name in ("apply_", "map_", "map2_", "storage")}
    makers = {torch.tensor, torch.as_tensor, torch.asarray, torch.full, kind.new_tensor, kind.new_full}
    sharing = {torch.as_tensor, torch.asarray, kind.numpy, kind.__array__, kind.data_ptr, kind.__dlpack__}
    return steps, makers, {kind.__getitem__, kind.__iter__}, sharing


def _shared(original: Any) -> Any:
    """`from_numpy` or `frombuffer`: symbols are copied, other memory is marked as shared."""

    def rule(session: Session, *arguments: Any, **options: Any) -> Any:
        if arguments and getattr(plain(arguments[0]), "dtype", None) == np.dtype(object):
            return session.tensors.wrap(plain(arguments[0]), torch.float64)
        tensor = original(*arguments, **options)
        session.tensors.share(tensor)
        return tensor

    return in_calls(original, rule)


def _pickled(original: Any) -> Any:
    def rule(session: Session, tensor: Any, protocol: Any) -> Any:
        if session.tensors.is_random(tensor):
            raise refusal("a tensor of random numbers is pickled, or copied by copy.copy", "use clone")
        return original(tensor, protocol)

    return in_calls(original, rule)


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for torch's functions on memory."""
    module = torch_module()
    return [
        (module, "from_numpy", _shared(module.from_numpy)),
        (module, "frombuffer", _shared(module.frombuffer)),
        (module.Tensor, "__reduce_ex__", _pickled(module.Tensor.__reduce_ex__)),
    ]
