"""Cuts of batches: all of them on tiny batches, the published ones, and the best one against an exact cover."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest

from draftproof import check_batch
from draftproof.simulator import Delayed, InvalidInput, TooLarge, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.batches.batch import Batch, missing, parents_of
from draftproof.simulator.batches.best import Best, Fixed
from draftproof.simulator.batches.cuts import CONFIDENCES, Equal, Greedy, Threshold, Throughput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.policies.markov_pair import MarkovPair
from draftproof.simulator.policies.policy import Action
from draftproof.verifiers import make


def pairs(count: int, size: int, depth: int, family: str = "dirichlet", seed: int = 0):
    generators = (np.random.default_rng(seed + number) for number in range(count))
    made = [FAMILIES[family].instance(size, depth, generator, 20, RATIONAL) for generator in generators]
    return [(instance.target, instance.draft) for instance in made]


def batch(count: int, size: int, scheme: Delayed, budget: int, verifier: str = "naive", **options) -> Batch:
    return Batch(pairs(count, size, scheme.depth, **options), scheme, make(verifier), budget)


def all_cuts(made: Batch) -> Iterator[dict]:
    """Every function from drafts to what is kept within the budget."""
    drafts = [
        tuple(drafted.tokens for drafted in drawn)
        for drawn in product(*([d for d, _ in request.drafts] for request in made.requests))
    ]
    parts = [request.parts for request in made.requests]
    options = [kept for kept in product(*parts) if sum(map(len, kept)) <= made.budget]
    for chosen in product(options, repeat=len(drafts)):
        yield dict(zip(drafts, chosen, strict=True))


class Table:
    """A cut given by what it keeps of every draft."""

    def __init__(self, kept: dict) -> None:
        self.kept = kept

    def __call__(self, drafts, budget):
        return self.kept[tuple(drafted.tokens for drafted in drafts)]


@pytest.mark.parametrize(
    ("count", "length", "verifier", "all_of_them", "honest", "harmless"),
    [(1, 2, "block", 81, 5, 0), (1, 2, "naive", 81, 5, 0), (2, 1, "naive", 256, 8, 4)],
)
def test_of_all_cuts_those_that_do_not_peek_are_lossless_and_hardly_others(
    count, length, verifier, all_of_them, honest, harmless
):
    """Those few take a request that keeps nothing for a coin. The best of the lossless ones is that of the program."""
    made = batch(count, 2, Delayed(1, 0, length), 2, verifier, seed=5)
    checks = [made.check(Table(kept)) for kept in all_cuts(made)]
    assert (len(checks), sum(found.peek is None for found in checks)) == (all_of_them, honest)
    assert all(found.lossless for found in checks if found.peek is None)
    lossless = [found for found in checks if found.lossless]
    assert sum(found.peek is not None for found in lossless) == harmless
    assert max(found.all_tokens for found in lossless) == as_python(Best(made).tokens)


@pytest.mark.parametrize(
    ("count", "size", "scheme", "budget"),
    [
        (2, 2, Delayed(1, 0, 2), 2),
        (3, 2, Delayed(1, 0, 1), 2),
        (2, 2, Delayed(1, 0, 2), 3),
        (2, 3, Delayed(1, 0, 1), 1),
        (1, 2, Delayed(2, 1, 1), 2),
    ],
)
def test_the_best_cut_is_the_best_exact_cover_of_all_drafts(count, size, scheme, budget):
    """What a cut that does not peek keeps with its tokens holds of a set of drafts, and these sets part all drafts."""
    made = batch(count, size, scheme, budget, seed=5)
    drafts = [
        tuple(x for d in drawn for x in d)
        for drawn in product(*([d.tokens for d, _ in r.drafts] for r in made.requests))
    ]
    cells = {}
    for kept in product(*([part for slots in r.parts for part in r.drawn(slots)] for r in made.requests)):
        if sum(len(slots) for slots, _ in kept) <= budget:
            fixed = [
                (r * scheme.nodes + slot, token)
                for r, part in enumerate(kept)
                for slot, token in zip(*part, strict=True)
            ]
            members = frozenset(n for n, draft in enumerate(drafts) if all(draft[at] == token for at, token in fixed))
            mass = prod(as_python(r.probability(part)) for r, part in zip(made.requests, kept, strict=True))
            tokens = sum(as_python(r.outcome(part).tokens) for r, part in zip(made.requests, kept, strict=True))
            cells[members] = max(cells.get(members, 0), mass * tokens)

    @cache
    def best(left: frozenset) -> Fraction | None:
        if not left:
            return Fraction(0)
        rest = [
            (value, best(left - members))
            for members, value in cells.items()
            if min(left) in members and members <= left
        ]
        return max((value + more for value, more in rest if more is not None), default=None)

    assert best(frozenset(range(len(drafts)))) == as_python(Best(made).tokens)
    found = made.check(Best(made))
    assert (found.all_tokens, found.lossless, found.peek) == (as_python(Best(made).tokens), True, None)


RULES = (
    Equal(),
    Threshold(Fraction(2, 5)),
    Greedy("row"),
    Greedy("acceptance"),
    Throughput(pad=2, slot=Fraction(1, 4)),
)


@pytest.mark.parametrize("verifier", ["naive", "block"])
def test_published_cuts_that_read_no_drawn_token_are_lossless_and_below_the_best(verifier):
    for seed in range(3):
        for family in ("dirichlet", "zeros", "ties"):
            made = batch(2, 2, Delayed(1, 0, 2), 2, verifier, family=family, seed=seed)
            best, fixed = Best(made), made.check(Fixed(made))
            for found in [*map(made.check, RULES), fixed]:
                assert found.lossless, found.violation
                assert found.peek is None
                assert found.all_tokens <= as_python(best.tokens)
            assert fixed.all_tokens >= made.check(Equal()).all_tokens


@pytest.mark.parametrize(
    ("scheme", "verifier"),
    [(Delayed(2, 1, 1), "specinfer"), (Delayed(2, 0, 2), "traversal")],
)
def test_trees_with_all_their_slots_have_the_law_of_check_and_cuts_of_them_are_lossless(scheme, verifier):
    made = batch(2, 2, scheme, 2 * scheme.nodes, verifier)
    whole = made.check(Equal())
    assert list(whole.tokens) == [check(make(verifier), *pair, scheme).block_efficiency for pair in made.pairs]
    assert whole.lossless
    assert made.check(lambda drafts, budget: [[0], [0, 1]], "by hand").lossless
    half = Batch(made.pairs, scheme, make(verifier), 3)
    assert (half.check(Greedy("row")).lossless, half.check(Greedy("token")).lossless) == (True, False)


def test_a_tree_that_grows_by_the_tokens_of_siblings_is_for_some_verifiers_only():
    """It peeks at nothing: the second branch is kept where the first one is token 0."""

    def grown(drafts, budget):
        return [[0, 1] if drafts[0].tokens[0] == 0 else [0]]

    pair = [(["1/2", "1/2"], ["1/4", "3/4"])]
    found = {name: check_batch(grown, pair, 2, "delayed:K=2,L1=0,L2=1", name) for name in ("naive", "nss", "specinfer")}
    assert [check.peek for check in found.values()] == [None] * 3
    assert [check.lossless for check in found.values()] == [True, True, False]


def test_one_request_has_the_tokens_of_policies():
    """A static action of `draftproof policies` drafts as many tokens as one request has slots."""
    rows = FAMILIES["dirichlet"].instance(3, 1, np.random.default_rng(1), 20, RATIONAL)
    world = MarkovPair.of(
        MarkovProcess(rows.target.tables[1], (0,), "target"), MarkovProcess(rows.draft.tables[0], (), "draft")
    )
    actions = [Action(Delayed(1, 0, slots), make("block")) for slots in range(3)]
    tables = world.tables(actions, lambda action: 1)
    for slots in range(3):
        for state in range(3):
            found = check_batch("equal", [world.processes(state)], slots, verifier="block")
            assert found.tokens == (as_python(tables.tokens[slots, state]),)


def test_a_cut_by_the_drafted_token_itself_is_refuted_with_request_position_and_token():
    """D-Cut, where drafts are sampled: whether token 1 is verified depends on its own draft probability."""
    p, q = ["1/2", "1/2"], ["1/4", "3/4"]
    found = check_batch("threshold:by=token,at=1/2", [(p, q), (p, p)], 1, "delayed:K=1,L1=0,L2=1")
    assert str(found.peek) == (
        "request 1, after context (): with token 0, which is not kept, (0, 1) tokens of the requests are kept, "
        "with token 1 (1, 0)"
    )
    # token 1 is drafted by 3/4 and accepted by 2/3; a rejected one becomes 0, a token 0 that is not looked at any token
    assert found.violation == "request 1: after context (), token 0 must have mass 1/2; the block gives it 3/8"
    assert (found.lossless, found.total_variation) == (False, Fraction(1, 8))
    assert check_batch("threshold:by=row,at=1/2", [(p, q), (p, p)], 1, "delayed:K=1,L1=0,L2=1").lossless
    point = check_batch("threshold:by=token,at=1/2", [(p, ["0", "1"]), (p, p)], 1, "delayed:K=1,L1=0,L2=1")
    assert (point.peek is None, point.lossless) == (True, True)  # greedy drafting: the token is known beforehand


def test_requests_that_read_each_others_dropped_tokens_are_tied_though_each_is_lossless():
    p, q = ["1/2", "1/2"], ["1/4", "3/4"]

    def crossed(drafts, budget):
        one, other = (drafted.tokens[0] for drafted in drafts)
        return [[0] if other else [], [0] if one else []]

    found = check_batch(crossed, [(p, q), (p, q)], 2, "delayed:K=1,L1=0,L2=1")
    assert found.violations == (None, None)
    # a first token that is kept and 0 has 3/4 1/3 where it must have 3/4 1/2; two of them 1/4 + (1/4 - 3/8)^2 = 17/64
    assert str(found.dependence) == "the outputs (0, 0), (0, 0) must have probability 1/16 together; they have 17/256"
    assert found.peek is not None
    assert found.violation.startswith("each request is lossless; ")
    ordered = check_batch(lambda drafts, budget: [[0], [0] if drafts[0].tokens[0] else []], [(p, q), (p, q)], 2)
    assert (ordered.peek is None, ordered.lossless) == (True, True)


def test_a_cut_may_decide_in_no_order_and_not_peek():
    """Three requests, of which one that differs from the next is kept with it: each cell of drafts is told by two."""
    p, q = ["1/2", "1/2"], ["1/4", "3/4"]

    def cyclic(drafts, budget):
        tokens = [drafted.tokens[0] for drafted in drafts]
        for r in range(3):
            if (tokens[r], tokens[(r + 1) % 3]) == (0, 1):
                return [[0] if other in (r, (r + 1) % 3) else [] for other in range(3)]
        return [[0], [0], [0]]

    found = check_batch(cyclic, [(p, q)] * 3, 3, "delayed:K=1,L1=0,L2=1")
    assert (found.peek is None, found.lossless) == (True, True)


def test_a_confidence_that_is_updated_by_kept_tokens_brings_more_and_not_all():
    """Token 1 is never accepted. The first request goes on surely after token 0, the second one never does."""
    zero, one = ["1", "0"], ["0", "1"]
    going_on = [[zero], [zero, zero], [zero] * 4], [[["2/5", "3/5"]], [zero, zero]]
    ending = [[zero], [one, one], [zero] * 4], [[["1/2", "1/2"]], [zero, zero]]
    pairs = [going_on, ending]
    tokens = {by: check_batch(f"greedy:by={by}", pairs, 2).all_tokens for by in ("acceptance", "updated")}
    assert tokens == dict.fromkeys(("acceptance", "updated"), 2 + Fraction(1, 2) + Fraction(2, 5))
    best = check_batch("optimum", pairs, 2).all_tokens
    assert best == 2 + Fraction(2, 5) + Fraction(2, 5) + Fraction(3, 5) * Fraction(1, 2)
    twice = [going_on] * 2  # token 0 of the first request says that it goes on
    tokens = {by: check_batch(f"greedy:by={by}", twice, 2).all_tokens for by in ("acceptance", "updated")}
    assert tokens["acceptance"] == 2 + 2 * Fraction(2, 5)
    assert tokens["updated"] == 2 + Fraction(2, 5) + Fraction(2, 5) + Fraction(3, 5) * Fraction(2, 5)


def test_the_largest_rate_of_all_sizes_peeks_where_time_is_a_staircase_and_the_first_decrease_does_not():
    made = batch(2, 2, Delayed(1, 0, 2), 4, seed=2)
    planned = {stop: made.check(Throughput(slot=Fraction(1, 4), pad=2, stop=stop)) for stop in ("first", "best")}
    assert (planned["first"].peek, planned["first"].lossless) == (None, True)
    assert planned["best"].peek is not None
    assert not planned["best"].lossless


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda drafts, budget: [[1], []], "keeps slot 1 of request 1 without slot 0 above it"),
        (lambda drafts, budget: [[0, 1], [0]], "keeps 3 tokens, more than the budget of 2"),
        (lambda drafts, budget: [[0]], "returned slots of 1 requests; there are 2"),
        (lambda drafts, budget: [[2], []], "keeps slots (2,) of request 1, which has 2, from 0"),
        (lambda drafts, budget: 7, "returned 7; give the kept slots of each request"),
        (
            lambda drafts, budget: [[0.9], []],
            "returned [[0.9], []]; give the kept slots of each request, whole numbers",
        ),
        (lambda drafts, budget: [["a"], []], "returned [['a'], []]; give the kept slots"),
        (lambda drafts, budget: ([1 // 0] for _ in drafts), "raised ZeroDivisionError"),
        (lambda drafts, budget: drafts[9], "raised IndexError"),
        (
            lambda drafts, budget, calls=[]: [[0], []] if calls.append(0) or len(calls) % 5 else [[], []],
            "the second time",
        ),
    ],
)
def test_cuts_that_are_none_are_refused(cut, message):
    with pytest.raises(InvalidInput) as error:
        batch(2, 2, Delayed(1, 0, 2), 2).check(cut, "mine")
    assert message in str(error.value)
    assert str(error.value).startswith("cut mine ")


def test_sizes_are_refused_before_work():
    with pytest.raises(InvalidInput, match="a budget of -1 slots is none"):
        batch(2, 2, Delayed(1, 0, 2), -1)
    with pytest.raises(InvalidInput, match="a batch of no requests"):
        Batch([], Delayed(1, 0, 2), make("naive"), 1)
    with pytest.raises(TooLarge, match="5 requests of 2 drafted tokens at V = 4 have 1,048,576 drafts together"):
        batch(5, 4, Delayed(1, 0, 2), 2)
    with pytest.raises(TooLarge, match="states, more than 200,000"):
        Best(batch(3, 2, Delayed(2, 1, 2), 2))


def test_slots_are_the_trunk_and_then_the_branches():
    assert parents_of(Delayed(2, 1, 2)) == (-1, 0, 1, 0, 3)
    assert parents_of(Delayed(1, 0, 3)) == (-1, 0, 1)
    assert missing((1, 3), (-1, 0, 1, 0, 3)) == [1, 3]
    assert set(CONFIDENCES) == {"row", "acceptance", "token", "updated"}
