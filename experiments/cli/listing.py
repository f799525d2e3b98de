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


def cards() -> list[Card]:
    """The card of every registered verifier, in the order of the registry."""
    return [entry.card for entry in verifiers.REGISTRY.values()]


def catalogue_fields() -> dict[str, Any]:
    """The catalogue as plain data."""
    return {
        "verifiers": [_card_fields(card) for card in cards()],
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
            {"name": family.name, "description": family.title, "parameters": dict(family.parameters)}
            for family in FAMILIES.values()
        ],
        "bibliography": dict(BIBLIOGRAPHY),
    }


def _facts(draws: Draws) -> list[str]:
    """The names of all facts that are declared or implied, in lower case."""
    return [name.lower() for name, fact in Draws.__members__.items() if name[0] != "_" and fact in draws]


def _card_fields(card: Card) -> dict[str, Any]:
    needs = None if card.needs is None else _facts(card.needs)
    return {**asdict(card), "needs": needs, "lossless_for": lossless_for(card), "status": card.status}


def card_line(card: Card) -> list[str]:
    """A card as the cells of the table of verifiers."""
    return [
        card.name + "".join(f" ({name})" for name in card.parameters),
        card.title,
        f"{card.source.key}, {card.source.place}" if card.source else "",
        _schemes(lossless_for(card)),
        card.status,
        "p, q" if card.reads_draft else "p",
        "first path" if card.single_path else "all paths",
        ", ".join(card.dominates),
    ]


def _schemes(names: tuple[str, ...]) -> str:
    """The first names, and how many more there are."""
    shown = (
        names
        if len(names) <= MAX_NAMED_SCHEMES + 1
        else (*names[:MAX_NAMED_SCHEMES], f"{len(names) - MAX_NAMED_SCHEMES} more")
    )
    return ", ".join(shown) or "nothing"


#: Most schemes named in a cell.
MAX_NAMED_SCHEMES = 3


#: Columns of the tables that people see beside those for programs.
_SHOWN = {
    "verifiers": ("verifier", "title", "from", "for", "status", "reads", "uses", "better_than"),
    "schemes": ("usual", "description", "verified_with"),
    "policies": ("name", "description"),
    "worlds": ("name", "description", "keys"),
    "families": ("name", "description", "defaults"),
    "bibliography": (),
}
_GALLERY = ("entry", "project", "what", "outcome", "largest imbalance", "measured")
_HEADINGS = {
    "from": "source",
    "for": "lossless for",
    "better_than": "dominates",
    "usual": "scheme",
    "outcome": "verdict",
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
    fields = catalogue_fields()
    fields["verifiers"] = [
        dict(zip(_SHOWN["verifiers"], card_line(card), strict=True)) | _card_fields(card) for card in cards()
    ]
    fields["families"] = [each | {"defaults": _assignments(each["parameters"])} for each in fields["families"]]
    fields["bibliography"] = [{"key": key, "reference": text} for key, text in fields["bibliography"].items()]
    return Result(what or "catalogue", [_table(name, fields[name]) for name in (_SHOWN if what is None else [what])])


def _assignments(parameters: Mapping[str, float]) -> str | None:
    return ", ".join(f"{name}={value:g}" for name, value in parameters.items()) or None


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    shown = _SHOWN[name]
    names = dict.fromkeys((*shown, *rows[0]))
    columns = [Column(each, title=_HEADINGS.get(each), shown=each in shown) for each in names]
    return Table.of(columns, rows, title=name, name=name, shown=bool(shown))


def _gallery() -> Table:
    from draftproof.experiments.gallery.measuring import measured
    from draftproof.experiments.gallery.page import lines

    found = measured()
    rows = [
        dict(zip(_GALLERY, cells, strict=True)) | (asdict(found[cells[0]]) if cells[0] in found else {})
        for cells in lines(found)
    ]
    names = dict.fromkeys((*_GALLERY, *(name for row in rows for name in row)))
    return Table.of(
        [Column(each, title=_HEADINGS.get(each), shown=each in _GALLERY) for each in names], rows, name="entries"
    )
