"""Options in groups: a dataclass stands for several options of a command line, in one parameter of the command."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def grouped(
    annotations: Mapping[str, Any] | None = None, **groups: type
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The fields of each group in place of the command's parameter of that name, if any, for the command line to see.

    annotations: of fields, by name, where a command says something else about an option.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        options: list[Parameter] = []
        parameters = signature(command, eval_str=True).parameters
        for each in parameters.values():
            options += _fields(groups[each.name], annotations or {}) if each.name in groups else [each]

        @wraps(command)
        def run(**values: Any) -> int:
            made = {
                name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
                for name, group in groups.items()
                if name in parameters
            }
            return command(**made, **values)

        run.__signature__ = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in options])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in options}
        return run

    return decorate


def _fields(group: Any, annotations: Mapping[str, Any]) -> list[Parameter]:
    hints = {**get_type_hints(group, include_extras=True), **annotations}
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in dataclasses.fields(group)
    ]
