"""Which tiny constants of a file are used as guards, read from its source; every other use is none.

A guard is added to a number, or is a bound in `max`, `clamp` and the like. A number that a comparison, a draw or an
unknown function gets is the probability of a rare event as far as this can tell.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

#: Functions that bound a number by a constant; and names of arguments that are guards of functions of libraries.
BOUNDS = frozenset(["max", "min", "maximum", "minimum", "fmax", "fmin", "clip", "clip_", "clamp", "clamp_"])
BOUNDS |= {"clamp_min", "clamp_min_", "clamp_max", "clamp_max_", "masked_fill", "masked_fill_", "where"}
EPSILONS = frozenset(["eps", "epsilon"])


class Uses:
    """The uses of constants and names in one file. Without its source nothing is a guard."""

    def __init__(self, source: str) -> None:
        try:
            self.tree = ast.parse(source)
        except (SyntaxError, ValueError):
            self.tree = ast.parse("")
        self.empty = not self.tree.body
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.functions = {
            node.name: node for node in ast.walk(self.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self._guards: dict[str, bool] = {}

    def constant(self, value: float, lines: frozenset[int]) -> bool:
        """Whether every use of a constant on these lines is that of a guard."""
        nodes = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and node.value == value and node.lineno in lines
        ]
        return bool(nodes) and all(map(self._is_guard, nodes))

    def name(self, name: str) -> bool:
        """Whether every use of a name is that of a guard; True for one that is not used."""
        if name not in self._guards:
            self._guards[name] = True  # for names that are assigned to each other
            self._guards[name] = not self.empty and all(map(self._is_guard, self._read(name)))
        return self._guards[name]

    def default(self, function: str, index: int) -> bool:
        """Likewise for the parameter of a function with this number among the defaults."""
        node = self.functions.get(function)
        if node is None:
            return True
        parameters = [*node.args.posonlyargs, *node.args.args][-len(node.args.defaults) :]
        return index >= len(parameters) or self.name(parameters[index].arg)

    def _read(self, name: str) -> Iterator[ast.AST]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                yield node
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                yield node

    def _is_guard(self, node: ast.AST) -> bool:
        parent = self.parents.get(node)
        if isinstance(parent, ast.AugAssign):
            return isinstance(parent.op, (ast.Add, ast.Sub)) and not self._is_compared(node, set())
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return all(map(self._is_target, targets))
        if isinstance(parent, ast.BinOp):
            return self._is_added(node, parent)
        if isinstance(parent, (ast.IfExp, ast.BoolOp)):
            return not isinstance(self.parents.get(parent), ast.Compare)
        if isinstance(parent, ast.arguments):
            return True  # as `default` asks about the parameter
        call = self.parents.get(parent) if isinstance(parent, ast.keyword) else parent
        return isinstance(call, ast.Call) and self._is_argument(node, call)

    def _is_target(self, target: ast.AST) -> bool:
        if isinstance(target, ast.Subscript):
            return True
        name = getattr(target, "id", getattr(target, "attr", None))
        return name is not None and self.name(name)

    def _is_added(self, node: ast.AST, parent: ast.BinOp) -> bool:
        if not isinstance(parent.op, (ast.Add, ast.Sub)):
            return False
        other = parent.right if parent.left is node else parent.left
        if isinstance(other, ast.Constant):
            return self._is_guard(parent)
        return not self._is_compared(parent, set())

    def _is_compared(self, node: ast.AST, seen: set[ast.AST]) -> bool:
        """Whether a number decides by itself, also by its name, bounded or times a constant: `u < p + 1e-7`.

        What it is added to may be nothing, so that this is a rare event.
        """
        above = self.parents.get(node)
        if node in seen or above is None:
            return False
        seen.add(node)
        if isinstance(above, ast.Compare):
            return True
        if isinstance(above, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign)):
            targets = above.targets if isinstance(above, ast.Assign) else [above.target]
            reads = [read for target in targets for read in self._read(getattr(target, "id", ""))]
            walrus = isinstance(above, ast.NamedExpr) and self._is_compared(above, seen)
            return walrus or any(self._is_compared(read, seen) for read in reads)
        if isinstance(above, ast.BinOp):
            other = above.right if above.left is node else above.left
            return isinstance(other, ast.Constant) and self._is_compared(above, seen)
        if isinstance(above, ast.Call):
            name = getattr(above.func, "id", getattr(above.func, "attr", ""))
            return name in BOUNDS and self._is_compared(above, seen)
        return isinstance(above, (ast.UnaryOp, ast.IfExp)) and self._is_compared(above, seen)

    def _is_argument(self, node: ast.AST, call: ast.Call) -> bool:
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        keyword = next((item.arg for item in call.keywords if item.value is node), None)
        function = self.functions.get(name)
        if function is not None:
            names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
            names = names[1:] if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else names
            place = next((i for i, item in enumerate(call.args) if item is node), len(names))
            parameter = keyword if keyword is not None else names[place] if place < len(names) else None
            return parameter is not None and self.name(parameter)
        if name in BOUNDS:
            return not isinstance(self.parents.get(call), ast.Compare)
        return keyword in EPSILONS


@lru_cache(maxsize=64)
def _parsed(source: str) -> Uses:
    return Uses(source)


def uses_in(code: CodeType) -> Uses:
    """The uses in the file of a code."""
    return _parsed("".join(linecache.getlines(code.co_filename)))


def lines_of(code: CodeType) -> frozenset[int]:
    """The lines of a code, with those of an expression that goes over many."""
    lines = [line for _, _, line in code.co_lines() if line]
    return frozenset(range(min(lines), max(lines) + 1)) if lines else frozenset()
