"""TOML files whose keys are parameters of `compare`: what is compared, in a file that goes with its rows.

verifiers = ["naive", "block", "traversal"]
world = ["family:perturbed,s=1,vocab=2..3,seeds=0..99,denominator=20", "text:topics,vocab=4"]
sampling = ["temperature=.5", "temperature=1"]
scheme = ["delayed:K=1..3,L1=0..1,L2=1..2", "stratified:K=2,L1=0,L2=2"]
max_nodes = 6
optimum = true
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Literal, get_args, get_origin

from draftproof.experiments.inputs.verifiers import from_file
from draftproof.experiments.verbs import typed
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import read_text

#: What only the one who runs the command decides: files that are written, machines, and whose code may run.
OWN = ("resume", "plot", "jobs", "dask", "plan", "allow_code")


def read(path: str, verb: Callable[..., Any], allow_code: bool) -> dict[str, Any]:
    """The parameters in a file, by name; raises `InvalidInput`.

    verb: whose parameters they are. allow_code: whether Python files that it names may be run; if not, they are
    refused.
    """
    try:
        fields = tomllib.loads(read_text(path, "world file"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+), column \d+\)", str(error))
        place = f"line {line[1]}" if line else "its end"
        raise InvalidInput(f"{cut(path)} {place}: not valid TOML: {str(error).partition(' (at')[0]}") from None
    except RecursionError:
        raise InvalidInput(f"{cut(path)} is nested too deeply; make it flatter") from None
    parameters = signature(verb, eval_str=True).parameters
    known = {name: typed(parameter.annotation) for name, parameter in parameters.items() if name not in OWN}
    for name, value in fields.items():
        if name not in known:
            raise InvalidInput(f"{cut(path)}: unknown key {cut(repr(name))}; known: {', '.join(known)}")
        if not _fits(value, known[name]):
            raise InvalidInput(f"{cut(path)}: {name} = {cut(repr(value))} is of the wrong kind")
        texts = value if isinstance(value, list) else [str(value)]
        if other := next((text for text in texts if name == "verifiers" and text.endswith(".toml")), None):
            raise InvalidInput(f"{cut(path)}: {cut(other)} is another file of parameters; name the verifiers here")
        code = next((text for text in texts if from_file(text)), None)
        if code is not None and not allow_code:
            raise InvalidInput(f"{cut(path)}: {cut(code)} is a Python file; it is run only with --allow-code")
    return fields


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value of TOML may stand for a parameter: a text also as a number, several texts as a list."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind in (int, float):
        return isinstance(value, int if kind is int else (int, float))
    if kind == list[str] and isinstance(value, list):
        return bool(value) and all(isinstance(text, str) for text in value)
    return isinstance(value, (str, int))


def merged(given: Mapping[str, Any], path: str, verb: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a call with those of a file; raises `InvalidInput` for what both give."""
    read_from_file = read(path, verb, given["allow_code"])
    defaults = {name: parameter.default for name, parameter in signature(verb).parameters.items()}
    for name in read_from_file:
        if name != "verifiers" and given[name] != defaults[name]:
            raise InvalidInput(f"{name} is given, and {cut(path)} gives it too; leave one of them out")
    return {**given, "verifiers": None, **read_from_file}
