"""`draftproof check`: one verifier on the instances of worlds, and the smallest witness if it fails."""

from collections.abc import Iterable, Sequence
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


@dataclass
class Run:
    """The checks of one verifier on one scheme and the cases of worlds.

    planned: how many cases there are; several worlds count one each. sample: some of them, from which the cost of all
    is estimated. ends_early: whether the first failure ends it, as on a grid and on several worlds. checks: those so
    far, with name and weight of the case. failed: the first that is.
    """

    named: NamedVerifier
    scheme: DraftScheme
    worlds: Sequence[World]
    settings: Settings
    engine: str = ""
    checks: list[tuple[str, Fraction, Check]] = field(default_factory=list)
    failed: tuple[Case, Check] | None = None

    def __post_init__(self) -> None:
        arithmetic, first, depth = arithmetic_named(self.settings.arithmetic), self.worlds[0], self.scheme.depth
        self.ends_early = len(self.worlds) > 1 or isinstance(first, GridWorld)
        self.cases: Iterable[Case]
        if len(self.worlds) > 1:
            self.planned = len(self.worlds)
            self.sample = [world.cases(depth, arithmetic)[0] for world in self.worlds[:4]]
            self.cases = (case for world in self.worlds for case in world.cases(depth, arithmetic))
        elif isinstance(first, GridWorld):
            with named_errors(f"grid:denominator={first.denominator}"):
                self.planned = first.size(depth)
            self.cases, self.sample = first.each(depth), first.sample(depth)
        else:
            self.cases = cases = first.cases(depth, arithmetic)
            self.planned, self.sample = len(cases), cases[:1]

    def announce(self) -> None:
        """Print the expected cost on stderr; raises as `expected_cost` does."""
        samples = [(root.target, root.draft) for root in self.sample]
        cost = expected_cost(self.named, self.scheme, self.settings, samples)
        if cost.engine == "enumerate":
            runs = cost.steps * min(self.planned, 10**300)
            check_runs(self.named, self.scheme, self.settings, runs, samples[0][0].vocab_size)
        else:
            check_steps(self.named, self.scheme, self.settings, cost, self.planned)
        self.engine = cost.engine
        remark(announcement(cost, self.planned))

    def carry_out(self) -> None:
        """Check the cases one by one, with a bar."""
        evaluator, several = self.settings.evaluator(self.named), self.planned > 1
        steps, unit = (self.planned, "instances") if several else self._steps()
        with bar(f"{self.named.label}: {unit}", steps) as tick:
            for case in self.cases:
                with named_errors(f"{self.named.label} on {self.scheme}, {cut(case.name)}"):
                    result = evaluator.check(case.target, case.draft, self.scheme, None if several else tick)
                self.engine = result.engine
                self.checks.append((case.name, case.weight, result))
                if several:
                    tick(1)
                if self.failed is None and not result.lossless:
                    self.failed = case, result
                    if self.ends_early:
                        break

    def _steps(self) -> tuple[float, str]:
        """The number of steps of the progress bar for a single instance, and their name."""
        [only, *_], depth = self.sample, self.scheme.depth
        if self.engine == "enumerate":
            rows = only.converted(arithmetic_named(self.settings.arithmetic), depth)
            return float(self.scheme.count(rows.draft)), "draft trees"
        return table_entries(only.target.vocab_size, depth) / max(only.target.vocab_size - 1, 1), "contexts"

    def fields(self) -> dict[str, Any]:
        """The fields of its row."""
        weights = [weight for _, weight, _ in self.checks]
        others = f" and {len(self.worlds) - 1:,} more" if len(self.worlds) > 1 else ""
        about = f" ({self.planned:,} instances), up to the first failure" if len(weights) < self.planned else ""
        law = law_fields([weight / sum(weights) for weight in weights], [check for *_, check in self.checks])
        return {
            **law,
            "scheme": str(self.scheme),
            "world": f"{self.worlds[0]}{others}{about}",
            "instances": len(weights),
            "arithmetic": self.settings.arithmetic,
            "engine": self.engine,
            "rounding_decides": _ROUNDED if law["rounding_decides"] else None,
            "source": [world.source for world in self.worlds],
        }

    def roots(self) -> list[dict[str, Any]]:
        """The rows of the instances of one world."""
        if self.ends_early or len(self.checks) < 2:
            return []
        return [
            {"root": cut(repr(name)), **number_fields("weight", weight)}
            | accepted_length(check.metrics.depth_distribution)
            for name, weight, check in self.checks
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
    run, first = Run(named, scheme, worlds, settings), worlds[0]
    try:
        if not (isinstance(first, RowsWorld) and _fills_no_tables(first, scheme.depth, settings)):
            run.announce()
        run.carry_out()
    except KeyboardInterrupt:
        judged = "no violation on these" if run.failed is None else "it is refuted on one of them"
        done = f"{len(run.checks):,} of {run.planned:,} instances"
        remark(f"{named.label} on {scheme}: no verdict, {done}, {judged}")
        raise
    except Fails as failure:
        return failing(named, settings, failure, first)
    assumed = run.checks[-1][-1].assumed
    status = "refuted" if run.failed else "assumed" if assumed else "lossless"
    said = words(status, settings.arithmetic, "proved for the instances checked")
    fields = run.fields() | {"verdict": said, "lossless": run.failed is None, "assumed": assumed}
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


def find_witness(
    named: NamedVerifier,
    scheme: DraftScheme,
    case: Case,
    result: Check,
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
        unshrunk = Witness.of(exact, result, shrunk=False)
        if isinstance(verifier, Planned):
            return unshrunk
        known = check(verifier, exact.target, exact.draft, scheme, engine=engine)
        if known.lossless and result.arithmetic == known.arithmetic:
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
