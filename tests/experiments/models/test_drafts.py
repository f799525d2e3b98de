"""Drafts that are made for a target: their rows by another road, the laws of what they draft, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
import torch
import transformers

from draftproof.experiments.models.pair.drafts import make_draft, parse_draft
from draftproof.experiments.models.pair.pair import load_pair
from draftproof.experiments.models.pair.text_drafts import count_ngrams, seen_last
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from tests.quick import quick

SPECS = ("ngram:order=2", "lookup:n=2,smoothing=0.3", "early:layers=1")
#: The last by default, the others with the heavy tests.
ONE_QUICKLY = quick(SPECS, SPECS[2:])
#: Mostly every token is the next one after the token before.
TEXT = [int(token) for token in (np.random.default_rng(0).random(600) < 0.8).cumsum() % 3]


def interpolated(text, context, token, size):
    """The formula of [witten1991zero], method C, by its recursion on contexts."""
    length = len(context)
    shorter = interpolated(text, context[1:], token, size) if length else Fraction(1, size)
    places = range(len(text) - length)
    after = [text[i + length] for i in places if tuple(text[i : i + length]) == context]
    if not after:
        return shorter
    return (after.count(token) + len(set(after)) * shorter) / (len(after) + len(set(after)))


def looked_up(text, token, size, n, smoothing):
    """What follows the longest run of last tokens, place by place."""
    common = Fraction(text.count(token) + 1, len(text) + size)
    for length in range(min(n, len(text) - 1), 0, -1):
        ends = [i for i in range(length, len(text)) if text[i - length : i] == text[-length:]]
        if ends:
            return (1 - smoothing) * Fraction(sum(text[i] == token for i in ends), len(ends)) + smoothing * common
    return common


@pytest.mark.parametrize("order", [0, 1, 3])
def test_rows_of_ngrams_are_those_of_the_formula(order):
    text = TEXT[:60]
    model = count_ngrams(text, 4, order)  # token 3 never came
    asked = [(1,), (3, 3), (0, 1, 0), (2, 3, 1), tuple(text[:3]), (2, 1, 1)]
    for context in asked:
        row = model(torch.tensor([context])).logits[0, -1].double().exp()
        exact = [float(interpolated(text, context[max(0, len(context) - order) :], token, 4)) for token in range(4)]
        assert row.tolist() == pytest.approx(exact, abs=1e-6)  # logits are float32


@pytest.mark.parametrize("n", [1, 2, 4])
def test_rows_of_lookup_are_those_of_the_text_so_far(random_pair, n):
    model = make_draft(f"lookup:n={n},smoothing=0.25", random_pair(vocab=3).target)
    for length in (1, 2, 5, 30):
        text = tuple(TEXT[:length])
        row = model(torch.tensor([text])).logits[0, -1].double().exp()
        exact = [float(looked_up(text, token, 3, n, Fraction(1, 4))) for token in range(3)]
        assert row.tolist() == pytest.approx(exact, abs=1e-6)


def test_what_a_place_sees_is_taken_from_behind():
    tokens, sees = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[[1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]]]).bool()
    assert seen_last(tokens, sees, None).tolist() == [[[7, 5, -1, -1], [8, 6, 5, -1], [-1, -1, -1, -1]]]
    assert seen_last(tokens, sees, 1).tolist() == [[[7], [8], [-1]]]
    assert seen_last(tokens[:, :2], sees[..., :2], 3).tolist() == [[[5, -1, -1], [6, 5, -1], [-1, -1, -1]]]


@pytest.mark.parametrize("family", ["Llama", "GPT2", "Qwen2"])
def test_early_exit_is_the_target_read_half_way_and_takes_no_memory(random_pair, family):
    target = random_pair(family=family).target
    draft = make_draft("early:layers=1", target)
    ids = torch.tensor([[1, 5, 2, 7]])
    half = target(ids, output_hidden_states=True).hidden_states[1]
    norm = target.transformer.ln_f if family == "GPT2" else target.model.norm
    assert torch.equal(draft(ids).logits, target.lm_head(norm(half)))
    there = {weights.data_ptr() for weights in target.parameters()}
    assert all(weights.data_ptr() in there for weights in draft.parameters())
    assert len(list(draft.parameters())) < len(list(target.parameters()))


@pytest.mark.parametrize("spec", ONE_QUICKLY)
def test_greedy_text_is_that_of_generate_with_and_without_the_assistant(random_pair, spec):
    from draftproof import generate_with

    target = random_pair(dtype=torch.float64).target
    draft = make_draft(spec, target, [token * token % 8 for token in range(99)])
    ids, asked = torch.tensor([[1, 5, 2, 7]]), {"do_sample": False, "max_new_tokens": 24, "pad_token_id": 0}
    alone = target.generate(ids, **asked)
    assert torch.equal(target.generate(ids, assistant_model=draft, **asked), alone)
    ours = generate_with("block", Delayed(2, 1, 2))
    assert torch.equal(target.generate(ids, draft=draft, custom_generate=ours, **asked), alone)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ngram:order", "'order' in 'ngram:order' is no parameter; write ngram:key=value"),
        ("ngram:order=two", "'two' is no number of that kind; write ngram:order=4"),
        ("ngram:order=0", "order must be at least 1"),
        ("lookup:smoothing=1", "a share between 0 and 1"),
        ("lookup:n=2,n=3", "gives 'n' twice; give it once"),
        ("lookup:order=3", "order is no option of lookup; write lookup:n=3:smoothing=0.1"),
        ("early", "layers is missing; write early:layers=2"),
    ],
)
def test_wrong_specs_are_refused_in_a_line(text, words):
    with pytest.raises(InvalidInput, match=words) as refused:
        parse_draft(text)
    assert "\n" not in str(refused.value)


def test_what_cannot_be_made_is_refused(random_pair):
    target = random_pair().target
    assert parse_draft("./ngram") is parse_draft("runs/pair8/draft") is None
    for spec, words in (
        ("early:layers=2", "the target has 2 layers; leave after 1 to 1"),
        ("ngram", "counts n-grams of a text"),
        ("./ngram", "choose lookup, ngram, early"),
    ):
        with pytest.raises(InvalidInput, match=words):
            make_draft(spec, target)
    with pytest.raises(InvalidInput, match="too many contexts; lower the order"):
        count_ngrams(TEXT, 50_000, 4)
    for outside in (-1, 8):
        with pytest.raises(InvalidInput, match=f"the text has token {outside}; tokens are 0..7"):
            count_ngrams([1, 2, outside, 3], 8, 1)
    with pytest.raises(InvalidInput, match="too few for order 3"):
        count_ngrams(TEXT[:3], 3, 3)


def test_a_made_draft_is_loaded_by_name(tiny_folder, tiny_recipe):
    target = str(tiny_folder / "target")
    pair = load_pair(target, "ngram:order=3", "cpu", corpus=tiny_recipe.corpus)
    assert pair.names == (target, "ngram:order=3")
    expected = count_ngrams(pair.encode(tiny_recipe.corpus.training), 8, 3)
    ids = torch.tensor([[1, 2, 3, 4]])
    assert torch.equal(pair.draft(ids).logits, expected(ids).logits)
    assert isinstance(pair.draft, transformers.PreTrainedModel)
