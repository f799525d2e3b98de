"""From the text of a command line to draft schemes: `delayed:K=3,L1=0,L2=2`, `topology:tree=2-1-0-0`, `mine.py:Mine`.

The tree of `sequoia` is planned from the acceptance vector of the instances that a command is about.
"""

from __future__ import annotations

import copyreg
import dataclasses
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from draftproof.experiments.inputs.verifiers import from_file, loaded, parse_assignments
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.code import file_digest
from draftproof.simulator.arithmetic import RATIONAL, arithmetic_of, parse_fraction
from draftproof.simulator.drafts import SCHEMES, Delayed, Sequoia, UserScheme, parameter_kinds
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme
from draftproof.verifiers.sequoia import acceptance_vector


def find_scheme(spec: str, flags: Mapping[str, Any] | None = None) -> DraftScheme:
    """`NAME`, `NAME:key=value,..` or `FILE.py:NAME`, the latter with `:key=value,..` too; raises `InvalidInput`.

    flags: parameters from other options. Lists of whole numbers are written with dashes: `tree=2-1-0-0`.
    """
    if from_file(spec):
        return _from_file(spec, dict(flags or {}))
    name, _, rest = spec.partition(":")
    check_scheme_name(name)
    kinds = parameter_kinds(name)
    for key in flags or {}:
        if key not in kinds:
            raise InvalidInput("--" + _meaningless(key, name))
    assigned = parse_assignments(rest, name, spec)
    given = {key: _value(kinds.get(key, int), key, text, spec) for key, text in assigned.items()}
    twice = set(given) & set(flags or {})
    if twice:
        raise InvalidInput(f"{spec!r} and --{min(twice)} both give {min(twice)}; give it once")
    return make_scheme(name, {**given, **(flags or {})})


def make_scheme(name: str, parameters: Mapping[str, Any]) -> DraftScheme:
    """A built-in scheme; raises `InvalidInput` for a parameter that it does not have."""
    fields = {field.name for field in dataclasses.fields(SCHEMES[name])}
    for key in parameters:
        if key not in fields:
            raise InvalidInput(_meaningless(key, name))
    scheme: DraftScheme = SCHEMES[name](**parameters)
    return scheme


def _meaningless(key: str, name: str) -> str:
    takes = ", ".join(sorted(field.name for field in dataclasses.fields(SCHEMES[name])))
    return f"{key} has no meaning for the scheme {name}; it takes {takes}: {default_spec(name)}"


def check_scheme_name(name: str | None) -> None:
    """Raises `InvalidInput` for a scheme that does not exist, with the most similar name."""
    if name is None or name in SCHEMES or from_file(name):
        return
    name = name.partition(":")[0]
    if name not in SCHEMES:
        close = get_close_matches(name, SCHEMES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(SCHEMES)}."
        raise InvalidInput(f"unknown scheme {name!r}; {hint} One of your own is FILE.py:NAME")


def scheme_spec(scheme: DraftScheme) -> str:
    """The text that `find_scheme` makes this scheme from."""
    fields = scheme.as_dict()
    if isinstance(scheme, UserScheme):
        return str(fields.get("file", fields["name"]))
    shown = {
        key: "-".join(map(str, value)) if isinstance(value, list) else value
        for key, value in fields.items()
        if key != "name" and value != []
    }
    return f"{fields['name']}:" + ",".join(f"{key}={value}" for key, value in shown.items())


def default_spec(name: str) -> str:
    """A built-in scheme with its default parameters, as text."""
    return scheme_spec(SCHEMES[name]())


def _value(kind: type, key: str, text: str, spec: str) -> Any:
    """A parameter of a built-in scheme."""
    if kind is tuple:
        return tuple(whole(part, f"{key}={text} in {spec!r}") for part in text.split("-")) if text else ()
    if kind is str:
        return text
    return parse_fraction(text) if kind is Fraction else whole(text, f"{key}={text} in {spec!r}")


def whole(text: str, where: str) -> int:
    """A whole number; raises `InvalidInput`."""
    if not text.strip().isdecimal():
        raise InvalidInput(f"{where}: give whole numbers, those of a list with dashes, as in 2-1-0-0")
    return int(text)


def _from_file(spec: str, flags: dict[str, Any]) -> UserScheme:
    """The scheme of a file: an object, or a class that is called with the parameters."""
    entry, parameters = loaded(spec, "scheme")
    given = {**parameters, **flags}
    if isinstance(entry, type):
        try:
            entry = entry(**given)
        except TypeError as error:
            raise InvalidInput(f"{spec}: {error}; write its parameters as FILE.py:NAME:key=value") from error
    elif given:
        raise InvalidInput(f"{spec} is an object and takes no {min(given)}; give parameters to a class")
    file = spec.partition(".py")[0] + ".py"
    return UserScheme(entry, {"file": spec, "hash": file_digest(file)})


copyreg.pickle(UserScheme, lambda scheme: (_from_file, (scheme_spec(scheme), {})))  # other processes load the file


def shape_name(scheme: DraftScheme) -> str:
    """`K, L1, L2` of a delayed tree; the text of any other scheme."""
    return f"{scheme.K}, {scheme.L1}, {scheme.L2}" if isinstance(scheme, Delayed) else str(scheme)


def planned(scheme: DraftScheme, problem: World) -> DraftScheme:
    """A `sequoia` scheme without a tree gets the tree planned on the roots of the problem; others stay as they are."""
    return planned_on(scheme, problem.cases(scheme.depth, RATIONAL)) if _needs_tree(scheme) else scheme


def planned_on(scheme: DraftScheme, cases: Iterable[Case]) -> DraftScheme:
    """As `planned`, for weighted pairs of processes: the acceptance vector is their weighted mean."""
    if not (isinstance(scheme, Sequoia) and _needs_tree(scheme)):
        return scheme
    vectors = []
    for case in cases:
        vector = acceptance_vector(case.target, case.draft, scheme.depth, scheme.nodes)
        weight = arithmetic_of(case.target.row(())).number(case.weight)
        vectors.append([share * weight for share in vector])
    return Sequoia.planned([sum(shares) for shares in zip(*vectors, strict=True)], scheme.nodes, scheme.depth)


def _needs_tree(scheme: DraftScheme) -> bool:
    return isinstance(scheme, Sequoia) and not scheme.tree and scheme.nodes > 0 and scheme.depth > 0
