"""From the text of a command line, or a Python file, to verifiers and other objects, and how their laws are computed.

`optimum` is planned anew for every instance and shape, then run like any other.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import re
import sys
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

from draftproof import verifiers
from draftproof.experiments.inputs.grammar import once, parse_assignments
from draftproof.experiments.shared.code import PYTHON_FILE, file_digest, track_files
from draftproof.experiments.shared.progress import quiet
from draftproof.simulator.arithmetic import RATIONAL, parse_fraction
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, cut, printable
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.structured.size import MEMORY
from draftproof.simulator.laws.structured.steady import SteadyState
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.origins import is_library
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, TokenProcess, Verdict, Verifier
from draftproof.simulator.raised import user_lines
from draftproof.simulator.verdicts.costs import MOST_RUNS
from draftproof.simulator.verdicts.lossless import Check, Evaluator
from draftproof.simulator.verdicts.validation import check_card, check_verifier

#: Certified gap of the plans.
GAP = 1e-6
#: Those shown where none is named: all but `optimum`, which is planned for one instance and tree, and but the declared
#: lossy ones that no serving engine has.
USUAL = tuple(
    name
    for name in verifiers.STANDALONE
    if name in ("ensemble", "typical", "threshold") or verifiers.REGISTRY[name].card.status != "declared lossy"
)


@dataclass(frozen=True)
class Planned:
    """Stands for an entry of the registry that is made from a plan; it has a card and cannot run by itself."""

    name: str = "optimum"

    @property
    def card(self) -> Card:
        """The card of the entry."""
        card: Card = verifiers.REGISTRY[self.name].card
        return card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Always raises `InvalidInput`."""
        raise InvalidInput(f"{self.name} is planned for one instance and one shape; use it with check or compare")


class PlannedEvaluator(Evaluator):
    """An `Evaluator` that makes the verifier for each instance, from the optimum of its exact rows."""

    def check(
        self, target: TokenProcess, draft: TokenProcess, scheme: DraftScheme, progress: Progress | None = None
    ) -> Check:
        """See `Evaluator.check`; raises `InvalidInput` for other schemes than delayed trees."""
        from draftproof.lp_analysis import optimum

        if not isinstance(scheme, Delayed):
            raise InvalidInput(f"{self.verifier.card.name} is planned for delayed trees, not for {scheme}")
        rows = Instance.of(target, draft, scheme.depth, RATIONAL)
        if rows.draft.told is not None:
            raise InvalidInput(
                f"{self.verifier.card.name} is planned for the q that tokens are drawn from and promises nothing where "
                "verifiers are told another one; leave it out, or tell them that q"
            )
        plan = optimum(rows.target, rows.draft, scheme, gap=GAP).plan
        made = verifiers.make(self.verifier.card.name, plan=plan, draft_tables=rows.draft.tables)
        evaluator = Evaluator(made, self.arithmetic, self.engine, self.device, self.memory)
        return evaluator.check(rows.target, rows.draft, scheme, progress)

    def steady_state(self, target: TokenProcess, draft: TokenProcess, scheme: Delayed) -> SteadyState:
        """See `Evaluator.steady_state`; in float64, of the plans that are best for one block in each state."""
        from draftproof.lp_analysis.potentials import best_blocks

        return SteadyState(best_blocks(target, draft, scheme, GAP), None)


def evaluator(
    verifier: Verifier, arithmetic: str, engine: str, device: str | None = None, memory: float = MEMORY
) -> Evaluator:
    """The evaluator of one verifier, arguments as for `Evaluator`; `optimum` is planned for each instance."""
    kind = PlannedEvaluator if isinstance(verifier, Planned) else Evaluator
    # The tests of the registry show of each that it ranks tokens with the same p/q in floats as in rationals.
    ties_tested = type(verifier).__module__.partition(".")[0] == verifiers.__name__
    return kind(verifier, arithmetic, engine, device, memory, ties_tested)


@dataclass(frozen=True)
class Settings:
    """How laws are computed. max_runs: of an enumeration. max_memory: bytes for a structured evaluation.

    steady: whether the block efficiency in the long run, block after block, is computed too.
    """

    arithmetic: str
    engine: str
    max_runs: int = MOST_RUNS
    max_memory: float = 2.0**32
    device: str | None = None
    jobs: int = 1
    steady: bool = False

    def __post_init__(self) -> None:
        if self.max_runs < 1:
            raise InvalidInput(f"max_runs {self.max_runs}: give at least 1")
        if not self.max_memory > 0:
            raise InvalidInput(f"max_memory {self.max_memory / 2**30:g}: give more than 0 GiB")

    def evaluator(self, named: NamedVerifier) -> Evaluator:
        """The evaluator of one verifier."""
        return evaluator(named.verifier, self.arithmetic, self.engine, self.device, self.max_memory)


def choose_settings(
    arithmetic: str, engine: str, max_runs: int, max_memory: float, backend: str, jobs: int = 1, steady: bool = False
) -> Settings:
    """The settings from parameters, `max_memory` in GiB; raises `InvalidInput` for two that contradict each other."""
    devices = {"numpy": None, "torch": "cpu", "cuda": "cuda"}
    if backend not in devices:
        raise InvalidInput(f"unknown backend {backend!r}; choose {', '.join(devices)}")
    if arithmetic_named(arithmetic).exact and devices[backend]:
        raise InvalidInput(f"backend {backend} holds no rationals; use arithmetic float64, or use backend numpy")
    return Settings(arithmetic, engine, max_runs, max_memory * 2**30, devices[backend], jobs, steady)


@dataclass(frozen=True)
class NamedVerifier:
    """A verifier with the text that names it: `block`, `ensemble:w=1/2` or `mine.py:MyVerifier`."""

    spec: str
    verifier: Verifier

    def __reduce__(self) -> tuple[object, ...]:
        return find_verifier, (self.spec,)  # a class of a file may not be importable in another process

    @property
    def user_defined(self) -> bool:
        """Whether it is none of the library: from a file, or an object given in Python."""
        return self.from_file or not is_library(self.verifier)

    @property
    def from_file(self) -> bool:
        """Whether it is user-defined and named by its file."""
        return from_file(self.spec)

    @property
    def label(self) -> str:
        """Its name in tables and rows: with the file if it is user-defined and has a name of the registry."""
        name = self.verifier.card.name
        return name if self.from_file and name not in verifiers.REGISTRY else printable(self.spec)

    @property
    def identity(self) -> dict[str, Any]:
        """What decides its results: name and parameters, and for a file its content."""
        name = self.verifier.card.name
        if self.from_file:
            file = file_parts(self.spec)[0]
            return {"file": file_digest(file), "name": name, "spec": self.spec}
        if isinstance(self.verifier, Planned):
            return {"name": name, "gap": GAP}
        return {"name": name, **{key: str(getattr(self.verifier, key)) for key in self.verifier.card.parameters}}


#: One or several verifiers as a verb takes them: a name, `FILE.py:NAME`, an object, or a list of these.
Verifiers: TypeAlias = str | Verifier | Sequence[Any]
#: A verifier on a scheme.
Combination: TypeAlias = tuple[NamedVerifier, DraftScheme]


def from_file(spec: str) -> bool:
    """Whether the text names an object of a Python file."""
    return bool(PYTHON_FILE.search(spec))


def find_verifier(spec: str) -> NamedVerifier:
    """`NAME`, `NAME:param=value,...` from the registry, or `FILE.py:NAME`; raises `InvalidInput`."""
    if from_file(spec):
        return NamedVerifier(spec, _from_file(spec))
    name, parameters = _split(spec)
    if name in verifiers.IMPOSSIBLE:
        raise InvalidInput(verifiers.IMPOSSIBLE[name])
    if name not in verifiers.REGISTRY:
        close = get_close_matches(name, verifiers.REGISTRY, n=1)
        hint = f"did you mean {close[0]!r}" if close else f"known: {', '.join(verifiers.REGISTRY)}"
        raise InvalidInput(f"unknown verifier {name!r}; {hint}, or FILE.py:NAME for one of your own{'?' * bool(close)}")
    if name not in verifiers.STANDALONE:
        if parameters:
            raise InvalidInput(f"{spec!r}: {name} is planned for each instance; it takes no parameters here")
        return NamedVerifier(spec, Planned(name))
    return NamedVerifier(spec, verifiers.make(name, **{key: _value(value) for key, value in parameters.items()}))


def family_parameter(text: str, where: str) -> float:
    """A number of a family; where: what it belongs to, for errors. Raises `InvalidInput`."""
    try:
        return float(parse_fraction(text))
    except OverflowError:
        raise InvalidInput(f"{where}: {cut(text)} is too large for a float; give a smaller number") from None


def _split(spec: str) -> tuple[str, dict[str, str]]:
    name, _, rest = spec.partition(":")
    return name, parse_assignments(rest, name, spec)


def _value(text: str) -> Fraction | str:
    """A number, or a name, which may have parameters of its own (`ensemble:w=1/2`, as the value of a parameter)."""
    return text if text.partition(":")[0].isidentifier() else parse_fraction(text)


def file_parts(spec: str) -> tuple[str, str, str]:
    """`FILE.py:NAME:key=value,..` in its three parts; raises `InvalidInput` without a name."""
    match = re.fullmatch(r"(.*?\.py)(?::([^:]+))?(?::(.*))?", spec)
    if match is None or not match[2]:
        raise InvalidInput(f"{spec} does not say which object of the file is meant; write {spec.rstrip(':')}:NAME")
    return match[1], match[2], match[3] or ""


def loaded(spec: str, kind: str) -> tuple[Any, dict[str, Any]]:
    """The object `FILE.py:NAME`, and the parameters after it: numbers where they look like numbers.

    kind: what the object should be, for errors. Raises `InvalidInput`, with lines of the file if its import fails.
    """
    file, name, rest = file_parts(spec)
    module = _imported(file, kind)
    if not hasattr(module, name):
        close = get_close_matches(name, dir(module), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "write the name that it has there"
        raise InvalidInput(f"{file} has no {name!r}; {hint}")
    return getattr(module, name), {key: _plain(text) for key, text in parse_assignments(rest, name, spec).items()}


def _plain(text: str) -> Any:
    """A whole number, a fraction, or the text itself."""
    try:
        value = parse_fraction(text)
    except InvalidInput:
        return text
    return int(value) if value.denominator == 1 else value


class _FromSource(importlib.machinery.SourceFileLoader):
    """Compiles a file as it is now: compiled modules on disk pass for new where size and second of a change agree."""

    def get_code(self, fullname: str) -> types.CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _imported(file: str, kind: str) -> Any:
    """The module of a file."""
    path = Path(file)
    if not path.is_file():
        raise InvalidInput(f"no file {file}; give your {kind} as FILE.py:NAME")
    name = f"draftproof_user_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}_{path.stem}"
    module_spec = importlib.util.spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module  # dataclasses look their module up
    track_files(path)
    sys.path.insert(0, str(path.parent.resolve()))  # as for a script: modules in the same folder can be imported
    try:
        with quiet():
            module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{file} cannot be used: {user_lines(error)}") from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    return module


def made(spec: str, kind: str) -> Any:
    """The object `FILE.py:NAME`, or what its class is called with the parameters; raises `InvalidInput`."""
    entry, parameters = loaded(spec, kind)
    file, name, _ = file_parts(spec)
    if parameters and not isinstance(entry, type):
        raise InvalidInput(f"{spec}: {name} is an object and takes no {min(parameters)}; give parameters to a class")
    try:
        with quiet():
            return entry(**parameters) if isinstance(entry, type) else entry
    except (Exception, SystemExit) as error:
        way_out = ""
        if isinstance(error, TypeError) and not parameters:
            way_out = "; parameters are written as FILE.py:NAME:key=value"
        raise InvalidInput(f"{file} cannot be used: {user_lines(error)}{way_out}") from error


def _from_file(spec: str) -> Verifier:
    verifier = made(spec, "verifier")
    file, name, _ = file_parts(spec)
    if not (isinstance(verifier, Verifier) and isinstance(verifier.card, Card)):
        raise InvalidInput(f"{name!r} in {file} is no verifier: it needs a `card` and `verify(root, coin)`")
    check_card(verifier.card)
    return verifier


def assert_distinct(named: Sequence[NamedVerifier]) -> None:
    """Raise `InvalidInput` for two verifiers with the same label."""
    for one, other in combinations(named, 2):
        if one.label == other.label:
            raise InvalidInput(f"{one.spec} and {other.spec} are both called {one.label!r}; rename one card")


def as_verifier(verifier: Any) -> NamedVerifier:
    """A verifier from `traversal`, `mixed_order:a=1/3`, `FILE.py:NAME` or an object; raises `InvalidInput`."""
    if isinstance(verifier, str):
        return find_verifier(verifier)
    check_verifier(verifier)
    return NamedVerifier(verifier.card.name, verifier)


def as_verifiers(given: Any) -> list[NamedVerifier]:
    """Verifiers from one argument of `as_verifier`, or several, each once."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    named = [as_verifier(verifier) for verifier in (once(given) if several else [given])]
    if not named:
        raise InvalidInput("no verifier is given; name one, such as 'traversal'")
    return named
