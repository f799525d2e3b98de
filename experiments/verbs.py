"""Verbs: Python functions that return a `Result`, and the commands made from their signatures and docstrings.

Parameters before `/` are arguments of the command line, all others options. The help of a parameter is its entry in the
section `Args` of the docstring; those in the section `Other Parameters` are shown by `--help-all` only. Annotations say
what is typed: `bool` is a flag (with a `--no-` beside it where the default is None), `int`, `float` and `Literal` are
themselves, and anything else is a text; several texts where the annotation has a `Sequence`. `jobs` is one process in
Python, where processes import the script that starts them, and one for each core on the command line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature, unwrap
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import typer

from draftproof.experiments.result import Interrupted, Result, format_of
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import output_console

Verb: TypeAlias = Callable[..., Result]
#: The section of a docstring with the parameters that are seldom needed.
_SELDOM = "Other Parameters"
_SECTION = re.compile(rf"^(Args|{_SELDOM}|Returns|Raises):$", re.MULTILINE)
_OUTPUT = "Output"


def command(verb: Verb) -> Callable[..., int]:
    """What typer makes the command of a verb from: it shows and writes the result, and returns the verdict.

    A decorator of the verb is for calls in Python; the command runs what it decorates.
    """
    verb = unwrap(verb)
    about, documented = _read(verb.__doc__ or "")
    parameters = signature(verb, eval_str=True).parameters
    arguments = [name for name, parameter in parameters.items() if parameter.kind is Parameter.POSITIONAL_ONLY]

    @wraps(verb)
    def run(**values: Any) -> int:
        output, to_stdout, _ = values.pop("output") or [], values.pop("json"), values.pop("help_all")
        for place, path in enumerate(output):
            check_files([*values.values(), *output[:place]], {"-o": path})
            format_of(path)
        places = [values.pop(name) for name in arguments]
        try:
            result = verb(*places, **values)
        except Interrupted as stop:
            stop.result.save()
            if not to_stdout:
                stop.result.show(output_console())
            raise
        result.save()
        if to_stdout:
            sys.stdout.write(result.json())
        else:
            result.show(output_console())
        for path in output:
            check_files(list(result.files), {"-o": path})
            result.write(path)
        return result.verdict

    made = [*(_made(parameter, *documented[name]) for name, parameter in parameters.items()), *_COMMON]
    run.__signature__ = Signature(made)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in made}
    run.__doc__ = about
    return run


def _read(docstring: str) -> tuple[str, dict[str, tuple[str, bool]]]:
    """The text of a docstring, and of each parameter the words and whether it is seldom needed."""
    about, *sections = _SECTION.split(cleandoc(docstring))
    documented = {}
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        for entry in re.split(r"^    (?=\w)", body, flags=re.MULTILINE)[1:]:
            name, _, words = entry.partition(":")
            documented[name] = " ".join(words.split()), title == _SELDOM
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in about.strip().split("\n\n")), documented


def _made(parameter: Parameter, words: str, seldom: bool) -> Parameter:
    """A parameter of a verb as typer reads it."""
    kind, default = typed(parameter.annotation), parameter.default
    several = kind == list[str]
    if several and isinstance(default, str):
        default = [default]
    info: Any
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        info = typer.Argument(help=words, metavar=parameter.name.upper().removesuffix("S"))
    else:
        hidden = seldom and "--help-all" not in sys.argv
        shown = "TEXT" if kind is str or several else None
        flag = "--" + parameter.name.replace("_", "-")
        if kind is bool and default is None:
            flag += flag.replace("--", "/--no-", 1)
        if parameter.name == "jobs":
            default = os.cpu_count() or 1
        info = typer.Option(flag, help=words, hidden=hidden, metavar=shown)
    annotation: Any = Annotated[kind | None if default is None else kind, info]
    return Parameter(parameter.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def typed(annotation: Any) -> Any:
    """The type of what is typed on the command line for a parameter with this annotation."""
    members = [member for member in _members(annotation) if member is not NoneType]
    if len(members) == 1 and (members[0] in (bool, int, float, str) or get_origin(members[0]) is Literal):
        return members[0]
    return list[str] if any(get_origin(member) is Sequence for member in members) else str


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, UnionType):
        return [member for part in get_args(annotation) for member in _members(part)]
    return [annotation]


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.get_help()
        raise typer.Exit


def _common(name: str, kind: Any, default: Any, *flags: str, **about: Any) -> Parameter:
    annotation: Any = Annotated[kind, typer.Option(*flags, rich_help_panel=_OUTPUT, **about)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_FILE = {"metavar": "FILE", "help": "A .json, .jsonl, .csv, .md, .html file."}
#: The options that every verb has.
_COMMON = [
    _common("output", list[str] | None, None, "--output", "-o", **_FILE),
    _common("json", bool, False, "--json", help="JSON on stdout."),
    _common("help_all", bool, False, "--help-all", help="Every option.", is_eager=True, callback=_show_all),
]
