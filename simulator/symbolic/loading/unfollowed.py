"""Libraries whose random numbers nothing here sees: functions that use them are refused."""

from __future__ import annotations

import dis
import functools
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from draftproof.simulator.symbolic.decide.session import refused_in_calls
from draftproof.simulator.symbolic.where import SAMPLE, NotFollowed

#: Packages that compile what they run, and their names for people.
LIBRARIES = {"jax": "JAX", "jaxlib": "JAX", "numba": "numba"}
#: Names for people, modules, the class in them if any, and the names through which everything is drawn that they draw.
_SOURCES = (
    ("JAX", "jax.random", "", ("key", "PRNGKey", "wrap_key_data")),
    ("scipy.stats", "scipy.stats._distn_infrastructure", "rv_generic", ("rvs",)),
    ("scipy.stats", "scipy.stats._multivariate", "multi_rv_generic", ("_get_random_state",)),
)


def assert_followed(value: Any, name: str) -> None:
    """Raise `NotFollowed` for what is of such a library."""
    library = _library_of(value)
    if library is not None:
        raise NotFollowed(f"{name} is of {library}, which is not followed; {SAMPLE}")


def _library_of(value: Any) -> str | None:
    if isinstance(value, functools.partial):
        return next(filter(None, map(_library_of, (value.func, *value.args, *value.keywords.values()))), None)
    if isinstance(value, types.MethodType):
        return _library_of(value.__self__)
    if isinstance(value, types.ModuleType):
        home = value.__name__
    elif isinstance(value, types.FunctionType):
        home = value.__globals__.get("__name__", "")
    else:
        home = getattr(value if isinstance(value, type) else type(value), "__module__", "")
    return LIBRARIES.get(str(home).partition(".")[0])


@functools.lru_cache(maxsize=1024)
def assert_imports_none(code: types.CodeType) -> None:
    """Raise `NotFollowed` for code that imports such a library where it runs."""
    if any(name.partition(".")[0] in LIBRARIES for name in code.co_names):
        for step in dis.get_instructions(code):
            library = LIBRARIES.get(str(step.argval).partition(".")[0])
            if step.opname == "IMPORT_NAME" and library is not None:
                line = step.positions.lineno if step.positions else code.co_firstlineno
                place = f"{os.path.basename(code.co_filename)}:{line}"
                raise NotFollowed(f"it imports {library}, which is not followed ({place}); {SAMPLE}")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            assert_imports_none(constant)


def loaded() -> tuple[str, ...]:
    """The modules of `_SOURCES` that are loaded."""
    return tuple(module for _, module, _, _ in _SOURCES if module in sys.modules)


def replacements(loaded_module: str) -> Iterator[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for one of these modules: what draws is refused in a followed call."""
    for library, module, kind, names in _SOURCES:
        if module != loaded_module:
            continue
        holder = getattr(sys.modules[module], kind) if kind else sys.modules[module]
        for name in names:
            what = f"a random number of {library} is not followed"
            yield holder, name, refused_in_calls(getattr(holder, name), what, SAMPLE)
