"""What `model choose` says of its best candidate, against a stopwatch around the call that it prints."""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from math import exp
from typing import Any

import pytest
import torch
from tokenizers.processors import TemplateProcessing

from draftproof import generate_with
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.measure.choose import Amount, choose
from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.opened import Opened
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.tokenizers import TextTokenizer, make_tokenizer
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.stopwatch import times_faster

TOKENS = 32
CORPUS = Corpus(EMBEDDED, read_text(EMBEDDED)[:60_000])


def deep(random_pair: Callable[..., Pair], tokenizer: Any, layers: int = 16, vocab: int = 8) -> Pair:
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


def with_beginning(random_pair: Callable[..., Pair]) -> Pair:
    """A token stands before every text, and nothing behind it."""
    base: Any = make_tokenizer("letters", 8, CORPUS.training).base
    base.add_special_tokens({"bos_token": "<s>"})
    base.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 8)])
    return deep(random_pair, TextTokenizer(base), layers=8, vocab=9)


NAMES = ["small", "deep", "beginning"]


def pair_named(name: str, tiny_pair: Pair, random_pair: Callable[..., Pair]) -> Pair:
    """One of three pairs: a small one, one with a deep target, one with a token before every text."""
    if name == "small":
        return tiny_pair
    return deep(random_pair, tiny_pair.tokenizer) if name == "deep" else with_beginning(random_pair)


@pytest.mark.alone
@pytest.mark.parametrize("name", NAMES)
def test_a_stopwatch_around_the_call_that_choose_prints_is_within_its_interval(
    name: str, tiny_pair: Pair, random_pair: Callable[..., Pair]
) -> None:
    pair = pair_named(name, tiny_pair, random_pair)
    opened = Opened(pair, CORPUS, None, None)
    verifiers = [find_verifier(each) for each in ("naive", "traversal", "specinfer")]
    schemes = [Delayed(1, 0, 2), Delayed(1, 0, 4), Delayed(3, 0, 2)]
    found = choose(opened, verifiers, schemes, Sampling(), Amount(12, TOKENS, 3), 0, "numpy", "processor")
    first, [about_it] = found.rows[0], found.tables[-1].records()
    said = about_it["confirmed"]
    low, high = said["speedup_interval"]
    spec = "delayed:" + ",".join(f"{key}={value}" for key, value in first["scheme"].items() if key != "name")
    held_out = opened.held_out
    prompts = [[*pair.begins, *held_out[at : at + 16]] for at in range(100, len(held_out) - 16, len(held_out) // 12)]
    plain = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    ours = generate_with(first["verifier"], spec)
    assert (spec in about_it["paste"]) == (about_it["recommendation"].startswith(first["verifier"]))
    torch.manual_seed(1)
    own = {**plain, "draft": pair.draft, "custom_generate": ours}
    same, other = (
        times_faster(pair.target, each, TOKENS, plain, own, 8)
        for each in ([list(root) for root in opened.roots(12, 12).contexts], prompts)
    )
    about = f"{name}: choose {said['speedup']:.3f} ({low:.3f} to {high:.3f}), "
    about += f"in the rounds of the choice {first['speedup']:.3f}, "
    about += "".join(f"stopwatch {timed:.3f} +- {timed * error:.3f}, " for timed, error in (same, other))
    about += f"on the same and on other prompts; {about_it['seconds']} s, announced {about_it['announced']}"
    print(about)
    for timed, error in (same, other):
        assert low * exp(-2 * error) <= timed <= high * exp(2 * error), about
        assert re.search("no speculation", about_it["recommendation"]) is None or timed < exp(2 * error), about
