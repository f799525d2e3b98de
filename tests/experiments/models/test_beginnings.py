"""Roots begin as the tokenizer begins a text, everywhere where texts are taken as roots."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.expect.problem import pair_problem
from draftproof.experiments.models.pair.corpus import Corpus, model_bits
from draftproof.experiments.models.pair.opened import Opened
from draftproof.experiments.models.pair.roots import spread_roots
from draftproof.experiments.models.pair.tokenizers import TextTokenizer, make_tokenizer
from draftproof.simulator.instances.sampling import Sampling

LETTERS, BEGIN = 8, 8


@pytest.fixture(scope="module")
def corpus():
    return Corpus(EMBEDDED, read_text(EMBEDDED)[:20_000])


@pytest.fixture(scope="module")
def pair(random_pair, corpus):
    """Models of eight letters and one token that stands before every text, and nothing behind it."""
    base = make_tokenizer("letters", LETTERS, corpus.training).base
    base.add_special_tokens({"bos_token": "<s>"})
    base.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BEGIN)])
    return replace(random_pair(vocab=LETTERS + 1), tokenizer=TextTokenizer(base))


def test_roots_are_prefixes_that_the_models_see_in_use(pair, corpus):
    opened, plain = Opened(pair, corpus), pair.encode(corpus.held_out)
    roots = opened.roots(2, 2).contexts
    assert roots == ((BEGIN, *plain[:16]), (BEGIN, *plain[len(plain) // 2 :][:16]))
    problem = pair_problem(opened, Sampling(), count=2)
    assert problem.contexts == roots
    assert "<s>" not in problem.words[0]
    assert "2 roots of Python's documentation (pydoc_data.topics)" in str(problem)
    given = pair_problem(opened, Sampling(), root=pair.decode(plain[:3]))
    assert given.contexts == ((BEGIN, *plain[:3]),)
    assert [root[0] for root in spread_roots(plain, 4, pair.begins)] == [BEGIN] * 4
    assert list(map(len, spread_roots(plain, 4, pair.begins))) == [9, 17, 33, 49]


def test_held_out_text_is_scored_behind_a_beginning():
    entered = []

    class Even:
        device = "cpu"

        def __call__(self, batch, use_cache):
            entered.append(batch)
            return SimpleNamespace(logits=torch.zeros(*batch.shape, 4))

    text = np.arange(30) % 4
    assert model_bits(Even(), text[:10], text[10:], 4, 8, (BEGIN,)) == pytest.approx(2)
    (batch,) = entered
    assert (batch[:, 0] == BEGIN).all()
    assert batch[0, 1:].tolist() == [*text[6:10], *text[10:14]]
