"""Functions that mask rows by themselves, or are handed another q: wrong ones are refuted, right ones are proved."""

from fractions import Fraction

import pytest

from draftproof.simulator.audit import Evidence, SelfDrafted, default_cases, diagnose, interface_named, make_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.sampling import Samplings
from tests.quick import quick

GRAMMAR, SHORTEST = "table=01-/-10", "eos=2,min_new_tokens=2"
CHAIN, LOOP, LONG = ("chain", Delayed(1, 0, 2)), ("loop", SelfDrafted(2)), ("loop", SelfDrafted(3))
#: A program with its masks, how it is called, and its largest imbalance.
PROGRAMS = [
    ("late", GRAMMAR, CHAIN, "36271/217668"),
    ("once", GRAMMAR, CHAIN, "36271/217668"),
    ("bonus", GRAMMAR, CHAIN, "3010493/54157040"),
    ("correction", GRAMMAR, CHAIN, "13771391/52564750"),
    ("stale_loop", GRAMMAR, LONG, "122819082921/5671325228800"),
    ("stale_blocks", GRAMMAR, LOOP, "739489500/31782442769"),
    ("rejected_blocks", GRAMMAR, LOOP, "739489500/31782442769"),
    ("stale_counter", SHORTEST, LOOP, "3675323/33171187"),
    ("right", GRAMMAR, CHAIN, "0"),
    ("right_loop", GRAMMAR, LONG, "0"),
    ("right_blocks", GRAMMAR, LOOP, "0"),
    ("right_counter", SHORTEST, LOOP, "0"),
]
#: For each mistake the sampling of both models, that of the draft, the q that is handed over, the imbalance, and the
#: words that name the mistake.
HANDED = [
    (None, "top_k=2", "draft", "85064/870381", "drafts come from q at top-k 2, but q without it"),
    (None, "", "top_k=2", "85064/994009", "q at top-k 2 is handed over, but drafts"),
    (
        "temperature=.5",
        None,
        "draft",
        "1230518375/25425836243",
        "drafts come from q at temperature 0.5, but q without it",
    ),
    (None, "temperature=0", "draft", "11563/103688", "drafts come from q at temperature 0, but q without it"),
    (None, "bits=3", "draft", "61597/829504", "drafts come from q at bits 3, but q without it"),
]


def judged(planted, name, masks, called, *sampling):
    interface, scheme = called
    audit = make_audit(planted("own_masks", name), interface, "python", "rational", processing=masks)
    [case] = default_cases(interface_named(interface), scheme, ["three_tokens"])
    [case] = Samplings.of_options(*sampling).cases([case], scheme.depth, None) if sampling else [case]
    return audit, audit.judge(case.instance, case.scheme)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "program", quick(PROGRAMS, lambda program: not program[0].endswith("_blocks")), ids=lambda program: program[0]
)
def test_masks_at_a_wrong_place_are_refuted(planted, program):
    name, masks, called, off = program
    _, finding = judged(planted, name, masks, called)
    assert finding.check.max_deviation == Fraction(off)
    assert finding.lossless is (off == "0")


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("sampling", "draft", "told", "off", "words"), HANDED)
def test_another_q_is_refuted_and_named_and_its_twin_is_proved(planted, sampling, draft, told, off, words):
    audit, finding = judged(planted, "handed", "", CHAIN, sampling, draft, told)
    assert finding.check.max_deviation == Fraction(off)
    named = diagnose(Evidence(audit, finding, [finding]))[0]
    assert (named.name, words in named.reason) == ("told q", True)
    assert judged(planted, "handed", "", CHAIN, sampling, draft, None)[1].lossless
