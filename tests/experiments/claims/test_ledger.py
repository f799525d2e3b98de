"""Every claim has a test that can fail and that can pass, a source, and the verdict that the page shows."""

import shlex
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import attrgetter

import pytest

from draftproof.experiments.claims import ledger as claims_ledger
from draftproof.experiments.claims import statements, work
from draftproof.experiments.claims.ledger import INSTANCES, OPEN, claim_of, ledger, papers
from draftproof.experiments.claims.quantities import mean_accuracies
from draftproof.experiments.claims.runs import efficiency
from draftproof.experiments.claims.statements import STATEMENTS, Outcome, short
from draftproof.experiments.cli.claims import command_of, kept_file
from draftproof.experiments.pages.claims import PAGE, line
from draftproof.experiments.pages.site import ROOT
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import TableProcess
from draftproof.verifiers.bibliography import BIBLIOGRAPHY
from tests.quick import quick

CLAIMS = {claim.id: claim for claim in ledger()}
TESTED = [name for name, claim in CLAIMS.items() if claim.status != OPEN]
REFUTED = [name for name, claim in CLAIMS.items() if claim.status == "refuted"]
LINES = PAGE.read_text(encoding="utf-8").replace("\\\n ", "").splitlines()
#: Of the fields of what a command prints those with the values of a claim.
NUMBERS = {"compare": ["block_efficiency"], "bound": ["upper", "gap"]}
#: Of several kinds of statement one that is quick.
QUICK = ["one-path-traversal-is-block", "sequoia-plan-best", "gbv-any-ties"]


def test_every_paper_is_known_and_every_further_one_has_a_claim():
    cited = {claim.key for claim in ledger()}
    assert cited <= set(papers())
    assert set(papers()) - set(BIBLIOGRAPHY) <= cited
    assert all(", " in claim.paper and claim.statement.endswith(".") for claim in ledger())


def test_every_number_of_a_monotone_claim_is_compared(monkeypatch):
    values = (1, 2, 3, 0)
    monkeypatch.setattr(statements, "QUANTITIES", {"given": lambda _, __, number: Fraction(values[int(number)])})
    monotone = partial(STATEMENTS["monotone"], None, Delayed(1, 0, 1), "given:{}")
    assert [monotone(f"0..{last}").holds for last in range(1, 4)] == [True, True, False]


def refutation(name: str) -> tuple[Instance, Outcome]:
    instance = Instance.load(INSTANCES / f"{name}.json")
    return instance, CLAIMS[name].test.evaluate(instance, instance.scheme)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", REFUTED)
def test_the_instance_that_comes_along_refutes_the_claim_and_not_the_true_variant(name):
    kept, outcome = refutation(name)
    assert kept.about["says"] == CLAIMS[name].statement
    assert outcome.applies
    assert not outcome.holds
    assert outcome.text == kept.about["found"]
    assert CLAIMS[name].true.evaluate(kept, kept.scheme).holds


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", REFUTED)
def test_the_commands_of_a_refutation_show_it(draftproof, monkeypatch, name):
    """The page has them, and they print the values on which the verdict rests."""
    monkeypatch.chdir(ROOT)
    _, outcome = refutation(name)
    texts = next(text for text in LINES if f"/{name}.json" in text).split(" && ")
    for text, command in zip(texts, outcome.commands, strict=True):
        program, *words = shlex.split(text)
        assert program == "draftproof"
        assert words[:2] == [command[0], command[1].replace("planted.py", "experiments/claims/planted.py")]
        ran = draftproof(*words, "--json")
        assert ran.code in (0, 1), ran.err
        values = set(outcome.text.replace(",", "").split())
        for row in ran.json["rows"]:
            if words[0] == "check":
                assert row["lossless"] is outcome.text.endswith("is lossless")
            else:
                numbers = [row[key] for key in NUMBERS[words[0]]]
                assert values & {short(Fraction(number)) for number in numbers}


def test_the_page_and_its_instances_are_of_the_ledger():
    shown = [text for text in LINES if text.startswith("| `")]
    assert [text.split("`")[1] for text in shown] == [
        claim.id for key in dict.fromkeys(map(attrgetter("key"), ledger())) for claim in ledger() if claim.key == key
    ]
    for text in shown:
        claim = CLAIMS[text.split("`")[1]]
        row = {"id": claim.id, "source": claim.paper, "statement": claim.statement, "status": claim.status}
        assert text.startswith(line({**row, "evidence": ""}).removesuffix(" |"))
    assert {path.stem for path in INSTANCES.iterdir()} == set(REFUTED)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", quick(TESTED, QUICK))
def test_every_claim_has_the_verdict_of_the_page(monkeypatch, name):
    monkeypatch.chdir(ROOT)
    row = work.compute(name)
    assert row["as_expected"]
    assert row["false_variant"] or CLAIMS[name].status == OPEN
    assert line(row) in LINES
    assert row["refuting"] is None or command_of(row, kept_file(row)) in LINES


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"test": "ordre"}, "claim c: 'ordre'"),
        ({"lefft": "naive"}, "unexpected keyword argument 'lefft'"),
        ({"cases": "path"}, "claim c: 'path'"),
        ({"relation": "=<"}, "claim c: relation '=<' is none of '<=', '<', '>=', '='"),
        ({"false": {"says": "no", "margins": "1"}}, "unexpected keyword argument 'margins'"),
    ],
)
def test_an_entry_that_is_no_claim_is_refused(changed, words):
    entry = {"id": "c", "paper": "p, x", "statement": "s.", "test": "order", "left": "naive", "right": "block"}
    with pytest.raises(InvalidInput, match=words):
        claim_of({**entry, "cases": "paths", "false": {"says": "no"}, **changed})


NEVER, ALWAYS = {"test": "never"}, {"test": "always"}


@pytest.mark.parametrize(
    ("changed", "status", "defect"),
    [
        ({"test": ALWAYS, "false": ALWAYS}, "holds", "its test does not refute the false variant"),
        ({"test": {"test": "lossless", "verifier": "naive_from_target"}}, "refuted", ""),
        (
            {"test": {"test": "lossless", "verifier": "nss", "only": "several"}},
            "cannot be decided here",
            "it applies to no instance",
        ),
        ({"test": NEVER, "true": NEVER}, "refuted", "its test refutes the true variant"),
        ({"test": ALWAYS, "true": ALWAYS}, "holds", ""),
    ],
    ids=["never fails", "is false", "asks nothing", "always fails", "was thought refuted"],
)
def test_a_claim_whose_test_proves_nothing_is_not_as_expected(monkeypatch, changed, status, defect):
    always, never = (lambda *_: Outcome(True)), (lambda *_: Outcome(False, "nothing"))
    monkeypatch.setattr(claims_ledger, "STATEMENTS", {**STATEMENTS, "always": always, "never": never})
    claim = CLAIMS["block-at-least-naive"]
    new = {
        key: replace(claim.test, kind=value["test"], fields={name: value[name] for name in value if name != "test"})
        for key, value in changed.items()
    }
    planted = replace(claim, **new, status="refuted" if "true" in new else "holds")
    monkeypatch.setattr(work, "claim_named", lambda _: planted)
    row = work.compute(planted.id)
    assert (row["status"], row["as_expected"]) == (status, False)
    assert row["defects"] == ([defect] if defect else [])


def test_equally_often_right_twice_and_never_has_a_mean_length_of_one_and_products_of_three_quarters():
    """A first token that is always accepted, then two that are both accepted or both not, as the first token says."""
    half, sure, other = ["1/2", "1/2"], ["1", "0"], ["0", "1"]
    target = [[half], [sure, sure], [sure] * 4]
    draft = [[half], [sure, other], [sure, sure, other, other]]
    instance = Instance(TableProcess([*target, [half] * 8], "target"), TableProcess(draft, "draft"))
    path = Delayed(1, 0, 3)
    assert efficiency("naive", instance, path) == 2 + 1
    assert mean_accuracies(instance, path, "") == 2 + Fraction(3, 4)
