"""Models with few positions: texts, trees and caches end where they do, and what cannot fit is one line."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from draftproof import generate_with
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.measure.setting import setting
from draftproof.experiments.models.measure.verifiers import measured_verifiers
from draftproof.experiments.models.validate import checks
from draftproof.experiments.models.validate.run import Validation, greedy_fields
from draftproof.simulator import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.made_pair import made_text, save_models

TREE, PROMPT = Delayed(2, 1, 2), [1, 2, 3, 4]


@pytest.fixture(params=["a short draft", *(pytest.param(kind, marks=pytest.mark.heavy) for kind in ("GPT2", "Llama"))])
def short(request, random_pair):
    """A pair that is made for 20 tokens."""
    family = "Llama" if request.param == "Llama" else "GPT2"
    fields = {"GPT2": {"n_positions": 20}, "Llama": {"max_position_embeddings": 20}}[family]
    pair = random_pair(8, torch.float64, family, fields=fields)
    if request.param == "a short draft":
        pair = replace(pair, target=random_pair(8, torch.float64, "Llama").target)
    return pair


def test_validate_goes_no_further_than_both_models(short, monkeypatch):
    read, forward = list[int](), short.draft.forward

    def seen(*given, **named):
        read.append(int(named["position_ids"].max()) if named.get("position_ids") is not None else 0)
        return forward(*given, **named)

    monkeypatch.setattr(short.draft, "forward", seen)
    loop, way = Loop(short, Sampling()), (make("traversal"), TREE)
    trees, caches = checks.tree_attention(loop, *way, PROMPT, 24, 0), checks.caches(loop, *way, PROMPT, 30, 0)
    assert trees.passed
    assert trees.compared > 24 * TREE.nodes
    assert caches.passed
    tested = measured_verifiers([find_verifier("traversal")])
    greedy = greedy_fields(Validation(setting(short, Sampling(), [PROMPT], 0), tuple(tested), (TREE,)), PROMPT)
    assert greedy == {"tokens": 20 - 4 - 3, "runs": 1, "differ": [], "passed": True}
    assert max(read) == 17  # all but a leaf of the last tree and the token after it


def test_generate_with_says_how_many_tokens_fit(random_pair):
    pair = random_pair(8, None, "GPT2", fields={"n_positions": 20})

    def written(most, length=4):
        asked = {"max_new_tokens": most, "do_sample": False, "draft": pair.draft}
        return pair.target.generate(torch.ones(1, length, dtype=torch.long), custom_generate=ours, **asked)

    ours = generate_with("traversal", TREE)
    with pytest.raises(InvalidInput, match="4, 15 new tokens and a tree of depth 3 do not fit; max_new_tokens=14 does"):
        written(15)
    assert written(14).shape == (1, 18)
    with pytest.raises(InvalidInput, match="give a shorter prompt or a smaller tree"):
        written(1, 18)


def test_a_prompt_that_leaves_no_room_for_a_tree_is_named(draftproof, tmp_path):
    save_models(tmp_path, steps=2, vocab=60, kinds=("GPT2", "Llama"), positions=(40, 64))
    lines = ('{"text": "a fox met"}', f'{{"text": "{made_text(2)[:-2]}"}}')
    Path("p.jsonl").write_text("\n".join(lines), encoding="utf-8")
    few = ("--world", "models:target=target,draft=draft,prompts=p.jsonl", "--K", 1, "--L1", 0, "--L2")
    for command in ("validate", "choose"):
        ran = draftproof("model", command, "naive", *few, 16)
        assert ran.code == 2
        (line,) = [line for line in ran.err.splitlines() if line.startswith("draftproof:")]
        assert "the target reads 40 tokens at most: line 2 has" in line
        assert "a tree of depth 16 does not fit after it; context=N keeps the last N tokens" in line


def test_a_head_is_trained_on_windows_that_the_target_reads(draftproof, tmp_path):
    save_models(tmp_path, steps=2, vocab=60, kinds=("GPT2", "Llama"), positions=(40, 64))
    given = "model train --kind eagle --world models:target=target,text=text.txt --out head --steps 2"
    ran = draftproof(*given.split())
    assert ran.code == 0, ran.err
