"""What functions are handed over and how they are read; what they return wrongly is refused in one clear line."""

import ast
import random
import re
import sys
from fractions import Fraction
from inspect import signature
from math import log
from pathlib import Path
from types import SimpleNamespace

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
    Evidence,
    FunctionFailed,
    Ragged,
    SelfDrafted,
    default_cases,
    diagnose,
    interface_named,
    make_audit,
)
from draftproof.simulator.audit.interfaces import ENGINES
from draftproof.simulator.audit.interfaces._call import NOISE_KINDS, by_request, kind_of, paths_of
from draftproof.simulator.drafts import WithoutReplacement
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.guarded import guarded_law

TARGET = CallableProcess(2, lambda context: ["1/4", "3/4"] if len(context) % 2 else ["1/2", "1/2"])
DRAFT = CallableProcess(2, lambda context: ["3/4", "1/4"] if len(context) % 2 else ["1/4", "3/4"])
INSTANCE = Instance.of(TARGET, DRAFT, 2, RATIONAL)
PATH, TREE, DISTINCT = Delayed(1, 0, 2), Delayed(2, 0, 1), WithoutReplacement(2, 0, 2)
A, B, EVEN, NOTHING = [0.25, 0.75], [0.75, 0.25], [0.5, 0.5], [0, 0]


class Seen(Exception):
    def __init__(self, given):
        super().__init__("seen")
        self.given = given


def handed_over(interface, scheme, names, **options):
    """The arguments of the first call, by name."""
    scope = {"Seen": Seen}
    exec(f"def function({', '.join(names)}):\n    raise Seen(dict(locals()))\n", scope)
    with pytest.raises(InvalidVerifier, match="seen") as failed:
        make_audit(scope["function"], interface, **options).judge(INSTANCE, scheme)
    return {name: plain(value) for name, value in failed.value.__cause__.given.items()}


def plain(value):
    if isinstance(value, SimpleNamespace):
        return {name: plain(part) for name, part in vars(value).items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


#: Interface, scheme, options, and what the function gets for its parameters.
HANDED = [
    ("chain", PATH, {"library": "numpy"}, {"tokens": [0, 0], "q": [A, B], "p": [EVEN, A, EVEN]}),
    ("chain", PATH, {"arithmetic": "rational"}, {
        "tokens": [0, 0], "q": [[Fraction(1, 4), Fraction(3, 4)], [Fraction(3, 4), Fraction(1, 4)]],
        "p": [[Fraction(1, 2)] * 2, [Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2)] * 2],
    }),
    ("chain", PATH, {"library": "numpy", "logits": True, "keywords": {"weight": 3}}, {
        "tokens": [0, 0], "q": [[log(x) for x in row] for row in (A, B)],
        "p": [[log(x) for x in row] for row in (EVEN, A, EVEN)], "weight": 3,
    }),
    ("paths", Delayed(2, 0, 2), {}, {
        "paths": [(0, 0), (0, 0)], "p": {(): EVEN, (0,): A, (0, 0): EVEN}, "q": {(): A, (0,): B},
    }),
    ("posterior", Ragged((2, 1)), {}, {
        "p": [[EVEN, A, EVEN], [EVEN, A, NOTHING]], "candidates": [[0, 0, 0], [0, 0, -1]],
        "q": [[A, B, NOTHING], [A, NOTHING, NOTHING]],
    }),
    ("posterior", TREE, {}, {"p": [[EVEN, A], [EVEN, A]], "candidates": [[0, 0], [0, 0]]}),
    ("vllm", PATH, {}, {
        "draft_probs": [A, B], "target_probs": [EVEN, A], "bonus_token_ids": [[0]],
        "logits": [[log(x) for x in row] for row in (EVEN, A, EVEN)],
        "metadata": {
            "draft_token_ids": [0, 0], "num_draft_tokens": [2], "cu_num_draft_tokens": [2], "max_spec_len": 2,
            "cu_num_sampled_tokens": [3], "target_logits_indices": [0, 1], "bonus_logits_indices": [2],
            "logits_indices": [0, 1, 2],
        },
    }),
    ("sglang", DISTINCT, {}, {
        "candidates": [[0, 0, 1, 0, 1, 0, 1]], "retrieve_index": [[0, 1, 2, 3, 4, 5, 6]],
        "retrive_next_token": [[1, 3, 5, -1, -1, -1, -1]], "retrive_next_sibling": [[-1, 2, -1, 4, -1, 6, -1]],
        "draft_probs": [[NOTHING] * 7],
    }),
    ("eagle", DISTINCT, {}, {
        "candidates": [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]], "tree_candidates": [[0, 0, 1, 0, 1, 0, 1]],
        "cart_candidates_prob": [[1, 0.25, 0.75], [1, 0.25, 1], [1, 1, 0.75], [1, 1, 1]], "op": [[A], [B, B]],
        "p_indices": [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]],
        "b_indices": [[[], [], []], [[], [], [3]], [[], [1], []], [[], [1], [5]]],
    }),
]  # fmt: skip


@pytest.mark.parametrize(("interface", "scheme", "options", "wanted"), HANDED)
def test_arguments_are_those_of_the_interface(interface, scheme, options, wanted):
    if interface_named(interface).library == "torch":
        pytest.importorskip("torch")
    assert handed_over(interface, scheme, wanted, **options) == wanted


@pytest.mark.parametrize("name", INTERFACES)
def test_every_interface_says_what_it_takes_and_returns(name):
    assert INTERFACES[name].name == name
    assert INTERFACES[name].how(batched=True)
    assert INTERFACES[name].returns


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


def of_cache(draft_token_ids=(), *, cache):
    return None


def of_hashed_seed(target_logits, seed):
    """One value of the seed gives one token, which says nothing about the law over all seeds."""
    hashed = (seed[0] * 2654435761) % 2**32
    return [[int((target_logits[0].softmax(0).cumsum(0) < hashed / 2**32).sum())]], [1]


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
    ("vllm-v2", PATH, of_cache, "no argument 'cache'; it knows target_logits"),
    ("vllm-v2", PATH, lambda pos: 3, "the vllm-v2 interface wants"),
    ("tensorrt-llm", PATH, lambda draft_tokens: [1], "the tensorrt-llm interface wants"),
    ("sglang", PATH, lambda accept_token_num: None, "it has no parameter predicts"),
    ("sglang", PATH, lambda predicts, accept_index, accept_token_num: None, "accept_index holds"),
    ("eagle", PATH, lambda logits: 3, "the eagle interface wants"),
    ("vllm-v2", PATH, of_hashed_seed, "of the argument seed"),
]


@pytest.mark.parametrize(("interface", "scheme", "function", "message"), NAMED, ids=[row[-1] for row in NAMED])
def test_what_is_wrong_is_named(interface, scheme, function, message):
    if interface_named(interface).library == "torch":
        pytest.importorskip("torch")
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


def test_the_page_of_adapters_has_every_engine_and_adapters_of_a_few_lines():
    page = (Path(__file__).parents[3] / "docs" / "howto" / "engines.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == {engine.name for engine in ENGINES}
    assert {engine.name for engine in ENGINES} - {"sglang"} <= set(re.findall(r"--interface ([\w-]+)", page))
    for adapter in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        assert sum(len(node.body) for node in ast.walk(ast.parse(adapter)) if isinstance(node, ast.FunctionDef)) <= 5


def test_an_ensemble_weight_of_transformers_is_refuted_with_its_exact_bias():
    pytest.importorskip("torch")
    function = pytest.importorskip("transformers.generation.utils")._speculative_sampling
    if "assistant_ensemble_weight" not in signature(function).parameters:
        pytest.skip("this version of transformers has no ensemble weight")
    audit = make_audit(function, "transformers", keywords={"assistant_ensemble_weight": 0.7})
    case = default_cases(interface_named("transformers"), None, ["short"])[0]
    found = audit.judge(case.instance, case.scheme)
    assert not found.lossless
    # One draft x is accepted with 1 - w + w min(1, p/q) in place of min(1, p/q), and what is missing comes from the
    # residual: the output is w p + (1 - w) q where q exceeds p, so the bias is (1 - w) TV(p, q).
    p, q = (case.instance.target.row(()), case.instance.draft.row(()))
    distance = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    assert found.check.total_variation == pytest.approx(0.3 * float(distance.p) / float(distance.q), abs=1e-12)
    [first, *_] = diagnose(Evidence(audit, found, [found]))
    assert first.name == "relaxed acceptance"
    assert "w = 0.7" in first.reason
