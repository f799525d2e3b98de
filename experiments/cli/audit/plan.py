"""Reads the arguments of an audit: the function, how it is called, and the instances."""

import ast
import importlib
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs.schemes import Schemes, find_schemes, planned_on
from draftproof.experiments.inputs.world_grammar import Worlds, find_worlds
from draftproof.experiments.inputs.worlds import FileWorld, World
from draftproof.experiments.shared.progress import quiet
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import Audit, SelfDrafted, default_cases, make_audit
from draftproof.simulator.audit.instances import also_cases
from draftproof.simulator.audit.interfaces import interface_named
from draftproof.simulator.audit.program import Program
from draftproof.simulator.audit.ragged import of_lengths
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.symbolic import LocatedFunction, function_in_module, locate_function, patches

#: Further arguments of a function as they may be given: NAME=VALUE, several of these, or values by name.
Arguments = str | Sequence[str] | Mapping[str, Any]


@contextmanager
def loaded(
    function: str | Callable[..., Any] | None,
    program: str | None,
    numbers: str | Sequence[str] | None,
    answer_seconds: float,
    arguments: Arguments,
    **options: Any,
) -> Iterator[Audit]:
    """The audit of a function, or of a program, which is ended afterwards; raises `InvalidInput`."""
    if (function is None) == (program is None):
        raise InvalidInput("name one function, FILE.py:FUNCTION or MODULE:FUNCTION, or a program")
    if function is not None:
        if numbers is not None:
            raise InvalidInput("numbers are for a program; a function is asked for them by its parameters")
        yield load_audit(function, arguments, **options)
        return
    if not 0 < answer_seconds < float("inf"):
        raise InvalidInput(f"answer_seconds {answer_seconds:g}: give a time above 0")
    settings = listed(numbers), options["batch"], answer_seconds, options["logprobs"]
    with closing(Program(str(program), interface_named(options["interface"]), *settings)) as made:
        yield load_audit(made, arguments, **options)


def load_audit(function: str | Callable[..., Any], arguments: Arguments, **options: Any) -> Audit:
    """A function with how it is to be called; raises `InvalidInput`.

    function: an object, `FILE.py:FUNCTION` or `MODULE:FUNCTION`, where FUNCTION may be `CLASS.METHOD`. arguments:
    "self.NAME" and "global.NAME" set what a function reads that is given by its name. options: of `make_audit`.
    """
    if isinstance(arguments, Mapping):
        typed, keywords = {}, dict(arguments)
    else:
        texts = [arguments] if isinstance(arguments, str) else list(arguments)
        typed = {text.partition("=")[0]: text.partition("=")[2] for text in texts}
        keywords = parse_arguments(texts)
    environment = {key: value for key, value in keywords.items() if "." in key}
    plain = {key: value for key, value in keywords.items() if key not in environment}
    if not isinstance(function, str):
        if environment:
            raise InvalidInput(f"{min(environment)} is for code of a file; set it in the object that is audited")
        return make_audit(function, keywords=plain, typed=typed, **options)
    where, colon, name = function.rpartition(":")
    if not colon or not name:
        raise InvalidInput(f"{function!r} names no function; write FILE.py:FUNCTION or MODULE:FUNCTION")
    with quiet():
        located = (
            locate_function(where, name, environment)
            if where.endswith(".py")
            else _from_module(where, name, environment)
        )
    return make_audit(located.function, name=name, keywords=plain, typed=typed, notes=located.notes, **options)


def _from_module(module: str, name: str, environment: Mapping[str, Any]) -> LocatedFunction:
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", module):
        raise InvalidInput(f"no file {module}; give your function as FILE.py:FUNCTION")
    try:
        function = getattr(importlib.import_module(module), name.partition(".")[0])
    except ImportError as error:
        missing = getattr(error, "name", None)
        if isinstance(error, ModuleNotFoundError) and missing and f"{module}.".startswith(f"{missing}."):
            extra = (
                " (pip install 'draftproof[models]')" if missing.partition(".")[0] in ("torch", "transformers") else ""
            )
            way_out = f"install it{extra}, or give FILE.py:FUNCTION"
        else:  # the module is there, and something that it imports is not
            place = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
            at = f"{Path(place[-1].filename).name} line {place[-1].lineno}"
            way_out = f"raised at {at}; install what that imports, or give FILE.py:FUNCTION"
        raise InvalidInput(f"{module} cannot be imported: {error}; {way_out}") from None
    except AttributeError:
        raise InvalidInput(f"{module} has no {name}; another version of it may have one") from None
    return function_in_module(name, function, environment)


#: What an expression among the arguments may use.
_LIBRARIES = ("math", "random", "numpy", "torch")


def _evaluated(text: str) -> Any:
    """The value of an expression; raises `InvalidInput` if it has none."""
    tree = ast.parse(text.strip(), mode="eval")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    try:
        names: dict[str, Any] = {name: importlib.import_module(name) for name in _LIBRARIES if name in used}
        if "np" in used:
            names["np"] = importlib.import_module("numpy")
        with patches.applied():  # a generator in it is a recording one
            return eval(compile(tree, "<argument>", "eval"), names)
    except Exception as error:
        raise InvalidInput(f"the argument {text} cannot be used: {type(error).__name__}: {error}") from error


def parse_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` with values as Python literals, functions as `lambda ids, x: x`, other text as it is.

    NAME may begin with `self.` or `global.`. Raises `InvalidInput`.
    """
    parsed: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        first, dot, rest = name.partition(".")
        environment = dot and first in ("self", "global") and rest.isidentifier()
        if not equals or not (name.isidentifier() or environment):
            raise InvalidInput(f"argument {text!r}: write NAME=VALUE")
        parsed[name] = _value(value)
    return parsed


def _value(text: str) -> Any:
    """A literal; an expression with a lambda or a library in it; other text as it is."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (ValueError, SyntaxError):
        return text
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if isinstance(tree.body, ast.Lambda) or named & {*_LIBRARIES, "np"}:
        return _evaluated(text)
    return text


@dataclass(frozen=True)
class Instances:
    """What says the instances of an audit, as the parameters of `draftproof.audit`.

    told: a text, or in Python a process beside two others. lengths: of independent paths, which only audits have.
    """

    world: Worlds | None = None
    scheme: Schemes | None = None
    K: int | None = None
    L1: int | None = None
    L2: int | None = None
    lengths: str | Sequence[int] | None = None
    cases: str | Sequence[str] | None = None
    also: str | Sequence[str] | None = None
    sampling: str | None = None
    draft_sampling: str | None = None
    told: Any = None

    @property
    def samplings(self) -> Samplings:
        """How tokens are drawn; raises `InvalidInput` for values out of range."""
        told = self.told if isinstance(self.told, str) else None
        return Samplings.of_options(self.sampling, self.draft_sampling, told, "")

    def chosen(self, audit: Audit) -> list[Case]:
        """The instances to be judged; raises `InvalidInput` on a contradiction."""
        judged = self._default(audit) if self.world is None else self._of_worlds(audit, self.world)
        scheme, also = self._scheme(audit, None), listed(self.also)
        added = also_cases(audit.audited.interface, scheme, also, judged, audit.batch > 1)
        return judged + self._sampled(added)

    def _default(self, audit: Audit) -> list[Case]:
        names = None if self.cases is None else listed(self.cases)
        if self.told is not None and not isinstance(self.told, str):
            raise InvalidInput("a process as told is for a world of two processes; give told as a text")
        scheme = self._scheme(audit, None)
        made = default_cases(audit.audited.interface, scheme, names, audit.batch > 1, audit.audited.sorts)
        drawn = self._sampled(made)
        return drawn if names else audit.legal(drawn)

    def _of_worlds(self, audit: Audit, worlds: Worlds) -> list[Case]:
        if self.cases is not None:
            raise InvalidInput("cases names default instances, world gives others; leave one of them out")
        judged = []
        for world in find_worlds(worlds, self.sampling, self.draft_sampling, self.told):
            scheme = self._scheme(audit, world)
            assert scheme is not None
            made = world.cases(scheme.depth, RATIONAL)
            judged += [replace(case, title=f"{world}", draft_scheme=scheme) for case in made]
        return judged

    def _sampled(self, cases: Sequence[Case]) -> list[Case]:
        drawn = [self.samplings.cases([case], case.scheme.depth, None)[0] for case in cases]
        return [replace(case, draft_scheme=planned_on(case.scheme, [case])) for case in drawn]

    def _scheme(self, audit: Audit, world: World | None) -> DraftScheme | None:
        """The scheme that is asked for; None if none is, as default instances have their own."""
        interface = audit.audited.interface
        shape = {name: getattr(self, name) for name in ("scheme", "K", "L1", "L2")}
        given = {name for name, value in shape.items() if value is not None}
        if self.lengths is not None:
            if given:
                raise InvalidInput("lengths determine the drafts; leave out the scheme, K, L1 and L2")
            return of_lengths(_whole_numbers(self.lengths), interface.multi_path, audit.batch)
        if interface.drafts and given - {"L2"}:
            raise InvalidInput(
                f"the {interface.name} interface drafts by itself; of the shape give only L2, the number of tokens"
            )
        if not given and world is None:
            return None
        if interface.drafts:
            return SelfDrafted(2 if self.L2 is None else self.L2)
        if not interface.multi_path and self.scheme in (None, "delayed"):
            if self.K not in (None, 1):
                raise InvalidInput(f"the interface {interface.name} takes one path; leave out K={self.K}")
            if given or not isinstance(world, FileWorld):
                shape["K"] = 1
        schemes = find_schemes(worlds=[] if world is None else [world], schemes=shape.pop("scheme"), **shape)
        if len(schemes) > 1:
            raise InvalidInput(f"an audit is of one scheme, not {len(schemes)}; take them one by one")
        return schemes[0]


def listed(given: str | Sequence[Any] | None) -> list[str]:
    """The parts of texts with commas, or of several things."""
    several = [given] if isinstance(given, str) else given or ()
    parts = [part.strip() for text in several for part in str(text).split(",")]
    return [part for part in parts if part]


def _whole_numbers(lengths: str | Sequence[Any]) -> list[int]:
    parts = listed(lengths)
    if not parts or not all(part.isdecimal() for part in parts):
        raise InvalidInput(f"lengths {lengths}: write whole numbers, the longest first: 2,1")
    return [int(part) for part in parts]
