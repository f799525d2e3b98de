"""Operations of Triton's language, whose steps are found once for all operands of the same types.

For `x + y` the language finds casts, broadcasts and an operation of its builder. It finds them from the types of the
operands and from constants among them; numbers it cannot read, since a compiler has none (where it asks whether a
tensor is true, the answer is yes, see `triton_kernels`). So the steps are kept, and made again without the search,
which takes a third of the time of a kernel in the interpreter. Needs triton.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from draftproof.simulator.symbolic.numbers.symbol import identity

_PAIRS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift", "lt", "le", "gt", "ge",
    "eq", "ne",
)  # fmt: skip
#: Operations whose result is a tensor, by their names in `triton.language` and in its class `tensor`.
OPERATIONS = frozenset([
    *(f"__{side}{name}__" for side in ("", "r") for name in _PAIRS), "__neg__", "__invert__", "__not__", "abs", "add",
    "arange", "broadcast_to", "cast", "ceil", "clamp", "erf", "exp", "exp2", "fdiv", "floor", "fma", "full", "load",
    "log", "log2", "logical_and", "logical_or", "maximum", "minimum", "mul", "rsqrt", "sqrt", "sqrt_rn", "store", "sub",
    "to", "to_tensor", "where",
])  # fmt: skip
#: More different operands than this are searched every time.
MOST = 4096


class Step(NamedTuple):
    """One call of the builder. An argument is (True, the place of a handle) or (False, a constant)."""

    name: str
    arguments: tuple[tuple[bool, Any], ...]
    options: tuple[tuple[str, tuple[bool, Any]], ...]


class Steps(NamedTuple):
    """The calls of an operation. Handles have places: first those of the operands, then the results of the calls.

    result: the place of the handle of the result, None for a result without one. about: the attributes of the result
    beside its handle.
    """

    calls: tuple[Step, ...]
    result: int | None
    about: Mapping[str, Any]


class _Unknown(Exception):
    """An operand or a step that is not of a known kind: the operation is searched every time."""


class _Recorder:
    """A builder that notes the calls of another one."""

    def __init__(self, builder: Any, handles: list[Any]) -> None:
        self._builder = builder
        self._handles = list(handles)
        self._calls: list[Step] | None = []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._builder, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            result = value(*arguments, **options)
            try:
                self._note(name, arguments, options, result)
            except _Unknown:
                self._calls = None
            return result

        return call

    def _note(self, name: str, arguments: tuple[Any, ...], options: Mapping[str, Any], result: Any) -> None:
        given = tuple(map(self._placed, arguments)), tuple((key, self._placed(item)) for key, item in options.items())
        is_handle = type(result) is _module().TensorHandle
        if not is_handle and not any(is_place for is_place, _ in (*given[0], *(item for _, item in given[1]))):
            return  # a type, made of types
        if not is_handle and result is not None:
            raise _Unknown
        self._handles.append(result)
        if self._calls is not None:
            self._calls.append(Step(name, *given))

    def _placed(self, value: Any) -> tuple[bool, Any]:
        if type(value) is not _module().TensorHandle:
            if isinstance(value, (list, tuple)) and any(self._placed(item)[0] for item in value):
                raise _Unknown
            return False, value
        return True, self.place(value)

    def place(self, handle: Any) -> int:
        """The last place of a handle; raises `_Unknown` for one that was not noted."""
        for place in range(len(self._handles) - 1, -1, -1):
            if self._handles[place] is handle:
                return place
        raise _Unknown

    def steps(self, result: Any) -> Steps | None:
        """The steps to a result; None where they are not known."""
        if self._calls is None or type(result) is not _language().tensor:
            return None
        about = {name: value for name, value in vars(result).items() if name != "handle"}
        try:
            return Steps(tuple(self._calls), None if result.handle is None else self.place(result.handle), about)
        except _Unknown:
            return None


def _module() -> Any:
    return sys.modules["triton.runtime.interpreter"]


def _language() -> Any:
    return sys.modules["triton.language"]


#: Types by their identity, each with its key: results of kept steps share them.
_KEYS: dict[int, tuple[Any, Any]] = {}


def _key_of(kind: Any) -> Any:
    """`_of_type`, remembered."""
    found = _KEYS.get(identity(kind))
    if found is None:
        found = kind, _of_type(kind)
        if len(_KEYS) < MOST:
            _KEYS[identity(kind)] = found
    return found[1]


def _of_type(kind: Any) -> Any:
    """A type of Triton as a key: kinds of numbers, pointers, and blocks of either."""
    scalar = kind.scalar
    if not scalar.is_ptr():
        return type(kind), kind.name
    return type(kind), kind.name, scalar.const, scalar.address_space, _of_type(scalar.element_ty)


def _described(value: Any, handles: list[Any]) -> Any:
    """What the search sees of an operand; its handle goes to `handles`. Raises `_Unknown`."""
    kind = type(value)
    language = _language()
    if kind is language.tensor:
        handles.append(value.handle)
        return _key_of(value.type)
    if kind is int or kind is bool or kind is str or value is None:
        return kind, value
    if kind is float:
        return kind, repr(value)  # -0.0 is another number than 0.0, and NaN is not equal to itself
    if kind is language.constexpr:
        return kind, _described(value.value, handles)
    if kind is language.dtype:
        return _key_of(value)
    if kind is list or kind is tuple:
        return kind, *(_described(item, handles) for item in value)
    raise _Unknown


def _same(handles: list[Any]) -> list[int]:
    """For each operand the first one that it is."""
    first: dict[int, int] = {}
    return [first.setdefault(identity(handle), place) for place, handle in enumerate(handles)]


def kept(original: Callable[..., Any]) -> Callable[..., Any]:
    """An operation of the language, as the interpreter has it, whose steps are kept."""
    known: dict[Any, Steps | None] = {}

    def function(*arguments: Any, **options: Any) -> Any:
        handles: list[Any] = []
        semantic = _module().interpreter_semantic
        if type(semantic.builder) is _Recorder:
            return original(*arguments, **options)
        try:
            key = (
                *[_described(value, handles) for value in arguments],
                *[(name, _described(value, handles)) for name, value in options.items()],
                *_same(handles),  # `x + x` has other steps than `x + y`
            )
        except _Unknown:
            return original(*arguments, **options)
        if key in known:
            steps = known[key]
            return original(*arguments, **options) if steps is None else _made(steps, handles, semantic.builder)
        builder, recorder = semantic.builder, _Recorder(semantic.builder, handles)
        semantic.builder = recorder
        try:
            result = original(*arguments, **options)
        finally:
            semantic.builder = builder
        if len(known) < MOST:
            known[key] = recorder.steps(result)
        return result

    return function


def _made(steps: Steps, handles: list[Any], builder: Any) -> Any:
    for name, arguments, options in steps.calls:
        given = [handles[item] if is_place else item for is_place, item in arguments]
        named = {key: handles[item] if is_place else item for key, (is_place, item) in options}
        handles.append(getattr(builder, name)(*given, **named))
    tensor = _language().tensor
    result = tensor.__new__(tensor)
    result.__dict__.update(steps.about)
    result.handle = None if steps.result is None else handles[steps.result]
    return result
