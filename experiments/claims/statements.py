"""The statements of claims: losslessness, order of block efficiencies, equal laws, bounds."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from draftproof.experiments.claims.claim import HERE, INSTANCE, Command, Outcome
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.lp_analysis import optimum
from draftproof.simulator.arithmetic import as_python, exact_fraction
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.verdicts.lossless import Check, block_law, check

#: `only(instance, scheme)`: whether a statement applies to them.
Only = Callable[[Instance, DraftScheme], bool]
Outputs = list[dict[str, Any]]
#: How far certified bounds of an optimum are apart at most.
GAP = 1e-6
_RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {"<=": operator.le, "=": operator.eq, "<": operator.lt}


@cache
def verifier(spec: str) -> Verifier:
    """The verifier of a specification, in which `HERE` is the folder of this module."""
    return find_verifier(spec.replace(HERE, str(Path(__file__).parent))).verifier


def check_spec(spec: str, instance: Instance, scheme: DraftScheme) -> Check:
    """The exact check of the verifier of a specification on one instance."""
    return check(verifier(spec), instance.target, instance.draft, scheme)


def always(_: Instance, __: DraftScheme) -> bool:
    """The statement applies to every instance."""
    return True


def fractions(row: Any) -> list[Fraction]:
    """A row as `Fraction`s."""
    return [exact_fraction(value) for value in row]


def same_scheme(scheme: DraftScheme) -> DraftScheme:
    """The scheme of the case, for a `Run` whose label and command name it."""
    return scheme


@dataclass(frozen=True)
class Lossless:
    """The verifier is lossless; with `lossy`, it is not. scheme: makes the draft scheme from that of the case."""

    spec: str
    lossy: bool = False
    only: Only = always
    scheme: Callable[[DraftScheme], DraftScheme] | None = None

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        if not self.only(instance, scheme):
            return Outcome(True, applies=False)
        used_scheme = self.scheme(scheme) if self.scheme else scheme
        check = check_spec(self.spec, instance, used_scheme)
        option = ("--scheme", scheme_spec(used_scheme)) if self.scheme else ()
        text = f"{self.spec} is lossless" if check.lossless else f"{self.spec}: {check.violation}"
        return Outcome(check.lossless is not self.lossy, text, (("check", self.spec, "--instance", INSTANCE, *option),))

    def refuted_by(self, outputs: Outputs) -> bool:
        return any(output.get("lossless") is self.lossy for output in outputs)


@dataclass(frozen=True)
class Run:
    """A verifier on the draft scheme of the case, or on the one that `scheme` makes of it."""

    spec: str
    scheme: Callable[[DraftScheme], DraftScheme] | None = None

    def on(self, scheme: DraftScheme) -> DraftScheme:
        """Its draft scheme for a case."""
        return self.scheme(scheme) if self.scheme else scheme

    def label(self, scheme: DraftScheme) -> str:
        """Its name, with its scheme where that is not the case's."""
        return f"{self.spec} on {self.on(scheme)}" if self.scheme else self.spec


@dataclass(frozen=True)
class Efficiency:
    """The block efficiencies of two runs, exact: `left <= right`, `left < right` or `left = right`.

    margin: added to the right one, for verifiers that round their own numbers.
    """

    left: Run
    relation: str
    right: Run
    only: Only = always
    margin: Fraction = Fraction(0)

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        if not self.only(instance, scheme):
            return Outcome(True, applies=False)
        one, other = (
            check_spec(run.spec, instance, run.on(scheme)).block_efficiency for run in (self.left, self.right)
        )
        text = f"{self.left.label(scheme)} {one}, {self.right.label(scheme)} {other}"
        return Outcome(_RELATIONS[self.relation](one, other + self.margin), text, self._commands(scheme))

    def _commands(self, scheme: DraftScheme) -> tuple[Command, ...]:
        exact = ("--instance", INSTANCE, "--arithmetic", "rational")
        if self.left.scheme is None and self.right.scheme is None:
            return (("compare", self.left.spec, self.right.spec, *exact),)
        return tuple(
            ("compare", run.spec, *exact, "--scheme", scheme_spec(run.on(scheme))) for run in (self.left, self.right)
        )

    def refuted_by(self, outputs: Outputs) -> bool:
        """See `Statement`; rows of `left` come first, as its command does."""
        rows = [row for output in outputs for row in output["rows"]]
        one, other = (Fraction(row["block_efficiency"]) for row in rows)
        return not _RELATIONS[self.relation](one, other + self.margin)


@dataclass(frozen=True)
class SameLaw:
    """Two verifiers have the same law of the block, entry by entry."""

    left: str
    right: str

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        laws = [block_law(verifier(spec), instance.target, instance.draft, scheme) for spec in (self.left, self.right)]
        one, other = ([table.tolist() for table in law.correction] for law in laws)
        text = f"{self.left} {laws[0].block_efficiency}, {self.right} {laws[1].block_efficiency}, different laws"
        compare = ("compare", self.left, self.right, "--instance", INSTANCE, "--arithmetic", "rational")
        return Outcome(one == other, text, (compare,))

    def refuted_by(self, outputs: Outputs) -> bool:
        """See `Statement`: the commands print block efficiencies only, which two laws may share."""
        return len({row["block_efficiency"] for output in outputs for row in output["rows"]}) > 1


@dataclass(frozen=True)
class Acceptance:
    """At one step the block efficiency of a verifier is 1 plus a closed form of `(p, q, K)`."""

    spec: str
    formula: Callable[..., Any]

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        """See `Statement`; the engine is the enumeration."""
        checked = check(verifier(self.spec), instance.target, instance.draft, scheme, engine="enumerate")
        rate = checked.block_efficiency - 1
        k = scheme.as_dict().get("K", 2)
        claimed = as_python(self.formula(instance.target.row(()), instance.draft.row(()), k))
        text = f"{self.spec} accepts with probability {rate}, not {claimed}"
        return Outcome(rate == claimed, text, (("check", self.spec, "--instance", INSTANCE),))

    def refuted_by(self, outputs: Outputs) -> bool:
        """See `Statement`: the command prints the rate, which a reader compares."""
        return bool(outputs)


@dataclass(frozen=True)
class Attains:
    """The block efficiency of a verifier is a certified upper bound of every lossless verifier.

    least: the share of the bound that it must reach.
    """

    spec: str
    least: Fraction = Fraction(1)

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        efficiency = check_spec(self.spec, instance, scheme).block_efficiency
        upper = optimum(instance.target, instance.draft, scheme).upper
        text = f"{self.spec} {efficiency}, upper bound {float(upper):.6f}"
        commands = (("check", self.spec, "--instance", INSTANCE), ("bound", "--instance", INSTANCE))
        return Outcome(efficiency >= self.least * upper, text, commands)

    def refuted_by(self, outputs: Outputs) -> bool:
        return Fraction(outputs[0]["block_efficiency"]) < self.least * Fraction(outputs[1]["upper"])


@dataclass(frozen=True)
class Optima:
    """The optimum on one draft scheme is at most that on another (`<=`), or they are equal (`=`), by certified bounds.

    left, right: make a draft scheme from that of the case. Bounds are `GAP` apart: two optima that differ by less are
    taken as equal.
    """

    left: Callable[[DraftScheme], DraftScheme]
    relation: str
    right: Callable[[DraftScheme], DraftScheme]
    only: Only = always

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        if not self.only(instance, scheme):
            return Outcome(True, applies=False)
        schemes = self.left(scheme), self.right(scheme)
        one, other = (optimum(instance.target, instance.draft, each, gap=GAP) for each in schemes)
        shown = (f"{float(found.upper):.6f} on {each}" for each, found in zip(schemes, (one, other), strict=True))
        commands = tuple(("bound", "--instance", INSTANCE, "--scheme", scheme_spec(each)) for each in schemes)
        holds = self._holds((one.lower, one.upper), (other.lower, other.upper))
        return Outcome(holds, f"optimum {', '.join(shown)}", commands)

    def _holds(self, one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> bool:
        """Whether bounds leave the relation open or show it."""
        return one[0] <= other[1] and (self.relation == "<=" or other[0] <= one[1])

    def refuted_by(self, outputs: Outputs) -> bool:
        one, other = ((Fraction(output["lower"]), Fraction(output["upper"])) for output in outputs)
        return not self._holds(one, other)


@dataclass(frozen=True)
class Reachable:
    """A closed form for the accepted tokens of one step is at most the upper bound of lossless verifiers."""

    formula: Callable[..., Any]

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        assert isinstance(scheme, Delayed)
        claimed = as_python(self.formula(instance.target.row(()), instance.draft.row(()), scheme.K))
        upper = optimum(instance.target, instance.draft, scheme).upper - 1
        text = f"{claimed} accepted tokens claimed, {upper} possible"
        return Outcome(claimed <= upper, text, (("bound", "--instance", INSTANCE),))

    def refuted_by(self, outputs: Outputs) -> bool:
        """See `Statement`: the command prints the bound, which a reader compares with the evidence."""
        return "upper" in outputs[0]


@dataclass(frozen=True)
class Every:
    """Several statements; the outcome is that of the first one that fails."""

    parts: tuple[Any, ...]

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        outcomes = [part.evaluate(instance, scheme) for part in self.parts]
        failed = next((outcome for outcome in outcomes if not outcome.holds), None)
        return failed or Outcome(True, applies=any(outcome.applies for outcome in outcomes))

    def refuted_by(self, outputs: Outputs) -> bool:
        return any(part.refuted_by(outputs) for part in self.parts)


@dataclass(frozen=True)
class Holds:
    """Any other statement: `failure(instance, scheme)` is None where it is true, else the actual values as text."""

    failure: Callable[[Instance, DraftScheme], str | None]

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        """See `Statement`; no command shows it."""
        text = self.failure(instance, scheme)
        return Outcome(text is None, text or "")

    def refuted_by(self, outputs: Outputs) -> bool:
        return False
