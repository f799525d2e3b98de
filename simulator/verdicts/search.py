"""Shrinks an instance that refutes a verifier to a minimal witness, by Hypothesis, which is slow to import."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import log10
from pathlib import Path
from random import Random
from tempfile import gettempdir
from threading import RLock
from typing import Any, TypeAlias

import hypothesis.strategies as st
from flint import fmpq
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import Flaky, HypothesisDeprecationWarning, NoSuchExample

from draftproof.simulator.errors import DraftproofError, Fails, NoFunction
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import rationalise
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.grids import DENOMINATOR, assemble, inner_contexts
from draftproof.simulator.verdicts.lossless import Check, Judge, check
from draftproof.simulator.verdicts.witness import Witness

#: Random examples tried on each shape.
SEARCH_EXAMPLES = 200
#: Shapes with at most so many draft trees are enumerated; larger ones use the engine "auto".
ENUMERATED = 20_000
#: Of sampled instances: the most tokens, and the denominator where sampling is not rational.
LARGEST_DRAWN, ROUNDED = 8, 2**10
#: Hypothesis keeps caches and reads sources by `ast`, which several threads at once make fail in Python 3.11.
_ONE_AT_A_TIME = RLock()

_TWICE = (
    "it failed on one instance in one run and not in the next: verify must be a function of the tree and the coin, "
    "without state, time or other randomness"
)

#: Whether a property fails on an exact instance with a scheme.
Failing: TypeAlias = Callable[[Instance, DraftScheme], bool]


def shrink(
    verifier: Verifier,
    known: Instance,
    scheme: DraftScheme,
    examples: int = SEARCH_EXAMPLES,
    judge: Judge | None = None,
    drawn: Samplings | None = None,
) -> Witness:
    """The smallest witness found for a verifier that is known to fail on an exact instance.

    Shapes are tried from the smallest up (fewest tokens, then shallowest tree, then fewest drafted
    tokens); on the first shape with a violation Hypothesis shrinks the fractions. The same verifier and
    shape give the same witness every time, whatever instance failed first. Only where random examples find no
    violation on any shape, the rows of `known` are simplified instead. Small shapes are enumerated, so that a witness
    does not depend on the structure of a verifier.
    judge: used in place of `check`, for example an audit. drawn: how instances are sampled before they are judged, with
    what verifiers are told of q; then at most `LARGEST_DRAWN` tokens are tried, and `known` stays as it is.
    Raises `NoFunction` for a verifier that fails on an instance, but not in a second run on it.
    """
    judge = judge or partial(_judge, verifier)

    def sampled(instance: Instance, smaller: DraftScheme) -> Instance:
        if drawn is None or instance is known:
            return instance
        return drawn.cases([Case("", instance.target, instance.draft)], smaller.depth, ROUNDED)[0].rows(smaller.depth)

    def judged(instance: Instance, smaller: DraftScheme) -> Check:
        return judge(sampled(instance, smaller), smaller)

    largest = None if drawn is None else LARGEST_DRAWN
    minimal, smaller = smallest(partial(_violates, judged), known, scheme, examples, largest)
    checked = judged(minimal, smaller)
    if checked.lossless:
        raise NoFunction(_TWICE)
    return Witness.of(sampled(minimal, smaller), checked, shrunk=minimal is not known)


def shrink_failure(verifier: Verifier, failure: Fails, examples: int = SEARCH_EXAMPLES) -> Fails:
    """The failure on the smallest instance found, in the order of `shrink`; as it is where it is not of exact rows."""
    known, smallest_failure = failure.instance, failure

    def fails(instance: Instance, scheme: DraftScheme) -> bool:
        nonlocal smallest_failure
        try:
            _judge(verifier, instance, scheme)
        except Fails as error:
            smallest_failure = error
            return True
        except DraftproofError:
            return False
        return False

    if known.target.arithmetic.exact and known.draft.told is None and fails(known, known.scheme):
        fails(*smallest(fails, known, known.scheme, examples))
    return smallest_failure


def smallest(
    fails: Failing, known: Instance, scheme: DraftScheme, examples: int = SEARCH_EXAMPLES, largest: int | None = None
) -> tuple[Instance, DraftScheme]:
    """The smallest instance found on which a property fails, with its scheme, in the order of `shrink`.

    known: an exact instance on which it fails on `scheme`. largest: how many tokens are tried at most, where `known` is
    not simplified.
    """
    for size in range(2, min(known.vocab_size, largest or known.vocab_size) + 1):
        for smaller in scheme.reductions():
            minimal = _search(fails, _instances(size, smaller), smaller, examples)
            if minimal is not None:
                return minimal, smaller
    return known if largest else _simplify(fails, known, scheme), scheme


def _judge(verifier: Verifier, instance: Instance, scheme: DraftScheme) -> Check:
    small = scheme.nodes * log10(instance.vocab_size) <= log10(ENUMERATED)
    return check(verifier, instance.target, instance.draft, scheme, engine="enumerate" if small else "auto")


def _violates(judge: Judge, instance: Instance, scheme: DraftScheme) -> bool:
    try:
        return not judge(instance, scheme).lossless
    except DraftproofError:  # a verifier may refuse a smaller tree: that is no violation
        return False


def _simplify(fails: Failing, instance: Instance, scheme: DraftScheme) -> Instance:
    """Round one row after the other to the smallest denominator for which the property still fails."""
    for name, depths in (("target", scheme.depth + 1), ("draft", max(scheme.depth, 1))):
        for depth in range(depths):
            for row in range(instance.vocab_size**depth):
                for denominator in range(1, DENOMINATOR + 1):
                    simpler = _with_row(instance, name, depth, row, denominator)
                    if fails(simpler, scheme):
                        instance = simpler
                        break
    return instance


def _with_row(instance: Instance, name: str, depth: int, row: int, denominator: int) -> Instance:
    """The instance with one row rounded to a denominator."""
    process: TableProcess = getattr(instance, name)
    tables = [table.copy() for table in process.tables]
    tables[depth][row] = rationalise(tables[depth][row : row + 1].astype(float), denominator)[0]
    changed = TableProcess(tables, name)
    return replace(instance, target=changed) if name == "target" else replace(instance, draft=changed)


def _search(fails: Failing, instances: Any, scheme: DraftScheme, examples: int) -> Instance | None:
    options = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    set_hypothesis_home_dir(Path(gettempdir()) / "draftproof-hypothesis")  # by default it is the working directory
    try:
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisDeprecationWarning)  # another thread draws from `random`
            minimal: Instance = find(
                instances, lambda instance: fails(instance, scheme), settings=options, random=Random(0)
            )
    except NoSuchExample:
        return None
    except Flaky as error:
        raise NoFunction(_TWICE) from error
    return minimal


@st.composite
def _row(draw: Any, size: int) -> list[fmpq]:
    """A row of small fractions; shrinks towards a small denominator, then towards mass on late tokens."""
    denominator = left = draw(st.integers(1, DENOMINATOR))
    units = []
    for _ in range(size - 1):
        units.append(draw(st.integers(0, left)))
        left -= units[-1]
    return [fmpq(unit, denominator) for unit in (*units, left)]


@st.composite
def _instances(draw: Any, size: int, scheme: DraftScheme) -> Instance:
    """Instances for `scheme`; the target after the last drafted token is one generic row."""
    contexts = inner_contexts(size, scheme.depth)
    target = [draw(_row(size)) for _ in range(contexts)]
    draft = [draw(_row(size)) for _ in range(contexts)]
    return assemble(target, draft, size, scheme.depth)
