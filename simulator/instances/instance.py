"""Instances: a target and a draft as explicit rows, and the files that hold them.

File format: `{"vocab_size": 2, "depth": 3, "target": {"": ["1/3", "2/3"], "0": [...], "0,1": [...]},
"draft": {...}}` with one entry for every context of length 0..depth; a draft entry at full depth is
not needed. Optional: `"told"` (the rows that verifiers get as q, where they are not those of `"draft"`),
`"scheme"` (the draft scheme the instance is meant for), `"about"` (free text) and `"arithmetic"`: `"float64"`
for rows that are floats and not exact.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from draftproof.simulator.arithmetic import RATIONAL, Arithmetic, as_python, parse_fraction
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.instances.processes import tabulate, telling
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess
from draftproof.simulator.shown import rows_html
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, TableProcess, table_entries

#: The keys of an instance file.
_KEYS = ("vocab_size", "depth", "target", "draft", "told", "scheme", "about", "arithmetic")


@dataclass(frozen=True)
class Instance:
    """A pair of processes with rows for every context of a tree of this depth.

    target: tables of depth `L`. draft: tables of depth at least `L - 1`, in the same arithmetic; it may hold what
    verifiers are told instead (`told`).
    scheme: the draft scheme it was made for, if any. about: where it comes from, in words.
    """

    target: TableProcess
    draft: TableProcess
    scheme: DraftScheme | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.target.vocab_size != self.draft.vocab_size:
            raise InvalidInput(
                f"target has {self.target.vocab_size} tokens, draft has {self.draft.vocab_size}; "
                "they must share a vocabulary"
            )
        if self.target.arithmetic is not self.draft.arithmetic:
            raise InvalidInput("target and draft mix exact and float rows; use one arithmetic for both")
        if self.draft.depth < self.target.depth - 1:
            raise InvalidInput(
                f"draft rows end at depth {self.draft.depth}; a target of depth {self.target.depth} "
                f"needs draft rows to depth {self.target.depth - 1}"
            )

    @classmethod
    def of(cls, target: TokenProcess, draft: TokenProcess, depth: int, arithmetic: Arithmetic) -> Instance:
        """The rows of two processes for trees of depth `depth`, in `arithmetic`."""
        return cls(
            tabulate(target, depth, arithmetic, "target"),
            tabulate(draft, max(depth - 1, 0), arithmetic, "draft"),
        )

    @property
    def vocab_size(self) -> int:
        return self.target.vocab_size

    @property
    def depth(self) -> int:
        """Depth `L` of the deepest trees it has rows for."""
        return self.target.depth

    def converted(self, arithmetic: Arithmetic, depth: int) -> Instance:
        """The same instance in another arithmetic, cut to trees of depth `depth`."""
        if depth > self.depth:
            raise InvalidInput(
                f"the instance has rows for trees of depth {self.depth}, the scheme needs {depth}; "
                "use a shallower scheme or add rows"
            )
        cut = Instance.of(self.target, self.draft, depth, arithmetic)
        return Instance(cut.target, cut.draft, self.scheme, self.about)

    def as_dict(self) -> dict[str, Any]:
        """The file format as plain data; the draft rows that no tree needs are left out."""
        fields: dict[str, Any] = {
            "vocab_size": self.vocab_size,
            "depth": self.depth,
            **({} if self.target.arithmetic.exact else {"arithmetic": self.target.arithmetic.name}),
            "target": _rows_as_dict(self.target, self.depth),
            "draft": _rows_as_dict(self.draft, max(self.depth - 1, 0)),
        }
        if self.draft.told is not None:
            fields["told"] = _rows_as_dict(
                tabulate(self.draft.told, max(self.depth - 1, 0), self.draft.arithmetic, "told"), max(self.depth - 1, 0)
            )
        if self.scheme is not None:
            fields["scheme"] = self.scheme.as_dict()
        if self.about:
            fields["about"] = dict(self.about)
        return fields

    def _repr_html_(self) -> str:
        fields = self.as_dict()
        return rows_html(
            [
                {"context": f"({c})"} | {name: " ".join(fields[key].get(c, ())) for name, key in self.columns.items()}
                for c in fields["target"]
            ]
        )

    @property
    def columns(self) -> dict[str, str]:
        """The headings of its rows for people, with their keys in a file."""
        told = {} if self.draft.told is None else {"told q": "told"}
        return {"target p": "target", "draft q": "draft", **told}

    def digest(self) -> str:
        """Hash of the rows (not of `about` and `scheme`): 16 hexadecimal digits."""
        fields = {key: value for key, value in self.as_dict().items() if key not in ("scheme", "about")}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    def dumps(self) -> str:
        """The text of an instance file: one line a row, so that differences are easy to read."""
        return _dumps(self.as_dict())

    def save(self, path: str | Path) -> None:
        """Write the instance file; `load` gives the same rows, scheme and `about` back."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Instance:
        """Read an instance file, exact unless it says that its rows are floats; raises `InvalidInput` on any error."""
        return cls.loads(read_text(path, "instance file"), cut(path))

    @classmethod
    def loads(cls, text: str, source: str = "instance") -> Instance:
        """`load` from text; `source` is what error messages call it."""
        fields = parse_json(text, source, parse_float=str, object_pairs_hook=_without_duplicates)
        if isinstance(fields, dict) and "about" in fields:  # only rows keep their decimals as text
            fields["about"] = parse_json(text, source)["about"]
        try:
            return cls.from_dict(fields)
        except InvalidInput as error:
            raise InvalidInput(f"{source}: {error}") from None

    @classmethod
    def from_dict(cls, fields: Any) -> Instance:
        """The instance that `as_dict` described; raises `InvalidInput`."""
        if not isinstance(fields, dict):
            raise InvalidInput("an instance must be an object with vocab_size, depth, target and draft")
        for key in ("vocab_size", "depth", "target", "draft"):
            if key not in fields:
                raise InvalidInput(f"the key {key!r} is missing")
        unknown = sorted(set(fields) - set(_KEYS))
        if unknown:
            raise InvalidInput(f"unknown key {cut(repr(unknown[0]))}; known: {', '.join(_KEYS)}")
        size, depth = fields["vocab_size"], fields["depth"]
        if type(size) is not int or size < 1:
            raise InvalidInput(f"vocab_size is {cut(repr(size))}; it must be a whole number of at least 1")
        if type(depth) is not int or depth < 0:
            raise InvalidInput(f"depth is {cut(repr(depth))}; it must be a whole number of at least 0")
        if depth > 1000 or size > MAX_TABLE_ENTRIES or table_entries(size, depth) > MAX_TABLE_ENTRIES:
            sizes = [f"{n}" if n < 10**12 else "above 10^12" for n in (size, depth)]
            raise InvalidInput(
                f"vocab_size {sizes[0]} and depth {sizes[1]} mean more than {MAX_TABLE_ENTRIES:,} numbers; "
                "make it smaller"
            )
        about = fields.get("about", {})
        if not isinstance(about, dict):
            raise InvalidInput(f"about is {cut(repr(about))}; it must be an object")
        numbers = arithmetic_named(str(fields.get("arithmetic", RATIONAL.name)))
        scheme = fields.get("scheme")
        elsewhere = isinstance(scheme, dict) and "file" in scheme  # user-defined: known by its file or name
        if isinstance(scheme, dict) and elsewhere:
            about = {**about, "scheme": scheme["file"] or scheme.get("name")}
        draft, told = (
            TableProcess(_tables(fields[key], size, max(depth - 1, 0), key, depth, numbers), key)
            if key in fields
            else None
            for key in ("draft", "told")
        )
        assert draft is not None
        return cls(
            TableProcess(_tables(fields["target"], size, depth, "target", depth, numbers), "target"),
            telling(draft, told),
            scheme_from_dict(scheme) if "scheme" in fields and not elsewhere else None,
            about,
        )


def _tables(rows: Any, size: int, depth: int, name: str, deepest: int, numbers: Arithmetic) -> list[Any]:
    if not isinstance(rows, dict):
        raise InvalidInput(f"{name} must be an object from contexts such as '0,1' to rows")
    wanted = [[",".join(map(str, c)) for c in product(range(size), repeat=d)] for d in range(deepest + 1)]
    extra = set(rows) - {key for keys in wanted for key in keys}
    if extra:
        raise InvalidInput(
            f"{name} has a row for {cut(repr(sorted(extra)[0]))}, which is no context of at most {deepest} "
            f"tokens below {size}"
        )
    return [numbers.vector([_row(rows, key, size, name) for key in keys]) for keys in wanted[: depth + 1]]


def _row(rows: Mapping[str, Any], key: str, size: int, name: str) -> list[Any]:
    if key not in rows:
        raise InvalidInput(f"{name} has no row for context {key!r}; give {size} probabilities for it")
    row = rows[key]
    if not isinstance(row, list) or len(row) != size:
        raise InvalidInput(f"{name} row {key!r} is {cut(repr(row))}; it must list {size} probabilities")
    for value in row:
        if type(value) not in (int, str):
            raise InvalidInput(f"{name} row {key!r} holds {cut(repr(value))}; write probabilities as '1/3', 0.25 or 1")
    try:
        return [parse_fraction(value) if isinstance(value, str) else value for value in row]
    except InvalidInput as error:
        raise InvalidInput(f"{name} row {key!r}: {error}") from None


def _rows_as_dict(process: TableProcess, depth: int) -> dict[str, list[str]]:
    contexts: list[Context] = [c for d in range(depth + 1) for c in product(range(process.vocab_size), repeat=d)]
    return {",".join(map(str, c)): [_text(value) for value in process.row(c)] for c in contexts}


def _text(value: Any) -> str:
    """A number that is read back as it is: a float as the shortest decimal that stands for it."""
    return str(as_python(value))


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in fields if keys.count(key) > 1)
        raise InvalidInput(f"the key {cut(repr(twice))} stands twice")
    return fields


def _dumps(fields: Mapping[str, Any]) -> str:
    lines = []
    for key, value in fields.items():
        if key in ("target", "draft", "told"):
            rows = ",\n".join(f"    {json.dumps(context)}: {json.dumps(row)}" for context, row in value.items())
            lines.append(f'  "{key}": {{\n{rows}\n  }}')
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
