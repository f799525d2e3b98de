"""The TOML file of a sweep; an error names the line that is wrong.

[sweep]
verifiers = ["naive", "block", "traversal"]
arithmetic = "rational"            # or "float64", the default
questions = ["check", "bound"]     # laws of the verifiers; the optimum
most_runs = 20_000                 # rows above a limit are left out: runs of an enumeration,
most_steps = 1_000_000             # steps of a structured engine,
most_paths = 256                   # paths V^L of the program of a bound

[[worlds]]
family = "perturbed:s=1"
vocab = "2..3"
seeds = "0..99"
denominator = 20
sampling = ["temperature=.5", "temperature=1"]   # of both models, one or several

[[worlds]]
text = "topics"
vocab = 4

[[worlds]]                         # models: a folder of `model train`, or target and draft; text or prompts: for roots
pair = "runs/pair8"
roots = 4
sampling = "temperature=.7"

[[schemes]]
scheme = "delayed"
K = "1..3"
L2 = "1..2"
max_nodes = 6
max_depth = 4
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

from draftproof.experiments.cli.compare.planning import shapes
from draftproof.experiments.inputs import worlds
from draftproof.experiments.inputs.given import Given, choose_problem
from draftproof.experiments.inputs.grammar import parse_range
from draftproof.experiments.inputs.options import build_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier, from_file
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.files import cut, read_text
from draftproof.simulator.protocol import DraftScheme

QUESTIONS = ("check", "bound")
#: Keys of each table, with the kinds of their values.
_SWEEP = {
    "verifiers": list, "arithmetic": str, "questions": list, "most_runs": int, "most_steps": int, "most_paths": int,
}  # fmt: skip
_WORLD = {
    "family": str, "vocab": (int, str), "seeds": (int, str), "denominator": int, "text": str, "target_order": int,
    "draft_order": int, "roots": int, "instance": str, "pair": str, "target": str, "draft": str,
    "prompts": str, "bos": str, "context": int,
    "sampling": (str, list), "draft_sampling": str,
}  # fmt: skip
_SCHEME = {
    "scheme": str, "K": (int, str), "L1": (int, str), "L2": (int, str), "max_nodes": int, "max_depth": int,
    "budget": int,
}  # fmt: skip
#: Most rows of a sweep: its plan holds all of them in memory.
MOST_ROWS = 5_000_000


@dataclass(frozen=True)
class World:
    """One problem, in a form that can be sent to another process. source: all that defines it."""

    given: Given
    source: Mapping[str, Any]

    @property
    def problem(self) -> worlds.World:
        """The problem, which a process reads once."""
        return _problem(self.given)


@lru_cache(maxsize=64)
def _problem(given: Given) -> worlds.World:
    return choose_problem(given)


@dataclass(frozen=True)
class Sweep:
    """A sweep: all combinations of worlds, verifiers and schemes; those above its limits are left out.

    most_runs: of an enumeration; most_steps: of a structured engine; most_paths: `V^L` of the program of a bound. None:
    no limit, and rows that are too large are an error.
    """

    verifiers: tuple[NamedVerifier, ...]
    arithmetic: str
    questions: tuple[str, ...]
    worlds: tuple[World, ...]
    schemes: tuple[DraftScheme, ...]
    most_runs: int | None = None
    most_steps: int | None = None
    most_paths: int | None = None


class _Lines:
    """The line of each table and key of a text."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._lines = path, text.splitlines()

    def wrong(self, table_at: tuple[str, int], key: str | None, message: str) -> InvalidInput:
        """The error about a key of the n-th table of a name, or about that table."""
        return InvalidInput(f"{self._path} line {self._line(table_at, key)}: {message}")

    def _line(self, table_at: tuple[str, int], key: str | None) -> int:
        table, number = table_at
        header = re.compile(rf"\s*\[\[?\s*{re.escape(table)}\s*\]\]?\s*(#.*)?$")
        headers = [at for at, line in enumerate(self._lines, start=1) if header.match(line)]
        start = headers[number] if number < len(headers) else 1
        if key is not None:
            wanted = re.compile(rf"\s*(\"{re.escape(key)}\"|{re.escape(key)})\s*=")
            for at, line in enumerate(self._lines[start - 1 :], start=start):
                if wanted.match(line):
                    return at
                if at > start and line.lstrip().startswith("["):
                    break
        return start


def read(path: str, allow_code: bool = False) -> Sweep:
    """The sweep of a file; raises `InvalidInput` naming the line.

    allow_code: whether Python files that it names are run; if not, they are refused.
    """
    text = read_text(path, "sweep")
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+), column \d+\)", str(error))
        place = f"line {line[1]}" if line else "its end"
        raise InvalidInput(f"{cut(path)} {place}: not valid TOML: {str(error).partition(' (at')[0]}") from None
    except RecursionError:
        raise InvalidInput(f"{cut(path)} is nested too deeply; make it flatter") from None
    lines = _Lines(cut(path), text)
    for name in fields:
        if name not in ("sweep", "worlds", "schemes"):
            raise lines.wrong((name, 0), name, f"unknown {cut(name)!r}; known: [sweep], [[worlds]], [[schemes]]")
    head = _table(lines, ("sweep", 0), fields.get("sweep", {}), _SWEEP)
    verifiers, questions = _verifiers(lines, head, allow_code), _questions(lines, head)
    schemes = tuple(dict.fromkeys(_schemes(lines, _listed(lines, fields, "schemes"), allow_code)))
    rows_a_world = len(schemes) * (len(verifiers) * ("check" in questions) + ("bound" in questions))
    return Sweep(
        verifiers,
        _checked_name(lines, head, "arithmetic", "float64", lambda name: arithmetic_named(name).name),
        questions,
        tuple(_worlds(lines, _listed(lines, fields, "worlds"), rows_a_world)),
        schemes,
        head.get("most_runs"),
        head.get("most_steps"),
        head.get("most_paths"),
    )


def _listed(lines: _Lines, fields: Mapping[str, Any], name: str) -> list[Any]:
    tables = fields.get(name)
    if not isinstance(tables, list) or not tables:
        raise lines.wrong((name, 0), name, f"there is no [[{name}]]; give at least one")
    return tables


def _table(lines: _Lines, table_at: tuple[str, int], table: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise lines.wrong(table_at, table_at[0], f"{table_at[0]} is no table; write [{table_at[0]}] above its keys")
    for key, value in table.items():
        if key not in kinds:
            raise lines.wrong(table_at, key, f"unknown key {cut(key)!r} in {table_at[0]}; known: {', '.join(kinds)}")
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            raise lines.wrong(table_at, key, f"{key} = {cut(repr(value))} is of the wrong kind")
    return table


def _checked_name(lines: _Lines, head: Mapping[str, Any], key: str, default: str, parse: Callable[[str], str]) -> str:
    with _at(lines, ("sweep", 0), key):
        return parse(head.get(key, default))


def _verifiers(lines: _Lines, head: Mapping[str, Any], allow_code: bool) -> tuple[NamedVerifier, ...]:
    specs = head.get("verifiers", [])
    if not specs or not all(isinstance(spec, str) for spec in specs):
        raise lines.wrong(("sweep", 0), "verifiers", 'verifiers must be a list of names, such as ["naive", "block"]')
    with _at(lines, ("sweep", 0), "verifiers"):
        return tuple(find_verifier(_allowed(spec, allow_code)) for spec in dict.fromkeys(specs))


def _allowed(spec: str, allow_code: bool) -> str:
    """The text of a verifier or a scheme; raises `InvalidInput` where it means code that may not be run."""
    if from_file(spec) and not allow_code:
        raise InvalidInput(f"{cut(spec)} is a Python file; it is run only with --allow-code")
    return spec


def _questions(lines: _Lines, head: Mapping[str, Any]) -> tuple[str, ...]:
    questions = head.get("questions", ["check"])
    if not questions or any(question not in QUESTIONS for question in questions):
        raise lines.wrong(
            ("sweep", 0), "questions", f"questions = {cut(repr(questions))}; choose from {', '.join(QUESTIONS)}"
        )
    return tuple(dict.fromkeys(questions))


def _worlds(lines: _Lines, tables: list[Any], rows_a_world: int) -> Iterator[World]:
    """The worlds of a file. rows_a_world: the number of rows of each."""
    rows = 0
    for number, table in enumerate(tables):
        table_at = ("worlds", number)
        fields = dict(_table(lines, table_at, table, _WORLD))
        kinds: list[str] = [key for key in ("pair", "target") if key in fields]  # `text` may be beside them, for roots
        kinds = kinds or [key for key in ("family", "text", "instance") if key in fields]
        if len(kinds) != 1:
            raise lines.wrong(table_at, None, "a world is a family, a text, an instance or models; give one of them")
        sizes = _range(lines, table_at, fields, "vocab", kinds[0])
        seeds = _range(lines, table_at, fields, "seeds", kinds[0])
        samplings = _samplings(lines, table_at, fields)
        rows += len(samplings) * len(sizes) * len(seeds) * rows_a_world
        if rows > MOST_ROWS:
            raise lines.wrong(table_at, "seeds", f"{rows:,} rows are more than {MOST_ROWS:,}; make the ranges smaller")
        for sampling, size in product(samplings, sizes):
            with _at(lines, table_at, kinds[0]):
                given = Given(**{**fields, "sampling": sampling, "vocab": size, "seed": seeds[0] or 0})
                source = _problem(given).source
            for seed in seeds:  # the seed is the only difference
                yield World(replace(given, seed=seed or 0), {**source, **({"seed": seed} if seed is not None else {})})


def _samplings(lines: _Lines, table_at: tuple[str, int], fields: dict[str, Any]) -> list[str | None]:
    """The sampling settings; each makes a world of its own."""
    value = fields.pop("sampling", None)
    samplings = value if isinstance(value, list) else [value]
    if not samplings or not all(sampling is None or isinstance(sampling, str) for sampling in samplings):
        wanted = 'such as "temperature=.5", or a list of such'
        raise lines.wrong(table_at, "sampling", f"sampling = {cut(repr(value))}; give how tokens are drawn, {wanted}")
    return list(dict.fromkeys(samplings))


def _range(
    lines: _Lines, table_at: tuple[str, int], fields: dict[str, Any], key: str, kind: str
) -> Sequence[int | None]:
    value = fields.pop(key, None)
    if value is None:
        return [None]
    if kind == "instance" or (kind in ("text", "pair", "target") and key == "seeds"):
        raise lines.wrong(table_at, key, f"{key} has no effect on this {kind}; leave it out")
    match = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9}))?", str(value).strip())
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise lines.wrong(table_at, key, f'{key} = {cut(repr(value))}; give a whole number or a range such as "0..99"')
    return range(int(match[1]), int(match[2] or match[1]) + 1)


def _schemes(lines: _Lines, tables: list[Any], allow_code: bool) -> Iterator[DraftScheme]:
    for number, table in enumerate(tables):
        table_at = ("schemes", number)
        fields = _table(lines, table_at, table, _SCHEME)
        spec = fields.get("scheme", "delayed")
        ranges: dict[str, Sequence[int]] = {}
        for flag in ("K", "L1", "L2"):
            if flag in fields:
                with _at(lines, table_at, flag):
                    ranges[flag] = parse_range(str(fields[flag]), flag)
        with _at(lines, table_at, "scheme"):
            _allowed(spec, allow_code)
            built = shapes(
                lambda spec=spec, **shape: build_scheme(spec, None, None, **shape),
                ranges, fields.get("budget"), fields.get("max_nodes"),
            )  # fmt: skip
        deepest = fields.get("max_depth")
        yield from (scheme for scheme in built if deepest is None or scheme.depth <= deepest)


@contextmanager
def _at(lines: _Lines, table_at: tuple[str, int], key: str) -> Iterator[None]:
    """Errors raised inside name the line of this key."""
    try:
        yield
    except DraftproofError as error:
        raise lines.wrong(table_at, key, cut(str(error), 240)) from None
