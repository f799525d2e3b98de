"""The standard check: the instances on which a verifier is checked where the user names none.

The schemes are those that the verifier declares (and delayed trees for a control, or a verifier that declares none), or
one scheme that is given. Each has small shapes with V of 2 to 4, K of 1 to 3 (some with `V >= K + 2`) and trunks of 0
and 1. Each shape has the corner cases, random rational instances, and for V = 2 the grid of multiples of 1/3. The
instances are always the same, the cheapest first. After the core instances, what the card and the structure declare is
compared with `verify`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice, product

import numpy as np

from draftproof.simulator.drafts import SCHEMES, Adaptive, Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, TooLarge, UnsupportedTree
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import Card, DraftScheme, Verifier
from draftproof.simulator.verdicts.cases import (
    CASES,
    DENOMINATOR,
    SizedScheme,
    conformance_instances,
    corner_instances,
    shape_of,
)
from draftproof.simulator.verdicts.conformance import checks_for
from draftproof.simulator.verdicts.grids import grid, grid_size
from draftproof.simulator.verdicts.lossless import Check, Judge, check

#: The sizes on which every scheme with K, L1 and L2 is checked.
VOCABULARIES, BRANCHES, TRUNKS, LENGTHS = (2, 3, 4), (1, 2, 3), (0, 1), (1, 2)
#: Shapes with more than `MOST_TREES` draft trees are left out; the core has shapes with at most `CORE_TREES`.
MOST_TREES, CORE_TREES = 1_000, 70
#: Random instances of a shape: all, and those in the core.
RANDOM, CORE_RANDOM = 8, 3
CORE = len(CORNER_CASES) + CORE_RANDOM
#: For V = 2: the denominator of the grid, and its most instances; a larger grid is sampled evenly.
THIRDS, MOST_GRID = 3, 64
#: Instances on which the facts that a card declares are checked.
FACTS = 2
#: Instances of at most so many draft trees are enumerated, larger ones checked by the engine "auto".
ENUMERATED = 300


@dataclass(frozen=True)
class Standard:
    """The state of the standard check.

    declared: the schemes to check. covered: shapes that were checked, with the number of instances of each. refused:
    schemes whose trees the verifier refuses. complete: whether the core, the instances that a verdict needs, is
    done. left: how many instances were not checked for lack of time. failed: the first instance on which the verifier
    is not lossless. assumed: whether any check assumes a structure that was not compared with `verify` there.
    """

    verifier: str
    declared: tuple[str, ...]
    covered: Mapping[SizedScheme, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    complete: bool = False
    left: int = 0
    failed: tuple[Instance, Check] | None = None
    assumed: bool = False

    @property
    def lossless(self) -> bool:
        """Whether the whole core was proved and nothing failed."""
        return self.complete and self.failed is None and bool(self.covered)

    @property
    def instances(self) -> int:
        """Instances that were checked, the failed one included."""
        return sum(self.covered.values()) + (self.failed is not None)

    @property
    def schemes(self) -> tuple[str, ...]:
        """Names of the schemes that were covered."""
        covered = {scheme.name for _, scheme in self.covered}
        return (*(name for name in SCHEMES if name in covered), *sorted(covered - SCHEMES.keys()))

    @property
    def words(self) -> str:
        """One line with the numbers of instances, schemes, shapes and vocabularies that were checked."""
        shapes = len({str(scheme) for _, scheme in self.covered})
        sizes = sorted({size for size, _ in self.covered})
        names = ", ".join(self.schemes)
        passed_facts = (
            f"{self.instances:,} instances: {len(self.schemes)} scheme{'s'[: len(self.schemes) != 1]} ({names}), "
            f"{shapes} shape{'s'[: shapes != 1]}, V {sizes[0]}..{sizes[-1]}"
            if sizes
            else f"{self.instances:,} instance{'s'[: self.instances != 1]}"
        )
        return passed_facts

    @property
    def missing(self) -> list[str]:
        """The sizes and schemes that were not checked."""
        most_tokens = max((size for size, _ in self.covered), default=0)
        most_drafts = max((scheme.as_dict().get("K", 0) for _, scheme in self.covered), default=0)
        deepest = max((scheme.depth for _, scheme in self.covered), default=0)
        sizes = [f"K > {most_drafts}" if most_drafts else "", f"V > {most_tokens}", f"depth > {deepest}"]
        others = [name for name in SCHEMES if name not in self.schemes]
        left = [f"{self.left:,} instances of the set (out of time)"] if self.left else []
        return [*filter(None, sizes), *([f"the schemes {', '.join(others)}"] if others else []), *left]


@dataclass(frozen=True)
class _Job:
    """One instance to check: the next one of a shape, and whether it belongs to the core."""

    case: SizedScheme
    core: bool
    cost: int


def standard_check(
    verifier: Verifier,
    judge: Judge | None = None,
    late: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
    facts: bool = True,
    scheme: DraftScheme | None = None,
    jobs: Sequence[_Job] | None = None,
) -> Standard:
    """Check `verifier` on the standard set until it fails, the set is done, or time is over.

    judge: used in place of `check`. late: whether time is over, called before every instance.
    progress: called with 1 after each instance. facts: whether the facts on the card are checked, too.
    scheme: replaces those that the card declares; it must have at most 1,000 draft trees. jobs: `standard_jobs` of the
    scheme or of the card, where they are known.
    Raises `InvalidVerifier` where `verify` breaks the protocol or contradicts its card or its structure, `InvalidInput`
    for a verifier that accepts the trees of no scheme.
    """
    card = verifier.card
    declared = lossless_for(card)  # before any call, which could change the card
    names = schemes_of(card) if scheme is None else (scheme.name,)
    planned = [
        job
        for job in (standard_jobs(scheme, names) if jobs is None else jobs)
        if job.case[1].name in names and job.case[0] <= (card.max_vocab or 99)
    ]
    report = Standard(card.name, names)
    streams = {job.case: instances_of(job.case) for job in planned}
    for stage in (True, False):
        rest = [job for job in planned if job.core == stage]
        report = _run(report, verifier, judge or judge_of(verifier), rest, streams, late, progress)
        if report.failed is not None or (stage and report.left):
            break
        refused = [name for name in report.refused if name in declared and scheme is None]
        if refused:
            raise InvalidVerifier(f"its card declares the scheme {refused[0]}, and verify refuses its trees")
        if stage:
            report = _checked_facts(report, verifier, facts)
    return report


def _run(
    report: Standard,
    verifier: Verifier,
    judge: Judge,
    jobs: list[_Job],
    streams: Mapping[SizedScheme, Iterator[Instance]],
    late: Callable[[], bool],
    progress: Progress | None,
) -> Standard:
    covered, refused, left, failed = dict(report.covered), list(report.refused), 0, None
    assumed = report.assumed
    for number, job in enumerate(jobs):
        scheme = job.case[1]
        if scheme.name in refused:
            continue
        if late():
            left = sum(other.case[1].name not in refused for other in jobs[number:])
            break
        instance = next(streams[job.case])  # jobs of one shape come in the order of its instances
        try:
            verdict = judge(instance, scheme)
        except UnsupportedTree:
            refused.append(scheme.name)
            covered = {case: count for case, count in covered.items() if case[1].name != scheme.name}
            continue
        assumed |= verdict.assumed
        if not verdict.lossless:
            failed = instance, verdict
            break
        covered[job.case] = covered.get(job.case, 0) + 1
        if progress:
            progress(1)
    return replace(report, covered=covered, refused=tuple(refused), left=left, failed=failed, assumed=assumed)


def _checked_facts(report: Standard, verifier: Verifier, facts: bool) -> Standard:
    """The report with a complete core, after the facts that the card declares are checked."""
    if not report.covered:
        raise InvalidInput(f"{report.verifier} accepts the trees of none of the schemes {', '.join(report.declared)}")
    for fact in checks_for(verifier, FACTS) if facts else ():
        if not fact.name.startswith("lossless"):  # that is what the set is for
            try:
                fact()
            except AssertionError as error:
                raise InvalidVerifier(f"{fact.name}: {error}") from None
    return replace(report, complete=True)


def judge_of(verifier: Verifier, arithmetic: str = "rational") -> Judge:
    """A function that checks an instance: by enumeration where that is quick, else by the engine "auto"."""

    def judge(instance: Instance, scheme: DraftScheme) -> Check:
        engine = "enumerate" if scheme.count(instance.draft) <= ENUMERATED else "auto"
        return check(verifier, instance.target, instance.draft, scheme, arithmetic, engine)

    return judge


def schemes_of(card: Card) -> tuple[str, ...]:
    """The schemes on which a verifier is checked: those of its card, and delayed trees where it must be refuted."""
    declared = lossless_for(card)
    wanted = {*declared, *([Delayed.name] if card.control or not declared else [])}
    return tuple(name for name in SCHEMES if name in wanted)


def standard_jobs(scheme: DraftScheme | None = None, names: tuple[str, ...] = tuple(SCHEMES)) -> tuple[_Job, ...]:
    """Every instance of the set, cheapest first; the same in every run.

    scheme: as in `standard_check`. names: without it, the schemes of the set.
    """
    return _all_jobs(names) if scheme is None else jobs_of(with_vocabularies(scheme))


@lru_cache(maxsize=32)
def _all_jobs(names: tuple[str, ...]) -> tuple[_Job, ...]:
    return jobs_of([case for name in names for case in shapes_of(name)])


def with_vocabularies(scheme: DraftScheme) -> list[SizedScheme]:
    """The vocabularies for which a scheme is checked; raises `TooLarge` where even the smallest has too many trees."""
    cases = [(size, scheme) for size in VOCABULARIES]
    few = [case for case in cases if _trees(case) <= MOST_TREES]
    if not few:
        raise TooLarge(f"{scheme} has more than {MOST_TREES:,} draft trees at V = 2; name an instance")
    return few


def jobs_of(cases: Sequence[SizedScheme]) -> tuple[_Job, ...]:
    """The instances of these shapes, cheapest first.

    The cost of an instance grows with its number in its shape, so that shapes take turns.
    """
    jobs = []
    fewest = min(map(_trees, cases))
    for case in cases:
        trees = _trees(case)
        first = CORE if trees <= max(CORE_TREES, fewest) else 0
        jobs += [_Job(case, number < first, trees * (number + 1)) for number in range(_count(case))]
    return tuple(sorted(jobs, key=lambda job: (not job.core, job.cost)))


def shapes_of(scheme: str) -> list[SizedScheme]:
    """The vocabularies and trees of a scheme in the standard check."""
    if "L1" in SCHEMES[scheme]().as_dict() and not issubclass(SCHEMES[scheme], Adaptive):
        sizes = product(VOCABULARIES, BRANCHES, TRUNKS, LENGTHS)
        shapes = [(V, SCHEMES[scheme](K, L1, L2)) for V, K, L1, L2 in sizes if K > 1 or L1 == 0]
        cases = [case for case in shapes if scheme == Delayed.name or case[0] >= case[1].K]
    else:
        cases = list(product(VOCABULARIES, dict.fromkeys(tree for _, tree in CASES[scheme])))
    return [case for case in cases if _trees(case) <= MOST_TREES]


@lru_cache(maxsize=1024)
def _trees(case: SizedScheme) -> int:
    """Draft trees where every token can be drafted."""
    size, scheme = case
    if size ** min(scheme.nodes, 40) > MOST_TREES**2:
        return MOST_TREES + 1
    return scheme.count(FAMILIES["ties"].instance(size, scheme.depth, np.random.default_rng(0), DENOMINATOR).draft)


def _count(case: SizedScheme) -> int:
    return CORE + RANDOM - CORE_RANDOM + len(range(0, _grid_instances(case), _stride(case)))


def instances_of(case: SizedScheme) -> Iterator[Instance]:
    """The instances of one shape: corner cases and random ones for the core, then the grid and more random ones."""
    shape, chosen = shape_of(case), conformance_instances(shape_of(case), RANDOM)
    yield from corner_instances(shape)
    yield from islice(chosen, CORE_RANDOM)
    if _grid_instances(case):
        yield from grid(case[0], case[1].depth, THIRDS, _stride(case))
    yield from chosen


def _grid_instances(case: SizedScheme) -> int:
    """Instances in multiples of 1/3, for V = 2 where they are few enough."""
    size, scheme = case
    count = grid_size(size, scheme.depth, THIRDS) if size == 2 else 0
    return count if count <= 10**4 else 0


def _stride(case: SizedScheme) -> int:
    return max(1, -(-_grid_instances(case) // MOST_GRID))
