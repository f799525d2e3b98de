"""`draftproof list`: the catalogue of everything that has a name, and the table of verifiers for the pages."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from draftproof import verifiers
from draftproof.experiments.cli.compare.roots import AT_ROOTS
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.schemes import default_spec
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.drafts import SCHEMES, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.protocol import Card
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

PROCESSES = {
    "instance file": "explicit exact rows for every context (--instance FILE)",
    "text": "n-gram target and draft from a text (--text FILE --target-order m --draft-order n)",
    "family": "synthetic random rows (--family NAME --seed S)",
    "models": "the rows of two language models at roots of a text (--pair FOLDER, or --target PATH --draft PATH)",
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
                "draws": cls.draws.facts,
            }
            for name, cls in SCHEMES.items()
        ],
        "policies": [
            {"name": name, "description": (choose.__doc__ or "").split("\n")[0]} for name, choose in AT_ROOTS.items()
        ],
        "processes": [{"name": name, "description": text} for name, text in PROCESSES.items()],
        "families": [
            {"name": family.name, "description": family.title, "parameters": dict(family.parameters)}
            for family in FAMILIES.values()
        ],
        "bibliography": dict(BIBLIOGRAPHY),
    }


def _card_fields(card: Card) -> dict[str, Any]:
    needs = None if card.needs is None else card.needs.facts
    return {**asdict(card), "needs": needs, "lossless_for": lossless_for(card), "status": card.status}


def card_line(card: Card) -> list[str]:
    """A card as the cells of `CARD_HEADINGS`."""
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
CARD_HEADINGS = ("verifier", "title", "source", "lossless for", "status", "reads", "uses", "dominates")


def cards_markdown() -> str:
    """The table of verifiers in Markdown."""
    lines = [CARD_HEADINGS, tuple("---" for _ in CARD_HEADINGS), *(card_line(card) for card in cards())]
    cells = [[f"`{cell}`" if n and not i else cell for i, cell in enumerate(line)] for n, line in enumerate(lines)]
    cells[1] = list(lines[1])
    return "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def show_catalogue(console: Console) -> None:
    """Print the catalogue."""
    table = Table(title="Verifiers", title_justify="left")
    for heading in CARD_HEADINGS:
        table.add_column(heading, overflow="fold")
    for card in cards():
        table.add_row(*card_line(card), style="dim" if card.control else None)
    console.print(table)
    fields = catalogue_fields()
    for title, key in (
        ("Draft schemes", "schemes"),
        ("Policies: a shape for every block", "policies"),
        ("Where instances come from", "processes"),
        ("Families", "families"),
    ):
        small = Table(title=title, title_justify="left", show_header=False)
        for item in fields[key]:
            parameters = ", ".join(f"{name}={value:g}" for name, value in item.get("parameters", {}).items())
            paired = f" Its paper verifies it with {item['verified_with']}." if item.get("verified_with") else ""
            small.add_row(
                item.get("usual", item["name"] + (f":{parameters}" if parameters else "")), item["description"] + paired
            )
        console.print(small)


What = Annotated[
    str, typer.Argument(help="names, or gallery: functions of public projects with the verdicts of their audits.")
]


def list_command(what: What = "names", json_target: opt.JsonTarget = None) -> int:
    """List verifiers with their cards, draft schemes, policies, families and other sources of instances."""
    check_files((), {"--json": json_target})
    if what == "gallery":
        from draftproof.experiments.gallery.measuring import measured
        from draftproof.experiments.gallery.page import table

        found = measured()
        console_for(json_target).print(table(found), soft_wrap=True, markup=False, highlight=False)
        write_json(json_target, {"entries": [asdict(outcome) for outcome in found.values()]})
        return 0
    if what != "names":
        raise InvalidInput(f"there is no list of {what!r}; choose names or gallery")
    write_json(json_target, catalogue_fields())
    show_catalogue(console_for(json_target))
    return 0
