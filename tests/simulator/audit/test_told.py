"""Functions that are handed another q than the drafts come from are refuted and the mistake is named."""

import numpy as np
import pytest

import draftproof
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import Evidence, diagnose, make_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess, told_of
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.simulator.instances.softmax import from_softmax
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make

PATH = Delayed(1, 0, 2)
TARGET = MarkovProcess(
    RATIONAL.vector([["3/8", "3/8", "2/8"], ["1/8", "2/8", "5/8"], ["4/8", "1/8", "3/8"]]), (0,), "p"
)
DRAFT = MarkovProcess(RATIONAL.vector([["5/8", "1/8", "2/8"], ["2/8", "1/8", "5/8"], ["1/8", "3/8", "4/8"]]), (0,))


def verify(tokens, q, p):
    """Token-by-token verification, right if q is what the tokens come from."""
    for i, x in enumerate(tokens):
        if q[i, x] > 0 and np.random.random() >= p[i, x] / q[i, x]:
            rest = np.maximum(p[i] - q[i], 0)
            return i, np.random.choice(len(rest), p=rest / rest.sum())
    return len(tokens), np.random.choice(p.shape[1], p=p[-1])


def case_of(*options):
    return Samplings.of_options(*options).cases([Case("given", TARGET, DRAFT)], PATH.depth, None)[0]


MISTAKES = {
    "q before top-k": (("", "top_k=2", "draft"), "drafts come from q at top-k 2, but q without it is handed over"),
    "q before the temperature": (
        ("temperature=.5", "temperature=.5", "draft"),
        "drafts come from q at temperature 0.5, but q without it is handed over",
    ),
    "q before bits": (("", "bits=2", "draft"), "drafts come from q at bits 2, but q without it is handed over"),
    "greedy drafts": (("top_p=.8", "temperature=0", "draft"), "drafts come from q at temperature 0"),
    "q after top-k": (("", "", "top_k=2"), "q at top-k 2 is handed over, but drafts come from q without it"),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("options", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_function_that_is_told_another_q_is_refuted_and_the_mistake_named(options, words):
    audit = make_audit(verify, interface="chain", library="numpy")
    rows = case_of(*options).rows(PATH.depth)
    finding = audit.judge(rows, PATH)
    assert not finding.lossless
    named = diagnose(Evidence(audit, finding, [finding]))
    assert named[0].name == "told q"
    assert words in named[0].reason
    assert "handed the q that drafts come from, it is lossless" in named[0].reason
    twin = audit.judge(case_of(*options[:2]).rows(PATH.depth), PATH)
    assert twin.lossless


@pytest.mark.heavy
def test_requests_of_a_batch_are_told_alike_and_the_mistake_is_named():
    def verify_all(tokens, q, p, lengths):
        return [verify(x[:n], b, a[: n + 1]) for x, b, a, n in zip(tokens, q, p, lengths, strict=True)]

    audit = make_audit(verify_all, interface="chain", library="numpy", batch=2)
    options, words = MISTAKES["q before top-k"]
    scheme, told = Delayed(1, 0, 1), case_of(*options).rows(1)
    (first, _), (second, _) = audit.requests(told, scheme)
    assert second.draft.told.row(()).tolist() == first.draft.told.row(()).tolist()[::-1]
    finding = audit.judge(told, scheme)
    assert not finding.lossless
    named = diagnose(Evidence(audit, finding, [finding]))
    assert (named[0].name, words in named[0].reason) == ("told q", True)


@pytest.mark.parametrize("name", ["naive", "block", "traversal"])
@pytest.mark.parametrize(("options", "_words"), MISTAKES.values(), ids=MISTAKES)
def test_verifiers_that_are_told_another_q_are_lossy_and_their_twins_proved(name, options, _words):
    told, twin = case_of(*options), case_of(*options[:2])
    wrong, right = (check(make(name), case.target, case.draft, PATH) for case in (told, twin))
    assert (wrong.engine, wrong.lossless, right.lossless) == ("enumerate", False, True)
    again = Instance.loads(told.rows(PATH.depth).dumps())
    assert check(make(name), again.target, again.draft, PATH).violation == wrong.violation
    assert check(make(name), told.target, told.draft, PATH, "float64").max_deviation == pytest.approx(
        float(wrong.max_deviation), abs=1e-12
    )


def test_what_is_told_alike_is_not_told_apart():
    assert told_of(case_of("top_k=2", None, "sampled").draft) is None
    for options in (("top_k=2", "temperature=1", "draft"), ("top_k=2", None, "target"), (None, None, "temperature=1")):
        with pytest.raises(InvalidInput, match=r"told .* is the q that tokens are drawn from; leave it out, or sample"):
            case_of(*options)
    assert told_of(case_of("top_k=2", "", "target").draft) is not None


def test_structures_are_not_asked_about_a_q_that_is_told_otherwise():
    case = case_of("", "top_k=2", "draft")
    with pytest.raises(InvalidInput, match="use the engine enumerate"):
        check(make("naive"), case.target, case.draft, PATH, engine="structured")


@pytest.mark.heavy
def test_from_python_rows_are_sampled_and_told_otherwise():
    rows = np.array([0.5, 0.25, 0.25])
    sharp, plain = from_softmax(rows, sampling="temperature=.5"), from_softmax(rows)
    assert sharp.row(()).tolist() == RATIONAL.vector(["4/6", "1/6", "1/6"]).tolist()
    assert Sampling(top_k=1).process(plain).row(()).tolist() == [1, 0, 0]
    assert draftproof.check("naive", (plain, sharp), PATH).row["lossless"]
    found = draftproof.check("naive", (plain, sharp), PATH, told=plain)
    assert (found.row["lossless"], found.row["engine"]) == (False, "enumerate")
    with pytest.raises(InvalidInput, match="a repetition penalty depends on all tokens before"):
        from_softmax(rows, sampling="repetition_penalty=2")
    with pytest.raises(InvalidInput, match="masks depend on all tokens before"):
        from_softmax(rows, sampling="table=01-/-10")
