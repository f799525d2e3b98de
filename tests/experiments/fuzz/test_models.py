"""Folders of models with one field of one file changed: a result, or exit 2 with one short line."""

import json
import os
import sys
from pathlib import Path
from random import Random

import pytest

from tests.experiments.fuzz.formats import with_fields
from tests.experiments.fuzz.lines import Watcher
from tests.experiments.fuzz.mutations import _changed

if not sys.platform.startswith("linux"):
    pytest.skip("forks are limited and looked at in /proc", allow_module_level=True)
torch = pytest.importorskip("torch", reason="needs the extra `models`")

pytestmark = pytest.mark.heavy

GIVEN = ["--pair", "pair", "--text", "text.txt", "--roots", "1"]
CHECK = ["check", "naive", "--world", "models:pair,text=text.txt,roots=1", "--K", "1", "--L2", "1"]
VALIDATE = ["model", "validate", "naive", *GIVEN, "--K", "1", "--L2", "1", "--blocks", "5"]
SELECTED = ["model", "validate", "naive", *GIVEN, "--policy", "selector", "--blocks", "5"]
TRAIN = [
    "model", "train", "--kind", "selector",
    "naive", "--pair", "pair", "--text", "text.txt", "--K", "1", "--L1", "0", "--L2", "1..2",
    "--roots", "20", "--trees", "2",
]  # fmt: skip
FILES = [*(f"{role}/{name}.json" for role in ("target", "draft") for name in ("config", "tokenizer")),
         "target/generation_config.json", "target/tokenizer_config.json", "pair.json",
         "selector-naive.safetensors"]  # fmt: skip


@pytest.fixture(scope="module")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> Watcher:
    """In a folder with a pair of models, a text and a selector; each process below is a fork of this one."""
    from draftproof.experiments import models
    from draftproof.experiments.inputs.text import EMBEDDED, read_text
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.devices import libraries
    from draftproof.experiments.models.pair.folder import make_pair
    from draftproof.experiments.models.pair.training import Plan, Recipe, Size
    from tests.experiments.fuzz.test_lines import MODEL_CLASSES

    os.chdir(tmp_path_factory.mktemp("models"))
    Path("text.txt").write_text(read_text(EMBEDDED)[:12000])
    for name in MODEL_CLASSES:
        getattr(libraries()[1], name)  # imported once, not in every fork
    plan, size = Plan(steps=1, batch=2, window=16, rate=1e-2), Size(hidden=8, layers=1, heads=1)
    recipe = Recipe(read_corpus("text.txt"), "letters", 4, 0, size, size, plan, plan)
    make_pair(recipe, Path("pair"), torch.device("cpu"))
    watcher = Watcher(Path(), (models,))
    assert watcher.run([*TRAIN, "--cost", "draft=1,target=4"], patience=100).code == 0
    for line in (CHECK, VALIDATE, SELECTED):
        assert watcher.run(line, patience=100).code == 0
    return watcher


def test_a_folder_of_models_with_one_field_changed_is_used_or_refused(watcher, monkeypatch):
    from draftproof.experiments.models.selector.file import selector_fields

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    random, codes = Random(int(os.environ.get("FUZZ_SEED", "0"))), set()
    for _ in range(25):
        file = Path("pair") / random.choice(FILES)
        kept = file.read_bytes()
        if file.suffix == ".safetensors":
            changed = json.dumps(_changed(selector_fields(kept)[0], random))
            file.write_bytes(with_fields(kept, changed))
        else:
            changed = json.dumps(_changed(json.loads(kept), random))
            file.write_text(changed)
        for line in [SELECTED] if "selector" in file.name else [CHECK, VALIDATE]:
            ended = watcher.run(line, patience=20)
            assert ended.wrong is None, f"{file}: {changed[:2000]}"
            codes.add(ended.code)
            if ended.code == 2:
                break
        file.write_bytes(kept)
    assert {0, 2} <= codes


@pytest.mark.parametrize("value", [1, None, {"prompt": "a"}, {"prompt": 1, "text": "b"}])
def test_a_sample_that_is_none_is_refused(watcher, value):
    file = Path("pair/pair.json")
    kept = file.read_bytes()
    file.write_text(json.dumps({**json.loads(kept), "sample": value}))
    ended = watcher.run(VALIDATE, patience=20)
    file.write_bytes(kept)
    assert (ended.code, ended.wrong) == (2, None)
