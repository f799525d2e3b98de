"""What `model choose` says of its best candidate, against a stopwatch around the call that it prints.

The stopwatch knows nothing of how candidates are measured, predicted or weighed. It counts processor time, which other
programs on the machine hardly change; so does `model choose --clock processor`.
"""

import copy
import math
import re
import statistics
import time
from dataclasses import replace

import pytest
import torch

from draftproof import generate_with
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.measure.choose import Amount, choose
from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.opened import Opened
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.plain import plain_tokenizer

TOKENS, ROUNDS = 32, 8
CORPUS = Corpus(EMBEDDED, read_text(EMBEDDED)[:60_000])
PLAIN = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}


def deep(random_pair, tokenizer, layers, vocab):
    """A target whose later layers change little, and as its draft the first of them."""
    pair = random_pair(vocab=vocab, fields={"num_hidden_layers": layers})
    with torch.no_grad():
        for layer in pair.target.model.layers[1:]:
            layer.self_attn.o_proj.weight.mul_(0.1)
            layer.mlp.down_proj.weight.mul_(0.1)
    draft = copy.deepcopy(pair.target)
    draft.model.layers = draft.model.layers[:1]
    draft.config.num_hidden_layers = 1
    return replace(pair, draft=draft, tokenizer=tokenizer)


def seconds_of(target, prompts, **how):
    began = time.process_time()
    for prompt in prompts:
        ids = torch.tensor([prompt])
        text = target.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS, **how)
        assert text.shape[1] == len(prompt) + TOKENS
    return time.process_time() - began


def times_faster(target, prompts, other):
    """How many times as fast `other` writes as `PLAIN`, in turn, by the median round; standard error of the log."""
    ratios = [seconds_of(target, prompts, **PLAIN) / seconds_of(target, prompts, **other) for _ in range(-1, ROUNDS)]
    logs = [math.log(ratio) for ratio in ratios[1:]]  # the first one warms up
    return math.exp(statistics.median(logs)), 1.25 * statistics.stdev(logs) / math.sqrt(ROUNDS)


@pytest.mark.alone
@pytest.mark.parametrize("name", ["small", "deep", "beginning"])
def test_a_stopwatch_around_the_call_that_choose_prints_is_within_its_interval(name, tiny_pair, random_pair):
    pair = {
        "small": lambda: tiny_pair,
        "deep": lambda: deep(random_pair, tiny_pair.tokenizer, 16, 8),
        "beginning": lambda: deep(random_pair, plain_tokenizer(), 8, 9),
    }[name]()
    opened = Opened(pair, CORPUS, None, None)
    verifiers = [find_verifier(each) for each in ("naive", "traversal", "specinfer")]
    schemes = [Delayed(1, 0, 2), Delayed(1, 0, 4), Delayed(3, 0, 2)]
    result = choose(opened, verifiers, schemes, Sampling(), Amount(12, TOKENS, 3), 0, "numpy", "processor")
    first, [about] = result.rows[0], result.tables[-1].records()
    low, high = about["confirmed"]["speedup_interval"]
    assert (first["spec"] in about["paste"]) == (about["recommendation"].startswith(first["verifier"]))
    held_out = opened.held_out
    others = [[*pair.begins, *held_out[at : at + 16]] for at in range(100, len(held_out) - 16, len(held_out) // 12)]
    torch.manual_seed(1)
    ours = {**PLAIN, "draft": pair.draft, "custom_generate": generate_with(first["verifier"], first["spec"])}
    for prompts in ([list(root) for root in opened.roots(12, 12).contexts], others):
        timed, error = times_faster(pair.target, prompts, ours)
        said = f"{name}: choose {about['confirmed']}, stopwatch {timed:.3f} +- {timed * error:.3f}"
        print(said)
        assert low * math.exp(-2 * error) <= timed <= high * math.exp(2 * error), said
        assert re.search("no speculation", about["recommendation"]) is None or timed < math.exp(2 * error), said
