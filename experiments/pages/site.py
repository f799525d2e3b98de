"""The site: a hook of mkdocs (`make docs`) that publishes the pages of the repository and generates the reference.

Links in pages are relative paths in the repository, so that they work on other hosts as well. The hook publishes the
pages at the root under the same paths, copies the files that pages link to, and rewrites the links.
"""

from __future__ import annotations

import inspect
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from typer.cli import get_docs_for_click

import draftproof
from draftproof import verifiers
from draftproof.experiments.cli import program
from draftproof.experiments.cli.listing import cards, catalogue
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.protocol import Card
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The pages outside of the folder of docs.
SINGLE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
#: Pages whose tables need the room of the table of contents.
WIDE = ("results/gallery.md", "theory/theorems.md")
#: The target of a link or of a picture, without its anchor; not web addresses and anchors of the same page.
LINK = re.compile(r"(\]\(|src=\")(?!\w+:)([^)#\"\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages at the root, the files that pages link to, and the generated pages."""
    from mkdocs.structure.files import File
    from nbconvert import MarkdownExporter

    pages = [ROOT / name for name in SINGLE]
    linked = (file for page in [*pages, *DOCS.rglob("*.md")] for file in linked_files(page))
    for path in sorted({*pages, *(file for file in linked if DOCS not in file.parents)}):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    exporter: Any = MarkdownExporter  # without types
    files.append(
        File.generated(config, "tutorial.md", content=exporter().from_filename(str(DOCS / "tutorial.ipynb"))[0])
    )
    for name, content in GENERATED.items():
        files.append(File.generated(config, name, content=content()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files of the repository become links of the site."""
    uri = page.file.src_uri
    if uri in WIDE:
        page.meta["hide"] = ["toc"]
    folder = (ROOT if (ROOT / uri).exists() else DOCS) / posixpath.dirname(uri)
    return LINK.sub(lambda match: match[1] + _moved(match[2], folder, posixpath.dirname(uri)), markdown)


def linked_files(page: Path) -> list[Path]:
    """The files of the repository that a page links to."""
    links = (match[2] for match in LINK.finditer(page.read_text(encoding="utf-8")))
    return [file for link in links if (file := _file(link, page.parent)) is not None]


def _file(link: str, folder: Path) -> Path | None:
    """The file of the repository that a link leads to; None for other links."""
    path = (folder / link).resolve()
    return path if path.is_file() and ROOT in path.parents else None


def _moved(link: str, folder: Path, here: str) -> str:
    """The link rewritten for a page in the folder `here` of the site."""
    path = _file(link, folder)
    if path is None:
        return link
    uri = path.relative_to(DOCS if DOCS in path.parents else ROOT).as_posix().replace("tutorial.ipynb", "tutorial.md")
    return posixpath.relpath(uri, here or ".")


def commands_page() -> str:
    """Every command with all of its options, from its help."""
    command: Any = typer.main.get_command(program())
    _show_options(command)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="draftproof", title="Commands")
    for group in (command, command.commands["model"]):
        for name, command in group.commands.items():
            text = text.replace(
                f"* `{name}`: {command.get_short_help_str()}", f"* `{name}`: {command.get_short_help_str(500)}"
            )
    return text.replace("# `Commands`", "# Commands")


def _show_options(command: Any) -> None:
    """Show the options that only `--help-all` shows, of a command or of all in a group."""
    for parameter in command.params:
        parameter.hidden = False
    for inner in getattr(command, "commands", {}).values():
        _show_options(inner)


def python_page() -> str:
    """Every name of `import draftproof`, from its docstring."""
    names: dict[str, list[str]] = {"Functions": [], "Draft schemes": [], "Classes": [], "Errors": [], "Tables": []}
    for name in draftproof.__all__:
        names[_kind(getattr(draftproof, name))].append(name)
    parts = [f"## {kind}\n\n{_members(group)}" for kind, group in names.items() if kind != "Tables"]
    tables = ", ".join(f"`{name}`" for name in names["Tables"])
    return "\n\n".join(
        [
            "# Python",
            "All of it is imported from `draftproof`. Verifiers, processes and schemes may be objects, or text as on "
            f"the command line. The tables {tables} hold everything that is known by name.",
            *parts,
        ]
    )


def _kind(value: Any) -> str:
    """The section of the page for a public name."""
    if not isinstance(value, type):
        return "Functions" if inspect.isfunction(value) or inspect.ismodule(value) else "Tables"
    if issubclass(value, Exception):
        return "Errors"
    return "Draft schemes" if value in {*draftproof.SCHEMES.values(), draftproof.UserScheme} else "Classes"


def _members(names: Iterable[str]) -> str:
    return "\n\n".join(f"::: draftproof.{name}" for name in names)


def schemes_page() -> str:
    """Tables of draft schemes, worlds and publications, from the catalogue of `draftproof list`."""
    fields = catalogue()
    papers = fields["bibliography"]
    schemes = []
    for scheme in fields["schemes"]:
        lossless = (f"`{card['name']}`" for card in fields["verifiers"] if scheme["name"] in card["lossless_for"])
        paper = f" Its paper verifies it with `{scheme['verified_with']}`." if scheme["verified_with"] else ""
        text = f"{scheme['description']}{paper}\n\nLossless on it: {', '.join(lossless)}."
        schemes.append(f"### {scheme['name']}\n\n`{scheme['usual']}`\n\n{text}")
    families = [
        (
            f"`{family['name']}`",
            family["description"],
            ", ".join(f"{k} = {v:g}" for k, v in family["parameters"].items()),
        )
        for family in fields["families"]
    ]
    return "\n\n".join(
        [
            "# Draft schemes and worlds",
            "## Draft schemes",
            "A draft scheme is the random rule that builds a draft tree from q. The line below its name is what "
            "`--scheme` and the functions of `draftproof` take.",
            *schemes,
            "## Where instances come from",
            _table(("world", "what it is", "keys"), [tuple(world.values()) for world in fields["worlds"]]),
            "## Families of random instances",
            _table(("family", "rows", "parameters"), families),
            "## Publications",
            _table(("key", "publication"), [(f"`{paper['key']}`", paper["reference"]) for paper in papers]),
        ]
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verifiers_page() -> str:
    """The reference page in Markdown: a table of all cards, then a section for each verifier."""
    return "\n\n".join(
        [
            "# Verifiers",
            "Every verifier, from its card and its docstring. Negative controls have one known bug each, which every "
            "check must refute; those that are declared lossy change the target's distribution on purpose. *Never "
            "below*: verifiers whose block efficiency it provably attains on every instance.",
            _card_table(cards()),
            *map(_verifier_section, verifiers.REGISTRY),
        ]
    )


def _card_table(of: Iterable[Card]) -> str:
    lines = []
    for card in of:
        below = ", ".join(f"`{name}`" for name in card.dominates)
        lines.append((f"[`{card.name}`](#{card.name.lower()})", card.title, card.status, below))
    return _table(("verifier", "what it is", "status", "never below"), lines)


def _verifier_section(name: str) -> str:
    """The section about one verifier."""
    entry: Any = verifiers.REGISTRY[name]
    card: Card = entry.card
    module = sys.modules[(entry if isinstance(entry, type) else type(entry)).__module__]
    schemes = ", ".join(f"`{scheme}`" for scheme in lossless_for(card))
    facts = [
        f"**{card.title}**; {card.status}.",
        f"Source: {BIBLIOGRAPHY[card.source.key]} ({card.source.place})" if card.source else "Source: new here.",
        f"Reads {'p and q' if card.reads_draft else 'p'} on {'the first path' if card.single_path else 'all paths'}.",
        f"Lossless on: {schemes}." if schemes else "",
        f"Departs from the paper: {card.departs}" if card.departs else "",
        *(f"Parameter `{key}`: {text}" for key, text in card.parameters.items()),
    ]
    lines = "\n".join(f"- {fact}" for fact in facts if fact)
    return f"## {card.name}\n\n{lines}\n\n```text\n{inspect.cleandoc(module.__doc__ or '')}\n```"


#: The pages of the reference that are made with the site, by their path in it.
GENERATED: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "reference/commands.md": commands_page,
        "reference/python.md": python_page,
        "reference/schemes.md": schemes_page,
        "reference/verifiers.md": verifiers_page,
    }
)
