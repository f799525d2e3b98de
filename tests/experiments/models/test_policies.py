"""Policies in the loop and at roots: what they are told, laws of their blocks, values, and bad input in a line."""

import json
import shutil
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.loop.choosing import Chooser
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.pair import pair_digest
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.models.selector import file
from draftproof.experiments.models.selector.features import block_starts, network_inputs, pass_times
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.experiments.models.validate import policy
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.plain import load_folder

ACTIONS = (Delayed(1, 0, 0), Delayed(1, 0, 2), Delayed(3, 0, 1), Delayed(2, 1, 1))
TIMES = time_model("draft=1,target=5")
BAD = """
def none(known, actions):
    return 3

def writes(known, actions):
    known.draft_root[:] = 0
    return actions[0]

wrong = 7
"""
OWN = "def mine(known, actions):\n    return actions[known.context[-1] % len(actions)]\n"


@pytest.mark.parametrize("prompt", [(1, 2, 3, 4), (5,)])
def test_what_a_policy_is_told_is_what_plain_passes_say(exact_pair, prompt):
    told = []

    def chooser(start):
        told.append(start)
        return (sum(start.context) + len(told)) % len(ACTIONS)

    sampling, coin, contexts, actions = Sampling(0.8, None, 0.95), coin_for("numpy", 0), [], set()
    loop, way = Loop(exact_pair, sampling), (make("specinfer"), Chooser(ACTIONS, chooser, pass_times(TIMES)))
    state = loop.start(prompt, 100)
    for _ in range(24):
        contexts.append(state.texts[0].tokens)
        (block,), state = loop.step(state, *way, coin)
        actions.add(block.action)
    assert loop.watch.seconds["choose"] > 0
    assert actions == set(range(len(ACTIONS)))
    for start, expected in zip(told, block_starts(exact_pair, contexts, sampling, TIMES), strict=True):
        for name, value in asdict(expected.known).items():
            found = getattr(start.known, name)
            assert (found is None) == (value is None)
            if value is not None:
                assert np.asarray(found) == pytest.approx(np.asarray(value), abs=1e-9)  # passes of other shapes
        for name in ("target_before", "draft_before", "draft_root"):
            one, other = getattr(start, name), getattr(expected, name)
            assert (one is None) == (other is None)
            if one is not None:
                assert torch.allclose(one.hidden, other.hidden, rtol=0, atol=1e-8)


@pytest.fixture
def given(tiny_folder, tmp_path):
    shutil.copytree(tiny_folder, tmp_path / "pair")
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:60_000], encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    world = f"models:{tmp_path}/pair,text={tmp_path}/text.txt,device=cpu,roots=2"
    return ("model", "validate", "specinfer", "--world", world, "--blocks", 24)


def small(folder, **other):
    """An untrained selector of this pair."""
    torch.manual_seed(0)
    fields = {"verifier": "specinfer", "pair": pair_digest(load_folder(folder, "cpu")), "vocab_size": 8}
    fields |= {"actions": [[1, 0, 1], [2, 0, 1]], "base": [[1, 0, 1]]}
    fields |= {"times": file.times_fields(TIMES), "settings": [Sampling().as_dict()], **other}
    return file.save_selector(folder, SelectorNetwork((32, 16), 2), fields)


@pytest.mark.heavy
def test_blocks_are_as_predicted_and_a_wrong_prediction_is_found(draftproof, given, tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "ROUNDS", 2)
    own = (*given, "--policy", f"{tmp_path}/own.py:mine", "--K", "1..2", "--L1", 0, "--L2", "0..1")
    ran = draftproof(*own, "-o", "a.json")
    assert ran.code == 0, ran.err
    found = json.loads(Path("a.json").read_text())["rows"][0]
    assert abs(found["z"]) <= 4
    assert sum(found["actions"].values()) == found["blocks"] == 24
    assert len(found["actions"]) == 3
    small(tmp_path / "pair")
    ran = draftproof(*given, "--policy", "selector", "-o", "a.json")
    assert ran.code == 0, ran.err
    found = json.loads(Path("a.json").read_text())["rows"][0]
    for name in ("over_static", "tokens_per_second"):
        low, high = found[f"{name}_interval"]
        assert low <= found[name] <= high
    assert 0 < found["overhead"] < 1
    parts, step = found["seconds_by_part"], found["step_seconds"]
    assert min(parts.values()) > 0
    assert sum(parts.values()) <= step
    right = policy.expected
    monkeypatch.setattr(policy, "expected", lambda *given: replace(found := right(*given), means=found.means + 0.5))
    ran = draftproof(*given, "--policy", "selector")
    assert ran.code == 1
    assert "NOT as predicted" in ran.out


@pytest.mark.heavy
def test_what_cannot_choose_is_one_line(draftproof, given, tmp_path):
    policy = ("--policy", "selector")
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    path = small(tmp_path / "pair")
    for more, said in (
        ((*policy, "--plot", "a.png"), "policy goes without plot"),
        ((*policy, "block"), "policy takes one verifier"),
        (("--policy", "other"), "unknown policy 'other'"),
        (("--policy", tmp_path / "none.safetensors"), "make one: draftproof model train --kind selector"),
        (("--policy", f"{tmp_path}/bad.py:none"), "it must be one of the actions"),
        (("--policy", f"{tmp_path}/bad.py:wrong"), "is no policy"),
        (("--policy", f"{tmp_path}/bad.py:writes"), "read-only"),
        (("--policy", f"{tmp_path}/bad.py:writes", "--vectors", "torch"), "read-only"),
    ):
        ran = draftproof(*given, *more)
        assert ran.code == 2, more
        assert said in ran.err
    path.unlink()
    ran = draftproof(*given, *policy)
    assert ran.code == 2
    assert "no selector" in ran.err


def test_every_sequence_of_a_batch_has_a_scheme_of_its_own(exact_pair):
    """What is told and made of a text does not hang on its neighbours."""
    told = []

    def chooser(start):
        told.append(start)
        return sum(start.context) % len(ACTIONS)

    loop, way = Loop(exact_pair, Sampling(0.8)), (make("specinfer"), Chooser(ACTIONS, chooser, pass_times(TIMES)))
    prompts, alone, rows = [(1, 2, 3, 4), (5,), (2, 0)], [], []
    for seed, prompt in enumerate(prompts):
        state, coin, blocks = loop.start(prompt, 100), coin_for("numpy", seed), []
        for _ in range(6):
            made, state = loop.step(state, *way, coin)
            blocks += made
        alone.append(blocks)
        rows.append([start.draft_root.row for start in told])
        told.clear()
    state, coins = (
        State.joined([loop.start(prompt, 100) for prompt in prompts]),
        [coin_for("numpy", seed) for seed in range(3)],
    )
    for step in range(6):
        made, state = loop.step(state, *way, coins)
        assert made == [blocks[step] for blocks in alone]
        for start, own in zip(told, rows, strict=True):
            assert start.draft_root.row == pytest.approx(own[step], abs=1e-9)
        told.clear()


COST = "draft=1,branch=.1,target=3"
SHAPES = ((1, 0, 1), (1, 0, 2), (2, 0, 1), (2, 0, 2))


@pytest.fixture
def at_roots(tiny_folder, tmp_path):
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


def test_a_policy_is_the_rows_of_its_shapes(draftproof, at_roots, tmp_path):
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
    found = draftproof(*at_roots, "static", "greedy", *choices, "--arithmetic", "rational", "--json").json
    assert [(row["K"], row["L1"], row["L2"]) for row in found["rows"]] == list(SHAPES)
    policies = {row["policy"]: row for row in found["policies"]}
    for name, choice in choices.items():
        tokens, time = mixed(found, choice)
        assert Fraction(policies[name]["block_efficiency"]) == tokens
        assert Fraction(policies[name]["tokens_per_time"]) == tokens / time
        shapes = [", ".join(map(str, SHAPES[action])) for action in choice]
        assert policies[name]["actions"] == pytest.approx({shape: shapes.count(shape) / 5 for shape in shapes})
    rates = {name: Fraction(row["tokens_per_time"]) for name, row in policies.items()}
    assert max(rates.values()) == rates["greedy"] > rates["static"]
    assert "was trained on the first 80 %" in draftproof(*at_roots, "selector").err
