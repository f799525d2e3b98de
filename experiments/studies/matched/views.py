"""The tables of the matched comparison as Markdown: those of the report, with all terms side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from draftproof.experiments.grid.report import equal_terms
from draftproof.experiments.grid.report.matched import ACCEPTANCE, DEPTH, OPTIMUM, TOKENS
from draftproof.experiments.grid.report.section import Section, percent, text

Row = Mapping[str, Any]
#: A verifier that runs on at least so many schemes has a choice.
CHOICE = 5


def markdown(summary: Mapping[str, Any]) -> str:
    """The findings, then the tables."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"- {text}" for text in (*summary["findings"], *equal_terms.findings(summary)))
    chosen = {key: [row for row in summary[key] if _is_choice(row)] for key in ("matched", "agreement")}
    for section in equal_terms.sections({**summary, "agreement": chosen["agreement"]}):
        if section.name == "matched":
            for size in dict.fromkeys(row["vocab_size"] for row in chosen["matched"]):
                rows = [row for row in chosen["matched"] if row["vocab_size"] == size]
                suffix = f" on equal terms, V = {size}"
                yield from _section(side_by_side(rows, "share", "Mean share of the optimum" + suffix))
                yield from _section(side_by_side(rows, "wins", "Worlds where it is best of all" + suffix))
        elif section.rows:
            yield from _section(section)


def _is_choice(row: Row) -> bool:
    """Whether there is something to choose on a term; of one step there are branches."""
    return bool(row["schemes"] >= CHOICE or (row["term"] == ACCEPTANCE and row["value"] > 1))


def side_by_side(rows: Sequence[Row], key: str, title: str) -> Section:
    """One figure of every verifier on every term, a column each; empty where the verifier was not compared."""
    terms = list(dict.fromkeys((row["term"], row["value"]) for row in rows))
    known = {(row["verifier"], row["term"], row["value"]): row[key] for row in rows}
    names = [name for name in dict.fromkeys(row["verifier"] for row in rows) if name != OPTIMUM]
    by_name = {name: [value for term in terms if (value := known.get((name, *term))) is not None] for name in names}
    names.sort(key=lambda name: (-len(by_name[name]), -sum(by_name[name])))
    cells = [[text(name), *(percent(known.get((name, *term))) for term in terms)] for name in names]
    headings = ["verifier", *(_short(term, value) for term, value in terms)]
    return Section(key, title, headings, cells)


def _short(term: str, value: Any) -> str:
    """A term in a few letters: branches K of one step, nodes N, depth L, times."""
    letter = {ACCEPTANCE: "K", TOKENS: "N", DEPTH: "L"}.get(term)
    return f"{letter} = {value}" if letter else str(value).partition(",")[0]


def _section(section: Section) -> Iterator[str]:
    yield f"\n### {section.title}\n"
    if section.note:
        yield section.note + "\n"
    yield _line(section.headings)
    yield _line(["---"] * len(section.headings))
    for row in section.rows:
        yield _line([f"`{cell.text}`" if cell.kind == "command" and cell.text else cell.text for cell in row])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
