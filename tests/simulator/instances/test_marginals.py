"""Drafts with a short memory: marginals by sums over paths, what of the law they keep, and verifiers on them."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, Instance, InvalidInput
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.processes import remembering, telling
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make

DEPTH = 3


def instance_of(family, size=3, depth=DEPTH, seed=0):
    return FAMILIES[family].instance(size, depth, np.random.default_rng(seed), 20)


def paths(process, length):
    """Every path of this length with its probability, token by token."""
    for path in product(range(process.vocab_size), repeat=length):
        mass = Fraction(1)
        for place, token in enumerate(path):
            mass *= as_python(process.row(path[:place])[token])
        yield path, mass


def law_of_last(process, length, count):
    """The law of the last `count` tokens of a path of this length."""
    law = defaultdict(Fraction)
    for path, mass in paths(process, length):
        law[path[length - count :]] += mass
    return {ending: mass for ending, mass in law.items() if mass}


@pytest.mark.parametrize("family", ["dirichlet", "zeros", "point_masses"])
@pytest.mark.parametrize("memory", range(3))
def test_the_last_tokens_have_the_law_that_they_have_under_the_draft(family, memory):
    draft = instance_of(family).draft
    made = remembering(draft, memory, DEPTH - 1)
    for length in range(DEPTH + 1):
        count = min(memory + 1, length)
        assert law_of_last(made, length, count) == law_of_last(draft, length, count)
    for context in product(range(3), repeat=DEPTH - 1):
        same = made.row((2,) * (DEPTH - 1 - memory) + context[len(context) - memory :])
        assert made.row(context).tolist() == same.tolist()


def sampled(instance, told=None):
    """The instance with the marginals of its draft, as options have it."""
    samplings = Samplings.of_options(None, "memory=0", told)
    case = samplings.cases([Case("", instance.target, instance.draft)], instance.depth, None)[0]
    return Instance.of(case.target, case.draft, instance.depth, RATIONAL)


@pytest.mark.parametrize("name", ["naive", "block", "traversal", "specinfer"])
def test_a_verifier_that_takes_the_drafts_for_those_of_the_whole_draft_is_refuted(name):
    """It reads the row after the drafted tokens, from which nothing was drawn."""
    honest, mistaken = (sampled(instance_of("dirichlet", 2, 2), told) for told in (None, "draft"))
    assert mistaken.draft.told is not None
    assert check(make(name), honest.target, honest.draft, Delayed(2, 0, 2)).lossless
    refuted = check(make(name), mistaken.target, telling(mistaken.draft, mistaken.draft.told), Delayed(2, 0, 2))
    assert not refuted.lossless
    assert refuted.violation is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("memory=0",), "memory=0 is for drafts; give it in the sampling of the draft"),
        ((None, "memory=-1"), "memory -1 must be at least 0 tokens"),
        ((None, "memory=none"), "'none' is no number of that kind; write memory=0"),
    ],
)
def test_a_memory_that_is_none_is_refused_in_a_line(options, words):
    with pytest.raises(InvalidInput, match=words) as refused:
        Samplings.of_options(*options)
    assert "\n" not in str(refused.value)


def test_rows_alone_have_no_marginals():
    sampling = Samplings.of_options(None, "memory=1").of("draft")
    with pytest.raises(InvalidInput, match="sums over all paths"):
        sampling.rows(RATIONAL.vector([["1/2", "1/2"]]))
    with pytest.raises(InvalidInput, match="give a list of tables"):
        sampling.process(TextPair("abab", 2, 1, 1).processes((0,))[1])
