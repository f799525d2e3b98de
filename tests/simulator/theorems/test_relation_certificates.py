"""Certificates of relations: checked by multiplication, and rejected when anything in them is changed."""

import copy
import json

import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.certificate.relations import checked_relation, relation_certificate
from draftproof.simulator.theorems.certificate.theorems import RecordingOracle
from draftproof.simulator.theorems.proof import judgements
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS, relate
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject
from draftproof.verifiers import make

NAMES = {DOMINATES: ("naive_tree", "naive"), EQUALS: ("tree_monte_carlo", "block")}
SCHEMES = {DOMINATES: Delayed(3, 0, 1), EQUALS: Delayed(1, 0, 2)}


def subjects(kind):
    return [Subject.of(make(name)) for name in NAMES[kind]]


def certificate_for(kind):
    shape = Shape(2, SCHEMES[kind])
    explorer = Explorer(RecordingOracle(shape.ring))
    relation = relate(kind, *subjects(kind), shape, explorer)
    return json.loads(json.dumps(relation_certificate(relation, explorer.oracle, {"relation": kind})))


@pytest.fixture(scope="module")
def certificates():
    return {kind: certificate_for(kind) for kind in NAMES}


def verdict(certificate, kind, one=None, other=None):
    pair = subjects(kind)
    pair = [one or pair[0], other or pair[1]]
    return checked_relation(certificate, kind, *pair, Shape(2, SCHEMES[kind]))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", NAMES)
def test_it_holds_without_a_search(certificates, kind, monkeypatch):
    def no_search(*_):
        raise AssertionError("something was searched for")

    monkeypatch.setattr(judgements, "certificate", no_search)
    monkeypatch.setattr(Oracle, "find", no_search)
    found = verdict(certificates[kind], kind)
    assert found.valid
    assert found.relation.solved == 0
    if kind == DOMINATES:
        assert found.relation.certified > 0
        assert sums(certificates[kind])


def sums(certificate):
    return [judgement for judgement in certificate["judgements"] if isinstance(judgement, dict)]


def with_another_coefficient(certificate):
    term = sums(certificate)[0]["sum"][0]
    term[0] = "7/5"


def with_a_negative_coefficient(certificate):
    found = sums(certificate)[0]["sum"]
    found += [["-1", []], ["1", []]]


def without_a_term(certificate):
    sums(certificate)[0]["sum"].pop()


def with_another_factor(certificate):
    term = next(term for term in sums(certificate)[0]["sum"] if term[1])
    term[1][0] = "p_0 - 5"


def with_a_factor_of_no_ring(certificate):
    sums(certificate)[0]["sum"][0][1] = ["nothing_0"]


def with_the_other_sign(certificate):
    sums(certificate)[0]["sign"] *= -1


def called_equal(certificate):
    number = next(n for n, each in enumerate(certificate["judgements"]) if each != "equal")
    certificate["judgements"][number] = "equal"


def called_a_product(certificate):
    number = next(n for n, each in enumerate(certificate["judgements"]) if isinstance(each, dict))
    certificate["judgements"][number] = "signs"


def of_a_kind_that_is_none(certificate):
    certificate["judgements"][0] = "surely"


def without_a_judgement(certificate):
    certificate["judgements"].pop()


def with_one_more_judgement(certificate):
    certificate["judgements"].append("equal")


def without_a_point(certificate):
    number = next(n for n, answer in enumerate(certificate["answers"]) if answer)
    certificate["answers"][number] = None


def without_the_last_answer(certificate):
    certificate["answers"].pop()


def with_one_more_answer(certificate):
    certificate["answers"].append(None)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "change",
    [
        with_another_coefficient, with_a_negative_coefficient, without_a_term, with_another_factor,
        with_a_factor_of_no_ring, with_the_other_sign, called_equal, called_a_product, of_a_kind_that_is_none,
        without_a_judgement, with_one_more_judgement, without_a_point, without_the_last_answer, with_one_more_answer,
    ],
)  # fmt: skip
def test_a_changed_one_is_rejected(certificates, change):
    changed = copy.deepcopy(certificates[DOMINATES])
    change(changed)
    assert not verdict(changed, DOMINATES).valid


def test_it_is_about_these_two_in_this_order(certificates):
    one, other = subjects(DOMINATES)
    assert not verdict(certificates[DOMINATES], DOMINATES, other, one).valid
    assert not verdict(certificates[EQUALS], EQUALS, Subject.of(make("naive"))).valid


def test_never_below_is_no_reason_to_be_equal(certificates):
    shape, pair = Shape(2, SCHEMES[DOMINATES]), subjects(DOMINATES)
    changed = {**certificates[DOMINATES], "by": certificates[EQUALS]["by"]}
    assert not checked_relation(changed, EQUALS, *pair, shape).valid


def test_a_law_that_is_called_the_same_is_compared(certificates):
    changed = copy.deepcopy(certificates[DOMINATES])
    changed["same_law"] = True
    assert not verdict(changed, DOMINATES).valid


@pytest.mark.parametrize("key", ["format", "variables", "judgements", "by", "answers"])
def test_what_is_no_certificate_is_refused(certificates, key):
    changed = {**certificates[DOMINATES], key: "another"}
    with pytest.raises(InvalidInput):
        verdict(changed, DOMINATES)


def test_what_is_refuted_has_none():
    shape = Shape(2, Delayed(2, 0, 1))
    explorer = Explorer(RecordingOracle(shape.ring))
    relation = relate(DOMINATES, Subject.of(make("gbv")), Subject.of(make("block")), shape, explorer)
    with pytest.raises(InvalidInput):
        relation_certificate(relation, explorer.oracle, {})
