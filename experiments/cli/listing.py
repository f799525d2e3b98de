"""`draftproof list`: the catalogue of everything that has a name."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from draftproof import verifiers
from draftproof.experiments.cli.compare.roots import AT_ROOTS
from draftproof.experiments.inputs.schemes import default_spec
from draftproof.experiments.inputs.world_grammar import world_keys
from draftproof.experiments.result import Column, Result, Table
from draftproof.simulator.drafts import SCHEMES, lossless_for
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.protocol import Card, Draws
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: What p and q are in a world of each kind.
WORLDS = {
    "file": "FILE.json: exact rows for every context",
    "text": "text:FILE, or text:topics, which comes along: n-gram models of a text, at its most frequent contexts",
    "family": "family:NAME: random rows; the parameters of the family are keys, too",
    "models": "models:FOLDER of `model train`, or models:target=PATH,draft=PATH: two language models",
    "grid": "grid:denominator=D: every p and q in multiples of 1/D, for `check`",
    "strings": "strings, or strings:FILE: target and draft have a tokenizer each",
}


#: Most schemes named in a cell.
MAX_NAMED_SCHEMES = 3
#: Columns of the tables that people see, with their titles where these are others, beside those for programs.
_SHOWN: Mapping[str, Mapping[str, str | None]] = {
    "verifiers": {
        "verifier": None,
        "title": None,
        "from": "source",
        "for": "lossless for",
        "status": None,
        "reads": None,
        "uses": None,
        "better_than": "dominates",
    },
    "schemes": {"usual": "scheme", "description": None, "verified_with": None},
    "policies": dict.fromkeys(("name", "description")),
    "worlds": dict.fromkeys(("name", "description", "keys")),
    "families": dict.fromkeys(("name", "description", "defaults")),
    "bibliography": {},
}
_GALLERY = {
    **dict.fromkeys(("entry", "project", "what")),
    "outcome": "verdict",
    **dict.fromkeys(("largest imbalance", "measured")),
}


def cards() -> list[Card]:
    """The card of every registered verifier, in the order of the registry."""
    return [entry.card for entry in verifiers.REGISTRY.values()]


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """The rows of each list, by its name."""
    return {
        "verifiers": list(map(_verifier, cards())),
        "schemes": [
            {
                "name": name,
                "description": (cls.__doc__ or "").split("\n")[0],
                "usual": default_spec(name),
                "verified_with": cls.verified_with,
                "draws": _facts(cls.draws),
            }
            for name, cls in SCHEMES.items()
        ],
        "policies": [
            {"name": name, "description": (choose.__doc__ or "").split("\n")[0]} for name, choose in AT_ROOTS.items()
        ],
        "worlds": [
            {"name": name, "description": text, "keys": ", ".join(world_keys(name))} for name, text in WORLDS.items()
        ],
        "families": [
            {
                "name": family.name,
                "description": family.title,
                "parameters": dict(family.parameters),
                "defaults": ", ".join(f"{name}={value:g}" for name, value in family.parameters.items()) or None,
            }
            for family in FAMILIES.values()
        ],
        "bibliography": [{"key": key, "reference": text} for key, text in BIBLIOGRAPHY.items()],
    }


def _facts(draws: Draws) -> list[str]:
    """The names of all facts that are declared or implied, in lower case."""
    return [name.lower() for name, fact in Draws.__members__.items() if name[0] != "_" and fact in draws]


def _verifier(card: Card) -> dict[str, Any]:
    """A card as people read it, and its own fields."""
    schemes = lossless_for(card)
    named = schemes if len(schemes) <= MAX_NAMED_SCHEMES + 1 else schemes[:MAX_NAMED_SCHEMES]
    more = [f"{len(schemes) - len(named)} more"] if len(named) < len(schemes) else []
    return {
        "verifier": card.name + "".join(f" ({name})" for name in card.parameters),
        "title": card.title,
        "from": f"{card.source.key}, {card.source.place}" if card.source else "",
        "for": ", ".join([*named, *more]) or "nothing",
        "reads": "p, q" if card.reads_draft else "p",
        "uses": "first path" if card.single_path else "all paths",
        "better_than": ", ".join(card.dominates),
        **asdict(card),
        "needs": None if card.needs is None else _facts(card.needs),
        "lossless_for": schemes,
        "status": card.status,
    }


def list_command(what: str | None = None, /) -> Result:
    """List verifiers with their cards, draft schemes, policies, and worlds, which say where p and q come from.

    Args:
        what: Only verifiers, schemes, policies, worlds, families or bibliography; or gallery: functions of public
            projects with the verdicts of their audits.
    """
    if what == "gallery":
        return Result("functions of public projects", [_gallery()])
    if what is not None and what not in _SHOWN:
        raise InvalidInput(f"there is no list of {cut(what)}; choose from {', '.join((*_SHOWN, 'gallery'))}")
    lists = catalogue()
    return Result(what or "catalogue", [_table(name, lists[name]) for name in (lists if what is None else [what])])


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table.of(_columns(_SHOWN[name], rows), rows, title=name, name=name, shown=bool(_SHOWN[name]))


def _columns(shown: Mapping[str, str | None], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    names = dict.fromkeys([*shown, *(name for row in rows for name in row)])
    return [Column(name, title=shown.get(name), shown=name in shown) for name in names]


def _gallery() -> Table:
    from draftproof.experiments.gallery.measuring import measured
    from draftproof.experiments.gallery.page import lines

    figures = measured()
    rows = [
        dict(zip(_GALLERY, cells, strict=True)) | (asdict(figures[cells[0]]) if cells[0] in figures else {})
        for cells in lines(figures)
    ]
    return Table.of(_columns(_GALLERY, rows), rows, name="entries")
