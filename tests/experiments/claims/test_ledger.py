"""Every claim has a test that can fail and that can pass, a source, and the verdict that the page shows."""

import json
import shlex
from dataclasses import replace

import pytest

from draftproof.experiments.claims import work
from draftproof.experiments.claims.claim import Claim, Exact, Measured, Open
from draftproof.experiments.claims.statements import Holds, Lossless
from draftproof.experiments.claims.verdicts import INSTANCES, RECORDED, verdict
from draftproof.experiments.claims.work import ledger
from draftproof.experiments.cli.claims import FURTHER, PAPERS, ROOT, page, recorded
from draftproof.experiments.pages.claims import PAGE
from draftproof.simulator.instances.instance import Instance
from tests.quick import by_turns, quick

CLAIMS = {claim.id: claim for claim in ledger()}
TESTED = [name for name, claim in CLAIMS.items() if not isinstance(claim, Open)]
REFUTED = [name for name, claim in CLAIMS.items() if claim.expected == "refuted"]
RECORDS = recorded(RECORDED)
#: Of several kinds of statement one that is quick.
QUICK = ["one-path-traversal-is-block", "sequoia-plan-best", "gbv-any-ties"]


def rows_of(claim: Claim) -> list[dict]:
    return [work.compute(part) for part in work.parts_of(claim, deep=False)]


def test_there_are_at_least_forty_and_each_has_a_name_of_its_own():
    assert len(ledger()) == len(CLAIMS) >= 40


def test_every_paper_is_known_and_every_further_one_has_a_claim():
    cited = {claim.source.key for claim in ledger()}
    assert cited <= set(PAPERS)
    assert set(FURTHER) <= cited
    assert all(claim.source.place and claim.words.endswith(".") for claim in ledger())


def test_whatever_is_not_decided_says_why():
    assert all(claim.why for claim in ledger() if isinstance(claim, Open))


@pytest.mark.parametrize("name", by_turns(TESTED))
def test_the_test_of_every_claim_refutes_its_false_variant(name):
    row = work.compute(work.Part(name, work.FALSE_VARIANT))
    if isinstance(CLAIMS[name], Measured):
        assert row["shown"] is False
    else:
        assert row["failed"]["text"]
        assert row["instances"] > 0


@pytest.mark.parametrize("name", REFUTED)
def test_the_instance_that_comes_along_refutes_the_claim_and_not_the_true_variant(name):
    claim = CLAIMS[name]
    kept = Instance.load(INSTANCES / f"{name}.json")
    assert kept.about["says"] == claim.words
    outcome = claim.test.evaluate(kept, kept.scheme)
    assert outcome.applies
    assert not outcome.holds
    assert outcome.text == kept.about["found"]
    assert claim.true_variant.test.evaluate(kept, kept.scheme).holds


@pytest.mark.parametrize("name", REFUTED)
def test_the_commands_of_a_refutation_show_it(draftproof, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    outputs = []
    for command in RECORDS[name]["command"].split(" && "):
        program, *words = shlex.split(command)
        assert program == "draftproof"
        assert words[0] in ("check", "compare", "bound")
        ran = draftproof(*words, "--json", "-")
        assert ran.code in (0, 1), ran.err
        outputs.append(ran.json)
    assert CLAIMS[name].test.refuted_by(outputs)


def test_an_instance_that_refutes_nothing_shows_nothing(draftproof, tmp_path):
    """The check of the commands can say no: on one where both bring the same."""
    even = {"": ["1/2", "1/2"], "0": ["1/2", "1/2"], "1": ["1/2", "1/2"]}
    scheme = {"name": "delayed", "K": 1, "L1": 0, "L2": 1}
    fields = {"vocab_size": 2, "depth": 1, "target": even, "draft": {"": even[""]}, "scheme": scheme}
    (tmp_path / "even.json").write_text(json.dumps(fields))
    exact = ("--instance", "even.json", "--json", "-")
    compared = draftproof("compare", "block", "gbv", "--arithmetic", "rational", *exact).json
    assert not CLAIMS["gbv-at-least-block"].test.refuted_by([compared])
    assert not CLAIMS["block-accepts-with-weights"].test.refuted_by([draftproof("check", "block", *exact).json])


def test_the_page_and_its_instances_are_generated():
    assert list(RECORDS) == list(CLAIMS)
    assert PAGE.read_text(encoding="utf-8") == page(list(RECORDS.values()))
    assert {path.stem for path in INSTANCES.iterdir()} == set(REFUTED)
    for name, row in RECORDS.items():
        assert (row["statement"], row["status"]) == (CLAIMS[name].words, CLAIMS[name].expected)
        assert row["as_expected"]
        assert row["defects"] == []


@pytest.mark.parametrize("name", quick(TESTED, QUICK))
def test_every_claim_has_the_verdict_of_the_page(name):
    found = verdict(CLAIMS[name], rows_of(CLAIMS[name]))
    assert found.as_expected
    assert found.evidence == RECORDS[name]["evidence"]
    assert found.instances == RECORDS[name]["instances"] or name not in QUICK


NEVER, ALWAYS = Holds(lambda *_: "nothing"), Holds(lambda *_: None)


@pytest.mark.parametrize(
    ("changed", "status", "defect"),
    [
        ({"test": ALWAYS, "false_variant": "test"}, "holds", "its test does not refute the false variant"),
        ({"test": Lossless("naive_from_target")}, "refuted", ""),
        ({"test": Lossless("nss", only=lambda *_: False)}, "cannot be decided here", "it applies to no instance"),
        ({"test": NEVER, "true_variant": NEVER}, "refuted", "its test refutes the true variant"),
        ({"test": ALWAYS, "true_variant": ALWAYS}, "holds", ""),
    ],
    ids=["never fails", "is false", "asks nothing", "always fails", "was thought refuted"],
)
def test_a_claim_whose_test_proves_nothing_is_not_as_expected(monkeypatch, changed, status, defect):
    claim = CLAIMS["block-at-least-naive"]
    assert isinstance(claim, Exact)
    new = {
        key: replace(claim.false_variant, test=value) if key == "true_variant" else value
        for key, value in changed.items()
    }
    if new.get("false_variant") == "test":
        new["false_variant"] = replace(claim.false_variant, test=new["test"])
    planted = replace(claim, **new)
    monkeypatch.setattr(work, "ledger", lambda: (planted,))
    found = verdict(planted, rows_of(planted))
    assert found.status == status
    assert not found.as_expected
    assert found.defects == ((defect,) if defect else ())
