"""The page for two models of one's own, run as it stands on models that nothing of ours has made."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from draftproof import check, from_model
from tests.experiments.models.made_pair import made_text, save_models

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "models.md"
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
COMMANDS = [
    words
    for kind, block in BLOCKS
    if kind == "sh"
    for line in block.replace("\\\n", " ").splitlines()
    if (words := shlex.split(line, comments=True))
]


#: Kinds of target and draft with their positions.
PAIRS = [("Llama", 2048, "Llama", 2048), ("GPT2", 512, "Llama", 2048), ("Llama", 1024, "GPT2", 1024)]


@pytest.mark.heavy
@pytest.mark.parametrize(("target", "most", "draft", "draft_most"), PAIRS)
def test_the_page_runs_as_it_stands(draftproof, tmp_path, target, most, draft, draft_most):
    save_models(tmp_path / "models", kinds=(target, draft), positions=(most, draft_most))
    prompts = [json.dumps({"text": sentence}) for sentence in made_text(12, seed=2).split(". ") if sentence]
    (tmp_path / "prompts.jsonl").write_text("\n".join(prompts), encoding="utf-8")
    ran = {}
    for program, *arguments in COMMANDS:
        if program == "draftproof":
            ran[arguments[1]] = draftproof(*arguments)
            assert ran[arguments[1]].code == 0, ran[arguments[1]]
    assert list(ran) == ["choose", "validate"]
    assert "all as predicted" in ran["validate"].out
    choice = json.loads(Path("choice.json").read_text())
    tried = len(choice["rows"])  # of paths, delayed trees and stratified branches, as far as there is time
    assert tried == 12 or f"for want of time only {tried} of 12 candidates were tried" in ran["choose"].out
    [about] = choice["about"]
    assert about["seconds"] <= 66  # the page says 60
    assert ran["choose"].out.strip().splitlines()[-1] == about["paste"]
    names = {}
    (program,) = (block for kind, block in BLOCKS if kind == "python")
    torch.manual_seed(0)
    exec(program, names)
    assert names["text"].shape[1] == names["inputs"]["input_ids"].shape[1] + 40
    assert names["text"][0, 0] == 0  # the token that begins every text


@pytest.mark.heavy
def test_selectors_and_policies_take_the_same_models(draftproof, tmp_path):
    save_models(tmp_path / "models")
    (tmp_path / "long.txt").write_text(made_text(4000, seed=3), encoding="utf-8")
    models = "models:target=models/target,draft=models/draft,text=long.txt,roots={}"
    few = ("--K", 1, "--L1", 0, "--L2", "1..2")
    ran = draftproof(
        "model", "train", "--kind", "selector", "naive", "--world", models.format(16), *few, "--out", "selector"
    )
    assert ran.code == 0, ran.err
    (file,) = Path("selector").glob("*.safetensors")
    given = ("naive", "--world", models.format(2), "--policy", file, "--blocks", 20)
    valued = draftproof("model", "validate", *given)
    assert (valued.code, "as predicted" in valued.out) == (0, True), valued
    shapes = ("--K", "1..2", "--L1", 0, "--L2", 1, "--cost", "draft=1,branch=.1,target=10,node=.1")
    world = "models:target=models/target,draft=models/draft,roots=2"
    compared = draftproof("compare", "naive", "--world", world, *shapes, "static")
    assert (compared.code, "static" in compared.out) == (0, True), compared.err


def test_rows_of_any_model_are_a_process(tmp_path):
    save_models(tmp_path, steps=2)
    models = [AutoModelForCausalLM.from_pretrained(tmp_path / role) for role in ("target", "draft")]
    prompt = AutoTokenizer.from_pretrained(tmp_path / "target")("a fox met").input_ids
    assert prompt[0] == 0  # the token that begins every text
    with torch.no_grad():
        p, q = (model(torch.tensor([prompt])).logits[0, -1].double().softmax(-1) for model in models)
    rows = tuple(from_model(model, prompt) for model in models)
    found = check("naive", rows, "delayed:K=1,L1=0,L2=1", arithmetic="float64").row
    assert found["lossless"]
    assert float(found["block_efficiency"]) == pytest.approx(
        1 + float(torch.minimum(p, q).sum()), abs=1e-3
    )  # in 1/65536
