"""From the text of a command line to draft schemes: `delayed:K=3,L1=0,L2=2`, `topology:tree=2-1-0-0`, `mine.py:Mine`.

The tree of `sequoia` is planned from the acceptance vector of the instances that a command is about.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeAlias

from draftproof.experiments.inputs.grammar import expand, parse_assignments
from draftproof.experiments.inputs.strings import StringsWorld
from draftproof.experiments.inputs.verifiers import file_parts, from_file, made
from draftproof.experiments.inputs.worlds import FileWorld, GridWorld, World
from draftproof.experiments.shared.code import file_digest
from draftproof.simulator.arithmetic import RATIONAL, arithmetic_of, parse_fraction
from draftproof.simulator.drafts import (
    SCHEMES,
    BestFirst,
    Delayed,
    Sequoia,
    UserScheme,
    parameter_kinds,
)
from draftproof.simulator.drafts.user_scheme import CONTRACT
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.instances.case import Case
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, table_entries
from draftproof.verifiers.sequoia import acceptance_vector

#: One or several draft schemes as a verb takes them: a text, an object, or a list of these.
Schemes: TypeAlias = str | DraftScheme | Sequence[Any]
#: Most shapes that the ranges of a scheme stand for.
MOST_SHAPES = 100_000


def find_scheme(spec: str) -> DraftScheme:
    """`NAME`, `NAME:key=value,..`, `FILE.py:NAME` or `FILE.py:NAME:key=value,..`; raises `InvalidInput`.

    Lists of whole numbers are written with dashes: `tree=2-1-0-0`.
    """
    if from_file(spec):
        return _from_file(spec)
    name, _, rest = spec.partition(":")
    if name not in SCHEMES:
        close = get_close_matches(name, SCHEMES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(SCHEMES)}."
        raise InvalidInput(f"unknown scheme {name!r}; {hint} One of your own is FILE.py:NAME")
    kinds, given = parameter_kinds(name), parse_assignments(rest, name, spec)
    for key in given:
        if key not in kinds:
            takes = ", ".join(sorted(kinds))
            raise InvalidInput(f"{key} has no meaning for the scheme {name}; it takes {takes}: {default_spec(name)}")
    scheme: DraftScheme = SCHEMES[name](**{key: _value(kinds[key], key, text, spec) for key, text in given.items()})
    return scheme


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
    if kind is str:
        return text
    if kind is Fraction:
        return parse_fraction(text)
    parts = [part for part in text.split("-") if text] if kind is tuple else [text]
    for part in parts:
        if not part.strip().isdecimal():
            what = (
                "whole numbers with dashes, as in 2-1-0-0"
                if kind is tuple
                else "a whole number or a range such as 1..4"
            )
            raise InvalidInput(f"{key}={cut(text)} in {cut(repr(spec))}: give {what}")
    return tuple(map(int, parts)) if kind is tuple else int(text)


def _from_file(spec: str) -> UserScheme:
    scheme, (file, name, rest) = made(spec, "scheme"), file_parts(spec)
    return UserScheme(scheme, {"file": spec, "hash": file_digest(file)}, parse_assignments(rest, name, spec))


copyreg.pickle(UserScheme, lambda scheme: (_from_file, (scheme_spec(scheme),)))  # other processes load the file


def find_schemes(
    schemes: Schemes | None,
    worlds: Sequence[World] = (),
    K: int | str | None = None,
    L1: int | str | None = None,
    L2: int | str | None = None,
) -> list[DraftScheme]:
    """The schemes of texts with ranges and of objects, each tree once; delayed(K=2, L1=0, L2=2) where none is given.

    K, L1, L2: written into the schemes that are given as texts, a number or a range `1..4`. worlds: the first, if of an
    instance file, says its scheme where none is given; the tree of `sequoia` is planned on the cases of the first, and
    a best-first scheme gets a depth that its trees do not exceed in any of them. Raises `InvalidInput`.
    """
    world = worlds[0] if worlds else None
    listed = [schemes] if isinstance(schemes, str) or not isinstance(schemes, Sequence) else schemes
    lengths = {name: str(value) for name, value in (("K", K), ("L1", L1), ("L2", L2)) if value is not None}
    chosen: list[DraftScheme] = []
    for scheme in listed:
        if scheme is not None and not isinstance(scheme, str):
            chosen.append(as_scheme(scheme))
            continue
        for key in lengths:
            if scheme is not None and re.search(rf"[:,]\s*{key}\s*=", scheme):
                raise InvalidInput(f"{scheme!r} and {key} both give {key}; give it once")
        texts = expand(_with_lengths(_of_world(scheme, lengths, world), lengths), MOST_SHAPES)
        chosen += [find_scheme(text) for text in texts if len(texts) == 1 or not _has_no_tree(text)]
    if not chosen:
        raise InvalidInput("there is no scheme: several branches need L2 of at least 1")
    return distinct([planned(scheme, worlds) if worlds else scheme for scheme in chosen])


def _with_lengths(spec: str, lengths: Mapping[str, str]) -> str:
    """The text of a scheme with these parameters, in place of its own where it has them."""
    file = re.match(r".*?\.py:[^:]+", spec) if from_file(spec) else None
    name = file[0] if file else spec.partition(":")[0]
    given = {**parse_assignments(spec[len(name) + 1 :], name, spec), **lengths}
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in given.items()) if given else name


def _has_no_tree(spec: str) -> bool:
    """Whether several branches have no length, as some in a range of shapes do."""
    name, _, rest = spec.partition(":")
    given = parse_assignments(rest, name, spec)
    return name == "delayed" and given.get("L2") == "0" and given.get("K") != "1"


def _of_world(spec: str | None, lengths: Mapping[str, str], world: World | None) -> str:
    """The text of a scheme without these lengths: an instance file or strings may say what is not given."""
    if isinstance(world, FileWorld):
        base = world.instance.scheme
        if spec is None and not lengths and "scheme" in world.instance.about:
            meant = world.instance.about["scheme"]
            raise InvalidInput(f"{world.path} is meant for the scheme {meant}; give it as the scheme")
        if base is not None and spec in (None, base.name):
            return scheme_spec(base)
        if spec in (None, "delayed") and "L2" not in lengths and world.instance.depth < 2:
            trunk = lengths.get("L1", "0")
            length = max(world.instance.depth - (int(trunk) if trunk.isdecimal() else 0), 0)
            return f"delayed:K={2 if length else 1},L2={length}"
    if isinstance(world, StringsWorld) and spec is None:
        return _with_lengths("delayed", {name: str(value) for name, value in world.lengths.items()})
    return spec or "delayed"


def distinct(schemes: Iterable[DraftScheme]) -> list[DraftScheme]:
    """Each tree once: delayed trees of a single path of the same length are one tree, whatever their L1.

    Raises `InvalidInput` for two objects of Python that no row could tell apart.
    """
    trees: dict[Any, DraftScheme] = {}
    for scheme in schemes:
        one_path = isinstance(scheme, Delayed) and scheme.K == 1
        first = trees.setdefault(("one path", scheme.depth) if one_path else str(scheme.as_dict()), scheme)
        if isinstance(scheme, UserScheme) and not scheme.source and scheme != first:
            raise InvalidInput(f"{first!r} and {scheme!r} are both called {scheme}; give each a `name` of its own")
    return list(trees.values())


def shape_name(scheme: DraftScheme) -> str:
    """`K, L1, L2` of a delayed tree; the text of any other scheme."""
    return f"{scheme.K}, {scheme.L1}, {scheme.L2}" if isinstance(scheme, Delayed) else str(scheme)


def planned(scheme: DraftScheme, worlds: Sequence[World]) -> DraftScheme:
    """What a scheme has from the problem; others than these two stay as they are.

    A `sequoia` scheme without a tree gets the tree planned on the roots of the first world. A best-first one whose
    depth is beyond exact tables gets one that its trees do not exceed in any world.
    """
    if _needs_tree(scheme):
        return planned_on(scheme, worlds[0].cases(scheme.depth, RATIONAL))
    if any(isinstance(world, (GridWorld, StringsWorld)) for world in worlds):
        return scheme
    size = worlds[0].vocab_size
    return _as_deep(scheme, size, lambda depth: [case for world in worlds for case in world.cases(depth, RATIONAL)])


def _as_deep(scheme: DraftScheme, size: int, cases: Callable[[int], Iterable[Case]]) -> DraftScheme:
    """A best-first scheme whose depth is beyond exact tables, with a depth that its trees do not exceed in these cases.

    cases: those with rows for trees of a depth.
    """
    if isinstance(scheme, BestFirst) and table_entries(size, scheme.depth) > MAX_TABLE_ENTRIES:
        for depth in range(1, scheme.depth):
            longest = max(scheme.longest(case.draft, depth) for case in cases(depth))
            if longest < depth:
                return replace(scheme, depth=longest)
    return scheme


def planned_on(scheme: DraftScheme, cases: Sequence[Case]) -> DraftScheme:
    """As `planned`, for weighted pairs of processes: the acceptance vector is their weighted mean."""
    if not (isinstance(scheme, Sequoia) and _needs_tree(scheme)):
        return _as_deep(scheme, cases[0].draft.vocab_size, lambda _: cases)
    vectors = []
    for case in cases:
        vector = acceptance_vector(case.target, case.draft, scheme.depth, scheme.nodes)
        weight = arithmetic_of(case.target.row(())).number(case.weight)
        vectors.append([share * weight for share in vector])
    return Sequoia.planned([sum(shares) for shares in zip(*vectors, strict=True)], scheme.nodes, scheme.depth)


def _needs_tree(scheme: DraftScheme) -> bool:
    return isinstance(scheme, Sequoia) and not scheme.tree and scheme.nodes > 0 and scheme.depth > 0


def as_scheme(scheme: Any) -> DraftScheme:
    """A scheme from `delayed:K=3,L1=0,L2=2`, `FILE.py:NAME`, or an object with `draw` and `depth`; see `UserScheme`."""
    if isinstance(scheme, str):
        return find_scheme(scheme)
    if isinstance(scheme, type):
        raise InvalidInput(f"{scheme.__name__} is a class, not a scheme: call it, {scheme.__name__}()")
    complete = isinstance(scheme, UserScheme) or (is_library(scheme) and all(hasattr(scheme, x) for x in CONTRACT))
    whole: DraftScheme = scheme if complete else UserScheme(scheme)
    return whole
