"""The rows of stores: as one table for CSV and Markdown, and those of a report, grouped by world and draft scheme.

A world is one source of instances, such as a seed of a family. A negative control, or a verifier that a row refutes, is
lossy; its rows on schemes of that kind are compared with nothing.
"""

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from draftproof.experiments.grid.store import Row, left_out, stored_rows
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.experiments.result import Column, Table
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.verifiers import REGISTRY

T = TypeVar("T")
#: The columns of laws and bounds in a table of all rows; exact numbers are text, with a column for the float.
STORED = (
    "question", "world", "family", "vocab_size", "seed", "verifier", "scheme", "K", "L1", "L2", "nodes", "arithmetic",
    "lossless", "block_efficiency", "block_efficiency_float", "variance_float", "max_deviation", "max_deviation_float",
    "lower", "lower_float", "upper", "upper_float", "gap_float", "seconds", "strong_id",
)  # fmt: skip
_QUESTIONS = {"law": "check", "bound": "bound"}
#: Fields that a report needs of rows, by kind; many rows have room in memory without the others.
NEEDED: Mapping[str, Sequence[str]] = {
    "law": (
        "verifier", "spec", "scheme", "source", "options", "arithmetic", "control", "lossless",
        "block_efficiency_float", "max_deviation_float", "depth_distribution",
    ),
    "bound": ("scheme", "source", "options", "upper_float"),
    "failure": ("verifier", "spec"),
    "cell": ("verifier", "shape", "predicted", "measured", "total_error", "z", "blocks"),
    "theorem": ("verifier", "scheme", "vocab_size", "identities"),
}  # fmt: skip
#: Fields of a source of a family that are no parameters of the family.
_COMMON = ("family", "vocab_size", "seed", "denominator", "sampling", "draft_sampling", "told_sampling")


def read(paths: Sequence[str]) -> tuple[dict[str, list[Row]], list[str]]:
    """The rows of all stores by their kind, and a sentence about those that are left out, if there are any.

    Verifiers of different files that have one name are called as they were given. Raises `InvalidInput` for a store
    without rows.
    """
    rows: dict[str, list[Row]] = defaultdict(list)
    changed: list[set[str]] = []
    for path in paths:
        shown, others = list[set[str]](), list[set[str]]()
        for row in stored_rows(path, NEEDED, shown):
            try:
                rows[row["kind"]].append(needed(row))
            except (KeyError, TypeError) as error:
                another = f"{cut(path)} has rows of another version of draftproof ({error}); compute them again"
                raise InvalidInput(another) from None
        if not shown and next(stored_rows(path, (), others), None) is None:
            if not others:
                again = f"draftproof compare --resume {cut(path)} computes some"
                raise InvalidInput(f"{cut(path)} has no rows that a report shows; {again}")
            shown = others
        changed += shown
    specs: dict[str, set[str]] = defaultdict(set)
    verified = [*rows["law"], *rows["failure"]]
    for row in verified:
        specs[row["verifier"]].add(row["spec"])
    for row in verified:
        if len(specs[row["verifier"]]) > 1:
            row["verifier"] = row["spec"]
    order = {name: number for number, name in enumerate(REGISTRY)}
    rows["law"].sort(key=lambda row: order.get(row["verifier"], len(order)))
    return rows, left_out(changed)


def needed(row: Row) -> Row:
    """What a report needs of a row, with the scheme as text; raises `KeyError` where it has not all of that."""
    fields = {name: row[name] for name in ("kind", *NEEDED[row["kind"]])}
    if row["kind"] == "law":
        fields["depth"] = len(fields.pop("depth_distribution")) - 1
    return {**fields, **(shape_fields(row) if "scheme" in fields else {})}


def stored_table(stores: Sequence[str]) -> Table:
    """All rows of stores, each once, but those of files that have changed since."""
    changed: list[set[str]] = []
    rows = {row["strong_id"]: cells(row) for store in stores for row in stored_rows(store, (), changed)}
    for sentence in left_out(changed):
        remark(sentence)
    columns = list(dict.fromkeys(name for row in rows.values() for name in row)) or STORED
    return Table.of([Column(name) for name in columns], list(rows.values()))


def cells(row: Row) -> dict[str, Any]:
    """One row as cells: for laws and bounds the columns `STORED`, for other kinds every field that is no container."""
    kind = str(row.get("kind"))
    if kind not in _QUESTIONS:
        return {name: value for name, value in row.items() if isinstance(value, str | int | float)}
    source, scheme, shape = row["source"], row["scheme"], shape_fields(row)
    fields = {
        **row, **{key: scheme.get(key) for key in ("K", "L1", "L2")}, "world": json.dumps(source, sort_keys=True),
        "family": source.get("family"), "vocab_size": source.get("vocab_size"), "seed": source.get("seed"),
        "scheme": shape["shape"], "nodes": shape["nodes"], "question": _QUESTIONS[kind],
    }  # fmt: skip
    return {name: fields.get(name) for name in STORED}


def shape_fields(row: Row) -> dict[str, Any]:
    """The scheme of a law or a bound as text, and its number of drafted tokens."""
    if "file" in row["scheme"]:
        return {"shape": row["scheme"]["file"], "nodes": row.get("nodes")}
    shape, nodes = _shape(json.dumps(row["scheme"]))
    return {"shape": shape, "nodes": nodes}


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[str, int]:
    """The text and the drafted tokens of a scheme of the library, from its JSON."""
    scheme = scheme_from_dict(json.loads(text))
    return scheme_spec(scheme), scheme.nodes


@dataclass
class WorldOnScheme:
    """One world on one scheme: the upper bound, and the row of each verifier.

    Its properties are cached, so they are used only when all rows are in it. lossy: negative controls, and the
    verifiers that some row refutes on a scheme of this kind where they are told the same of q.
    """

    row: Row
    upper: float | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    lossy: set[str] = field(default_factory=set)

    @cached_property
    def world(self) -> str:
        """The source of instances as text."""
        return str(sorted(self.row["source"].items()))

    @property
    def cell(self) -> str:
        """The kind of its source, and the temperature of both models."""
        source = self.row["source"]
        drawn = source.get("sampling") or source.get("warp") or {}
        return f"{kind(source)}, T = {float(drawn.get('temperature', 1.0)):g}"

    @property
    def depth(self) -> int:
        """Drafted tokens on the longest path."""
        return max((row["depth"] for row in self.rows.values()), default=0)

    @cached_property
    def values(self) -> dict[str, float]:
        """The block efficiencies of the verifiers that no row refutes on schemes of this kind."""
        return {name: row["block_efficiency_float"] for name, row in self.rows.items() if name not in self.lossy}

    def command(self, *names: str) -> str:
        """The command that prints the rows of these verifiers, with the optimum where it is known; "" for none."""
        rows = [self.rows[name] for name in names]
        if not rows:
            return ""
        words = ["draftproof", "compare", *(row["spec"] for row in rows), "--scheme", rows[0]["shape"]]
        words += [*rows[0]["options"], "--arithmetic", rows[0]["arithmetic"]]
        return shlex.join([*words, "--optimum"] if self.upper is not None else words)

    @property
    def is_delayed(self) -> bool:
        """Whether it is a delayed tree of the library; a scheme of a file can have the same name."""
        return self.row["scheme"]["name"] == "delayed" and "file" not in self.row["scheme"]


def kind(source: Mapping[str, Any]) -> str:
    """The kind of a source of instances: a family with its parameters, models, or the name of a text."""
    if "family" in source:
        parameters = ",".join(f"{key}={value:g}" for key, value in source.items() if key not in _COMMON)
        return str(source["family"]) + (f":{parameters}" if parameters else "")
    return "models" if "pair" in source else str(source.get("text", "instance"))


def told_otherwise(source: Mapping[str, Any]) -> str:
    """What verifiers are told instead of q, so that all are lossy, as text; "" where they are told q."""
    told = source.get("told_sampling", (source.get("warp") or {}).get("told_sampling"))
    return "" if told is None else repr(told)


def worlds_on_schemes(rows: Iterable[Row]) -> list[WorldOnScheme]:
    """Laws and bounds grouped by world and scheme."""
    lossy = defaultdict[tuple[str, str], set[str]](set)
    pairs: dict[tuple[str, str], WorldOnScheme] = {}
    for row in rows:
        alike = row["scheme"]["name"], told_otherwise(row["source"])
        if row["kind"] == "law" and (row["control"] or not row["lossless"]):
            lossy[alike].add(row["verifier"])
        pair = WorldOnScheme(row, lossy=lossy[alike])
        pair = pairs.setdefault((pair.world, row["shape"]), pair)
        if row["kind"] == "bound":
            pair.upper = row["upper_float"]
        else:
            name = row["verifier"]
            pair.rows[name] = min(pair.rows.get(name, row), row, key=_first_of_all)
    return list(pairs.values())


def _first_of_all(law: Row) -> tuple[bool, bool]:
    """Of several laws of one verifier there, one that refutes it counts first, then an exact one."""
    return law["lossless"], law["arithmetic"] != "rational"


def grouped(pairs: Iterable[WorldOnScheme], key: Callable[[WorldOnScheme], T]) -> dict[T, list[WorldOnScheme]]:
    """Pairs by what they have in common, in the order of that; None comes first."""
    groups: dict[T, list[WorldOnScheme]] = defaultdict(list)
    for pair in pairs:
        groups[key(pair)].append(pair)
    return dict(sorted(groups.items(), key=lambda item: (item[0] is not None, item[0])))
