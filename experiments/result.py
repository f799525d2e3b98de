"""What every verb returns: tables with a title, notes and a verdict; the only way anything is printed or written.

Whatever the format, people read the same text of a number (`text_of`). Programs read JSON or CSV, where an exact number
stands whole, as `"91/36"`, and beside it as a float in `NAME_float`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from draftproof.experiments.shared.output import (
    EXACT_DIGITS,
    csv_cell,
    number_fields,
    printable_json,
    short,
    write_whole,
)
from draftproof.experiments.shared.progress import PlainConsole, output_console, remark
from draftproof.simulator.errors import InvalidInput, printable

#: What a column holds. exact: a `Fraction`, a float where it is rounded, or several of them; shares: several of them,
#: which people see in percent; interval: its two ends.
Kind: TypeAlias = Literal["text", "exact", "percent", "shares", "interval", "count", "verdict", "command"]
#: Digits of rounded numbers in a table of many rows; a single row has room for more.
DIGITS = 5
#: Kinds whose cells stand at the right.
NUMBERS = ("exact", "percent", "interval", "count")


@dataclass(frozen=True)
class Column:
    """A column. title: for people (default: the name); shown: False for what only programs read."""

    name: str
    kind: Kind = "text"
    title: str | None = None
    shown: bool = True

    @property
    def heading(self) -> str:
        """What stands above it."""
        return self.name.replace("_", " ") if self.title is None else self.title

    def value(self, row: Mapping[str, Any]) -> Any:
        """What a row has of it; exact numbers may be texts, as in the rows of a store."""
        value = row.get(self.name)
        return number_of(value) if self.kind in ("exact", "shares") else value

    def fields(self, values: Sequence[Any]) -> list[dict[str, Any]]:
        """The values for programs, of all rows under the same names."""
        if self.kind not in ("exact", "percent") or any(isinstance(value, (list, tuple)) for value in values):
            return [{self.name: _plain(value)} for value in values]
        return [number_fields(self.name, value) for value in values]


def hidden(*names: str, kind: Kind = "text") -> list[Column]:
    """Columns that only programs read."""
    return [Column(name, kind, shown=False) for name in names]


@dataclass(frozen=True)
class Table:
    """Rows of values, one for each column; people see a single row as one line for each column that is not empty.

    name: in JSON. shown: False for a table that only programs read.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    name: str = "rows"
    shown: bool = True

    @classmethod
    def of(cls, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], **about: Any) -> Table:
        """From rows by name of the column; what a row does not have is None."""
        return cls(columns, [[column.value(row) for column in columns] for row in rows], **about)

    @classmethod
    def whole(cls, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], **about: Any) -> Table:
        """As `of`, with every other field of the rows for programs."""
        known = {column.name for column in columns}
        others = dict.fromkeys(name for row in rows for name in row if name not in known)
        return cls.of([*columns, *(Column(name, shown=False) for name in others)], rows, **about)

    def records(self) -> list[dict[str, Any]]:
        """The rows by name of the column, numbers as they are: `pandas.DataFrame(table.records())`."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def fields(self) -> list[dict[str, Any]]:
        """The rows for programs: exact numbers as text and as a float."""
        made: list[dict[str, Any]] = [{} for _ in self.rows]
        for place, column in enumerate(self.columns):
            for row, fields in zip(made, column.fields([row[place] for row in self.rows]), strict=True):
                row.update(fields)
        return made

    def texts(self) -> tuple[list[Column], list[list[str]]]:
        """The columns that people see, without empty ones and those of `caption`, and the text of every cell."""
        digits = EXACT_DIGITS if len(self.rows) == 1 else DIGITS
        places = [place for place in self._filled if not self._is_alike(place)]
        cells = [[text_of(self.columns[place].kind, row[place], digits) for place in places] for row in self.rows]
        return [self.columns[place] for place in places], cells

    @property
    def caption(self) -> str:
        """The title, and the texts that are alike in all of several rows."""
        alike = [place for place in self._filled if self._is_alike(place)]
        shared = [f"{self.columns[place].heading} {text_of('text', self.rows[0][place])}" for place in alike]
        return "; ".join(([self.title] if self.title else []) + shared)

    @property
    def _filled(self) -> list[int]:
        shown = [place for place, column in enumerate(self.columns) if column.shown]
        return [place for place in shown if any(row[place] is not None for row in self.rows)]

    def _is_alike(self, place: int) -> bool:
        values = [row[place] for row in self.rows]
        return self.columns[place].kind == "text" and len(values) > 1 and all(value == values[0] for value in values)

    def rich(self) -> RenderableType:
        """For a terminal."""
        columns, cells = self.texts()
        if len(cells) == 1:
            grid = RichTable.grid(padding=(0, 2))
            grid.add_column(no_wrap=True)
            grid.add_column(overflow="fold")
            for column, text in zip(columns, cells[0], strict=True):
                grid.add_row(column.heading, _styled(column.kind, text))
            return Group(*([self.title] if self.title else []), Padding(grid, (0, 0, 0, 2), expand=False))
        table = RichTable(title=self.caption or None, title_justify="left")
        for column in columns:
            table.add_column(column.heading, justify="right" if column.kind in NUMBERS else "left", overflow="fold")
        for row in cells:
            table.add_row(*(_styled(column.kind, text) for column, text in zip(columns, row, strict=True)))
        return table

    def markdown(self) -> str:
        """A table of GitHub's Markdown."""
        heading = f"**{_escaped(self.caption)}**\n\n" if self.caption else ""
        return heading + self._tabulated("github", _markdown_cell)

    def html(self) -> str:
        """A table of HTML."""
        made = self._tabulated("html", lambda kind, text: text)
        return (
            made.replace("<table>", f"<table>\n<caption>{_html(self.caption)}</caption>", 1) if self.caption else made
        )

    def csv(self) -> str:
        """Comma-separated values; the first line has the names."""
        rows = self.fields()
        names = list(rows[0]) if rows else [column.name for column in self.columns]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            cells = (json.dumps(value) if isinstance(value, (list, dict)) else value for value in row.values())
            writer.writerow([csv_cell(value) for value in cells])
        return out.getvalue()

    def _tabulated(self, form: str, cell: Callable[[Kind, str], str]) -> str:
        from tabulate import tabulate

        columns, cells = self.texts()
        if len(cells) == 1:
            lines = [[column.heading, cell(column.kind, text)] for column, text in zip(columns, cells[0], strict=True)]
            return str(tabulate(lines, ["", ""], tablefmt=form, disable_numparse=True))
        body = [[cell(column.kind, text) for column, text in zip(columns, row, strict=True)] for row in cells]
        sides = ["right" if column.kind in NUMBERS else "left" for column in columns]
        headings = [column.heading for column in columns]
        return str(tabulate(body, headings, tablefmt=form, disable_numparse=True, colalign=sides if body else None))


@dataclass(frozen=True)
class Result:
    """What a verb found out. The first table is the main one.

    verdict: the exit code of the command: 0 lossless, proved or nothing to judge; 1 refuted; 3 not refuted, not proved.
    files: further files by name, such as witnesses and pictures; the command writes them, in Python `save` does.
    """

    title: str
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    verdict: int = 0
    files: Mapping[str, str | bytes] = field(default_factory=dict)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the main table by name of the column, numbers as they are: `pandas.DataFrame(result.rows)`."""
        return self.tables[0].records() if self.tables else []

    @property
    def row(self) -> dict[str, Any]:
        """The only row of the main table; raises `InvalidInput` where there are several."""
        rows = self.rows
        if len(rows) != 1:
            raise InvalidInput(f"{self.title} has {len(rows)} rows; take one of .rows")
        return rows[0]

    @property
    def _shown(self) -> list[Table]:
        return [table for table in self.tables if table.shown]

    def show(self, console: Console | None = None) -> None:
        """Print it for people."""
        out = output_console() if console is None else console
        out.print(Text(self.title, "bold"), soft_wrap=True)
        for table in self._shown:
            out.print(table.rich())
        for note in self.notes:
            out.print(note, soft_wrap=True)

    def json(self) -> str:
        """The tables by name, with title, notes and verdict."""
        tables = {table.name: table.fields() for table in self.tables}
        fields = {"title": self.title, "verdict": self.verdict, **tables, "notes": list(self.notes)}
        return printable_json(json.dumps({**fields, "files": list(self.files)}, indent=2, ensure_ascii=False)) + "\n"

    def json_lines(self) -> str:
        """The rows of the main table, a line each, without empty fields."""
        rows = self.tables[0].fields() if self.tables else []
        filled = ({name: value for name, value in row.items() if value is not None} for row in rows)
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in filled)

    def csv(self) -> str:
        """The main table as comma-separated values."""
        return self.tables[0].csv() if self.tables else ""

    def markdown(self) -> str:
        """Title, tables and notes as Markdown."""
        parts = [f"### {_escaped(self.title)}", *(table.markdown() for table in self._shown)]
        return "\n\n".join([*parts, *map(_escaped, self.notes)]) + "\n"

    def html(self) -> str:
        """Title, tables and notes as a piece of HTML."""
        parts = [f"<p><b>{_html(self.title)}</b></p>", *(table.html() for table in self._shown)]
        return "\n".join([*parts, *(f"<p>{_html(note)}</p>" for note in self.notes)]) + "\n"

    def write(self, path: str | Path) -> None:
        """Write it in the format that the suffix says; raises `InvalidInput` for another one."""
        write_whole(path, getattr(self, format_of(path))())

    def save(self, folder: str | Path = ".") -> None:
        """Write its `files`; one that cannot be written raises `InvalidInput`, and does not hide a refutation."""
        for name, content in self.files.items():
            try:
                write_whole(Path(folder, name), content)
            except InvalidInput as error:
                if self.verdict == 0:
                    raise
                remark(f"{printable(name)} was not saved: {error}")

    def __str__(self) -> str:
        out = io.StringIO()
        self.show(PlainConsole(file=out, width=140))
        return out.getvalue()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a verb. result: what it had found out by then; the command shows it and saves its files."""

    def __init__(self, result: Result) -> None:
        super().__init__()
        self.result = result


#: Formats of files by suffix; the name of a format is the method of `Result` that makes it.
FORMATS = {".json": "json", ".jsonl": "json_lines", ".csv": "csv", ".md": "markdown", ".html": "html"}


def format_of(path: str | Path) -> str:
    """The format that the suffix of a file says; raises `InvalidInput` for another suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InvalidInput(f"cannot write {path}: give it a suffix that says the format, {', '.join(FORMATS)}")
    return FORMATS[suffix]


def text_of(kind: Kind, value: Any, digits: int = EXACT_DIGITS) -> str:
    """The text of a value for people; "" for None. digits: of rounded numbers."""
    if value is None:
        return ""
    if kind == "percent":
        return f"{float(value):.2%}"
    if kind == "shares":
        return " ".join(f"{100 * float(share):4.1f}" for share in value)
    if kind in ("exact", "interval"):
        listed = value if isinstance(value, (list, tuple)) else [value]
        return (" .. " if kind == "interval" else " ").join(short(number, digits) for number in listed)
    return printable(f"{value:,}" if kind == "count" else str(value))


def number_of(value: Any) -> Any:
    """A number, or several, of which exact ones may be texts, as in the rows of a store."""
    if isinstance(value, (list, tuple)):
        return [number_of(number) for number in value]
    return Fraction(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    with suppress(AttributeError):
        value = value.item()  # numpy's numbers
    return str(value) if isinstance(value, Fraction) else value


#: Colours of verdicts, by their first word.
_COLOURS = {"LOSSLESS": "bold green", "PROVED": "bold green", "VALID": "bold green"} | {
    "REFUTED": "bold red",
    "REJECTED": "bold red",
}


def _styled(kind: Kind, text: str) -> Text:
    first = text.partition(" ")[0].rstrip(",:")
    return Text(text, _COLOURS.get(first, "bold yellow") if kind == "verdict" else "")


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#~" else char for char in text)


def _markdown_cell(kind: Kind, text: str) -> str:
    return f"`{text}`" if kind == "command" and "`" not in text and "|" not in text else _escaped(text)


def _html(text: str) -> str:
    from html import escape

    return escape(text)
