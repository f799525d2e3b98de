"""The interfaces of engines: functions with their signatures are proved, and twins with one bug are refuted."""

import ast
import re
from pathlib import Path

import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.interfaces import ENGINES
from draftproof.simulator.audit.verdict import Record, Request, run_audit
from draftproof.simulator.drafts import Delayed, WithoutReplacement
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.symbolic import NotFollowed
from tests.quick import quick

torch = pytest.importorskip("torch")

#: The functions of `engines.py` by interface; names end in what is to be found.
FUNCTIONS = {
    "vllm_right": "vllm", "vllm_wrong": "vllm", "vllm_forward_right": "vllm", "vllm_v2_right": "vllm-v2",
    "vllm_v2_wrong": "vllm-v2", "vllm_v2_compared_right": "vllm-v2", "sglang_right": "sglang",
    "sglang_wrong": "sglang", "sglang_chain_right": "sglang-chain", "sglang_chain_wrong": "sglang-chain",
    "transformers_right": "transformers", "transformers_wrong": "transformers", "eagle_right": "eagle",
    "eagle_wrong": "eagle", "eagle_sampled_right": "eagle", "eagle_sampled_wrong": "eagle",
    "tensorrt_llm_right": "tensorrt-llm", "tensorrt_llm_wrong": "tensorrt-llm", "one_model_right": "tensorrt-llm",
    "one_model_wrong": "tensorrt-llm",
}  # fmt: skip
#: Requests of a batch: tokens of one are judged by rows of the other.
BATCHES = {
    "vllm_right": "vllm", "vllm_shifted_wrong": "vllm", "vllm_v2_right": "vllm-v2", "sglang_right": "sglang",
    "sglang_chain_right": "sglang-chain",
}  # fmt: skip


def verdict(function, name, interface, case, batch=1):
    audit = make_audit(function, interface, name=name, batch=batch)
    scheme = WithoutReplacement(2, 0, 1) if name.startswith("eagle_sampled") else None
    cases = default_cases(audit.audited.interface, scheme, [case], batch > 1)
    return run_audit(Record(Request(name, audit, cases)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", quick(FUNCTIONS, lambda name: name.endswith("wrong") or name == "vllm_right"))
def test_drafts_of_one_token(planted, name):
    audit = make_audit(planted("engines", name), FUNCTIONS[name], name=name)
    [case] = default_cases(audit.audited.interface, None, ["short"])
    bug_shows = name.endswith("wrong") and name != "eagle_sampled_wrong"  # one token has no earlier sibling
    assert audit.judge(case.instance, case.scheme).lossless is not bug_shows


@pytest.mark.heavy
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_engines_are_proved_and_their_twins_refuted(planted, name):
    record = verdict(planted("engines", name), name, FUNCTIONS[name], "three_tokens")
    assert record.verdict.lossless is name.endswith("right")
    assert not record.failures


@pytest.mark.heavy
@pytest.mark.parametrize("name", quick(BATCHES, ["sglang_chain_right"]))
def test_batches_of_engines(planted, name):
    record = verdict(planted("engines", name), name, BATCHES[name], "context", batch=2)
    assert record.verdict.lossless is name.endswith("right")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", ["no_drafts", "no_drafts_first"])
@pytest.mark.parametrize("name", ["vllm_right", "vllm_v2_right", "sglang_right"])
def test_a_request_of_a_batch_may_have_no_draft(planted, name, case):
    audit = make_audit(planted("engines", name), FUNCTIONS[name], name=name, batch=2)
    [made] = default_cases(audit.audited.interface, Delayed(1, 0, 1), [case], batch=True)
    assert audit.judge(made.instance, made.scheme).lossless


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.endswith("right")])
def test_functions_of_engines_are_lossless_on_every_case(planted, name):
    audit = make_audit(planted("engines", name), FUNCTIONS[name], name=name)
    scheme = WithoutReplacement(2, 0, 1) if name.startswith("eagle_sampled") else None
    assert run_audit(Record(Request(name, audit, default_cases(audit.audited.interface, scheme)))).verdict.lossless


class Seen(Exception):
    def __init__(self, given):
        super().__init__("seen")
        self.given = given


def seen(interface, scheme, names):
    """The arguments of the first call, by name."""
    source = f"def function({', '.join(names)}):\n    raise Seen(dict(locals()))\n"
    scope = {"Seen": Seen}
    exec(source, scope)
    audit = make_audit(scope["function"], interface)
    [case] = default_cases(audit.audited.interface, scheme, ["three_tokens"])
    with pytest.raises(InvalidVerifier, match="seen") as failed:
        audit.judge(case.instance, case.scheme)
    return failed.value.__cause__.given


def test_vllm_is_given_flat_arrays():
    given = seen("vllm", Delayed(1, 0, 2), ["metadata", "draft_probs", "logits", "target_probs", "bonus_token_ids"])
    assert [given[name].shape for name in ("draft_probs", "logits", "target_probs")] == [(2, 3), (3, 3), (2, 3)]
    assert given["bonus_token_ids"].shape == (1, 1)
    metadata = given["metadata"]
    assert (metadata.num_draft_tokens, metadata.cu_num_draft_tokens.tolist()) == ([2], [2])
    assert torch.allclose(given["logits"][metadata.target_logits_indices].softmax(-1), given["target_probs"])


def test_sglang_is_given_trees_as_first_children_and_siblings():
    names = ["candidates", "retrieve_index", "retrive_next_token", "retrive_next_sibling", "draft_probs"]
    given = seen("sglang", WithoutReplacement(2, 0, 2), names)
    assert given["candidates"].tolist() == [[0, 0, 1, 0, 1, 0, 1]]
    assert given["retrieve_index"].tolist() == [[0, 1, 2, 3, 4, 5, 6]]
    assert given["retrive_next_token"].tolist() == [[1, 3, 5, -1, -1, -1, -1]]
    assert given["retrive_next_sibling"].tolist() == [[-1, 2, -1, 4, -1, 6, -1]]
    assert not given["draft_probs"].any()


def test_eagle_is_given_the_buffers_of_its_tree():
    names = ["logits", "candidates", "cart_candidates_prob", "op", "p_indices", "tree_candidates", "b_indices"]
    given = seen("eagle", WithoutReplacement(2, 0, 2), names)
    assert given["candidates"].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert given["tree_candidates"].tolist() == [[0, 0, 1, 0, 1, 0, 1]]
    assert [row.shape for row in given["op"]] == [(1, 3), (2, 3)]
    assert given["p_indices"] == [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert given["b_indices"] == [[[], [], []], [[], [], [3]], [[], [1], []], [[], [1], [5]]]
    root = given["op"][0][0]
    second = float(root[1] / (1 - root[0]))
    assert given["cart_candidates_prob"][2, 1] == pytest.approx(second)


def test_noise_that_a_function_computes_of_its_seed_is_refused_and_no_law():
    """One value of the seed gives one token, which says nothing about the law over all seeds."""

    def verify(target_logits, seed):
        hashed = (seed[0] * 2654435761) % 2**32
        return torch.tensor([[int((target_logits[0].softmax(0).cumsum(0) < hashed / 2**32).sum())]]), [1]

    audit = make_audit(verify, "vllm-v2")
    [case] = default_cases(audit.audited.interface, None, ["short"])
    with pytest.raises(NotFollowed, match="of the argument seed"):
        audit.judge(case.instance, case.scheme)


def test_arguments_that_mean_nothing_are_named():
    with pytest.raises(InvalidInput, match="the vllm-v2 interface has no argument 'cache'; it knows target_logits"):
        seen("vllm-v2", Delayed(1, 0, 2), ["cache"])


@pytest.mark.parametrize(
    ("interface", "names", "returned", "message"),
    [
        ("vllm-v2", ["pos"], 3, "the vllm-v2 interface wants"),
        ("tensorrt-llm", ["draft_tokens"], [1], "the tensorrt-llm interface wants"),
        ("sglang", ["accept_token_num"], None, "it has no parameter predicts"),
        ("sglang", ["predicts", "accept_index", "accept_token_num"], None, "accept_index holds"),
        ("eagle", ["logits"], 3, "the eagle interface wants"),
    ],
)
def test_wrong_results_are_named(interface, names, returned, message):
    scope = {}
    exec(f"def function({', '.join(names)}):\n    return {returned!r}\n", scope)
    audit = make_audit(scope["function"], interface)
    [case] = default_cases(audit.audited.interface, None, ["short"])
    with pytest.raises(InvalidVerifier, match=message):
        audit.judge(case.instance, case.scheme)


def test_the_page_of_adapters_has_every_engine_and_adapters_of_a_few_lines():
    page = (Path(__file__).parents[3] / "docs" / "howto" / "engines.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == {engine.name for engine in ENGINES}
    assert {engine.name for engine in ENGINES} - {"sglang"} <= set(re.findall(r"--interface ([\w-]+)", page))
    for adapter in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        assert sum(len(node.body) for node in ast.walk(ast.parse(adapter)) if isinstance(node, ast.FunctionDef)) <= 5
