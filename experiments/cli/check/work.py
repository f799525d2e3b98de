"""`draftproof check`: one verifier on the instances of worlds, and the smallest witness if it fails."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.check.views import checked_row, words
from draftproof.experiments.grid.cost import announcement, check_runs, check_steps, expected_cost
from draftproof.experiments.grid.rows import accepted_length, law_fields
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.inputs.worlds import FileWorld, GridWorld, RowsWorld, World, samplings_of
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import bar, named_errors, quiet, remark
from draftproof.simulator.errors import (
    DraftproofError,
    Fails,
    InvalidVerifier,
    NoFunction,
    TooLarge,
    UnsupportedTree,
    cut,
)
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.tables import check_table_size, table_entries
from draftproof.simulator.verdicts.lossless import Check, check, choose_engine
from draftproof.simulator.verdicts.witness import Witness

#: What a row says where ranks of tokens depend on rounding.
_ROUNDED = (
    "decides E[tau+1]: tokens with (nearly) the same p/q are ranked by it; rational arithmetic ranks them exactly"
)


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
class Run:
    """The checks of the instances so far, each with the name and the weight of its instance; failed: the first one."""

    named: NamedVerifier
    scheme: DraftScheme
    settings: Settings
    stream: Stream
    engine: str = ""
    checks: list[tuple[str, Fraction, Check]] = field(default_factory=list)
    failed: tuple[Case, Check] | None = None

    def row(self, worlds: Sequence[World]) -> dict[str, Any]:
        """The fields of its row."""
        stream, weights = self.stream, [weight for _, weight, _ in self.checks]
        about = f" ({stream.planned:,} instances), up to the first failure" if len(weights) < stream.planned else ""
        shares = [weight / sum(weights) for weight in weights]
        law = law_fields(shares, [each for *_, each in self.checks]) if weights else {}
        return {
            **law,
            "scheme": str(self.scheme),
            "world": stream.about + about,
            "instances": len(weights),
            "arithmetic": self.settings.arithmetic,
            "engine": self.engine,
            "rounding_decides": _ROUNDED if law.get("rounding_decides") else None,
            "source": [each.source for each in worlds],
        }

    def roots(self) -> list[dict[str, Any]]:
        """The rows of the instances of one world."""
        if self.stream.stop_at_failure or len(self.checks) < 2:
            return []
        return [
            {"root": cut(repr(name)), **number_fields("weight", weight)}
            | accepted_length(each.metrics.depth_distribution)
            for name, weight, each in self.checks
        ]


def on_worlds(
    about: tuple[NamedVerifier, DraftScheme], worlds: Sequence[World], settings: Settings, alone: bool
) -> Row:
    """The row of one verifier on one scheme and all worlds.

    alone: False beside others, which a verifier that is not defined on the scheme does not end.
    """
    named, scheme = about
    try:
        return _on_worlds(named, scheme, worlds, settings)
    except (UnsupportedTree, InvalidVerifier) as error:
        if alone:
            raise
        fields = {"scheme": str(scheme), "verdict": words("undefined", settings.arithmetic), "fails": str(error)}
        return checked_row(named, "undefined", fields)


def _on_worlds(named: NamedVerifier, scheme: DraftScheme, worlds: Sequence[World], settings: Settings) -> Row:
    if not isinstance(named.verifier, Planned):
        choose_engine(named.verifier, scheme, settings.engine)
    run, first = Run(named, scheme, settings, stream_of(worlds, scheme.depth, settings)), worlds[0]
    try:
        if not (isinstance(first, RowsWorld) and _fills_no_tables(first, scheme.depth, settings)):
            _announce(run)
        _carry_out(run)
    except KeyboardInterrupt:
        judged = "no violation on these" if run.failed is None else "it is refuted on one of them"
        remark(
            f"{named.label} on {scheme}: no verdict, {len(run.checks):,} of {run.stream.planned:,} instances, {judged}"
        )
        raise
    except Fails as failure:
        return failing(named, settings, failure, first)
    assumed = run.checks[-1][-1].assumed
    status = "refuted" if run.failed else "assumed" if assumed else "lossless"
    said = words(status, settings.arithmetic, "proved for the instances checked")
    fields = run.row(worlds) | {"verdict": said, "lossless": run.failed is None, "assumed": assumed}
    witness, file = None, None
    if run.failed is not None:
        whole = isinstance(first, FileWorld)
        witness = find_witness(named, scheme, *run.failed, settings.engine, not whole, samplings_of(first))
        if isinstance(first, FileWorld) and first.samplings.is_identity and first.instance.scheme == scheme:
            file = first.path
        if witness is None:
            remark(
                "no witness was written: the instance has too many rows, and no smaller one is known; try smaller "
                "shapes"
            )
    return checked_row(named, status, fields, witness, file=file, roots=run.roots())


def failing(named: NamedVerifier, settings: Settings, failure: Fails, world: World | None = None) -> Row:
    """The row of a verifier that fails on an instance, the smallest one found.

    Raises the failure where the instance is not known.
    """
    if failure.instance is None:
        raise failure
    file = world.path if isinstance(world, FileWorld) else None
    if file is None:
        from draftproof.simulator.verdicts.search import shrink_failure  # Hypothesis takes a while to import

        remark("refuted; shrinking the instance (Ctrl-C keeps it as it is)")
        with suppress(KeyboardInterrupt), quiet():
            failure = shrink_failure(named.verifier, failure)
    fields = {
        "scheme": str(failure.instance.scheme),
        "verdict": "REFUTED, it fails",
        "fails": failure.what,
        "arithmetic": settings.arithmetic,
        "lossless": False,
    }
    return checked_row(named, "refuted", fields, failed=failure.instance, file=file)


def _fills_no_tables(world: RowsWorld, depth: int, settings: Settings) -> bool:
    """Whether the cost cannot be estimated, as of processes in Python with the vocabulary of a real model."""
    try:
        check_table_size(world.vocab_size, depth, arithmetic_named(settings.arithmetic))
    except TooLarge:
        return True
    return False


def _announce(run: Run) -> None:
    """Print the expected cost on stderr; raises as `expected_cost` does."""
    samples = [(root.target, root.draft) for root in run.stream.sample()]
    cost = expected_cost(run.named, run.scheme, run.settings, samples)
    if cost.engine == "enumerate":
        runs = cost.steps * min(run.stream.planned, 10**300)
        check_runs(run.named, run.scheme, run.settings, runs, samples[0][0].vocab_size)
    else:
        check_steps(run.named, run.scheme, run.settings, cost, run.stream.planned)
    run.engine = cost.engine
    remark(announcement(cost, run.stream.planned))


def _carry_out(run: Run) -> None:
    """Check the instances one by one, with a bar."""
    stream, evaluator = run.stream, run.settings.evaluator(run.named)
    several = stream.planned > 1
    steps, unit = (stream.planned, "instances") if several else _steps(run)
    with bar(f"{run.named.label}: {unit}", steps) as tick:
        for root in stream.open():
            with named_errors(f"{run.named.label} on {run.scheme}, {cut(root.name)}"):
                found = evaluator.check(root.target, root.draft, run.scheme, None if several else tick)
            run.engine = found.engine
            run.checks.append((root.name, root.weight, found))
            if several:
                tick(1)
            if run.failed is None and not found.lossless:
                run.failed = root, found
                if stream.stop_at_failure:
                    break


def _steps(run: Run) -> tuple[float, str]:
    """The number of steps of the progress bar for a single instance, and their name."""
    first, depth = next(run.stream.open()), run.scheme.depth
    if run.engine == "enumerate":
        rows = first.converted(arithmetic_named(run.settings.arithmetic), depth)
        return float(run.scheme.count(rows.draft)), "draft trees"
    return table_entries(first.target.vocab_size, depth) / max(first.target.vocab_size - 1, 1), "contexts"


def find_witness(
    named: NamedVerifier,
    scheme: DraftScheme,
    case: Case,
    found: Check,
    engine: str = "auto",
    shrunk: bool = True,
    drawn: Samplings | None = None,
) -> Witness | None:
    """The smallest witness for a verifier that is refuted on a case; shrunk: False for that case as it is.

    drawn: how the rows were sampled. None where the instance is too large to be written down and no smaller one fails.
    """
    verifier, unshrunk = named.verifier, None
    try:
        exact = case.rows(scheme.depth)
        unshrunk = Witness.of(exact, found, shrunk=False)
        if isinstance(verifier, Planned):
            return unshrunk
        known = check(verifier, exact.target, exact.draft, scheme, engine=engine)
        if known.lossless and found.arithmetic == known.arithmetic:
            raise NoFunction(f"it was refuted on {cut(case.name)}, but not in a second run on that")
        if known.lossless:  # float64 rounding looked like a violation
            return unshrunk
        unshrunk = Witness.of(exact, known, shrunk=False)
        if not shrunk:
            return unshrunk
        from draftproof.simulator.verdicts.search import shrink  # Hypothesis takes a while to import

        remark("refuted; shrinking the witness (Ctrl-C keeps the unshrunk one)")
        with quiet():
            return shrink(verifier, exact, scheme, drawn=None if exact.draft.told is None else drawn)
    except NoFunction as error:
        raise NoFunction(f"{named.label}: {error}") from error
    except (DraftproofError, KeyboardInterrupt):  # no exact run is possible, or Ctrl-C
        return unshrunk
