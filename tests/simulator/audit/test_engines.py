"""The interfaces of engines: what they hand over, and what they refuse."""

import ast
import re
from inspect import signature
from pathlib import Path

import pytest

from draftproof.simulator.audit import Evidence, default_cases, diagnose, interface_named, make_audit
from draftproof.simulator.audit.interfaces import ENGINES
from draftproof.simulator.drafts import Delayed, WithoutReplacement
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.symbolic import NotFollowed

torch = pytest.importorskip("torch")


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


def test_an_ensemble_weight_of_transformers_is_refuted_with_its_exact_bias():
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
