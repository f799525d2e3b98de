"""Certificates of theorems: found once, checked without a search, and rejected when anything in them is changed."""

import json

import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.theorems.algebra.nudging import nudged
from draftproof.simulator.theorems.certificate import theorems as certificates
from draftproof.simulator.theorems.certificate.theorems import RecordingOracle, certificate_of, checked
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.verifiers import make

SHAPE = Shape(2, Delayed(1, 0, 2))


@pytest.fixture(scope="module")
def certificate():
    proof = prove(Subject.of(make("block")), SHAPE, Explorer(RecordingOracle(SHAPE.ring)))
    return json.loads(json.dumps(certificate_of(proof, {"verifier": "block"})))


def verdict(certificate, name="block"):
    shape = Shape(2, Delayed(1, 0, 2))
    return checked(certificate, Subject.of(make(name)), shape)


def test_a_certificate_holds_without_a_search(certificate, monkeypatch):
    def no_search(*_):
        raise AssertionError("a point was searched for")

    monkeypatch.setattr(certificates.Oracle, "find", no_search)
    assert verdict(certificate).valid


def without_a_point(certificate):
    number = next(n for n, answer in enumerate(certificate["answers"]) if answer)
    certificate["answers"][number] = None


def without_the_end(certificate):
    certificate["answers"].pop()


def with_one_more(certificate):
    certificate["answers"].append(None)


def with_another_point(certificate):
    number = next(n for n, answer in enumerate(certificate["answers"]) if answer)
    certificate["answers"][number] = [str(value) for value in SHAPE.point]


def with_another_mass(certificate):
    masses = certificate["law"][0]["cells"][0]["masses"]
    masses[next(iter(masses))] += " + 1"


def with_a_cell_less(certificate):
    certificate["law"][0]["cells"].pop()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "change",
    [without_a_point, without_the_end, with_one_more, with_another_point, with_another_mass, with_a_cell_less],
)
def test_a_changed_certificate_is_rejected(certificate, change):
    changed = json.loads(json.dumps(certificate))
    change(changed)
    assert not verdict(changed).valid


@pytest.mark.parametrize("name", ["naive", "block_by_weights"])
def test_a_certificate_is_about_one_verifier(certificate, name):
    assert not verdict(certificate, name).valid


@pytest.mark.parametrize("broken", [{"format": "other"}, {"variables": ["p_0"]}, {"answers": [["x"]]}, {"answers": 3}])
def test_what_is_no_certificate_is_bad_input(certificate, broken):
    with pytest.raises(InvalidInput):
        verdict({**certificate, **broken})


def test_only_what_is_proved_has_a_certificate():
    proof = prove(Subject.of(make("block_by_weights")), SHAPE, Explorer(RecordingOracle(SHAPE.ring)))
    with pytest.raises(InvalidInput, match="proved"):
        certificate_of(proof, {})


def test_a_nudged_point_meets_its_conditions():
    ring = SHAPE.ring
    atom = ring.atom(ring.variable("p_0") - ring.variable("q_0"))
    for mask in (1, 2, 4):
        conditions = frozenset({*SHAPE.domain, (atom, mask)})
        point = nudged(ring, conditions, atom, SHAPE.point)
        assert point is not None
        assert all(ring.sign_at(number, point) & allowed for number, allowed in conditions)
