"""Reads the arguments of an audit: the function, how it is called, and the instances."""

import ast
import importlib
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem
from draftproof.experiments.inputs.schemes import planned_on
from draftproof.experiments.inputs.worlds import FamilyWorld, World
from draftproof.experiments.shared.progress import quiet
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import Audit, SelfDrafted, default_cases, make_audit
from draftproof.simulator.audit.instances import DENOMINATOR, also_cases
from draftproof.simulator.audit.ragged import of_lengths
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.symbolic import LocatedFunction, function_in_module, locate_function, patches


def load_audit(spec: str, arguments: Sequence[str], **options: Any) -> Audit:
    """`FILE.py:FUNCTION` or `MODULE:FUNCTION` with how it is to be called; raises `InvalidInput`.

    FUNCTION may be `CLASS.METHOD`. arguments: NAME=VALUE; "self.NAME" and "global.NAME" set what the function reads.
    """
    typed = {text.partition("=")[0]: text.partition("=")[2] for text in arguments}
    where, colon, name = spec.rpartition(":")
    if not colon or not name:
        raise InvalidInput(f"{spec!r} names no function; write FILE.py:FUNCTION or MODULE:FUNCTION")
    keywords = parse_arguments(arguments)
    environment = {key: value for key, value in keywords.items() if "." in key}
    plain = {key: value for key, value in keywords.items() if key not in environment}
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
            raise InvalidInput(f"--argument {text!r}: write NAME=VALUE")
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


def chosen_cases(
    audit: Audit, given: Given, shape: opt.Shape, lengths: str | None, cases: str | None, instances: int | None
) -> list[Case]:
    """The instances to be judged: those given, or the default ones. Raises `InvalidInput` on a contradiction.

    lengths: of independent paths of unequal length, which only audits have.
    """
    interface = audit.audited.interface
    flags = {"--instance": given.instance, "--text": given.text, "--family": given.family, "--vocab": given.vocab}
    flags |= {"--pair": given.pair, "--target": given.target, "--draft": given.draft}
    source_flag = next((flag for flag, value in {**flags, "--instances": instances}.items() if value), None)
    if source_flag is None:
        chosen = None if cases is None else names_of(cases)
        scheme = _scheme(audit, shape, lengths, None)
        made = _sampled(given, default_cases(interface, scheme, chosen, audit.batch > 1, audit.audited.sorts))
        return made if chosen else audit.legal(made)
    if cases is not None:
        raise InvalidInput(f"--cases names default instances, {source_flag} gives others; leave one of them out")
    if instances is not None and given.denominator is None and given.instance is None:
        given = replace(given, denominator=DENOMINATOR)
    problem = choose_problem(given, told=True)
    scheme = _scheme(audit, shape, lengths, problem)
    assert scheme is not None
    if instances is None:
        roots = problem.cases(scheme.depth, RATIONAL)
    elif isinstance(problem, FamilyWorld):
        seeds = range(problem.seed, problem.seed + instances)
        roots = [problem.member(seed, scheme.depth, RATIONAL) for seed in seeds]
    else:
        raise InvalidInput(f"--instances makes its own instances; leave out {problem.flag}")
    return [replace(root, title=f"{problem}", draft_scheme=scheme) for root in roots]


def names_of(text: str | None) -> list[str]:
    """The names of a list with commas; none of None."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def added_cases(
    audit: Audit, given: Given, shape: opt.Shape, lengths: str | None, also: Sequence[str], known: Sequence[Case]
) -> list[Case]:
    """The cases of `--also`; raises `InvalidInput` for a name that it does not have."""
    scheme = _scheme(audit, shape, lengths, None)
    return _sampled(given, also_cases(audit.audited.interface, scheme, also, known, audit.batch > 1))


def _sampled(given: Given, cases: Sequence[Case]) -> list[Case]:
    drawn = [given.samplings.cases([case], case.scheme.depth, None)[0] for case in cases]
    return [replace(case, draft_scheme=planned_on(case.scheme, [case])) for case in drawn]


def _ragged(audit: Audit, shape: opt.Shape, lengths: str) -> DraftScheme:
    """Paths of different lengths, or requests of a batch, which only audits have."""
    if shape != opt.Shape():
        raise InvalidInput("--lengths determines the drafts; leave out every other option of the shape")
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", lengths):
        raise InvalidInput(f"--lengths {lengths}: write whole numbers, the longest first: 2,1")
    return of_lengths([int(length) for length in lengths.split(",")], audit.audited.interface.multi_path, audit.batch)


def _scheme(audit: Audit, shape: opt.Shape, lengths: str | None, problem: World | None) -> DraftScheme | None:
    """The scheme that the options give; None if there are none, as default instances have their own."""
    interface, no_shape = audit.audited.interface, shape == opt.Shape()
    if lengths is not None:
        return _ragged(audit, shape, lengths)
    if interface.drafts:
        if shape != opt.Shape(L2=shape.L2):
            raise InvalidInput(
                f"the {interface.name} interface drafts by itself; of the shape give only --L2, the number of tokens"
            )
        if no_shape and problem is None:
            return None
        return SelfDrafted(2 if shape.L2 is None else shape.L2)
    if no_shape and problem is None:
        return None
    if not interface.multi_path and shape.scheme in (None, "delayed"):
        if shape.K not in (None, 1):
            raise InvalidInput(f"the interface {interface.name} takes one path; leave out --K {shape.K}")
        if not no_shape or not hasattr(getattr(problem, "instance", None), "scheme"):
            shape = replace(shape, K=1)
    return opt.choose_scheme(shape, problem)
