"""What a policy knows and what it may return."""

import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.policies.policy import Action, Known, chosen, known_at

ACTIONS = tuple(Action(scheme, verifiers.make("naive")) for scheme in (Delayed(1, 0, 2), Delayed(2, 0, 1)))
KNOWN = Known((0, 1), RATIONAL.vector(["1/4", "3/4"]))


def test_at_a_root_its_tokens_and_the_row_of_the_draft_are_known():
    target = MarkovProcess(RATIONAL.vector([["1/2", "1/2"]] * 4), (1, 0), "target")
    draft = MarkovProcess(RATIONAL.vector([["1/4", "3/4"], ["2/3", "1/3"]]), (0,), "draft")
    known = known_at(target, draft)
    assert (known.context, known.target_before, known.draft_before) == ((1, 0), None, None)
    assert (known.draft_root == draft.row(())).all()


def test_a_policy_is_a_function_of_what_is_known():
    assert chosen(lambda known: ACTIONS[known.context[-1]], KNOWN, "mine") == ACTIONS[1]
    assert str(ACTIONS[0]) == "naive on delayed(K=1, L1=0, L2=2)"


def test_policies_that_are_none_are_refused():
    states = iter(range(9))
    with pytest.raises(InvalidInput, match=r"policy mine chose two actions after \(0, 1\)"):
        chosen(lambda known: ACTIONS[next(states) % 2], KNOWN, "mine")
    with pytest.raises(InvalidInput, match="mine chose 'chain'; it must be one of the actions"):
        chosen(lambda known: "chain", KNOWN, "mine")
    with pytest.raises(InvalidInput, match=r"policy mine raised .*ZeroDivisionError"):
        chosen(lambda known: ACTIONS[1 // 0], KNOWN, "mine")
