"""Where a file can change: cosmic-ray's operators, but for types, messages and how things print."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

#: Beginnings of names whose values are limits of size, or no behaviour at all.
_SIZES = ("MAX_", "MOST_", "__")
_ORDERS = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
_BINARY = (
    *("Add_Sub", "Add_Mul", "Sub_Add", "Mul_Div", "Mul_Add", "Div_Mul", "FloorDiv_Div", "FloorDiv_Mul", "Mod_FloorDiv"),
    *("Pow_Mul", "BitOr_BitAnd", "BitAnd_BitOr"),
)
#: Names in cosmic-ray. Left out: decorators (mostly caches), annotations, and operators no one would mistake.
OPERATORS = (
    "AddNot", "NumberReplacer", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop",
    "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub",
    "ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is",
    *(f"ReplaceComparisonOperator_{a}_{b}" for a in _ORDERS for b in _ORDERS if a != b),
    *(f"ReplaceBinaryOperator_{name}" for name in _BINARY),
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one file; place: line and column; before, after: the changed lines, without indentation."""

    path: str
    operator: str
    occurrence: int
    place: tuple[int, int]
    source: str

    @functools.cached_property
    def mutated(self) -> str:
        """The whole changed file."""
        found = mutate_code(self.source, _operator(self.operator), self.occurrence)
        assert found is not None
        return str(found)

    @functools.cached_property
    def _lines(self) -> tuple[str, str]:
        old, new = self.source.splitlines(), self.mutated.splitlines()
        first = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
        same = next(i for i, (a, b) in enumerate(zip(reversed(old), reversed(new), strict=False)) if a != b)
        parts = (" ".join(line.strip() for line in lines[first : len(lines) - same]) for lines in (old, new))
        before, after = parts
        return before, after

    @property
    def before(self) -> str:
        return self._lines[0]

    @property
    def after(self) -> str:
        return self._lines[1]


@functools.cache
def _operator(name: str) -> Any:
    return cosmic_ray.plugins.get_operator(f"core/{name}")()


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """Every mutant of a file."""
    source = (root / path).read_text()
    quiet = list(_quiet(ast.parse(source)))
    nodes = [node for node in ast_nodes(get_ast(source)) if not _inert(node)]
    found = []
    for name in OPERATORS:
        places = [tuple(start) for node in nodes for start, _ in _operator(name).mutation_positions(node)]
        for occurrence, place in enumerate(places):
            starred = name.startswith("ReplaceBinary") and _starred(source.splitlines(), place)
            if not starred and not any(low <= place < high for low, high in quiet):
                found.append(Mutant(path, name, occurrence, place, source))
    return found


def _starred(lines: list[str], place: tuple[int, int]) -> bool:
    """Whether a star stands for many arguments, which cosmic-ray takes for a product."""
    before = " ".join([*lines[: place[0] - 1], lines[place[0] - 1][: place[1]]]).rstrip()
    return before.endswith(("(", "[", "{", ",", "lambda"))


def _inert(node: Any) -> bool:
    """Whether no operator looks at a node: names, texts and punctuation, which are most of them."""
    return node.type in ("name", "newline", "string", "endmarker") or getattr(node, "value", "") in tuple("()[]{},:.=")


def _quiet(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Stretches (line, column) of types, messages, decorators, limits of size and functions that only print."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts += [node.returns, *node.decorator_list]
            if node.name in ("__repr__", "__str__", "__format__", "_repr_html_"):
                parts.append(node)
        elif isinstance(node, ast.arg):
            parts.append(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
            if "TypeAlias" in ast.unparse(node.annotation):
                parts.append(node)
        elif isinstance(node, ast.Raise):
            parts.append(node.exc)
        elif isinstance(node, (ast.JoinedStr, ast.ClassDef)):
            parts += [node] if isinstance(node, ast.JoinedStr) else node.decorator_list
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            parts += [node] if node.targets[0].id.startswith(_SIZES) else []
        for part in parts:
            if part is not None:
                yield (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)
