"""Block after block under a policy: the output has the target's law, exactly; a policy that peeks is refuted."""

from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, InvalidInput, TooLarge, check
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.policies.policy import (
    Action,
    ByState,
    Known,
    chosen,
    entropy,
    floats,
    known_at,
    name_of,
    scalars,
)
from draftproof.simulator.policies.several import Following, several_blocks
from draftproof.simulator.verdicts.search import shrink

CHAIN, FORK, TRUNK = Delayed(1, 0, 2), Delayed(2, 0, 1), Delayed(2, 1, 1)
NAMES = ("nss", "naive_tree", "specinfer", "block", "traversal", "path_transport", "layer_transport")


def world(seed: int = 0, size: int = 2, family: str = "dirichlet"):
    """A pair of order-1 chains with rows in multiples of 1/20."""
    made = FAMILIES[family].instance(size, 1, np.random.default_rng(seed), 20, RATIONAL)
    rows = FAMILIES[family].instance(size, 1, np.random.default_rng(seed + 100), 20, RATIONAL)
    return MarkovProcess(made.target.tables[1], (0,), "target"), MarkovProcess(rows.target.tables[1], (0,), "draft")


def actions(name: str, *schemes):
    return tuple(Action(scheme, verifiers.make(name)) for scheme in schemes)


class Redrafted:
    """Trees of `first`; where their first token is less likely than 1/2, trees of `second` instead."""

    def __init__(self, first, second):
        self.first, self.second = first, second
        self.depth = max(first.depth, second.depth)

    def draw(self, draft, coin):
        tree = self.first.draw(draft, coin)
        tokens = tree.children.get((), ())
        return self.second.draw(draft, coin) if tokens and draft.row(())[tokens[0]] < Fraction(1, 2) else tree

    def reductions(self):
        pairs = [(a, b) for a in self.first.reductions() for b in self.second.reductions() if a.depth and b.depth]
        pairs.sort(key=lambda pair: (max(scheme.depth for scheme in pair), sum(scheme.nodes for scheme in pair)))
        return [Redrafted(*pair) for pair in pairs]


def by_last_token(name: str, *schemes) -> ByState:
    return ByState(actions(name, *schemes), tuple(range(len(schemes))), 2, 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_that_looks_at_the_context_is_lossless_over_three_blocks(name):
    target, draft = world()
    found = several_blocks(by_last_token(name, FORK, CHAIN), target, draft, 3)
    assert found.metrics.max_deviation == 0
    assert found.metrics.total_variation == 0
    assert found.lossless
    assert found.actions == 2
    assert 3 < found.tokens < 9


def test_scheme_and_verifier_may_both_change():
    mixed = (Action(TRUNK, verifiers.make("traversal")), Action(CHAIN, verifiers.make("block")))
    target, draft = world(3)
    assert several_blocks(ByState(mixed, (0, 1), 2, 1), target, draft, 2).metrics.max_deviation == 0


def test_a_policy_on_rows_is_lossless_where_rows_depend_on_everything():
    """Rows that never repeat; the policy steps by the entropy of the draft at the root."""

    def row(shift: int):
        def of(context):
            seed = sum((token + 2 + shift) * 7 ** (at + 1) for at, token in enumerate(context)) % 19
            return [Fraction(seed + 1, 20), Fraction(19 - seed, 20)]

        return of

    target, draft = (CallableProcess(2, row(shift)) for shift in (0, 5))
    some = actions("specinfer", CHAIN, FORK, TRUNK)

    def policy(known):
        return some[bisect_right((0.4, 0.6), entropy(floats(known.draft_root)))]

    found = several_blocks(policy, target, draft, 2)
    assert found.metrics.max_deviation == 0
    assert found.actions >= 2


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_that_peeks_is_refuted_and_its_twin_is_not(name):
    target, draft = world(1)
    first, second = actions(name, CHAIN, Delayed(1, 0, 1))
    redrafted = Action(UserScheme(Redrafted(first.scheme, second.scheme)), first.verifier)
    peeking = several_blocks(lambda known: redrafted, target, draft, 2)
    careful = several_blocks(
        lambda known: second if max(known.draft_root) < Fraction(3, 5) else first, target, draft, 2
    )
    assert careful.metrics.max_deviation == 0
    if name == "nss":  # looks at p alone: whatever was drafted, its tokens are the target's
        assert peeking.lossless
    else:
        assert not peeking.lossless
        assert peeking.violation is not None
        assert peeking.violation.deviation > 0
        assert peeking.metrics.total_variation > 0


def test_the_peeking_policy_has_a_witness_of_one_token():
    target, draft = world(1)
    scheme = UserScheme(Redrafted(CHAIN, Delayed(1, 0, 1)))
    assert not check(verifiers.make("naive"), target, draft, scheme).lossless
    cut = Following(target, ()), Following(draft, ())
    from draftproof.simulator.instances.instance import Instance

    known = Instance.of(*cut, scheme.depth, RATIONAL)
    witness = shrink(verifiers.make("naive"), known, scheme)
    assert witness.instance.vocab_size == 2
    assert witness.instance.scheme.depth == 1
    again = check(verifiers.make("naive"), witness.instance.target, witness.instance.draft, witness.instance.scheme)
    assert again.violation is not None
    assert again.violation.deviation == witness.violation.deviation > 0


def test_one_block_is_the_block_and_two_are_what_every_coin_makes_of_them():
    """By hand: every outcome of two blocks in turn, tree and verdict by the enumerating coin alone."""
    target, draft = world(2)
    policy = by_last_token("specinfer", FORK, CHAIN)
    one = several_blocks(policy, target, draft, 1)
    alone = check(verifiers.make("specinfer"), target, draft, FORK)  # the root's last token is 0
    assert one.tokens == alone.block_efficiency
    total = RATIONAL.number(0)
    for first, mass in outputs(policy, target, draft, ()):
        for second, share in outputs(policy, target, draft, first):
            total += mass * share * len(second)
    assert several_blocks(policy, target, draft, 2).tokens == Fraction(int(total.p), int(total.q))


def outputs(policy, target, draft, before):
    action = policy(known_at(target, draft, before))
    pair = Following(target, before), Following(draft, before)
    for tree, weight in outcomes(lambda coin: action.scheme.draw(pair[1], coin), RATIONAL):
        for (accepted, token), mass in verdicts(action.verifier, tree, *pair, RATIONAL).items():
            yield (*before, *accepted, token), weight * mass


def test_a_lossy_action_shows_in_a_later_block_too():
    lossy = (Action(FORK, verifiers.make("specinfer")), Action(CHAIN, verifiers.make("naive_from_target")))
    target, draft = world(4)
    policy = ByState(lossy, (0, 1), 2, 1)  # after token 0, which is the root's, the lossless one
    assert several_blocks(policy, target, draft, 1).lossless
    second = several_blocks(policy, target, draft, 2)
    assert not second.lossless
    assert len(second.violation.context) >= 1


def test_policies_that_are_none_are_refused():
    target, draft = world()
    states = iter(range(9))
    pair = actions("naive", CHAIN, FORK)
    with pytest.raises(InvalidInput, match="two actions after"):
        several_blocks(lambda known: pair[next(states) % 2], target, draft, 1)
    with pytest.raises(InvalidInput, match="chose 'chain'; it must be one of the actions"):
        several_blocks(lambda known: "chain", target, draft, 1)
    with pytest.raises(InvalidInput, match=r"raised .*ZeroDivisionError"):
        several_blocks(lambda known: pair[1 // 0], target, draft, 1)
    with pytest.raises(InvalidInput, match="0 blocks are nothing"):
        several_blocks(lambda known: pair[0], target, draft, 0)
    with pytest.raises(TooLarge, match="too many to list"):
        several_blocks(lambda known: actions("naive", Delayed(1, 0, 30))[0], target, draft, 2)
    with pytest.raises(InvalidInput, match=r"3 choices does not fit the 2\^1 states"):
        ByState(pair, (0, 1, 0), 2, 1)
    with pytest.raises(InvalidInput, match="looks at 3 tokens and there are 1"):
        several_blocks(ByState(pair, (0, 1) * 4, 2, 3), target, draft, 1)


def test_what_is_known_is_told_before_the_target_looks_at_the_root():
    target, draft = world(5)
    start = known_at(target, draft, ())
    assert (start.context, start.target_before, scalars(start)[2:]) == ((0,), None, [0.0] * 5)
    later = known_at(target, draft, (1, 0), 1, 10)
    assert later.context == (0, 1, 0)
    assert (later.target_before == target.row((1,))).all()
    assert (later.draft_root == draft.row((1, 0))).all()
    p, q = (np.array([float(x) for x in row]) for row in (target.row((1,)), draft.row((1,))))
    wanted = [-(p * np.log(p)).sum(), -(q * np.log(q)).sum(), (p * np.log(p / q)).sum(), (q * np.log(q / p)).sum()]
    assert scalars(later)[2:] == pytest.approx([*wanted, abs(p - q).sum()], rel=1e-12)
    far = Known((0,), FLOAT64.vector([1, 0]), FLOAT64.vector([0.5, 0.5]), FLOAT64.vector([1, 0]))
    assert scalars(far)[:2] == [0.0, 1.0]
    assert scalars(far)[4] == 50.0


def test_names_and_choices():
    pair = actions("naive", CHAIN, FORK)
    assert name_of(ByState(pair, (0, 1), 2, 1)) == "table"

    def mine(known):
        return pair[1]

    assert name_of(mine) == "mine"
    target, draft = world()
    assert chosen(mine, known_at(target, draft, ())) == pair[1]
    assert str(pair[0]) == "naive on delayed(K=1, L1=0, L2=2)"
