"""The enumerating engine agrees with brute force over answers, and refuses verifiers that break the contract."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.simulator import (
    FAMILIES,
    Card,
    Coin,
    Delayed,
    DraftNode,
    Instance,
    InvalidVerifier,
    TooLarge,
    UnsupportedTree,
    Verdict,
    check,
)
from draftproof.simulator.errors import NoFunction
from draftproof.simulator.laws.enumeration import (
    EnumerationSize,
    assert_function,
    enumerate_law,
    estimate_size,
)
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.verdicts.costs import Costing, assert_affordable
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers import make
from draftproof.verifiers.naive import Naive
from tests.calls import calls_of

SCHEME = Delayed(2, 0, 1)
INSTANCE = FAMILIES["dirichlet"].instance(3, 1, np.random.default_rng(0), 20)


class Scripted:
    """A verifier made from a function."""

    card = Card("scripted", "Scripted", None)

    def __init__(self, verify: Callable[[DraftNode, Coin], Any]) -> None:
        self.verify = verify


def law_of(verify: Callable[[DraftNode, Coin], Any], instance: Instance = INSTANCE) -> BlockLaw:
    return enumerate_law(Scripted(verify), instance.target, instance.draft, SCHEME)


def test_law_of_a_verifier_that_stops_at_the_root_is_its_choice() -> None:
    law = law_of(lambda root, coin: Verdict((), coin.choose(root.target)))
    assert law.correction[0][0].tolist() == INSTANCE.target.row(()).tolist()
    assert law.correction[1].sum() == 0
    assert law.block_efficiency == 1


def test_law_of_a_verifier_that_follows_the_first_draft_is_draft_times_target() -> None:
    def follow(root: DraftNode, coin: Coin) -> Verdict:
        leaf = root.child(root.children[0])
        return Verdict(leaf.context, coin.choose(leaf.target))

    law, (q, p) = law_of(follow), (INSTANCE.draft.row(()), INSTANCE.target)
    assert law.correction[1].tolist() == [(q[x] * p.row((x,))).tolist() for x in range(3)]
    assert law.correction[0].sum() == 0


def test_law_of_a_verifier_that_looks_at_both_drafts_is_that_of_their_maximum() -> None:
    law = law_of(lambda root, coin: Verdict((max(root.children),), 0))
    q = INSTANCE.draft.row(())
    below = [sum(q[: token + 1]) ** 2 for token in range(3)]
    assert law.correction[1][:, 0].tolist() == [high - low for high, low in zip(below, [fmpq(0), *below], strict=False)]


def test_progress_is_told_of_every_tree() -> None:
    steps: list[int] = []
    enumerate_law(verifiers.make("naive"), INSTANCE.target, INSTANCE.draft, SCHEME, steps.append)
    assert steps == [1] * SCHEME.count(INSTANCE.draft)


@pytest.mark.parametrize("accepted", [(3,), (0, 0), (0, 1), (-1,), (None,), (1.0,), ([0],), ("0",)], ids=repr)
def test_accepting_what_is_no_node_is_refused(accepted: Any) -> None:
    with pytest.raises(InvalidVerifier) as caught:
        law_of(lambda root, coin: Verdict(accepted, 0))
    assert str(caught.value).startswith(f"accepted {accepted!r}, which is no node of the draft tree")


def test_accepting_a_token_that_this_tree_did_not_draft_is_refused() -> None:
    def sibling(root: DraftNode, coin: Coin) -> Verdict:
        return Verdict(((root.children[0] + 1) % 3,), 0)

    with pytest.raises(InvalidVerifier, match="which is no node of the draft tree"):
        law_of(sibling)


@pytest.mark.parametrize("answer", [None, 0, ((), 0), Verdict([0], 0), Verdict(None, 0)], ids=repr)
def test_returning_anything_but_a_verdict_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidVerifier) as caught:
        law_of(lambda root, coin: answer)
    assert str(caught.value).startswith(f"verify returned {answer!r}; it must be a Verdict(accepted, correction)")


@pytest.mark.parametrize("token", [3, -1, 1.0, None, "1"], ids=repr)
def test_correction_that_is_no_token_is_refused(token: Any) -> None:
    with pytest.raises(InvalidVerifier) as caught:
        law_of(lambda root, coin: Verdict((), token))
    assert str(caught.value).startswith(f"correction {token!r} is no token; tokens are 0..2 (test_enumerate.py line")


def test_exception_inside_verify_is_reported_with_its_line() -> None:
    with pytest.raises(
        InvalidVerifier,
        match=r"^verify raised ZeroDivisionError: .* \(test_enumerate.py line \d+, in <lambda>: `.*`\)$",
    ) as caught:
        law_of(lambda root, coin: Verdict((), 1 // 0))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_errors_of_the_library_pass_through_unchanged() -> None:
    def refuse(root: DraftNode, coin: Coin) -> Verdict:
        raise UnsupportedTree("paths must be i.i.d.")

    with pytest.raises(UnsupportedTree, match=r"^paths must be i\.i\.d\.$"):
        law_of(refuse)


def test_state_between_calls_is_refused() -> None:
    calls = count(1)
    with pytest.raises(InvalidVerifier, match="without state or other randomness"):
        law_of(lambda root, coin: Verdict((), int(coin.flip(fmpq(1, next(calls) + 1)))))


def test_float_in_a_rational_run_is_refused() -> None:
    with pytest.raises(InvalidVerifier, match=r"the coin was given 0\.5 \(float\) in a rational run"):
        law_of(lambda root, coin: Verdict((), int(coin.flip(0.5))))


def test_writing_to_a_row_is_refused() -> None:
    def scribble(root: DraftNode, coin: Coin) -> Verdict:
        root.target[0] = fmpq(1)
        return Verdict((), 0)

    with pytest.raises(InvalidVerifier, match="verify raised ValueError: assignment destination is read-only"):
        law_of(scribble)


@pytest.mark.parametrize("family", ["dirichlet", "zeros"])
@pytest.mark.parametrize("shape", [(2, 0, 2), (2, 1, 1), (1, 0, 2)], ids=str)
def test_estimated_trees_agree_with_the_scheme_and_runs_with_a_verifier_of_known_cost(
    shape: tuple[int, int, int], family: str
) -> None:
    scheme = Delayed(*shape)
    instance = FAMILIES[family].instance(3, scheme.depth, np.random.default_rng(1), 20)
    six = Scripted(lambda root, coin: Verdict((), coin.choose([1, 1, 1]) * int(coin.flip(fmpq(1, 3)))))
    size = estimate_size(six, instance.target, instance.draft, scheme, np.random.default_rng(0))
    assert size == EnumerationSize(trees=scheme.count(instance.draft), runs_per_tree=6.0)
    assert size.runs == 6 * scheme.count(instance.draft)


class Counted:
    """Its calls are those of a verifier."""

    def __init__(self, verifier: Any) -> None:
        self.verifier, self.card = verifier, verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.verifier.verify(root, coin)


def uneven(root: DraftNode, coin: Coin) -> Verdict:
    """Each head ends it; a tail asks for three more of five."""
    for _ in range(7):
        if coin.flip(fmpq(1, 3)):
            break
        coin.choose([1] * 3)
    return Verdict((), coin.choose(root.target))


COINS = {
    "twelve coins": Scripted(lambda root, coin: Verdict((), sum(coin.flip(fmpq(1, 9)) for _ in range(12)) % 2)),
    "uneven": Scripted(uneven),
    "ties of one": Scripted(lambda root, coin: Verdict((), sum(coin.flip(1) for _ in range(40)) % 2)),
    **{name: make(name) for name in ("nss", "specinfer", "traversal", "layer_transport", "tree_monte_carlo")},
}


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", [Delayed(1, 0, 1), Delayed(2, 0, 2)], ids=str)
@pytest.mark.parametrize("name", COINS)
def test_estimated_runs_are_within_a_factor_of_three_of_the_runs(name: str, scheme: Delayed) -> None:
    if scheme.nodes > 1 and name in ("twelve coins", "uneven"):
        scheme = Delayed(2, 0, 1)
    instance = FAMILIES["dirichlet"].instance(2, scheme.depth, np.random.default_rng(1), 20)
    counted = Counted(COINS[name])
    with calls_of(Counted.verify) as runs:
        size = estimate_size(counted, instance.target, instance.draft, scheme, np.random.default_rng(0))
    assert runs == [size.tried]
    assert size.tried <= 12 * 1_001
    with calls_of(Counted.verify) as runs:
        enumerate_law(counted, instance.target, instance.draft, scheme)
    assert runs[0] / 3 <= size.runs <= runs[0] * 3


@pytest.mark.heavy
def test_what_is_looked_at_before_the_cost_is_said_does_not_grow_with_the_runs() -> None:
    many = Counted(Scripted(lambda root, coin: Verdict((), max(coin.choose([1] * 10) for _ in range(6)) % 3)))
    evaluator = Evaluator(many, "rational", "enumerate")
    with pytest.raises(TooLarge, match="runs, more than"):
        Costing(evaluator, "many", perf_counter, True, 10**6, {}).cost(SCHEME, [(INSTANCE.target, INSTANCE.draft)])
    with calls_of(Counted.verify) as runs:
        Costing(evaluator, "many", perf_counter, True, 10**99, {}).cost(SCHEME, [(INSTANCE.target, INSTANCE.draft)])
    assert 0 < runs[0] < 50_000


def test_estimate_stops_counting_at_its_cap() -> None:
    many = Scripted(lambda root, coin: Verdict((), max(coin.choose([1] * 10) for _ in range(9)) % 3))
    size = estimate_size(many, INSTANCE.target, INSTANCE.draft, SCHEME, np.random.default_rng(0), samples=2, cap=50)
    assert size.tried == 2 * (51 + 50)
    assert size.runs_per_tree == 10**9


def test_errors_during_an_estimate_are_reported_like_those_of_an_enumeration() -> None:
    broken = Scripted(lambda root, coin: Verdict((), 1 // 0))
    with pytest.raises(InvalidVerifier, match="verify raised ZeroDivisionError"):
        estimate_size(broken, INSTANCE.target, INSTANCE.draft, SCHEME, np.random.default_rng(0))


def test_state_that_the_coin_cannot_notice_is_found_by_visiting_trees_again() -> None:
    calls = count()
    stateful = Scripted(lambda root, coin: Verdict((), next(calls) % 3))
    for verifier in (stateful, verifiers.make("specinfer")):
        honest = verifier is not stateful
        with (
            nullcontext() if honest else pytest.raises(InvalidVerifier, match="gave different results: verify must be")
        ):
            assert_function(verifier, INSTANCE.target, INSTANCE.draft, SCHEME, np.random.default_rng(0))


class Caching(Scripted):
    """Draws from the target, but for its first run on rows: then it says 0, the first answer of an enumeration."""

    def __init__(self) -> None:
        known = set()

        def verdict(root: Any, coin: Coin) -> Verdict:
            drawn, key = coin.choose(root.target), (tuple(map(str, root.target)), root.children)
            first = key not in known
            known.add(key)
            return Verdict((), 0 if first else drawn)

        super().__init__(verdict)


def test_what_is_kept_from_the_first_run_on_a_tree_is_found_before_any_other_run() -> None:
    with pytest.raises(InvalidVerifier, match="verify gave two laws on one draft tree"):
        assert_function(Caching(), INSTANCE.target, INSTANCE.draft, SCHEME, np.random.default_rng(0))
    evaluator = Evaluator(Caching(), "rational", "enumerate")
    with pytest.raises(InvalidVerifier, match="verify gave two laws on one draft tree"):
        Costing(evaluator, "caching", perf_counter, True, 10**6, {}).cost(SCHEME, [(INSTANCE.target, INSTANCE.draft)])
    with pytest.raises(InvalidVerifier, match="verify gave two laws on one draft tree"):
        assert_affordable(
            Evaluator(Caching(), "rational", "enumerate"), SCHEME, (INSTANCE.target, INSTANCE.draft), 10**6, "caching"
        )


def test_estimate_sees_every_outcome_of_a_scheme_that_flips() -> None:
    seen = []

    class Flipping(Delayed):
        def draw(self, draft: Any, coin: Coin) -> Any:
            seen.append([coin.flip(fmpq(1, 100)), coin.flip(fmpq(1)), coin.flip(fmpq(0))])
            return super().draw(draft, coin)

    keep = Scripted(lambda root, coin: Verdict((), coin.choose(root.target)))
    estimate_size(keep, INSTANCE.target, INSTANCE.draft, Flipping(2, 0, 1), np.random.default_rng(0))
    assert {first for first, _, _ in seen} == {True, False}
    assert all(rest == [True, False] for _, *rest in seen)


@pytest.mark.parametrize("power", [0, 10, 52, 998])
def test_a_size_is_a_number_as_long_as_floats_hold_it(power: int) -> None:
    assert EnumerationSize(trees=2**power, runs_per_tree=1.0).runs == 2.0**power
    assert EnumerationSize(trees=2 ** (power + 1024), runs_per_tree=1.0).runs == float("inf")


@pytest.mark.parametrize("draw", [random.random, np.random.random])
def test_random_numbers_beside_the_coin_are_refused_at_the_first_run(draw):
    class Beside(Naive):
        structure = None

        def verify(self, root, coin):
            return Verdict((), 0) if draw() < 0 else super().verify(root, coin)

    with pytest.raises(NoFunction, match="beside its coin"):
        check(Beside(), INSTANCE.target, INSTANCE.draft, SCHEME)


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
@pytest.mark.parametrize("draw", [None, lambda: np.random.bytes(4), np.random.normal], ids=["none", "bytes", "normal"])
@pytest.mark.parametrize("waiting", [False, True])  # a second normal number is kept for the next call
def test_one_draw_of_numpy_is_seen_with_any_bit_generator(kind, draw, waiting):
    draws = iter([draw] if draw else [])

    class Beside(Naive):
        structure = None

        def verify(self, root, coin):
            next(draws, int)()
            return super().verify(root, coin)

    before = np.random.get_bit_generator()
    np.random.set_bit_generator(kind(0))
    try:
        if waiting:
            np.random.normal()
        with pytest.raises(NoFunction, match="beside its coin") if draw else nullcontext():
            assert check(Beside(), INSTANCE.target, INSTANCE.draft, SCHEME).lossless
    finally:
        np.random.set_bit_generator(before)
