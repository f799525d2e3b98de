"""The enumerating engine agrees with brute force over answers, and refuses verifiers that break the contract."""

from collections.abc import Callable, Iterator
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
    UnsupportedTree,
    Verdict,
    check,
)
from draftproof.simulator.errors import NoFunction
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.trials import EnumerationSize, assert_function, estimate_size
from draftproof.simulator.verdicts.costs import Costing
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers.naive import Naive

SCHEME = Delayed(2, 0, 1)
INSTANCE = FAMILIES["dirichlet"].instance(3, 1, np.random.default_rng(0), 20)


class Scripted:
    """A verifier made from a function."""

    card = Card("scripted", "Scripted", None)

    def __init__(self, verify: Callable[[DraftNode, Coin], Any]) -> None:
        self.verify = verify


def law_of(verify: Callable[[DraftNode, Coin], Any], instance: Instance = INSTANCE) -> BlockLaw:
    return guarded_law(Scripted(verify), instance.target, instance.draft, SCHEME)


def test_law_of_a_verifier_that_looks_at_both_drafts_is_that_of_their_maximum() -> None:
    law = law_of(lambda root, coin: Verdict((max(root.children),), 0))
    q = INSTANCE.draft.row(())
    below = [sum(q[: token + 1]) ** 2 for token in range(3)]
    assert law.correction[1][:, 0].tolist() == [high - low for high, low in zip(below, [fmpq(0), *below], strict=False)]


def scribble(root: DraftNode, coin: Coin) -> Verdict:
    root.target[0] = fmpq(1)
    return Verdict((), 0)


def stateful(root: DraftNode, coin: Coin, calls: Iterator[int] = count(1)) -> Verdict:  # noqa: B008
    return Verdict((), int(coin.flip(fmpq(1, next(calls) + 1))))


NO_NODE = "which is no node of the draft tree"
NO_TOKEN = r"is no token; tokens are 0\.\.2 \(test_enumerate.py line"
#: What verify may not do, and what is said of it.
WRONG: list[tuple[Any, str]] = [
    *((Verdict(accepted, 0), NO_NODE) for accepted in ((3,), (0, 0), (-1,), (None,), (1.0,), ([0],), ("0",))),
    (lambda root, coin: Verdict(((root.children[0] + 1) % 3,), 0), NO_NODE),
    *(
        (answer, r"must be a Verdict\(accepted, correction\)")
        for answer in (None, 0, ((), 0), Verdict([0], 0), Verdict(None, 0))  # type: ignore[arg-type]
    ),
    *((Verdict((), token), NO_TOKEN) for token in (3, -1, 1.0, None, "1")),  # type: ignore[arg-type]
    (
        lambda root, coin: Verdict((), 1 // 0),
        r"^verify raised ZeroDivisionError: .* \(test_enumerate.py line \d+, in <lambda>: `.*`\)$",
    ),
    (lambda root, coin: Verdict((), int(coin.flip(0.5))), r"the coin was given 0\.5 \(float\) in a rational run"),
    (scribble, "verify raised ValueError: assignment destination is read-only"),
    (stateful, "without state or other randomness"),
]


@pytest.mark.parametrize(("verify", "message"), WRONG)
def test_what_verify_may_not_do_is_refused(verify: Any, message: str) -> None:
    with pytest.raises(InvalidVerifier, match=message):
        law_of(verify if callable(verify) else lambda root, coin: verify)


def test_errors_of_the_library_pass_through_unchanged() -> None:
    def refuse(root: DraftNode, coin: Coin) -> Verdict:
        raise UnsupportedTree("paths must be i.i.d.")

    with pytest.raises(UnsupportedTree, match=r"^paths must be i\.i\.d\.$"):
        law_of(refuse)


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


def test_estimate_stops_counting_at_its_cap() -> None:
    many = Scripted(lambda root, coin: Verdict((), max(coin.choose([1] * 10) for _ in range(9)) % 3))
    size = estimate_size(many, INSTANCE.target, INSTANCE.draft, SCHEME, np.random.default_rng(0), samples=2, cap=50)
    assert size.tried == 2 * (51 + 50)
    assert size.runs_per_tree == 10**9


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
