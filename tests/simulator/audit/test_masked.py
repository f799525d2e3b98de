"""Functions that mask rows by themselves: masks at a wrong place are refuted and named, corrected twins are proved."""

import numpy as np
import pytest

from draftproof.experiments.cli.gallery import planted
from draftproof.simulator.audit import Evidence, SelfDrafted, diagnose, make_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import family_named

GRAMMAR, SHORTEST = "table=01-/-10", "eos=2,min_new_tokens=2"
CHAIN, LOOP = ("chain", Delayed(1, 0, 2)), ("loop", SelfDrafted(2))
INSTANCE = family_named("dirichlet").instance(3, 2, np.random.default_rng(1), 64, alpha=3.0)


def judged(function, processing, called):
    interface, scheme = called
    audit = make_audit(function, interface, "python", "rational", processing=processing)
    return audit, audit.judge(INSTANCE, scheme)


@pytest.mark.parametrize(
    ("name", "processing", "called"),
    [
        ("right", GRAMMAR, CHAIN),
        ("right_loop", GRAMMAR, LOOP),
        ("right_blocks", GRAMMAR, LOOP),
        ("right_counter", SHORTEST, LOOP),
    ],
)
def test_corrected_twins_are_lossless(name, processing, called):
    assert judged(getattr(planted, name), processing, called)[1].lossless


@pytest.mark.parametrize(
    ("name", "processing", "called", "entry", "words"),
    [
        ("late", GRAMMAR, CHAIN, "mask of another row", "masks of p are those of one position earlier"),
        ("once", GRAMMAR, CHAIN, "mask of another row", "masks of p are those of the first position"),
        ("bonus", GRAMMAR, CHAIN, "bonus token unmasked", "after the last draft from p without its mask"),
        ("correction", GRAMMAR, CHAIN, "correction unmasked", "after a rejection from p without its mask"),
        ("stale_loop", GRAMMAR, LOOP, "mask not rolled back", "all drafts of a block after a rejection, and then"),
        pytest.param(
            *("stale_blocks", GRAMMAR, LOOP, "mask not rolled back", "blocks of 2 whose masks keep all drafts"),
            marks=pytest.mark.heavy,
        ),
        pytest.param(
            *(
                "rejected_blocks",
                GRAMMAR,
                LOOP,
                "mask not rolled back",
                "of 2 whose masks keep the rejected draft",
            ),
            marks=pytest.mark.heavy,
        ),
        ("stale_counter", SHORTEST, LOOP, "mask not rolled back", "whose counter of tokens keeps all drafts"),
    ],
)
def test_a_mask_at_a_wrong_place_is_refuted_and_named(name, processing, called, entry, words):
    audit, finding = judged(getattr(planted, name), processing, called)
    assert not finding.lossless
    named = diagnose(Evidence(audit, finding, [finding]))
    assert [each.name for each in named if each.name != "first token exact"] == [entry]
    assert words in named[0].reason
