"""Certificates of theorems and relations: checked without a search, and rejected when anything in them is changed."""

import copy
import json

import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.theorems.algebra.oracle import Oracle, nudged
from draftproof.simulator.theorems.proof import judgements
from draftproof.simulator.theorems.proof.certificate import RecordingOracle, certificate_of, checked
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS
from draftproof.simulator.theorems.proof.relations import relate
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.verifiers import make

NAMES = {LOSSLESS: ("block",), DOMINATES: ("naive_tree", "naive"), EQUALS: ("tree_monte_carlo", "block")}
SCHEMES = {LOSSLESS: Delayed(1, 0, 2), DOMINATES: Delayed(3, 0, 1), EQUALS: Delayed(1, 0, 2)}


def made(kind, *names):
    """What is proved of these verifiers, as it comes out of a file."""
    shape = Shape(2, SCHEMES[kind])
    explorer = Explorer(RecordingOracle(shape.ring))
    subjects = [Subject.of(make(name)) for name in names]
    found = prove(*subjects, shape, explorer) if kind == LOSSLESS else relate(kind, *subjects, shape, explorer)
    fields = certificate_of(found, explorer.oracle, {"verifier": names[0]})
    return json.loads(json.dumps(fields))


@pytest.fixture(scope="module")
def certificates():
    return {kind: made(kind, *names) for kind, names in NAMES.items()}


def verdict(fields, kind, *names):
    subjects, shape = [Subject.of(make(name)) for name in names or NAMES[kind]], Shape(2, SCHEMES[kind])
    return checked(fields, kind, subjects, shape)


@pytest.mark.parametrize("kind", NAMES)
def test_it_holds_without_a_search(certificates, kind, monkeypatch):
    def no_search(*_):
        raise AssertionError("something was searched for")

    monkeypatch.setattr(judgements, "certificate", no_search)
    monkeypatch.setattr(Oracle, "find", no_search)
    found = verdict(certificates[kind], kind)
    assert found.valid
    if kind != LOSSLESS:
        assert found.theorem.solved == 0
    if kind == DOMINATES:
        assert found.theorem.certified > 0


#: A point that no certificate has.
FIRST_POINT = [str(value) for value in Shape(2, SCHEMES[LOSSLESS]).point]


def place(items, wanted):
    return next(number for number, item in enumerate(items) if wanted(item))


def point(fields):
    """The place of an answer that is a point."""
    return place(fields["answers"], bool)


def summed(fields):
    """A judgement that is a sum of squares."""
    return fields["judgements"][place(fields["judgements"], lambda each: isinstance(each, dict))]


def judged(fields, wanted, word):
    fields["judgements"][place(fields["judgements"], wanted)] = word


CHANGES = [
    *(
        (kind, change)
        for kind in (LOSSLESS, DOMINATES)
        for change in (
            lambda fields: fields["answers"].__setitem__(point(fields), None),
            lambda fields: fields["answers"].pop(),
            lambda fields: fields["answers"].append(None),
        )
    ),
    (LOSSLESS, lambda fields: fields["answers"].__setitem__(point(fields), FIRST_POINT)),
    (DOMINATES, lambda fields: summed(fields)["sum"][0].__setitem__(0, "7/5")),
    (DOMINATES, lambda fields: summed(fields)["sum"].extend([["-1", []], ["1", []]])),
    (DOMINATES, lambda fields: summed(fields)["sum"].pop()),
    (DOMINATES, lambda fields: next(t for t in summed(fields)["sum"] if t[1])[1].__setitem__(0, "p_0 - 5")),
    (DOMINATES, lambda fields: summed(fields)["sum"][0].__setitem__(1, ["nothing_0"])),
    (DOMINATES, lambda fields: summed(fields).update(sign=-summed(fields)["sign"])),
    (DOMINATES, lambda fields: judged(fields, lambda each: each != "equal", "equal")),
    (DOMINATES, lambda fields: judged(fields, lambda each: isinstance(each, dict), "signs")),
    (DOMINATES, lambda fields: judged(fields, lambda each: True, "surely")),
    (DOMINATES, lambda fields: fields["judgements"].pop()),
    (DOMINATES, lambda fields: fields["judgements"].append("equal")),
    (DOMINATES, lambda fields: fields.update(same_law=True)),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kind", "change"), CHANGES)
def test_a_changed_one_is_rejected(certificates, kind, change):
    changed = copy.deepcopy(certificates[kind])
    change(changed)
    assert not verdict(changed, kind).valid


def test_it_is_about_these_verifiers_in_this_order(certificates):
    for name in ("naive", "block_by_weights"):
        assert not verdict(certificates[LOSSLESS], LOSSLESS, name).valid
    assert not verdict(certificates[DOMINATES], DOMINATES, *reversed(NAMES[DOMINATES])).valid
    assert not verdict(certificates[EQUALS], EQUALS, "naive", "block").valid


def test_never_below_is_no_reason_to_be_equal(certificates):
    shape, pair = Shape(2, SCHEMES[DOMINATES]), [Subject.of(make(name)) for name in NAMES[DOMINATES]]
    changed = {**certificates[DOMINATES], "by": certificates[EQUALS]["by"], "judgements": [judgements.SOLVER] * 2}
    assert checked(changed, DOMINATES, pair, shape).valid
    assert not checked({**changed, "kind": EQUALS}, EQUALS, pair, shape).valid


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        *((LOSSLESS, broken) for broken in ({"format": "other"}, {"variables": ["p_0"]}, {"answers": [["x"]]})),
        (LOSSLESS, {"answers": 3}),
        *((DOMINATES, {key: "another"}) for key in ("format", "kind", "variables", "judgements", "by", "answers")),
    ],
)
def test_what_is_no_certificate_is_bad_input(certificates, kind, broken):
    with pytest.raises(InvalidInput):
        verdict({**certificates[kind], **broken}, kind)


def test_only_what_is_proved_has_a_certificate():
    with pytest.raises(InvalidInput, match="proved"):
        made(LOSSLESS, "block_by_weights")
    with pytest.raises(InvalidInput):
        made(DOMINATES, "gbv", "block")


def test_a_nudged_point_meets_its_conditions():
    shape = Shape(2, SCHEMES[LOSSLESS])
    ring = shape.ring
    atom = ring.atom(ring.variable("p_0") - ring.variable("q_0"))
    for mask in (1, 2, 4):
        conditions = frozenset({*shape.domain, (atom, mask)})
        found = nudged(ring, conditions, atom, shape.point)
        assert found is not None
        assert all(ring.sign_at(number, found) & allowed for number, allowed in conditions)
