"""`draftproof check`: one verifier on one or many instances, and the witness if it fails."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from draftproof.experiments.grid.cost import announcement, check_runs, check_steps, expected_cost
from draftproof.experiments.grid.rows import largest, mixture
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.inputs.worlds import FileWorld, GridWorld, RowsWorld, World, samplings_of
from draftproof.experiments.shared.progress import Tick, bar, named_errors, quiet, remark
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.errors import DraftproofError, NoFunction, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import check_table_size, table_entries
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Evaluator, check
from draftproof.simulator.verdicts.witness import Witness


@dataclass(frozen=True)
class Stream:
    """The instances of one check: how many, whether the first failure ends it, how to produce them.

    sample: some of them, from which the cost of all is estimated.
    """

    planned: int
    stop_at_failure: bool
    open: Callable[[], Iterator[Case]]
    sample: Callable[[], list[Case]]
    about: str


def stream_of(worlds: Sequence[World], depth: int, settings: Settings) -> Stream:
    """The cases of one world, or every instance of a grid or of several worlds up to the first failure."""
    arithmetic, first = arithmetic_named(settings.arithmetic), worlds[0]
    if len(worlds) == 1 and isinstance(first, GridWorld):
        with named_errors(f"grid:denominator={first.denominator}"):
            planned = first.size(depth)
        return Stream(planned, True, lambda: first.each(depth), lambda: first.sample(depth), str(first))
    if len(worlds) == 1:
        cases = first.cases(depth, arithmetic)
        return Stream(len(cases), False, lambda: iter(cases), lambda: cases[:1], str(first))
    return Stream(
        len(worlds),
        True,
        lambda: (case for world in worlds for case in world.cases(depth, arithmetic)),
        lambda: [world.cases(depth, arithmetic)[0] for world in worlds[:4]],
        f"{first} and {len(worlds) - 1:,} more",
    )


@dataclass
class Report:
    """The results of the instances checked so far, and the first one that failed."""

    named: NamedVerifier
    scheme: DraftScheme
    settings: Settings
    stream: Stream
    engine: str = ""
    assumed: bool = False
    evaluator: Evaluator = field(init=False)
    instances: int = 0
    deviations: list[Fraction | float] = field(default_factory=list)
    variations: list[Fraction | float | None] = field(default_factory=list)
    weights: list[Fraction] = field(default_factory=list)
    distributions: list[list[Fraction | float]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    rounding_decides: bool = False
    failed: Case | None = None
    failed_check: Check | None = None

    def __post_init__(self) -> None:
        self.evaluator = self.settings.evaluator(self.named)

    @property
    def lossless(self) -> bool:
        """Whether no instance failed so far."""
        return self.failed is None

    @property
    def max_deviation(self) -> Fraction | float:
        """The largest violation of the balance equation so far."""
        return max(self.deviations)

    @property
    def total_variation(self) -> Fraction | float | None:
        """The largest total variation so far; None if that of some instance was not computed."""
        return largest(self.variations)

    def add(self, root: Case, result: Check) -> None:
        self.instances += 1
        self.engine, self.assumed = result.engine, result.assumed
        self.deviations.append(result.max_deviation)
        self.variations.append(result.total_variation)
        self.weights.append(root.weight)
        self.labels.append(root.name)
        self.rounding_decides |= result.rounding_decides
        self.distributions.append(result.metrics.depth_distribution)
        if self.failed is None and not result.lossless:
            self.failed, self.failed_check = root, result

    def average(self) -> list[Fraction | float]:
        """The depth distribution, averaged over the instances by weight."""
        total = sum(self.weights)
        shares = [weight / total for weight in self.weights]
        return [
            mixture(shares, [masses[depth] for masses in self.distributions]) for depth in range(self.scheme.depth + 1)
        ]


def checked(named: NamedVerifier, scheme: DraftScheme, worlds: Sequence[World], settings: Settings) -> Report:
    """The report of one verifier on one scheme and all worlds."""
    report = Report(named, scheme, settings, stream_of(worlds, scheme.depth, settings))
    if not (isinstance(worlds[0], RowsWorld) and _fills_no_tables(worlds[0], scheme.depth, settings)):
        announce(report)
    run(report)
    return report


def _fills_no_tables(world: RowsWorld, depth: int, settings: Settings) -> bool:
    """Whether the cost cannot be estimated, as of processes in Python with the vocabulary of a real model."""
    try:
        check_table_size(world.vocab_size, depth, arithmetic_named(settings.arithmetic))
    except TooLarge:
        return True
    return False


def announce(report: Report) -> None:
    """Print the expected cost on stderr; raises as `expected_cost` does."""
    samples = [(root.target, root.draft) for root in report.stream.sample()]
    cost = expected_cost(report.named, report.scheme, report.settings, samples)
    if cost.engine == "enumerate":
        runs = cost.steps * min(report.stream.planned, 10**300)
        check_runs(report.named, report.scheme, report.settings, runs, samples[0][0].vocab_size)
    else:
        check_steps(report.named, report.scheme, report.settings, cost, report.stream.planned)
    report.engine = cost.engine
    remark(announcement(cost, report.stream.planned))


def run(report: Report) -> None:
    """Check the instances one by one into `report`, with a bar; Ctrl-C ends it without a verdict."""
    stream = report.stream
    several = stream.planned > 1
    steps, unit = (stream.planned, "instances") if several else _steps(report)
    with bar(f"{report.named.label}: {unit}", steps) as tick:
        try:
            for root in stream.open():
                report.add(root, _check(report, root, None if several else tick))
                if several:
                    tick(1)
                if stream.stop_at_failure and not report.lossless:
                    break
        except KeyboardInterrupt:
            remark(f"interrupted after {report.instances:,} of {stream.planned:,} instances; there is no verdict")
            raise


def _steps(report: Report) -> tuple[float, str]:
    """The number of steps of the progress bar for a single instance, and their name."""
    first, depth = next(report.stream.open()), report.scheme.depth
    if report.engine == "enumerate":
        rows = first.converted(arithmetic_named(report.settings.arithmetic), depth)
        return float(report.scheme.count(rows.draft)), "draft trees"
    return table_entries(first.target.vocab_size, depth) / max(first.target.vocab_size - 1, 1), "contexts"


def _check(report: Report, root: Case, tick: Tick | None) -> Check:
    with named_errors(f"{report.named.label} on {report.scheme}, {root.name}"):
        return report.evaluator.check(root.target, root.draft, report.scheme, tick)


def find_witness(report: Report, world: World) -> Witness | None:
    """The smallest witness for a failed report; on an instance file it is that instance.

    None where the instance is too large to be written down and no smaller one fails.
    """
    assert report.failed is not None
    assert report.failed_check is not None
    verifier, scheme = report.named.verifier, report.scheme
    unshrunk = None
    try:
        exact = report.failed.rows(scheme.depth)
        unshrunk = Witness.of(exact, report.failed_check, shrunk=False)
        if isinstance(verifier, Planned):
            return unshrunk
        known = check(verifier, exact.target, exact.draft, scheme, engine=report.settings.engine)
        if known.lossless and report.failed_check.arithmetic == known.arithmetic:
            raise NoFunction(
                f"{report.named.label}: it was refuted on {report.failed.name}, but not in a second run on that"
            )
        if known.lossless:  # float64 rounding looked like a violation
            return unshrunk
        unshrunk = Witness.of(exact, known, shrunk=False)
        if isinstance(world, FileWorld):
            return unshrunk
        from draftproof.simulator.verdicts.search import shrink  # Hypothesis takes a while to import

        remark("refuted; shrinking the witness (Ctrl-C keeps the unshrunk one)")
        with quiet():
            return shrink(verifier, exact, scheme, drawn=None if exact.draft.told is None else samplings_of(world))
    except NoFunction as error:
        raise NoFunction(f"{report.named.label}: {error}") from error
    except (DraftproofError, KeyboardInterrupt):  # no exact run is possible, or Ctrl-C
        return unshrunk
