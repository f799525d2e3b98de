"""Laws and verdicts for one instance: `block_law`, `check` and `assert_lossless`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from simulator.arithmetic import arithmetic_named
from simulator.enumerate import enumerate_law
from simulator.errors import InvalidInput
from simulator.instance import Instance
from simulator.law import BlockLaw, Violation
from simulator.protocol import DraftScheme, Progress, TokenProcess, Verifier

ENGINES = ("auto", "enumerate", "structured")


@dataclass(frozen=True)
class Check:
    """The verdict on one instance, with the law it rests on.

    In rational arithmetic it is a proof for the instance; in float64 `lossless` only says that no
    deviation exceeds the rounding tolerance.
    """

    verifier: str
    scheme: DraftScheme
    arithmetic: str
    engine: str
    instance: Instance
    law: BlockLaw
    violation: Violation | None
    max_deviation: Fraction | float
    total_variation: Fraction | float

    @property
    def lossless(self) -> bool:
        return self.violation is None

    @property
    def block_efficiency(self) -> Fraction | float:
        return self.law.block_efficiency


def choose_engine(verifier: Verifier, engine: str) -> str:
    """The engine that will run: raises `InvalidInput` for an unknown one or one the verifier does not offer."""
    if engine not in ENGINES:
        raise InvalidInput(f"unknown engine {engine!r}; choose one of {', '.join(ENGINES)}")
    if engine == "structured":
        raise InvalidInput(f"{verifier.card.name} offers no structured evaluation; use --engine enumerate")
    return "enumerate"


def block_law(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: str = "float64",
    engine: str = "auto",
    progress: Progress | None = None,
) -> BlockLaw:
    """The exact law of one block of `verifier` on trees that `scheme` draws from `draft`.

    target, draft: processes with rows for contexts up to length `L` and `L - 1`.
    arithmetic: "rational" or "float64". engine: "auto" or "enumerate".
    Raises `InvalidInput`, `TooLarge`, `UnsupportedTree` or `InvalidVerifier`.
    """
    choose_engine(verifier, engine)
    instance = Instance.of(target, draft, scheme.depth, arithmetic_named(arithmetic))
    return enumerate_law(verifier, instance.target, instance.draft, scheme, progress)


def check(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: str = "rational",
    engine: str = "auto",
    progress: Progress | None = None,
) -> Check:
    """Whether `verifier` is lossless on this instance, by the balance equation; arguments as for `block_law`."""
    chosen = choose_engine(verifier, engine)
    instance = Instance.of(target, draft, scheme.depth, arithmetic_named(arithmetic))
    law = enumerate_law(verifier, instance.target, instance.draft, scheme, progress)
    violation = law.violation(instance.target)
    return Check(
        verifier=verifier.card.name,
        scheme=scheme,
        arithmetic=arithmetic,
        engine=chosen,
        instance=instance,
        law=law,
        violation=None if violation.deviation <= law.arithmetic.tolerance else violation,
        max_deviation=violation.deviation,
        total_variation=law.total_variation(instance.target),
    )


def assert_lossless(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: str = "rational",
    engine: str = "auto",
) -> None:
    """Raise `AssertionError` with the witness unless `check` finds the verifier lossless."""
    verdict = check(verifier, target, draft, scheme, arithmetic, engine)
    if verdict.violation is not None:
        raise AssertionError(f"{verdict.verifier} is not lossless on {scheme}: {verdict.violation}")
