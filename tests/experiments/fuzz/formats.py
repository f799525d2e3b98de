"""Every format of a file that is read: a valid file, and what reads it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.experiments.cli.compare import compare, world_file
from draftproof.experiments.cli.prove.at_one_size import theorem_row
from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.cli.report import report
from draftproof.experiments.cli.verify import verify
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.text import read_counted
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.lp_analysis import certificate, check_certificate, dumps, optimum
from draftproof.lp_analysis.checker import read_certificate
from draftproof.simulator import FAMILIES, Delayed, Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.strings.pair import StringPair

WORLDS = """
verifiers = ["naive", "block"]
optimum = true
world = ["family:perturbed,s=1,vocab=2,seeds=0..1,denominator=20", "text:topics,vocab=2"]
scheme = "delayed:K=1..2,L2=1"
max_nodes = 4
"""


@dataclass(frozen=True)
class Format:
    """data: a valid file. read: takes the path of one; raises `DraftproofError` for what is none."""

    data: bytes
    read: Callable[[str], Any]


def formats(folder: Path) -> dict[str, Format]:
    """By name; folder: for what has to be written first."""
    made = FAMILIES["dirichlet"].instance(2, 2, np.random.default_rng(0), 20)
    given = Instance(made.target, made.draft, Delayed(2, 0, 2))
    found = optimum(given.target, given.draft, Delayed(2, 0, 2))
    times = {"draft": {"1": 1.0, "4": 1.3}, "target": {"0": 10, "8": 10.5}}
    asked = Request(find_verifier("naive"), 2, Delayed(1, 0, 1), zeros=False, free=(), max_trees=100)
    theorem_row(asked, certificate=str(folder / "theorem.json"))
    (folder / "worlds.toml").write_text(WORLDS, encoding="utf-8")
    compare(str(folder / "worlds.toml"), resume=str(folder / "rows.db"))
    return {
        "worlds": Format(WORLDS.encode(), _planned),
        "store": Format((folder / "rows.db").read_bytes(), _reported),
        "instance": Format(given.dumps().encode(), Instance.load),
        "certificate": Format(dumps(certificate(given.target, given.draft, found)).encode(), _checked),
        "theorem": Format((folder / "theorem.json").read_bytes(), verify),
        "cost": Format(json.dumps(times).encode(), time_model),
        "tokenizers": Format(StringPair.random(0).dumps().encode(), StringPair.load),
        "text": Format(("the cat sat on the mat é\n" * 20).encode(), _pair_of_text),
    }


def _checked(path: str) -> None:
    check_certificate(read_certificate(path))


def _planned(path: str) -> None:
    given = world_file.read(path, compare, allow_code=False)
    compare(given.pop("verifiers", None), **given, plan=True)


def _reported(path: str) -> None:
    report(path).html()


def _pair_of_text(path: str) -> TextPair:
    return TextPair(read_counted(path), 3, 2, 1, 2**16)


#: Of the folder of a pair: small files as they are read, the weights by their beginning.
PAIR_FILES = (
    "pair.json", "target/config.json", "target/generation_config.json", "target/tokenizer.json",
    "target/tokenizer_config.json", "target/model.safetensors", "draft/config.json",
)  # fmt: skip


def pair_formats(pair: Path, copy: Path) -> dict[str, Format]:
    """The files of the folder of a trained pair; each is read as part of a copy of the folder."""
    from draftproof.experiments.models.pair.folder import recorded
    from draftproof.experiments.models.pair.pair import load_pair

    shutil.copytree(pair, copy)

    def read(name: str, path: str) -> None:
        (copy / name).write_bytes(Path(path).read_bytes())
        try:
            recorded(copy)
            load_pair(f"{copy}/target", f"{copy}/draft", "cpu")
        finally:
            (copy / name).write_bytes((pair / name).read_bytes())

    return {
        name.replace("/", "_"): Format((pair / name).read_bytes(), partial(read, name))
        for name in PAIR_FILES
        if (pair / name).is_file()
    }


def selector_formats(folder: Path) -> dict[str, Format]:
    """The file of a selector, and the JSON in it."""
    from draftproof.experiments.models.selector.file import (
        Use,
        load_selector,
        save_selector,
        selector_fields,
        times_fields,
    )
    from draftproof.experiments.models.selector.network import SelectorNetwork
    from draftproof.simulator.instances.sampling import Sampling

    actions, widths = [(1, 0, 0), (1, 0, 1), (2, 0, 1)], (4, 4)
    times = times_fields(time_model("draft=1,target=4"))
    fields = {"verifier": "naive", "pair": "0123456789abcdef", "vocab_size": 4}
    fields |= {"settings": [{"temperature": 1.0, "top_k": None, "top_p": None}], "base": actions[1:2]}
    path = save_selector(folder, SelectorNetwork(widths, 3), {**fields, "actions": actions, "times": times})
    whole, use = path.read_bytes(), Use("naive", "0123456789abcdef", 4, widths, Sampling())

    def with_these_fields(given: str) -> None:
        path.write_bytes(with_fields(whole, Path(given).read_bytes().decode("utf-8", "replace")))
        load_selector(path, use)

    return {
        "selector": Format(whole, lambda given: load_selector(Path(given), use)),
        "fields": Format(json.dumps(selector_fields(whole)[0]).encode(), with_these_fields),
    }


def with_fields(content: bytes, fields: str) -> bytes:
    """The content of the file of a selector with these fields."""
    from safetensors.torch import load, save

    from draftproof.experiments.models.selector.file import FORMAT

    return bytes(save(load(content), {FORMAT: fields}))
