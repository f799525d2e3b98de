"""Hierarchical drafting: laws by formulas against laws coin by coin; lossless stages give drafts of their model."""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import MarkovProcess, context_at
from draftproof.simulator.policies.hierarchy import Alone, Blocks, Stage, Tokens, long_run
from draftproof.simulator.policies.markov_pair import MarkovPair
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.policies.several import Following
from draftproof.simulator.policies.value import static_values


def chain(seed: int, size: int = 2, order: int = 1) -> MarkovProcess:
    """A Markov process with rows in multiples of 1/20."""
    made = FAMILIES["dirichlet"].instance(size, order, np.random.default_rng(seed), 20, RATIONAL)
    return MarkovProcess(made.target.tables[order], (0,) * order, f"model {seed}")


TARGET, MIDDLE, SMALL = chain(0), chain(1), chain(2, order=0)
LOSSLESS = ("naive", "block", "traversal", "specinfer", "hsd", "gbv", "layer_transport")


def by_coins(stage: Stage, state):
    """The law of a block: every draft and every verdict of every stage, coin by coin."""

    def text(drafter, before, coin):
        if isinstance(drafter, Alone):
            tokens = ()
            for _ in range(drafter.length):
                tokens += (coin.choose(Following(drafter.process, (*before, *tokens)).row(())),)
            return tokens
        tokens, blocks = (), 0
        while (blocks < drafter.count) if isinstance(drafter, Blocks) else (len(tokens) < drafter.length):
            tokens += block(drafter.stage, (*before, *tokens), coin)
            blocks += 1
        return tokens if isinstance(drafter, Blocks) else tokens[: drafter.length]

    def block(of, before, coin):
        tree = DraftTree.from_paths((), [text(of.drafter, before, coin)])
        root = tree.root(Following(of.process, before), Following(of.drafter.process, before))
        verdict = of.verifier.verify(root, coin)
        return (*verdict.accepted, verdict.correction)

    law = defaultdict(int)
    for output, mass in outcomes(lambda coin: block(stage, state, coin), RATIONAL):
        law[output] += mass
    return dict(law)


def drafters(stage):
    return Blocks(stage), Blocks(stage, 2), Tokens(stage, 2), Tokens(stage, 3)


@pytest.mark.parametrize("name", ["naive", "block"])
@pytest.mark.parametrize("which", range(4))
def test_the_law_of_a_block_is_that_of_every_coin_of_every_stage(name, which):
    middle = Stage(MIDDLE, verifiers.make(name), Alone(SMALL, 1))
    stage = Stage(TARGET, verifiers.make("block"), drafters(middle)[which])
    for state in ((0,), (1,)):
        law = {output: mass for output, mass in stage.block(state).paths.items() if mass}
        assert law == by_coins(stage, state)


@pytest.mark.parametrize(("above", "below"), [*((name, "block") for name in LOSSLESS), ("block", "naive")])
def test_lossless_stages_make_a_lossless_hierarchy(above, below):
    middle = Stage(MIDDLE, verifiers.make(below), Alone(SMALL, 2))
    for drafter in drafters(middle)[::2]:
        assert long_run(Stage(TARGET, verifiers.make(above), drafter)).lossless


def test_four_models():
    first = Stage(chain(4), verifiers.make("block"), Alone(SMALL, 1))
    second = Stage(MIDDLE, verifiers.make("naive"), Blocks(first))
    found = long_run(Stage(TARGET, verifiers.make("block"), Tokens(second, 2)))
    assert found.lossless
    assert len(found.passes) == 4
    assert found.passes[0] == found.passes[1] == found.passes[2] > found.passes[3] == 1


def test_blocks_of_a_lossless_stage_are_drafts_of_its_model_and_those_of_a_lossy_one_are_not():
    for name, right in (("block", True), ("threshold", False)):
        stage = Stage(MIDDLE, verifiers.make(name), Alone(SMALL, 3))
        paths = Blocks(stage).draft((0,)).paths
        following = defaultdict(lambda: np.array([0, 0], dtype=object))
        for path, mass in paths.items():
            for depth in range(len(path)):
                following[path[:depth]][path[depth]] += mass
        rows = {context: masses / masses.sum() for context, masses in following.items()}
        model = Following(MIDDLE, (0,))
        assert all((row == model.row(context)).all() for context, row in rows.items()) is right


def test_a_lossy_stage_is_refuted_unless_its_own_law_is_told():
    middle = Stage(MIDDLE, verifiers.make("threshold"), Alone(SMALL, 2))
    for drafter in drafters(middle):
        wrong = long_run(Stage(TARGET, verifiers.make("block"), drafter))
        assert not wrong.lossless
        assert wrong.violation.deviation > Fraction(1, 1000)
        assert long_run(Stage(TARGET, verifiers.make("block"), drafter, told_handed=True)).lossless


def test_rows_of_the_smallest_model_in_place_of_the_middle_one_are_refuted():
    @dataclass(frozen=True)
    class ToldSmall:
        inner: Tokens
        process: MarkovProcess = SMALL
        order: int = 1

        def draft(self, state):
            return self.inner.draft(state)

    middle = Stage(MIDDLE, verifiers.make("block"), Alone(SMALL, 2))
    assert not long_run(Stage(TARGET, verifiers.make("block"), ToldSmall(Tokens(middle, 2)))).lossless


def test_so_many_tokens_are_as_good_as_those_of_the_middle_model_alone():
    middle = Stage(MIDDLE, verifiers.make("block"), Alone(SMALL, 2))
    both = long_run(Stage(TARGET, verifiers.make("block"), Tokens(middle, 3)))
    alone = long_run(Stage(TARGET, verifiers.make("block"), Alone(MIDDLE, 3)))
    assert both.tokens == alone.tokens
    assert alone.passes == (3, 1)
    assert 1 < both.passes[1] < 3
    assert both.passes[0] == 2 * both.passes[1]


@pytest.mark.parametrize("name", ["block", "naive"])
def test_a_pair_has_the_value_that_policies_give_it(name):
    pair = MarkovPair.of(TARGET, MIDDLE, previous=False)
    action = Action(Delayed(1, 0, 3), verifiers.make(name))
    (value,) = static_values(pair.tables([action], lambda _: 3 * Fraction(1, 5) + 1))
    found = long_run(Stage(TARGET, action.verifier, Alone(MIDDLE, 3)))
    assert found.tokens == value.tokens
    assert found.tokens / (found.passes[0] * Fraction(1, 5) + found.passes[1]) == value.rate


def test_mean_passes_are_those_of_every_course_of_the_stage_below():
    stage = Stage(MIDDLE, verifiers.make("naive"), Alone(SMALL, 1))

    def blocks_for(left, state):
        paths = stage.block(state).paths
        return 1 + sum(
            mass * blocks_for(left - len(output), output[-1:]) for output, mass in paths.items() if len(output) < left
        )

    for length, state in product((1, 2, 4), (0, 1)):
        handed = Tokens(stage, length).draft(context_at(state, 1, 2))
        assert as_python(handed.passes[1]) == as_python(blocks_for(length, (state,)))


def test_what_drafts_nothing_is_refused():
    stage = Stage(MIDDLE, verifiers.make("block"), Alone(SMALL, 1))
    for wrong in (lambda: Alone(SMALL, 0), lambda: Blocks(stage, 0), lambda: Tokens(stage, 0)):
        with pytest.raises(InvalidInput, match="0 drafts nothing"):
            wrong()
    with pytest.raises(InvalidInput, match="one vocabulary"):
        Stage(chain(0, size=3), verifiers.make("block"), Alone(SMALL, 1))
