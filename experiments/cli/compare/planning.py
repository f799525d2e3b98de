"""The rows of a comparison and their expected costs: every verifier on every scheme in every world, and the optima."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from draftproof.experiments.grid.bounds import QUICK_PATHS, Goal, bound_roots, expected_seconds, is_quick
from draftproof.experiments.grid.cost import ExpectedCost, check_runs, expected_cost
from draftproof.experiments.grid.rows import row_id, strong_id
from draftproof.experiments.grid.run import Question
from draftproof.experiments.inputs.verifiers import USUAL, NamedVerifier, Settings, as_verifiers
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.progress import remark
from draftproof.lp_analysis.problem import assert_size
from draftproof.simulator.drafts import SCHEMES, Delayed, UserScheme, lossless_for
from draftproof.simulator.errors import Fails, InvalidInput, TooLarge, UnsupportedTree
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import Card, DraftScheme
from draftproof.simulator.tables import context_count
from draftproof.simulator.verdicts.costs import Pair

#: What stands for the optimum among the names of verifiers that are left out.
OPTIMUM = "the optimum"
#: The certified gap at which the solver of an optimum stops.
GOAL = Goal()
#: By default the quick optima are computed if all together take at most this long.
QUICK_SECONDS = 120.0


@dataclass(frozen=True)
class Limits:
    """Rows above a limit are left out; None is no limit, and a row that is too large is then an error.

    runs: of an enumeration. steps: of a structured engine. paths: `V^L` of the program of an optimum.
    """

    runs: int | None = None
    steps: int | None = None
    paths: int | None = None

    def __post_init__(self) -> None:
        for name, most in vars(self).items():
            if most is not None and most < 0:
                raise InvalidInput(f"most_{name} {most}: give at least 0")


@dataclass(frozen=True)
class Place:
    """A world, and the words of a command line that name it; no text for objects in Python.

    others: the words about its sampling beside `--sampling`.
    """

    world: World
    text: str | None
    sampling: str | None = None
    others: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The text of the world; for objects in Python a description."""
        return str(self.world) if self.text is None else self.text

    @property
    def options(self) -> list[str]:
        """The options that name the world."""
        sampled = [] if self.sampling is None else ["--sampling", self.sampling]
        return [] if self.text is None else ["--world", self.text, *sampled, *self.others]

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """What identifies the world in the id of a row; rows of objects in Python are in no store."""
        return {"object": id(self.world)} if self.text is None else self.world.source

    @cached_property
    def kind(self) -> str:
        """Worlds of one kind differ in the seed only, so that their rows are expected to cost the same."""
        return strong_id({key: value for key, value in self.identity.items() if key != "seed"})


@dataclass(frozen=True)
class Cell:
    """One row and its expected cost: a verifier on a scheme, or without a verifier the optimum there.

    place: the number of its world.
    """

    place: int
    verifier: NamedVerifier | None
    scheme: DraftScheme
    strong_id: str
    cost: ExpectedCost

    def question(self) -> Question[Cell]:
        """What this row answers."""
        from_file = self.verifier is not None and self.verifier.from_file
        return Question(self.strong_id, self, self.cost.seconds, from_file or isinstance(self.scheme, UserScheme))


@dataclass
class Plan:
    """What a comparison computes.

    named: None for the whole registry, without the verifiers that declare other schemes or refuse the trees of this
    one. optimum: None for the optima that are quick. left_out: what has no row, with the schemes.
    """

    places: Sequence[Place]
    named: Sequence[NamedVerifier] | None
    schemes: Sequence[DraftScheme]
    settings: Settings
    optimum: bool | None = None
    limits: Limits = Limits()
    left_out: dict[str, dict[DraftScheme, None]] = field(default_factory=dict)
    _costs: dict[Any, ExpectedCost | None] = field(default_factory=dict)
    _samples: dict[tuple[str, int], tuple[Pair, int]] = field(default_factory=dict)
    _trials: dict[int, dict[str, dict[Any, float]]] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """Every row to compute.

        Raises `TooLarge` for one that does not fit, where there are no limits, and `InvalidInput` where none is left.
        """
        cells = [cell for number in range(len(self.places)) for cell in self.laws(number, self.schemes)]
        if not cells and self.limits != Limits():
            raise InvalidInput("no row is below the limits; raise most_runs and most_steps, or leave them out")
        if not cells:
            raise InvalidInput(f"none of the verifiers is for {self.schemes[0]}; name others, or another scheme")
        cells += self._optima()
        for label, schemes in self.left_out.items():
            first, *others = schemes
            more = f" and {len(others)} more" if others else ""
            limited = "" if self.limits == Limits() else ", or its rows are above a limit"
            remark(f"{label} is not for trees of {first}{more}{limited}: left out")
        return cells

    def laws(self, number: int, schemes: Sequence[DraftScheme]) -> list[Cell]:
        """The rows of all verifiers in one world."""
        return [cell for scheme in schemes for cell in self._laws(number, scheme)]

    def _laws(self, number: int, scheme: DraftScheme) -> Iterator[Cell]:
        place, settings = self.places[number], self.settings
        identity = place.identity
        for named in self.verifiers:
            if self._declares_others(named, scheme) or (cost := self._cost(place, named, scheme)) is None:
                self.left_out.setdefault(named.label, {})[scheme] = None
                continue
            name = row_id(
                "law",
                identity,
                scheme,
                named.identity,
                arithmetic=settings.arithmetic,
                engine=settings.engine,
                device=settings.device,
                steady=settings.steady or None,
            )
            yield Cell(number, named, scheme, name, cost)

    @cached_property
    def verifiers(self) -> Sequence[NamedVerifier]:
        """The verifiers that are asked about."""
        return as_verifiers(USUAL) if self.named is None else self.named

    def _declares_others(self, named: NamedVerifier, scheme: DraftScheme) -> bool:
        """Whether it is left out as it declares other schemes; one that is named and is for none here is judged."""
        card = named.verifier.card
        asked = self.named is not None and all(declares_other_schemes(card, other) for other in self.schemes)
        return not asked and declares_other_schemes(card, scheme)

    def _cost(self, place: Place, named: NamedVerifier, scheme: DraftScheme) -> ExpectedCost | None:
        """The cost of a row; None for one that is left out."""
        key = place.kind, named.label, scheme
        if key not in self._costs:
            try:
                self._costs[key] = self._law_cost(place, named, scheme)
            except Fails:  # the row says so
                self._costs[key] = ExpectedCost("enumerate", "", 1, 0.0)
            except UnsupportedTree:
                if self.named is not None and len(self.schemes) == 1:
                    raise
                self._costs[key] = None
            except TooLarge:
                if self.limits.runs is None and self.limits.steps is None:
                    raise
                self._costs[key] = None
        return self._costs[key]

    def _law_cost(self, place: Place, named: NamedVerifier, scheme: DraftScheme) -> ExpectedCost | None:
        size, shape = place.world.vocab_size, (place.kind, scheme.depth)
        if shape not in self._samples:
            roots = place.world.cases(scheme.depth, arithmetic_named(self.settings.arithmetic))
            self._samples[shape] = (roots[0].target, roots[0].draft), len(roots)
        sample, count = self._samples[shape]
        one = expected_cost(named, scheme, self.settings, [sample], self._trials.setdefault(size, {}))
        cost = replace(one, steps=one.steps * count, seconds=one.seconds * count)
        enumerated = cost.engine == "enumerate"
        most = self.limits.runs if enumerated else self.limits.steps
        if most is not None and cost.steps > most:
            return None
        if enumerated:
            check_runs(named, scheme, self.settings, cost.steps, size)
        return cost

    def _optima(self) -> list[Cell]:
        cells = []
        for number, place in enumerate(self.places):
            for scheme in self.schemes if self.optimum is not False else ():
                key = place.kind, None, scheme
                if key not in self._costs:
                    self._costs[key] = self._optimum_cost(place.world, scheme)
                cost = self._costs[key]
                if cost is None and self.limits.paths is not None:
                    self.left_out.setdefault(OPTIMUM, {})[scheme] = None
                if cost is not None:
                    name = row_id("bound", place.identity, scheme, gap=GOAL.gap)
                    cells.append(Cell(number, None, scheme, name, cost))
        if self.optimum is None and sum(cell.cost.seconds for cell in cells) > QUICK_SECONDS:
            remark(f"the optimum of {len(cells)} shapes is left out; optimum computes it")
            return []
        return cells

    def _optimum_cost(self, world: World, scheme: DraftScheme) -> ExpectedCost | None:
        size, most = world.vocab_size, self.limits.paths
        paths, one_path = context_count(size, scheme.depth), isinstance(scheme, Delayed) and scheme.K == 1
        if (self.optimum is None and paths > QUICK_PATHS) or (most is not None and paths > most and not one_path):
            return None
        try:
            assert_size(size, scheme)
            roots = bound_roots(world, scheme)
            if self.optimum is None and not is_quick(roots[0].draft, scheme):
                return None
            seconds = expected_seconds(size, scheme, roots[0].draft) * len(roots)
        except TooLarge:
            if most is None:
                raise
            return None
        return ExpectedCost("bound", "", len(roots), seconds)


def declares_other_schemes(card: Card, scheme: DraftScheme) -> bool:
    """Whether its card declares other schemes and not this one; negative controls are never left out."""
    registered = not isinstance(scheme, UserScheme) and scheme.name in SCHEMES
    return registered and not card.control and bool(lossless_for(card)) and scheme.name not in lossless_for(card)
