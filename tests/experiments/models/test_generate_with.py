"""`generate` of transformers with our verifiers: greedy text, laws, batches, ends, streams, and what is refused."""

import re
from collections import Counter
from pathlib import Path

import pytest
import torch
import transformers
from transformers.generation import GenerateDecoderOnlyOutput, LogitsProcessor, StoppingCriteria

from draftproof import Delayed, InvalidInput, generate_with
from draftproof.experiments.models.loop.generation import Piece
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.drafts import Stratified
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.drawn import CASES, PROMPTS
from tests.experiments.models.laws import ROOT, SIZE, agrees, law_of_texts

TOKENS = 12


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(vocab=SIZE, dtype=torch.float64, noise=0.05)


def padded(prompts):
    """As a tokenizer gives them, with zeros on the left."""
    width = max(map(len, prompts))
    rows = [[0] * (width - len(each)) + each for each in prompts]
    mask = [[0] * (width - len(each)) + [1] * len(each) for each in prompts]
    return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask)}


def greedy(pair, inputs, ours=None, **more):
    drawn = {"custom_generate": ours, "draft": pair.draft} if ours else {}
    return pair.target.generate(**inputs, do_sample=False, **{"max_new_tokens": TOKENS, **more}, **drawn)


@pytest.mark.parametrize("name", ["delayed", "moody"])
def test_greedy_texts_of_a_batch_are_those_of_generate(pair, name):
    scheme, verifier = CASES[name]
    inputs, ends = padded(PROMPTS[:4]), {"eos_token_id": 2, "pad_token_id": 0}
    expected = greedy(pair, inputs, **ends)
    assert torch.equal(greedy(pair, inputs, generate_with(verifier, scheme), **ends), expected)
    assert bool((expected[:, -1] == 0).any())  # one of them ended before the others


def sampled(pair, ours, runs=1500, **more):
    torch.manual_seed(3)
    inputs = {"input_ids": torch.tensor([ROOT] * runs), "attention_mask": torch.ones(runs, len(ROOT), dtype=int)}
    texts = pair.target.generate(
        **inputs, do_sample=True, max_new_tokens=3, draft=pair.draft, custom_generate=ours, **more
    )
    return Counter(tuple(text) for text in texts[:, len(ROOT) :].tolist())


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("verifier", "scheme", "vectors", "asked", "sampling"),
    [
        ("specinfer", Delayed(2, 0, 1), "torch", {"top_p": 0.8, "renormalize_logits": True}, Sampling(top_p=0.8)),
        ("traversal", CASES["dyspec"][0], "numpy", {"temperature": 0.8, "top_k": 2}, Sampling(0.8, 2)),
        ("layer_transport", Stratified(3, 0, 2), "torch", {"temperature": 1.3}, Sampling(1.3)),
    ],
    ids=str,
)
def test_sampled_texts_have_the_law_of_the_target(random_pair, verifier, scheme, vectors, asked, sampling):
    pair = random_pair(vocab=SIZE)
    seen = sampled(pair, generate_with(verifier, scheme, vectors=vectors), **{"top_k": 0, **asked})
    assert agrees(seen, law_of_texts(pair, 3, sampling))
    assert not agrees(seen, law_of_texts(pair, 3, Sampling(3)))


@pytest.mark.heavy
@pytest.mark.parametrize("draft_sampling", [None, ""], ids=["both", "target only"])
@pytest.mark.parametrize("masks", ["eos=2,regex=(01|1)*", "no_repeat_ngram_size=2,bits=5", "eos=1,min_new_tokens=2"])
def test_sampled_texts_have_the_law_of_the_masked_target(random_pair, masks, draft_sampling):
    pair = random_pair(vocab=SIZE)
    ours = generate_with("traversal", Delayed(2, 0, 2), sampling=masks, draft_sampling=draft_sampling)
    seen = sampled(pair, ours, top_k=0, temperature=0.9)
    masked = law_of_texts(pair, 3, Sampling.parse(f"temperature=.9,{masks}"))
    assert agrees(seen, masked)
    assert all(masked[text] for text in seen)
    assert not agrees(seen, law_of_texts(pair, 3, Sampling(0.9)))


def test_masks_name_the_tokens_of_a_tokenizer(tiny_pair):
    assert tiny_pair.tokenizer is not None
    given = {"sampling": "temperature=0,eos= ,regex=(en|t){3,}", "tokenizer": tiny_pair.tokenizer.base}
    inputs = {"input_ids": torch.tensor([tiny_pair.encode("the ")])}
    text = greedy(tiny_pair, inputs, generate_with("traversal", Delayed(2, 1, 2), **given), eos_token_id=None)
    new = tiny_pair.decode(text[0, inputs["input_ids"].shape[1] :].tolist())
    assert re.fullmatch(r"(en|t){3,}e? *", new)
    with pytest.raises(InvalidInput, match=r"tokens are the letters '01234567'|one of the letters '01234567'"):
        greedy(tiny_pair, inputs, generate_with("traversal", Delayed(2, 1, 2), sampling="eos=t"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"told": "draft"}, r"told='draft': a verifier that is told another q .* give lossy=True"),
        ({"told": "draft", "draft_sampling": "top_k=1"}, r"told='draft': a verifier that is told another q"),
        ({"told": "before", "lossy": True}, r"told 'before': choose sampled, draft or target, or write it as sampling"),
        ({"sampling": "top_k=x"}, "sampling 'top_k=x': 'x' is no number of that kind"),
        ({"draft_sampling": "top_k=x"}, "draft_sampling 'top_k=x': 'x' is no number of that kind"),
        ({"told": "top_k=x", "lossy": True}, "told 'top_k=x': 'x' is no number of that kind"),
        *(
            ({"seed": seed}, "is no whole number of at least 0; give one, one for each text, or")
            for seed in (-1, 1.5, "7", [1, -2])
        ),
        ({"verifier": "spechub"}, r"spechub is not lossless on delayed\(K=1, L1=0, L2=1\); it is on spechub"),
        ({"verifier": "traversl"}, "unknown verifier 'traversl'; did you mean 'traversal'"),
        *(
            ({"verifier": name}, r"is declared lossless on no drafts: .* give lossy=True")
            for name in ("typical", "ensemble:w=1/2", "naive_from_target", "hsd_uncapped")
        ),
    ],
    ids=str,
)
def test_what_no_text_can_be_written_with_is_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        generate_with(**{"verifier": "naive", "scheme": Delayed(1, 0, 1), **options})


def test_lossy_verifiers_write_where_they_are_asked_for():
    assert generate_with("typical", lossy=True).verifier.card.name == "typical"


def test_settings_come_from_one_of_the_two(pair):
    ours = generate_with("naive", Delayed(1, 0, 1), sampling="temperature=.5")
    with pytest.raises(InvalidInput, match=r"temperature is 0\.5 for generate_with and 0\.0 for generate; leave one"):
        greedy(pair, padded([[1, 2]]), ours)
    told = generate_with("naive", Delayed(1, 0, 1), lossy=True, told="draft")
    with pytest.raises(
        InvalidInput, match=r"told draft is the q that tokens are drawn from; .* as draft_sampling top_"
    ):
        sampled(pair, told, 1, top_k=0)


@pytest.mark.heavy
def test_seeds_make_texts_independent_of_their_neighbours(pair):
    def written(prompts, seed):
        ours = generate_with("traversal", Delayed(2, 1, 2), seed=seed)
        drawn = {"draft": pair.draft, "custom_generate": ours}
        texts = pair.target.generate(**padded(prompts), do_sample=True, max_new_tokens=TOKENS, **drawn)
        return [text[-TOKENS:] for text in texts.tolist()]

    together = written(PROMPTS, 7)
    assert together == [written([prompt], 7 + place)[0] for place, prompt in enumerate(PROMPTS)]
    assert together == written(PROMPTS, list(range(7, 15)))
    assert together != written(PROMPTS, None)
    with pytest.raises(InvalidInput, match="2 seeds for 8 texts"):
        written(PROMPTS, [1, 2])


class Counting(StoppingCriteria):
    """Ends a text that has three ones."""

    def __call__(self, input_ids, scores, **_):
        return (input_ids == 1).sum(1) >= 3


class OfEach(StoppingCriteria):
    """Ends each text at a token of its own."""

    def __init__(self, tokens):
        self.tokens = torch.tensor(tokens)

    def __call__(self, input_ids, scores, **_):
        return input_ids[:, -1] == self.tokens


def test_criteria_in_a_batch_are_asked_about_each_text(pair):
    inputs, ours = padded(PROMPTS[:3]), generate_with("traversal", Delayed(2, 0, 3))
    lengths = set()
    for tokens in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        ends = {"stopping_criteria": [OfEach(tokens)], "pad_token_id": 0}
        expected = greedy(pair, inputs, eos_token_id=2, **ends)
        assert torch.equal(greedy(pair, inputs, ours, eos_token_id=2, **ends), expected)
        lengths.add(expected.shape[1])
        written_on = greedy(pair, inputs, eos_token_id=None, **ends)
        found = greedy(pair, inputs, ours, eos_token_id=None, **ends)
        for text, (row, token) in enumerate(zip(found[:, 3:].tolist(), tokens, strict=True)):
            end = row.index(token) + 1 if token in row else len(row)
            assert row[:end] == written_on[text, 3 : 3 + end].tolist()
            assert not any(row[end:])
    assert len(lengths) > 1


@pytest.mark.parametrize(
    ("prompts", "asked"),
    [
        ([[1, 2, 1], [2]], {"repetition_penalty": 0.6, "no_repeat_ngram_size": 3}),
        ([[1], [2, 0, 1, 1, 2], [0, 2]], {"repetition_penalty": 0.6, "no_repeat_ngram_size": 3}),
        ([[1, 2, 1]], {"min_length": 9, "eos_token_id": 2}),
        ([[5, 2, 4, 5, 2]], {"no_repeat_ngram_size": 3, "min_new_tokens": 4, "eos_token_id": 1}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_penalties_n_grams_and_least_lengths_are_those_of_generate_with_and_without_padding(
    random_pair, prompts, asked
):
    pair = random_pair(vocab=SIZE + 3, dtype=torch.float64, noise=0.05)
    inputs, ours = padded(prompts), generate_with("traversal", Delayed(2, 1, 2))
    ends = {"pad_token_id": 0, "eos_token_id": None, **asked}
    assert torch.equal(greedy(pair, inputs, ours, **ends), greedy(pair, inputs, **ends))


class Streamer(transformers.generation.BaseStreamer):
    """Keeps what it is given."""

    def __init__(self):
        self.given: list[list[int]] = []
        self.ended = False

    def put(self, value):
        self.given.append(value.flatten().tolist())

    def end(self):
        self.ended = True


def test_blocks_are_streamed(pair):
    streamer, told = Streamer(), list[Piece]()
    ours = generate_with("traversal", Delayed(2, 0, 3), each_block=told.append)
    text = greedy(pair, padded([[1, 2]]), ours, text_streamer=streamer)[0].tolist()
    assert [token for given in streamer.given for token in given] == text
    assert streamer.given == [[1, 2], *(list(piece.tokens) for piece in told)]
    assert streamer.ended
    with pytest.raises(InvalidInput, match="a streamer takes one text, not 2"):
        greedy(pair, padded([[1], [2]]), ours, text_streamer=Streamer())


def test_a_dictionary_where_one_is_asked_for(pair):
    inputs, ours = padded([[1, 2]]), generate_with("nss", Delayed(2, 0, 3))
    found = greedy(pair, inputs, ours, return_dict_in_generate=True)
    assert isinstance(found, GenerateDecoderOnlyOutput)
    assert torch.equal(found.sequences, greedy(pair, inputs))


class Nothing(LogitsProcessor):
    """Changes nothing, but who knows."""

    def __call__(self, input_ids, scores):
        return scores


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"num_beams": 2}, "generate with num_beams=2 is another way"),
        ({"prompt_lookup_num_tokens": 2}, "generate with prompt_lookup_num_tokens=2 is another way"),
        ({"bad_words_ids": [[1]]}, "generate asks for NoBadWordsLogitsProcessor; the loop applies"),
        ({"min_new_tokens": 2, "eos_token_id": [1, 2]}, "min_length with 2 tokens that end a text; give one"),
        ({"do_sample": True, "epsilon_cutoff": 0.1}, "generate asks for EpsilonLogitsWarper"),
        ({"logits_processor": [Nothing()]}, "generate asks for Nothing"),
        (
            {"do_sample": True, "temperature": 2.0, "logits_processor": [transformers.TopPLogitsWarper(0.5)]},
            "generate asks for TopPLogitsWarper, TemperatureLogitsWarper.*; the loop applies each once",
        ),
        ({"return_dict_in_generate": True, "output_scores": True}, "output_scores=True: a block keeps no rows"),
        ({"past_key_values": transformers.DynamicCache()}, "past_key_values: the loop keeps caches of its own"),
        ({"attention_mask": torch.tensor([[1, 1, 0], [1, 1, 1]])}, "attention_mask hides tokens behind others"),
        ({"position_ids": torch.tensor([[0, 2, 3], [0, 1, 2]])}, "position_ids are not those of the text"),
        ({"cache_implementation": "offloaded"}, "cache_implementation='offloaded': the loop keeps plain caches"),
        ({"draft": None}, "no draft model came along"),
        ({"draft": "lookup"}, "draft='lookup' is no model; make_draft"),
        ({"eos_token_id": 2}, None),  # its pad token is the first end
        ({"stopping_criteria": [Counting()]}, "say what stands behind the shorter ones, pad_token_id"),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, dict) else str(given),  # no address of an object
)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_done_is_one_clear_line(pair, asked, said):
    given = {"do_sample": False, "draft": pair.draft, "max_new_tokens": 4}

    def write():
        ids = torch.tensor([[1, 2, 1], [1, 2, 2]])
        return pair.target.generate(ids, **{**given, **asked}, custom_generate=generate_with("nss", Delayed(2, 0, 1)))

    if said is None:
        assert write().shape[0] == 2
        return
    with pytest.raises(InvalidInput, match=said) as caught:
        write()
    assert "\n" not in str(caught.value)


WIDE, NARROW = 33, 32


@pytest.mark.heavy
@pytest.mark.parametrize("sizes", [(WIDE, NARROW), (NARROW, WIDE)], ids=["draft is narrower", "draft is wider"])
def test_a_pair_of_which_one_is_padded_further_writes_as_the_target_does(random_pair, sizes):
    """The last token of the target is drawn too, though no draft can have it, and stands in prompts."""
    target, draft = (random_pair(vocab=size, dtype=torch.float64).target for size in sizes)
    most = sizes[0] - 1
    with torch.no_grad():
        target.lm_head.weight[most] = 1.01 * target.lm_head.weight[1]  # often drawn, and no tie
    inputs, ends = padded([[1, most, 3], [most]]), {"pad_token_id": 0, "eos_token_id": None}
    ours = generate_with("traversal", Delayed(2, 1, 2))
    drawn = {"custom_generate": ours, "draft": draft}
    expected = target.generate(**inputs, do_sample=False, max_new_tokens=TOKENS, **ends)
    assert torch.equal(target.generate(**inputs, do_sample=False, max_new_tokens=TOKENS, **ends, **drawn), expected)
    torch.manual_seed(5)
    runs, prompt = 600, [1, most]
    ids = torch.tensor([prompt] * runs)
    texts = target.generate(ids, do_sample=True, top_k=0, max_new_tokens=2, attention_mask=ids * 0 + 1, **ends, **drawn)
    seen = Counter(tuple(text) for text in texts[:, len(prompt) :].tolist())
    pair = Pair(target, draft, None, torch.device("cpu"), torch.float64, sizes[0])
    first = pair.rows("target", [prompt])[0].numpy()
    second = pair.rows("target", [[*prompt, token] for token in range(sizes[0])]).numpy()
    law = {(x, y): float(first[x] * second[x, y]) for x in range(sizes[0]) for y in range(sizes[0])}
    assert agrees(seen, law)
    assert any(most in text for text in seen)
    flat = {text: 1 / len(law) for text in law}
    assert not agrees(seen, flat)


def test_models_of_other_vocabularies_are_refused(pair, random_pair):
    with pytest.raises(
        InvalidInput, match="the target has logits for 3 tokens, the draft for 4, which is more than padding"
    ):
        greedy(Pair(pair.target, random_pair(vocab=4).draft, None, "cpu", None, 3), padded([[1]]), generate_with("nss"))


def test_the_example_of_the_page_on_choosing_runs(tiny_folder, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "howto" / "choose.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (example,) = (each for each in examples if "custom_generate" in each)
    assert len(example.splitlines()) <= 12
    (tiny_folder.parent / "runs").mkdir(exist_ok=True)
    (tiny_folder.parent / "runs/pair8").symlink_to(tiny_folder)
    monkeypatch.chdir(tiny_folder.parent)
    names = {}
    exec(example, names)
    assert names["texts"].shape == (2, 4 + 40)
    assert torch.equal(names["texts"][:, :4], names["inputs"]["input_ids"])
