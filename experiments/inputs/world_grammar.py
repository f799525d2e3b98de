"""Worlds, which say where p and q come from: from a text of the command line or a TOML file, or from Python.

`family:perturbed,s=1,vocab=4,seeds=0..99`, `text:topics,vocab=4,roots=2`, `pair.json`, `p.json,q.json`, `file:NAME`,
`grid:denominator=4,vocab=2` (every p and q in multiples of 1/4),
`models:target=PATH,draft=PATH,prompts=FILE`, `models:FOLDER`, `strings:seeds=0..9,vocab=4` or `strings:FILE` (two
tokenizers); in Python also two processes, or rows of p and of q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from draftproof.experiments.inputs.grammar import expand, once, parse_assignments
from draftproof.experiments.inputs.processes import as_pair, as_process
from draftproof.experiments.inputs.strings import StringsWorld, strings_world
from draftproof.experiments.inputs.text import EMBEDDED, TOPICS, read_counted
from draftproof.experiments.inputs.verifiers import family_parameter
from draftproof.experiments.inputs.worlds import FamilyWorld, FileWorld, GridWorld, RowsWorld, TextWorld, World
from draftproof.experiments.shared.code import file_digest
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.instances.families import FAMILIES, family_named
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.processes import telling
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.strings.pair import StringPair
from draftproof.simulator.verdicts.grids import grid_size

if TYPE_CHECKING:
    from draftproof.experiments.models.pair.opened import PairRequest

#: One or several worlds as a verb takes them: a text, a `World`, an `Instance`, two processes or rows; a list of these.
Worlds: TypeAlias = str | World | Instance | Sequence[Any]
#: The world where none is named.
USUAL = "family:dirichlet"


def find_worlds(
    worlds: Worlds, sampling: str | None = None, draft_sampling: str | None = None, told: Any = None
) -> list[World]:
    """The worlds, tokens drawn as the samplings say; raises `InvalidInput`.

    told: the q that verifiers are told, where it is not the one that drafts are drawn from: a text as for `Samplings`,
    or for two processes a third one.
    """
    text = told if isinstance(told, str) else None
    samplings = Samplings.of_options(sampling, draft_sampling, text, "")
    made = [_told(_world(single, samplings), told) for single in single_worlds(worlds)]
    if not made:
        raise InvalidInput(f"no world is given; give one, such as {USUAL!r}")
    return made


def single_worlds(worlds: Worlds) -> list[Any]:
    """What each of several worlds is given as, once: ranges and lists of files taken apart; raises `InvalidInput`."""
    return once(
        single for world in _listed(worlds) for single in (_single_texts(world) if isinstance(world, str) else [world])
    )


def _listed(worlds: Worlds) -> Iterable[Any]:
    """One thing for each world. A list of two processes or rows is one world, a list of anything else several."""
    if isinstance(worlds, (str, tuple, Instance)) or not isinstance(worlds, Sequence):
        return [worlds]
    return worlds if len(worlds) != 2 or any(_is_world(world) for world in worlds) else [worlds]


def _is_world(world: Any) -> bool:
    return isinstance(world, (str, tuple, Instance)) or hasattr(world, "cases")


def _world(world: Any, samplings: Samplings) -> World:
    """The world of a text without ranges, or of objects."""
    if isinstance(world, str):
        return _parsed(world, samplings)
    if isinstance(world, StringPair):
        return StringsWorld(world, samplings=samplings)
    if isinstance(world, Instance):
        return RowsWorld(world.target, world.draft, samplings)
    if hasattr(world, "cases"):
        made: World = world if samplings.is_identity else replace(world, samplings=samplings)
        return made
    if isinstance(world, Sequence) and len(world) == 2:
        return RowsWorld(*as_pair(*world), samplings)
    raise InvalidInput(f"{cut(repr(world))} is no world; give a text such as {USUAL!r}, or two processes (p, q)")


def _told(world: World, told: Any) -> World:
    if isinstance(told, str):
        if isinstance(world, FileWorld) and world.instance.draft.told is not None:
            raise InvalidInput(f"told is for rows without the key told, which {world.path} has; leave it out")
        return world
    if told is None:
        return world
    if not isinstance(world, RowsWorld):
        raise InvalidInput(f"a process as told is for a world of two processes, not for {world}; give told as a text")
    return replace(world, draft=telling(world.draft, as_process(told, "told")))


def _single_texts(text: str) -> list[str]:
    """The texts of single worlds: ranges and lists of files taken apart."""
    files = text.split(",")
    if len(files) > 1 and all(file.endswith(".json") for file in files):
        return files
    return expand(text)


def _parsed(text: str, samplings: Samplings) -> World:
    kind, name, keys = _read(text)
    return _file(name, samplings) if kind == "file" else KINDS[kind](name, samplings, **keys)


def _read(text: str) -> tuple[str, str, dict[str, Any]]:
    """Kind and name of a world, and the values of its keys."""
    kind, colon, rest = text.partition(":")
    if not colon and text.endswith(".json"):
        kind, rest = "file", text
    if kind not in KINDS:
        raise InvalidInput(_unknown(text, kind))
    if kind == "file":
        return kind, rest, {}
    parameters = signature(KINDS[kind]).parameters
    name, comma, _ = rest.partition(",")
    named = "=" not in name
    assigned = parse_assignments(rest[len(name + comma) :] if named else rest, f"{kind}:NAME", text)
    takes = {key: about.annotation for key, about in parameters.items() if about.kind is Parameter.KEYWORD_ONLY}
    further = next((about.annotation for about in parameters.values() if about.kind is Parameter.VAR_KEYWORD), None)
    keys = {}
    for key, value in assigned.items():
        if (annotation := takes.get(key, further)) is None:
            raise InvalidInput(f"{cut(text)}: {key} has no meaning for {kind}; it takes {', '.join(world_keys(kind))}")
        keys[key] = _READERS[annotation.partition(" ")[0]](value, f"{key} in {text!r}")
    if "denominator" not in assigned and kind == "grid":
        raise InvalidInput(f"{cut(text)} needs the denominator of all p and q; write grid:denominator=4,vocab=2")
    return kind, name if named else "", keys


def models_request(world: str) -> PairRequest:
    """The models that `models:FOLDER` or `models:target=PATH,draft=PATH` names; raises `InvalidInput`."""
    from draftproof.experiments.models.pair.devices import libraries

    kind, name, keys = _read(world)
    if kind != "models":
        raise InvalidInput(f"{cut(world)} is no pair of models; give models:FOLDER or models:target=PATH,draft=PATH")
    if of_tables := [key for key in ("vocab", "root", "denominator") if key in keys]:
        raise InvalidInput(f"{cut(world)}: {of_tables[0]} is for exact tables; leave it out")
    libraries()
    from draftproof.experiments.models.pair.opened import PairRequest

    return PairRequest(name or None, **keys)


def world_keys(kind: str) -> list[str]:
    """The keys that a world of this kind takes; of families without their parameters."""
    made = KINDS[kind]
    return [key for key, about in signature(made).parameters.items() if about.kind is Parameter.KEYWORD_ONLY]


def _unknown(text: str, kind: str) -> str:
    close = get_close_matches(kind, [*KINDS, *FAMILIES, TOPICS], n=1)
    hint = "write family:.., text:.., models:.. or FILE.json"
    if close:
        kinds = {**dict.fromkeys(KINDS, close[0]), **dict.fromkeys(FAMILIES, "family"), TOPICS: "text"}
        rest = ".." if close[0] in KINDS else close[0]
        hint = f"did you mean {kinds[close[0]]}:{rest}?"
    return f"unknown world {cut(repr(text))}; {hint}"


def _whole(text: str, where: str) -> int:
    if not text.isdecimal():
        raise InvalidInput(f"{where}: {cut(text)} is no whole number or range; write it as 3 or 0..99")
    return int(text)


def _yes(text: str, where: str) -> bool:
    if text not in ("yes", "no"):
        raise InvalidInput(f"{where}: {cut(text)} is neither yes nor no")
    return text == "yes"


#: How the value of a key is read, by the annotation of its parameter.
_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "int": _whole, "bool": _yes, "str": lambda text, where: text, "float": family_parameter,
}  # fmt: skip


def _file(path: str, samplings: Samplings) -> FileWorld:
    digest = file_digest(path)  # before it is read: one that changes meanwhile counts as another file, not as this one
    return FileWorld(path, Instance.load(path), digest, samplings)


def _family(
    name: str,
    samplings: Samplings,
    *,
    vocab: int = 3,
    seeds: int = 0,
    denominator: int = 2**16,
    **parameters: float,
) -> FamilyWorld:
    family = family_named(name or "dirichlet")
    random = np.random.default_rng(seeds)
    family.instance(vocab, 0, random, denominator, RATIONAL, **parameters)  # fails now rather than later
    return FamilyWorld(name or "dirichlet", vocab, seeds, denominator, parameters, samplings)


def _n_grams(
    name: str,
    samplings: Samplings,
    *,
    vocab: int = 3,
    target_order: int = 3,
    draft_order: int | None = None,
    root: str | None = None,
    roots: int | None = None,
    denominator: int = 2**16,
) -> TextWorld:
    _one_of(root, roots)
    name = name or TOPICS
    draft = min(1, target_order) if draft_order is None else draft_order
    pair = TextPair(read_counted(name), vocab, target_order, draft, denominator)
    if root is None:
        return TextWorld(name, pair, None, 8 if roots is None else roots, samplings)
    shown = pair.show(pair.root_of(root))
    if shown != root[-target_order:] * (target_order > 0):
        remark(f"root {root!r} is taken as {shown!r}: · stands for every symbol outside the alphabet")
    return TextWorld(name, pair, root, samplings=samplings)


def _one_of(root: str | None, roots: int | None) -> None:
    if root is not None and roots is not None:
        raise InvalidInput("root gives one context, roots a number of them; give one of the two")
    if roots == 0:
        raise InvalidInput("roots=0 leaves nothing; give at least 1")


def _models(
    name: str,
    samplings: Samplings,
    *,
    target: str | None = None,
    draft: str | None = None,
    prompts: str | None = None,
    text: str = EMBEDDED,
    vocab: int | None = None,
    root: str | None = None,
    roots: int | None = None,
    denominator: int | None = None,
    bos: str = "auto",
    context: int | None = None,
    device: str = "auto",
    dtype: str = "float32",
) -> World:
    _one_of(root, roots)
    if root is not None and prompts is not None:
        raise InvalidInput("root gives one context, prompts a file of them; give one of the two")
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.expect.problem import pair_problem
    from draftproof.experiments.models.pair.opened import PairRequest, load_wanted

    wanted = PairRequest(name or None, target, draft, device, dtype, text, prompts, bos, context)
    return pair_problem(load_wanted(wanted), samplings, vocab, roots, root, denominator)


def _grid(name: str, samplings: Samplings, *, denominator: int, vocab: int = 3) -> GridWorld:
    if not samplings.is_identity:
        raise InvalidInput("a grid has every p and q as they are; leave out sampling, draft_sampling and told")
    if name:
        raise InvalidInput(f"a grid has no name, so {cut(name)} means nothing; write grid:denominator=4,vocab=2")
    grid_size(vocab, 1, denominator)
    return GridWorld(vocab, denominator)


#: What makes a world of each kind: of the name after the colon, the samplings and the keys that it takes.
KINDS: Mapping[str, Callable[..., World]] = {
    "family": _family,
    "text": _n_grams,
    "models": _models,
    "file": _file,
    "grid": _grid,
    "strings": strings_world,
}
