"""One function out of a file that cannot be imported: only the statements that the function needs are run.

Names from packages that are not installed become `Missing`, whose every use is refused by name. Other files of the same
checkout are read in the same way.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import copy
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.symbolic.loading import unfollowed
from draftproof.simulator.symbolic.loading.files import is_theirs, module_of, recorded
from draftproof.simulator.symbolic.where import SAMPLE, refusal


class Missing:
    """A name that could not be imported; so are its attributes. Every operation on it raises `NotFollowed`."""

    def __init__(self, name: str, package: str) -> None:
        self._missing = name, package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._missing[0]}.{name}", self._missing[1])

    def is_unfollowed(self) -> bool:
        """Whether its package is one that is never followed, so that it would be refused if it were installed, too."""
        return self._missing[1].partition(".")[0] in unfollowed.LIBRARIES

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        name, package = self._missing
        if self.is_unfollowed():
            raise refusal(f"{name} of {package} is not followed", f"where it is installed, {SAMPLE}")
        raise refusal(
            f"it uses {name}, and {package} cannot be imported here",
            f"say what it is: an argument global.{name}=VALUE",
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{self._missing[0]}, which cannot be imported>"


_REFUSED = (
    "call bool len iter next int float index contains getitem setitem enter exit eq ne lt le gt ge add radd sub rsub",
    "mul rmul truediv rtruediv floordiv mod pow neg and or xor invert matmul",
)
for _name in " ".join(_REFUSED).split():
    setattr(Missing, f"__{_name}__", Missing._refuse)


#: Folders above a file in which packages are looked for.
ABOVE = 6
_LATE_ANNOTATIONS = __future__.annotations.compiler_flag


class PartialModule:
    """The names of a file; the statements that bind a name run when that name is first asked for.

    given: values of names, in place of those in the file. notes: gets a line for everything that was left out. known:
    the other files of the checkout. Raises `InvalidInput` for a file that is no Python.
    """

    def __init__(
        self, file: Path, given: Mapping[str, Any], notes: list[str], known: dict[Path, PartialModule]
    ) -> None:
        self.file = file
        self.notes = notes
        self.known = known
        known[file.resolve()] = self
        try:
            self.tree = recorded(ast.parse(file.read_bytes(), str(file)))
        except SyntaxError as error:
            raise InvalidInput(f"{file} is no Python: {error}") from None
        self.names: dict[str, Any] = module_of(file).__dict__
        self.names.update(given)
        self._begun: set[str] = set(given)
        self._bound: dict[str, list[ast.stmt]] = {}
        self._stars: list[ast.ImportFrom] = []
        for statement in self.tree.body:
            for name in _binds(statement):
                self._bound.setdefault(name, []).append(statement)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                self._stars.append(statement)

    def has(self, name: str) -> bool:
        """Whether the file has that name, by itself or by `from .. import *`."""
        return name in self._bound or name in self._begun or self._starred(name) is not None

    def get(self, name: str) -> Any:
        """The value of a name of the file; raises `InvalidInput` where there is none."""
        self._need(name)
        if name not in self.names:
            raise InvalidInput(f"{self.file} has no {name!r}")
        return self.names[name]

    def method(self, owner: str, name: str) -> Any:
        """A function of a class or its base classes, without the class; None where there is none."""
        for statement in self._bound.get(owner, ()):
            if not isinstance(statement, ast.ClassDef):
                continue
            for item in statement.body:
                if isinstance(item, ast.FunctionDef) and item.name == name:
                    return self._function(item)
            for base in statement.bases:
                if not isinstance(base, ast.Name):
                    continue
                home = self._home(base.id)
                method = None if home is None else home.method(base.id, name)
                if method is not None:
                    return method
        return None

    def _home(self, name: str) -> PartialModule | None:
        """The file that defines a class which this file names."""
        for statement in self._bound.get(name, ()):
            if isinstance(statement, ast.ClassDef):
                return self
            if isinstance(statement, ast.ImportFrom):
                return self._neighbour(statement)
        return None

    def _function(self, definition: ast.FunctionDef) -> Any:
        """The function of a definition in a class; what the file itself calls so keeps that name."""
        for name in _reads(definition):
            self._need(name)
        same_name = self.names.get(definition.name)
        self._run([definition])
        function = self.names.pop(definition.name)
        if same_name is not None:
            self.names[definition.name] = same_name
        return function

    def _need(self, name: str) -> None:
        """Run the statements that bind a name, after those that bind the names which they read."""
        if name in self._begun or hasattr(builtins, name):
            return
        self._begun.add(name)
        if name not in self._bound:
            star = self._starred(name)
            if star is not None:
                self.names[name] = star.get(name)
            return
        for statement in self._bound[name]:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._import(statement, name)
                continue
            for read in _reads(statement):
                self._need(read)
            self._run([statement])

    def _run(self, statements: list[ast.stmt]) -> None:
        complete = [self._without_missing(statement) for statement in statements]
        code = ast.Module(complete, type_ignores=[])
        flags = _LATE_ANNOTATIONS
        try:
            exec(compile(ast.fix_missing_locations(code), str(self.file), "exec", flags, True), self.names)
        except ImportError as error:
            raise InvalidInput(f"{self.file} cannot be used: {error}") from error

    def _without_missing(self, statement: ast.stmt) -> ast.stmt:
        """The definition without decorators from missing packages, each with a note."""
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            return statement
        decorators = []
        for decorator in statement.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            package = called  # the `a` of `a.b.c`
            while isinstance(package, ast.Attribute):
                package = package.value
            missing = self.names.get(package.id) if isinstance(package, ast.Name) else None
            if isinstance(missing, Missing) and not missing.is_unfollowed():
                self.notes.append(f"the decorator {ast.unparse(called)} of {statement.name} was left out")
                continue
            decorators.append(decorator)
        statement.decorator_list = decorators
        return statement

    def _import(self, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        for alias in statement.names:
            if _bound_name(alias, statement) != name:
                continue
            neighbour = self._neighbour(statement) if isinstance(statement, ast.ImportFrom) else None
            if neighbour is not None and neighbour.has(alias.name):
                self.names[name] = neighbour.get(alias.name)
                return
            single = copy.copy(statement)
            single.names = [alias]
            try:
                exec(compile(ast.Module([single], type_ignores=[]), str(self.file), "exec"), self.names)
            except ImportError:
                module = statement.module if isinstance(statement, ast.ImportFrom) else alias.name
                self.names[name] = Missing(name, module or "this package")
                self.notes.append(f"{name} could not be imported from {module or 'this package'}")

    def _neighbour(self, statement: ast.ImportFrom) -> PartialModule | None:
        """The file of the same checkout that a statement imports from; None for installed packages."""
        parts = statement.module.split(".") if statement.module else []
        if statement.level:
            roots = [self.file.resolve().parents[statement.level - 1]]
        elif parts and self._may_be_beside(parts[0]):
            roots = list(self.file.resolve().parents[:ABOVE])
        else:
            return None
        for root in roots:
            place = root.joinpath(*parts)
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if parts and file.is_file():
                    return self.known.get(file.resolve()) or PartialModule(file, {}, self.notes, self.known)
        return None

    @staticmethod
    def _may_be_beside(package: str) -> bool:
        """Whether a package may be of this checkout: it is not installed, or what is found is user code."""
        spec = importlib.util.find_spec(package)
        return spec is None or is_theirs(spec.origin)

    def _starred(self, name: str) -> PartialModule | None:
        for statement in self._stars:
            neighbour = self._neighbour(statement)
            if neighbour is not None and neighbour is not self and neighbour.has(name):
                return neighbour
        return None


def _bound_name(alias: ast.alias, statement: ast.Import | ast.ImportFrom) -> str:
    """The name that one part of an import binds."""
    return alias.asname or (alias.name if isinstance(statement, ast.ImportFrom) else alias.name.split(".")[0])


def _binds(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a file binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield _bound_name(alias, statement)
        return
    if isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'":
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _binds(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def _reads(statement: ast.AST) -> list[str]:
    """The names that a statement may read, without its annotations."""
    names: dict[str, None] = {}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names[node.id] = None
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            waiting += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.AST)]
    return list(names)
