"""Policies in `compare` on models: at the roots a policy brings what the rows of its shapes say, root by root."""

import shutil
from fractions import Fraction

import pytest
import torch

from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.pair import load_folder, pair_digest
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.models.selector import file
from draftproof.experiments.models.selector.features import block_starts, network_inputs
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.simulator.instances.sampling import Sampling

COST = "draft=1,branch=.1,target=3"
SHAPES = ((1, 0, 1), (1, 0, 2), (2, 0, 1), (2, 0, 2))
OWN = "def mine(known, actions):\n    return actions[known.context[-1] % len(actions)]\n"


@pytest.fixture
def given(tiny_folder, tmp_path):
    shutil.copytree(tiny_folder, tmp_path / "pair")
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:60_000], encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    where = ("--world", f"models:{tmp_path}/pair,text={tmp_path}/text.txt,roots=5")
    shapes = ("--K", "1..2", "--L1", 0, "--L2", "1..2", "--jobs", 1, "--no-optimum")
    return ("compare", "specinfer", *where, *shapes, "--cost", COST)


def mixed(found, choice):
    """Tokens and time of a block over the roots, from the rows of the shapes."""
    rows, roots, times, weight = found["rows"], found["roots"], time_model(COST).exact(), Fraction(1, len(choice))
    of_shape = [[root for root in roots if root["shape"] == row["shape"]] for row in rows]
    tokens = [Fraction(of_shape[action][root]["block_efficiency"]) for root, action in enumerate(choice)]
    return weight * sum(tokens), weight * sum(times.time(rows[action]) for action in choice)


def test_a_policy_is_the_rows_of_its_shapes(draftproof, given, tmp_path):
    pair = load_folder(tmp_path / "pair", "cpu")
    held_out = Corpus("text", (tmp_path / "text.txt").read_text(encoding="utf-8")).held_out
    contexts = roots_of(pair.encode(held_out), 5)
    torch.manual_seed(3)
    network, times = SelectorNetwork((32, 16), 4), time_model("draft=1,target=9")
    fields = {"verifier": "specinfer", "pair": pair_digest(pair), "vocab_size": 8}
    fields |= {"actions": list(reversed(SHAPES)), "times": file.times_fields(times), "settings": [Sampling().as_dict()]}
    fields["base"] = [SHAPES[0]]
    file.save_selector(tmp_path / "pair", network.eval(), fields)
    inputs = network_inputs(block_starts(pair, contexts, Sampling(), times), Sampling(), (32, 16))
    choices = {
        "selector": [3 - int(place) for place in network(inputs).argmax(1)],
        f"{tmp_path}/own.py:mine": [context[-1] % 4 for context in contexts],
    }
    found = draftproof(*given, "static", "greedy", *choices, "--arithmetic", "rational", "--json").json
    assert [(row["K"], row["L1"], row["L2"]) for row in found["rows"]] == list(SHAPES)
    policies = {row["policy"]: row for row in found["policies"]}
    for name, choice in choices.items():
        tokens, time = mixed(found, choice)
        assert Fraction(policies[name]["block_efficiency"]) == tokens
        assert Fraction(policies[name]["tokens_per_time"]) == tokens / time
        assert policies[name]["lossless"]
        shapes = [", ".join(map(str, SHAPES[action])) for action in choice]
        assert policies[name]["actions"] == pytest.approx({shape: shapes.count(shape) / 5 for shape in shapes})
        assert sum(policies[name]["depth_distribution"]) == pytest.approx(1)
    rates = {name: Fraction(row["tokens_per_time"]) for name, row in policies.items()}
    assert max(rates.values()) == rates["greedy"] > rates["static"]
    assert "was trained on the first 80 %" in draftproof(*given, "selector").err
