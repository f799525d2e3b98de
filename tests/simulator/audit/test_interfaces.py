"""How functions are called and read; what they return wrongly is refused in one clear line."""

import random
import sys
from fractions import Fraction

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import (
    CallableProcess,
    Delayed,
    DraftTree,
    InvalidInput,
    InvalidVerifier,
    Verdict,
    assert_lossless,
)
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import (
    INTERFACES,
    FunctionFailed,
    SelfDrafted,
    default_cases,
    interface_named,
    make_audit,
)
from draftproof.simulator.audit.interfaces._call import NOISE_KINDS, by_request, kind_of, paths_of
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.guarded import guarded_law

TARGET = CallableProcess(2, lambda context: ["1/4", "3/4"] if len(context) % 2 else ["1/2", "1/2"])
DRAFT = CallableProcess(2, lambda context: ["3/4", "1/4"] if len(context) % 2 else ["1/4", "3/4"])
INSTANCE = Instance.of(TARGET, DRAFT, 2, RATIONAL)


def seen(interface, scheme=None, **options):
    """The arguments of the first call for this interface."""
    calls = []

    def function(*arguments, **keywords):
        calls.append((arguments, keywords))
        raise RuntimeError("seen")

    audit = make_audit(options.pop("like", None) or function, interface, **options)
    with pytest.raises(InvalidVerifier, match="seen"):
        audit.judge(INSTANCE, scheme or Delayed(1, 0, 2))
    return calls[0]


@pytest.mark.parametrize("name", INTERFACES)
def test_every_interface_says_what_it_takes_and_returns(name):
    interface = INTERFACES[name]
    assert interface.name == name
    assert interface.how(batched=True)
    assert interface.returns


def test_chain_gets_tokens_and_rows():
    (tokens, q, p), _ = seen("chain", library="numpy")
    assert (tokens.shape, q.shape, p.shape) == ((2,), (2, 2), (3, 2))
    assert q.tolist() == [[0.25, 0.75], [0.75, 0.25]]
    assert p.tolist() == [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]


def test_rational_rows_are_fractions_and_logits_logarithms():
    (_, q, _), _ = seen("chain", arithmetic="rational")
    assert q == [[Fraction(1, 4), Fraction(3, 4)], [Fraction(3, 4), Fraction(1, 4)]]
    (_, q, _), _ = seen("chain", library="numpy", logits=True)
    assert q == pytest.approx(np.log([[0.25, 0.75], [0.75, 0.25]]))


def test_paths_get_dictionaries_by_prefix():
    (paths, p, q), _ = seen("paths", Delayed(2, 0, 2))
    assert paths == [(0, 0), (0, 0)]
    assert set(p) == {(), (0,), (0, 0)}
    assert q == {(): [0.25, 0.75], (0,): [0.75, 0.25]}


def test_posterior_gets_padded_candidates():
    from draftproof.simulator.audit import Ragged

    def function(p, candidates, q):
        raise RuntimeError(f"seen {p.shape} {candidates.tolist()} {q.shape}")

    audit = make_audit(function, "posterior")
    with pytest.raises(InvalidVerifier, match=r"seen \(2, 3, 2\) \[\[0, 0, 0\], \[0, 0, -1\]\] \(2, 3, 2\)"):
        audit.judge(INSTANCE, Ragged((2, 1)))


def test_posterior_without_a_third_parameter_gets_no_draft_rows():
    (arguments, _) = seen("posterior", Delayed(2, 0, 1))
    assert len(arguments) == 2


def test_keywords_of_the_audit_are_handed_over():
    _, keywords = seen("chain", keywords={"weight": 3})
    assert keywords == {"weight": 3}


def test_coins_interface_with_exponential_noise_and_bonus_tokens():
    def right(draft_token_ids, draft_probs, target_probs, bonus_token_ids, uniforms, noise):
        for i, token in enumerate(draft_token_ids):
            if uniforms[i] >= target_probs[i, token] / draft_probs[i, token]:
                rest = np.maximum(target_probs[i] - draft_probs[i], 0)
                return [[*draft_token_ids[:i], np.argmax(rest / noise[0])]]
        return [[*draft_token_ids, bonus_token_ids[0]]]

    assert_lossless(right, interface="coins")


def endless(tokens, q, p):
    while random.random() < 0.5:
        pass
    return [0]


def drafts_three(p, q):
    return [0, 0, random.choices((0, 1), weights=q((0, 0, 0)))[0]]


def of_cache(draft_token_ids, cache):
    return None


PATH, TREE = Delayed(1, 0, 2), Delayed(2, 0, 1)
#: Functions that are not judged, or fail: the interface, the scheme, and the words that name the reason.
NAMED = [
    ("chain", PATH, lambda *rows: None, "returned None; the chain interface wants"),
    ("chain", PATH, lambda *rows: "text", "returned 'text'"),
    ("chain", PATH, lambda *rows: [], "no token at all"),
    ("chain", PATH, lambda *rows: (3, 0), "accepted 3 tokens of a path of 2"),
    ("chain", PATH, lambda *rows: (0, 0.5), "correction token must be a whole number, not 0.5"),
    ("chain", PATH, lambda *rows: (0, 7), "correction 7 is no token"),
    ("chain", PATH, lambda *rows: ([5], 0), "no node of the draft tree"),
    ("chain", PATH, lambda *rows: (0, 0, 0), "it returned a tuple of 3; the chain interface wants"),
    ("chain", PATH, lambda one: one, r"the chain interface calls it with \(tokens, q, p\)"),
    (
        "chain",
        PATH,
        lambda *rows: 1 / 0,
        r"it raised ZeroDivisionError: division by zero \(test_interfaces.py line",
    ),
    ("chain", PATH, endless, "a loop that may go on for ever cannot be enumerated"),
    ("tree", TREE, lambda root: [0], "the tree interface wants"),
    ("tree", TREE, lambda root: (0, 1, 2), "the tree interface wants"),
    ("tree", TREE, lambda root: None, "the tree interface wants"),
    ("tree", TREE, lambda root: sys.exit(0), "it raised SystemExit: 0"),
    ("posterior", TREE, lambda p, candidates: (5, 0, 0), "candidate 5"),
    ("posterior", TREE, lambda p, candidates: (0, 0, [0.2, 0.2]), "sums to 0.4"),
    ("coins", PATH, of_cache, "no argument 'cache'; it knows draft_token_ids"),
    ("step", SelfDrafted(2), drafts_three, "give the number that it drafts: L2=3"),
    ("step", PATH, lambda p, q: [0], "does not go with the scheme"),
]


@pytest.mark.parametrize(("interface", "scheme", "function", "message"), NAMED, ids=[row[-1] for row in NAMED])
def test_what_is_wrong_is_named(interface, scheme, function, message):
    with pytest.raises((InvalidVerifier, InvalidInput), match=message):
        make_audit(function, interface).judge(INSTANCE, scheme)


def sampled_twice(target_logits, num_speculative_steps):
    return [[0, -1, 0]], [2]


def one_model(draft_token_ids, draft_probs, target_probs):
    return [[0, -1, 0]], [2]


def in_slots(predicts, accept_index, accept_token_num):
    predicts[0], accept_token_num[0], accept_index[0][0], accept_index[0][1] = 0, 1, 0, 1


@pytest.mark.parametrize(
    ("name", "function"),
    [("vllm-v2", sampled_twice), ("tensorrt-llm", one_model), ("sglang", in_slots), ("sglang-chain", in_slots)],
)
def test_a_placeholder_among_the_tokens_that_are_counted_is_a_failure(name, function):
    pytest.importorskip("torch")
    with pytest.raises(FunctionFailed, match=r"it returned -1 among its tokens: \[0, -1\]") as failed:
        make_audit(function, name).judge(INSTANCE, Delayed(1, 0, 2))
    assert not failed.value.called_wrongly


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interface": "nothing"}, "unknown interface"),
        ({"library": "cupy"}, "unknown library"),
        ({"arithmetic": "float16"}, "unknown arithmetic"),
        ({"arithmetic": "rational", "library": "torch", "interface": "chain"}, "torch holds no rationals"),
        ({"arithmetic": "rational", "processing": "temperature=.7"}, "use arithmetic float64"),
        ({"interface": "transformers", "library": "numpy"}, "rows of torch"),
    ],
)
def test_options_that_do_not_exist_are_named(options, message):
    with pytest.raises(InvalidInput, match=message):
        make_audit(lambda root: None, **options)


def test_unknown_case_is_named():
    with pytest.raises(InvalidInput, match="no case 'nothing' here; choose from context"):
        default_cases(interface_named("chain"), None, ["nothing"])


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["block", "traversal", "specinfer"])
def test_verifiers_of_the_project_behave_the_same_when_they_are_audited_as_trees(name):
    verifier = verifiers.make(name)

    class PythonCoin:
        """A coin made of the module `random`, as an outsider would write it."""

        def flip(self, probability):
            return random.random() < probability

        def choose(self, weights):
            return random.choices(range(len(weights)), weights=list(weights))[0]

    def function(root):
        verdict = verifier.verify(root, PythonCoin())
        return Verdict(verdict.accepted, verdict.correction)

    scheme = Delayed(2, 0, 2)
    audit = make_audit(function, "tree", "numpy")
    wanted = guarded_law(verifier, INSTANCE.target, INSTANCE.draft, scheme)
    found = audit.judge(INSTANCE, scheme).law
    for ours, theirs in zip(found.correction, wanted.correction, strict=True):
        assert abs(ours - theirs.astype(float)).max() < 1e-12  # a few dozen roundings of 1e-16


def test_paths_keep_their_order_and_duplicates():
    paths = [(0, 1), (1, 1), (0, 0), (0, 1)]
    root = DraftTree.from_paths((), paths).root(TARGET, DRAFT)
    assert paths_of(root) == paths
    trunk = DraftTree.from_paths((1,), [(0,), (1,)]).root(TARGET, DRAFT)
    assert paths_of(trunk) == [(1, 0), (1, 1)]
    ragged = DraftTree.from_paths((), [(0, 1), (0,), (1,)]).root(TARGET, DRAFT)
    assert paths_of(ragged) == [(0, 1), (0,), (1,)]


@pytest.mark.parametrize("result", [([0, 0], [0, 0, 0]), ((0, 1), (0, 1))])
def test_a_pair_for_two_requests_must_be_two_arrays(result):
    with pytest.raises(InvalidVerifier, match="two arrays of 2; give the results of single requests in a list"):
        by_request(result, 2)


def test_an_option_that_does_not_exist_names_the_place_of_arguments():
    with pytest.raises(InvalidInput, match=r"no option rng; arguments of the function: keywords=\{'rng': \.\.\}"):
        assert_lossless(lambda tokens, q, p: tokens, interface="chain", rng=random.Random())


def test_names_of_rows_are_no_names_of_noise():
    assert not {"q", "p", "tokens", "temperature", "draft_probs", "seed"} & NOISE_KINDS.keys()
    named = [kind_of(name) for name in ("Uniforms", "uniform_", "gumbels", "q", "probs")]
    assert named == ["uniforms", "uniforms", "gumbel", None, None]


def test_the_report_says_how_it_was_called(planted):
    audit = make_audit(planted("noise_arguments", "right_gumbel"), "chain", library="numpy", name="mine")
    audit.judge(INSTANCE, Delayed(1, 0, 2))
    assert audit.audited.adapter == (
        "called as mine(tokens, q, p, uniform_probs, gumbels), rows as numpy float64; "
        "uniform_probs: a uniform number for every draft; gumbels: a Gumbel number for every token"
    )
