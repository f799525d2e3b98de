"""Laws and verdicts for one instance: `block_law` and `check`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Delayed, UserScheme
from draftproof.simulator.errors import DraftproofError, InvalidInput, InvalidVerifier
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess, told_of
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.laws.metrics import Metrics, as_fields
from draftproof.simulator.laws.structured import (
    MarkovRows,
    RowSource,
    TableRows,
    structured_law,
    structured_metrics,
)
from draftproof.simulator.laws.structured.collapsed import CollapsedTopDown
from draftproof.simulator.laws.structured.declared import declared_for
from draftproof.simulator.laws.structured.rows import common_state
from draftproof.simulator.laws.structured.size import COLLAPSED, LAW, MEMORY, structured_work
from draftproof.simulator.laws.structured.steady import SteadyState, steady_by_laws, steady_by_states
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.origins import is_library
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import DraftScheme, TokenProcess, Verifier
from draftproof.simulator.shown import fields_html, number_text
from draftproof.simulator.structures import TopDown
from draftproof.simulator.verdicts.ties import rounding_decides
from draftproof.simulator.verdicts.validation import check_scheme, check_verifier

ENGINES = ("auto", "enumerate", "structured")
#: The note on a verdict that assumes the declared structure of a user-defined verifier.
ASSUMED = "by its structure, which was not compared with verify on every instance"


@dataclass(frozen=True, repr=False)
class Check:
    """The verdict on one instance.

    In rational arithmetic it is a proof for the instance; in float64 `lossless` only says that no
    deviation exceeds the rounding tolerance.
    tolerance: the largest total variation that is lossless, in place of the largest deviation of the arithmetic.
    assumed: whether the verdict assumes the structure that a user-defined verifier declares; it then says nothing about
    `verify`, which did not run on every instance.
    rounding_decides: whether the accepted depth depends on how float64 ranks tokens whose `p/q` (nearly) tie.
    """

    verifier: str
    scheme: DraftScheme
    arithmetic: str
    engine: str
    metrics: Metrics
    tolerance: float | None = None
    assumed: bool = False
    rounding_decides: bool = False

    @property
    def lossless(self) -> bool:
        if self.tolerance is not None and self.metrics.total_variation is not None:
            return self.metrics.total_variation <= self.tolerance  # false for NaN
        return self.metrics.max_deviation <= arithmetic_named(self.arithmetic).tolerance

    @property
    def violation(self) -> Violation | None:
        """Where the balance fails most; None if it does not fail."""
        return None if self.lossless else self.metrics.worst

    @property
    def max_deviation(self) -> Fraction | float:
        return self.metrics.max_deviation

    @property
    def total_variation(self) -> Fraction | float | None:
        """None where the law was too large to be stored."""
        return self.metrics.total_variation

    @property
    def block_efficiency(self) -> Fraction | float:
        return self.metrics.block_efficiency

    def assert_lossless(self) -> None:
        """Raise `AssertionError` with the violation unless it is lossless."""
        if not self.lossless:
            raise AssertionError(f"{self.verifier} is not lossless on {self.scheme}: {self.violation}")

    def to_dict(self) -> dict[str, Any]:
        """The verdict and its numbers, exact ones as `Fraction`."""
        about = {"verifier": self.verifier, "scheme": str(self.scheme), "arithmetic": self.arithmetic}
        violation = as_fields(self.violation) if self.violation is not None else None
        numbers = {**self.metrics.to_dict(), "violation": violation}
        answer = {"engine": self.engine, "lossless": self.lossless, "assumed": self.assumed}
        return {**about, **answer, "rounding_decides": self.rounding_decides, **numbers}

    def __repr__(self) -> str:
        verdict = "lossless" if self.lossless else f"NOT lossless, max deviation {number_text(self.max_deviation)}"
        verdict += f" {ASSUMED}" if self.assumed else ""
        how = f"{self.arithmetic}{', rounding decides' if self.rounding_decides else ''}, {self.engine}"
        tokens = f"block efficiency {number_text(self.block_efficiency)}"
        return f"Check({self.verifier} on {self.scheme}: {verdict}; {tokens}; {how})"

    def _repr_html_(self) -> str:
        return fields_html(f"{self.verifier} on {self.scheme}", self.to_dict())


#: A function that checks one exact instance on a scheme.
Judge: TypeAlias = Callable[[Instance, DraftScheme], Check]


def choose_engine(
    verifier: Verifier, scheme: DraftScheme, engine: str = "auto", draft: TokenProcess | None = None
) -> str:
    """The engine that will run: `enumerate`, or `structured` with the structure it uses.

    "auto" enumerates user-defined verifiers, since their structure proves nothing about their `verify`; "structured"
    must be requested. Drafts that give verifiers another q than tokens are drawn from are enumerated too. Raises
    `InvalidInput` for an unknown engine, or where the verifier has no structure for this scheme.
    """
    check_verifier(verifier)
    check_scheme(scheme)
    if engine not in ENGINES:
        raise InvalidInput(f"unknown engine {engine!r}; choose one of {', '.join(ENGINES)}")
    enumerated = engine == "enumerate" or (engine == "auto" and not is_library(verifier))
    other_q = draft is not None and told_of(draft) is not None
    structure = None if enumerated or other_q else declared_for(verifier, scheme)
    if engine == "structured" and other_q:
        raise InvalidInput("verifiers are told another q than tokens are drawn from; use the engine enumerate")
    if engine == "structured" and structure is None:
        raise InvalidInput(
            f"{verifier.card.name} offers no structured evaluation on {scheme}; use the engine enumerate"
        )
    return f"structured ({structure.name})" if structure else "enumerate"


def block_law(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: str = "rational",
    engine: str = "auto",
    progress: Progress | None = None,
) -> BlockLaw:
    """The exact law of one block of `verifier` on trees that `scheme` draws from `draft`.

    target, draft: processes with rows for contexts up to length `L` and `L - 1`.
    arithmetic: "rational" or "float64". engine: "auto", "enumerate" or "structured".
    Raises `InvalidInput`, `TooLarge`, `UnsupportedTree` or `InvalidVerifier`.
    """
    chosen = choose_engine(verifier, scheme, engine, draft)
    instance = Instance.of(target, draft, scheme.depth, arithmetic_named(arithmetic))
    if chosen == "enumerate":
        return guarded_law(verifier, instance.target, instance.draft, scheme, progress)
    return structured_law(verifier, TableRows.of(instance.target, instance.draft), scheme, progress)


@dataclass(frozen=True)
class Evaluator:
    """Checks one verifier on many instances and shapes with the same arithmetic and engine.

    arithmetic: "rational" or "float64". engine: "auto", "enumerate" or "structured". device: a torch device for
    structured engines, None for numpy. memory: bytes that they may take. ties_tested: whether the verifier is known to
    rank tokens whose `p/q` tie in float64 as in rationals; others are tested where there are ties.
    Markov processes with the same tables share their work.
    """

    verifier: Verifier
    arithmetic: str = "rational"
    engine: str = "auto"
    device: str | None = None
    memory: float = MEMORY
    ties_tested: bool = False
    _collapsed: dict[tuple[int, int], tuple[Any, Any, CollapsedTopDown, dict[int, CollapsedTopDown]]] = field(
        default_factory=dict, repr=False
    )

    def check(
        self, target: TokenProcess, draft: TokenProcess, scheme: DraftScheme, progress: Progress | None = None
    ) -> Check:
        """Whether the verifier is lossless on this instance, by the balance equation.

        In float64 also whether rounding decides how many tokens are accepted, see `draftproof.simulator.verdicts.ties`.
        Raises `InvalidInput`, `TooLarge`, `UnsupportedTree` or `InvalidVerifier`.
        """
        checked = self._evaluate(target, draft, scheme, progress)
        if arithmetic_named(self.arithmetic).exact:
            if checked.engine == "enumerate" and checked.lossless:
                assert_holds_in_floats(self.verifier, target, draft, scheme)
            return checked
        floats = Case("", target, draft).converted(FLOAT64, scheme.depth)

        def depths(other: TokenProcess) -> list[Fraction | float]:
            apart = replace(self, _collapsed={})
            return apart._evaluate(other, floats.draft, scheme).metrics.depth_distribution

        taus = checked.metrics.depth_distribution
        decides = rounding_decides(taus, depths, floats.target, floats.draft, self.ties_tested)
        return replace(checked, rounding_decides=decides)

    def _evaluate(
        self, target: TokenProcess, draft: TokenProcess, scheme: DraftScheme, progress: Progress | None = None
    ) -> Check:
        """One evaluation: the engine, the metrics and whether a structure was assumed.

        A structured engine stores the whole law where it fits, else only its metrics: by states for top-down verifiers
        on Markov processes, by chunks of contexts otherwise.
        """
        engine = choose_engine(self.verifier, scheme, self.engine, draft)
        numbers = arithmetic_named(self.arithmetic)
        if engine == "enumerate" or not isinstance(scheme, Delayed):
            if self.device is not None:
                raise InvalidInput(
                    f"{self.verifier.card.name} on {scheme} is enumerated, which takes the backend numpy"
                )
            instance = Instance.of(target, draft, scheme.depth, numbers)
            law = guarded_law(self.verifier, instance.target, instance.draft, scheme, progress)
            return self._verdict(scheme, engine, Metrics.of(law, instance.target))
        work = structured_work(self.verifier, target, draft, scheme, numbers, self.memory)
        if isinstance(target, MarkovProcess) and isinstance(draft, MarkovProcess) and work.mode != LAW:
            pair = target.converted(numbers, "target"), draft.converted(numbers, "draft")
            if work.mode == COLLAPSED:
                return self._verdict(scheme, work.engine, self._by_states(*pair).metrics(scheme))
            rows: RowSource = MarkovRows(*pair, device=self.device)
        else:
            instance = Instance.of(target, draft, scheme.depth, numbers)
            rows = TableRows.of(instance.target, instance.draft, self.device)
            if work.mode == LAW:
                law = structured_law(self.verifier, rows, scheme, progress)
                return self._verdict(scheme, work.engine, Metrics.of(law, instance.target))
        return self._verdict(scheme, work.engine, structured_metrics(self.verifier, rows, scheme, progress))

    def steady_state(self, target: TokenProcess, draft: TokenProcess, scheme: Delayed) -> SteadyState:
        """Tokens a target pass in the long run, on Markov processes; see `simulator.laws.structured.steady`."""
        if not (isinstance(target, MarkovProcess) and isinstance(draft, MarkovProcess)):
            raise InvalidInput("a steady state needs Markov processes, such as those of a text")
        if told_of(draft) is not None:
            raise InvalidInput(
                "no steady state is computed where verifiers are told another q than tokens are drawn from"
            )
        numbers = arithmetic_named(self.arithmetic)
        choose_engine(self.verifier, scheme, "structured")
        pair = target.converted(numbers, "target"), draft.converted(numbers, "draft")
        if isinstance(declared_for(self.verifier, scheme), TopDown):
            return steady_by_states(self._by_states(*pair), scheme)
        return steady_by_laws(self.verifier, MarkovRows(*pair, device=self.device), scheme)

    def _verdict(self, scheme: DraftScheme, engine: str, metrics: Metrics) -> Check:
        assumed = self.engine == "structured" and not is_library(self.verifier)  # "auto" enumerates what is not
        return Check(self.verifier.card.name, scheme, self.arithmetic, engine, metrics, assumed=assumed)

    def _by_states(self, target: MarkovProcess, draft: MarkovProcess) -> CollapsedTopDown:
        """The collapsed law from these roots, stored for other shapes."""
        tables, (_, start) = (id(target.states), id(draft.states)), common_state(target, draft)
        if tables not in self._collapsed:  # with the processes, so that no other table gets the same id
            engine = CollapsedTopDown(self.verifier, MarkovRows(target, draft, device=self.device))
            self._collapsed[tables] = target, draft, engine, {}
        *_, engine, starts = self._collapsed[tables]
        if start not in starts:
            starts[start] = engine.starting_at(start)
        return starts[start]


def assert_holds_in_floats(verifier: Verifier, target: TokenProcess, draft: TokenProcess, scheme: DraftScheme) -> None:
    """Raise `InvalidVerifier` where user code that is lossless in rationals is not lossless on the same floats.

    Such code behaves differently for floats and rationals. Verifiers of the library are not tested, nor is code that
    refuses floats.
    """
    if is_library(verifier) and not isinstance(scheme, UserScheme):
        return
    instance = Instance.of(target, draft, scheme.depth, FLOAT64)
    try:
        law = guarded_law(verifier, instance.target, instance.draft, scheme)
    except (DraftproofError, ArithmeticError):
        return
    checked = Check(verifier.card.name, scheme, FLOAT64.name, "enumerate", Metrics.of(law, instance.target))
    if not checked.lossless:
        raise InvalidVerifier(
            f"it is lossless in rationals, and on the same numbers in float64 its balance is off by "
            f"{float(checked.max_deviation):.2g}: it does something else with floats, so the rationals prove nothing"
        )


def check(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: str = "rational",
    engine: str = "auto",
    progress: Progress | None = None,
    memory: float = MEMORY,
) -> Check:
    """Whether `verifier` is lossless on this instance, by the balance equation; arguments as for `block_law`.

    memory: bytes that structured engines may take.
    """
    return Evaluator(verifier, arithmetic, engine, memory=memory).check(target, draft, scheme, progress)
