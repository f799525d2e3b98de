"""Functions that mask rows by themselves, or are handed another q: wrong ones are refuted, right ones are proved."""

from fractions import Fraction

import pytest

from draftproof.simulator.audit import Evidence, SelfDrafted, default_cases, diagnose, interface_named, make_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.sampling import Samplings
from tests.quick import quick

GRAMMAR, SHORTEST = "table=01-/-10", "eos=2,min_new_tokens=2"
CHAIN, LOOP, LONG = ("chain", Delayed(1, 0, 2)), ("loop", SelfDrafted(2)), ("loop", SelfDrafted(3))
#: A program with its masks and how it is called, its largest imbalance, and the bug and the reason that are named.
PROGRAMS = [
    ("late", GRAMMAR, CHAIN, "1/6", "mask of another row", "masks of p are those of one position earlier"),
    ("once", GRAMMAR, CHAIN, "1/6", "mask of another row", "masks of p are those of the first position"),
    ("bonus", GRAMMAR, CHAIN, "1/18", "bonus token unmasked", "after the last draft from p without its mask"),
    ("correction", GRAMMAR, CHAIN, "170/649", "correction unmasked", "after a rejection from p without its mask"),
    ("stale_loop", GRAMMAR, LONG, "7/324", "mask not rolled back", "all drafts of a block after a rejection, and then"),
    ("stale_blocks", GRAMMAR, LOOP, "3/128", "mask not rolled back", "blocks of 2 whose masks keep all drafts"),
    ("rejected_blocks", GRAMMAR, LOOP, "3/128", "mask not rolled back", "of 2 whose masks keep the rejected draft"),
    ("stale_counter", SHORTEST, LOOP, "17/154", "mask not rolled back", "whose counter of tokens keeps all drafts"),
    ("right", GRAMMAR, CHAIN, "0", None, ""),
    ("right_loop", GRAMMAR, LONG, "0", None, ""),
    ("right_blocks", GRAMMAR, LOOP, "0", None, ""),
    ("right_counter", SHORTEST, LOOP, "0", None, ""),
]
#: For each mistake the sampling of both models, that of the draft, the q that is handed over, and the same two.
HANDED = [
    (None, "top_k=2", "draft", "11/112", "drafts come from q at top-k 2, but q without it is handed over"),
    (None, "", "top_k=2", "11/128", "q at top-k 2 is handed over, but drafts come from q without it"),
    ("temperature=.5", None, "draft", "71/1470", "drafts come from q at temperature 0.5, but q without it is handed"),
    (None, "temperature=0", "draft", "9/80", "drafts come from q at temperature 0, but q without it is handed over"),
    (None, "bits=2", "draft", "7/80", "drafts come from q at bits 2, but q without it is handed over"),
]


def judged(planted, name, masks, called, *sampling):
    interface, scheme = called
    audit = make_audit(planted("own_masks", name), interface, "python", "rational", processing=masks)
    [case] = default_cases(interface_named(interface), scheme, ["three_tokens"])
    [case] = Samplings.of_options(*sampling).cases([case], scheme.depth, None) if sampling else [case]
    return audit, audit.judge(case.instance, case.scheme)


@pytest.mark.parametrize(
    "program", quick(PROGRAMS, lambda program: not program[0].endswith("_blocks")), ids=lambda program: program[0]
)
def test_masks_at_a_wrong_place_are_refuted_and_named(planted, program):
    name, masks, called, off, entry, words = program
    audit, finding = judged(planted, name, masks, called)
    assert finding.check.max_deviation == Fraction(off)
    assert finding.lossless is (entry is None)
    named = [] if entry is None else diagnose(Evidence(audit, finding, [finding]))
    assert [each.name for each in named if each.name != "first token exact"] == ([entry] if entry else [])
    assert not named or words in named[0].reason


@pytest.mark.parametrize(("sampling", "draft", "told", "off", "words"), HANDED)
def test_another_q_is_refuted_and_named_and_its_twin_is_proved(planted, sampling, draft, told, off, words):
    audit, finding = judged(planted, "handed", "", CHAIN, sampling, draft, told)
    assert finding.check.max_deviation == Fraction(off)
    named = diagnose(Evidence(audit, finding, [finding]))[0]
    assert (named.name, words in named.reason) == ("told q", True)
    assert judged(planted, "handed", "", CHAIN, sampling, draft, None)[1].lossless
