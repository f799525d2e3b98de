"""`check` proves or refutes, `assert_lossless` raises with the witness, and bad requests are refused."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from draftproof import verifiers
from draftproof.simulator import (
    Delayed,
    InvalidInput,
    MarkovProcess,
    TooLarge,
    Violation,
    assert_lossless,
    block_law,
    check,
)
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import WithoutReplacement
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.verdicts.lossless import Evaluator

P = MarkovProcess(RATIONAL.vector([["1/3", "2/3"]]))
Q = MarkovProcess(RATIONAL.vector([["2/3", "1/3"]]))
STEP = Delayed(1, 0, 1)
NAIVE, BIASED = verifiers.make("naive"), verifiers.make("naive_from_target")


def test_lossless_verdict_is_exactly_zero() -> None:
    found = check(NAIVE, P, Q, STEP)
    assert found.lossless
    assert (found.violation, found.max_deviation, found.total_variation) == (None, 0, 0)
    assert found.block_efficiency == Fraction(5, 3)
    assert (found.verifier, found.scheme, found.arithmetic, found.engine) == (
        "naive",
        STEP,
        "rational",
        "structured (top-down)",
    )
    slow = check(NAIVE, P, Q, STEP, engine="enumerate")
    assert slow.engine == "enumerate"
    assert slow.metrics == found.metrics


def test_refutation_has_the_numbers_computed_by_hand() -> None:
    # Draft 0 (2/3) is accepted half of the time, draft 1 (1/3) always; a rejection (1/3) is redrawn from p:
    # token 0 has 1/3 + 1/3 1/3 = 4/9 instead of 1/3.
    found = check(BIASED, P, Q, STEP)
    assert not found.lossless
    assert found.violation == Violation((), 0, Fraction(1, 3), Fraction(4, 9))
    assert found.max_deviation == found.total_variation == Fraction(1, 9)


def test_assert_lossless_raises_with_the_witness() -> None:
    assert_lossless(NAIVE, P, Q, STEP)
    with pytest.raises(AssertionError) as caught:
        assert_lossless(BIASED, P, Q, STEP)
    assert str(caught.value) == (
        "naive_from_target is not lossless on delayed(K=1, L1=0, L2=1): "
        "after context (), token 0 must have mass 1/3; the block gives it 4/9"
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"engine": "magic"}, InvalidInput, "unknown engine 'magic'; choose one of auto, enumerate, structured"),
        (
            {"engine": "structured", "scheme": WithoutReplacement(1, 0, 1)},
            InvalidInput,
            r"naive offers no structured evaluation on without_replacement\(.*\); use the engine enumerate",
        ),
        ({"arithmetic": "decimal"}, InvalidInput, "unknown arithmetic 'decimal'; choose rational or float64"),
        (
            {"scheme": Delayed(1, 0, 25), "engine": "enumerate"},
            TooLarge,
            "tables of depth 25 at V = 2 have more than 4,000,000 rational entries; the deepest that fit have depth 20",
        ),
    ],
    ids=["engine", "structured", "arithmetic", "size"],
)
def test_requests_that_cannot_be_served_are_refused(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    for function in (check, block_law, assert_lossless):
        with pytest.raises(error, match=message):
            function(NAIVE, P, Q, **{"scheme": STEP, "arithmetic": "rational", **arguments})


@pytest.mark.parametrize("name", ["naive", "specinfer", "block", "traversal"])
def test_the_long_run_of_tokens_without_memory_is_that_of_one_block(name: str) -> None:
    evaluator = Evaluator(verifiers.make(name))
    found = evaluator.steady_state(P, Q, STEP)
    assert found.efficiency == evaluator.check(P, Q, STEP).block_efficiency == Fraction(5, 3)


def test_laws_by_states_are_kept_by_target_and_draft() -> None:
    evaluator, scheme = Evaluator(NAIVE, memory=10_000), Delayed(1, 0, 4)  # the whole law takes more
    for target, draft in ((P, Q), (P, P), (Q, P)):
        assert evaluator.check(target, draft, scheme).metrics.depth_distribution == (
            check(NAIVE, target, draft, scheme, engine="enumerate").metrics.depth_distribution
        )


@pytest.mark.parametrize(("target", "draft"), [(True, False), (False, True), (False, False)])
def test_a_long_run_needs_processes_without_an_end(target: bool, draft: bool) -> None:
    pair = [given if markov else tabulate(given, 1, RATIONAL) for given, markov in ((P, target), (Q, draft))]
    with pytest.raises(InvalidInput, match="a steady state needs Markov processes"):
        Evaluator(NAIVE).steady_state(*pair, STEP)


@pytest.mark.parametrize(
    "wrong",
    [
        SimpleNamespace(card=NAIVE.card, verify=3),
        SimpleNamespace(verify=NAIVE.verify),
        SimpleNamespace(card=NAIVE.card),
    ],
    ids=lambda each: ",".join(vars(each)),
)
def test_an_object_without_a_card_or_without_verify_is_no_verifier(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        check(wrong, P, Q, STEP)
