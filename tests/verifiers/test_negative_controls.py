"""Every lossy verifier of the registry is refuted, and its violation shrinks to the witness on file."""

from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.simulator import Delayed, Instance, check
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.verdicts.cases import conformance_instances
from draftproof.simulator.verdicts.search import shrink
from draftproof.verifiers import STANDALONE, make
from tests.quick import quick

WITNESSES = Path(__file__).resolve().parents[1] / "data" / "witnesses"
CONTROLS = [name for name in STANDALONE if make(name).card.status in ("negative control", "declared lossy")]
#: Controls whose witness takes seconds to shrink.
SLOW = ("traversal_insertion_order", "hsd_uncapped", "block_by_weights")
QUICK = [name for name in CONTROLS if name not in SLOW]
#: A person can follow a witness with no more rows than this by hand.
SMALL = 10
#: FLy overrides a rejection only where drafts after it pass: its witness has three of them.
LARGER = {"fly": 22}


def failures(name: str) -> tuple[list[Instance], Delayed]:
    """The conformance instances of the first shape on which the verifier fails."""
    for shape in SHAPES:
        scheme = Delayed(*shape[1:])
        checked = ((i, check(make(name), i.target, i.draft, scheme)) for i in conformance_instances(shape, 8))
        failed = [instance for instance, found in checked if not found.lossless]
        if failed:
            return failed, scheme
    raise AssertionError(f"{name} is declared lossy, but no conformance instance refutes it")


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [*QUICK, *quick(SLOW, ())])  # a README has that of insertion order, too
def test_every_violation_shrinks_to_the_witness_on_file(name: str) -> None:
    failed, scheme = failures(name)
    path = WITNESSES / f"{name}.json"
    for instance in (failed[0], failed[-1]):
        witness = shrink(make(name), instance, scheme)
        assert witness.shrunk
        assert path.exists(), f"write this to {path}:\n{witness.instance.dumps()}"
        assert witness.instance.dumps() == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CONTROLS)
def test_witness_on_file_refutes_and_is_small(name: str) -> None:
    instance = Instance.load(WITNESSES / f"{name}.json")
    assert instance.scheme is not None
    found, enumerated = (
        check(make(name), instance.target, instance.draft, instance.scheme, engine=engine)
        for engine in ("auto", "enumerate")
    )
    assert found.metrics == enumerated.metrics
    assert found.violation is not None
    assert instance.about["refutes"] == name
    assert (list(found.violation.context), found.violation.token) == (
        instance.about["context"],
        instance.about["token"],
    )
    assert found.violation.expected == Fraction(instance.about["target asks for"])
    assert found.violation.found == Fraction(instance.about["block has"])
    assert len(instance.as_dict()["target"]) + len(instance.as_dict()["draft"]) <= LARGER.get(name, SMALL)


@pytest.mark.parametrize("name", [name for name in STANDALONE if "delayed" in lossless_for(make(name).card)])
def test_no_witness_refutes_a_lossless_verifier(name: str) -> None:
    for path in WITNESSES.glob("*.json"):
        instance = Instance.load(path)
        assert instance.scheme is not None
        assert (
            check(make(name), instance.target, instance.draft, instance.scheme, engine="enumerate").max_deviation == 0
        )


def test_every_witness_on_file_belongs_to_a_control() -> None:
    assert {path.stem for path in WITNESSES.glob("*.json")} == set(CONTROLS)
