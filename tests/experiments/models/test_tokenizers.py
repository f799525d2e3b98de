"""Tokenizers of a chosen size: text to tokens and back, in ours and in the format of transformers."""

from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.pair.tokenizers import load_tokenizer, make_tokenizer
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.ngram import TextPair

TEXT = read_text(EMBEDDED)[:20_000]
KINDS = [("letters", 4), ("letters", 8), ("letters", 16), ("letters", 27), ("bpe", 600)]
STRANGE = "Añ →\n\t·0129 end"


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_saved_tokenizer_gives_the_same_tokens_in_transformers(kind, size, tmp_path):
    made = make_tokenizer(kind, size, TEXT)
    made.save(tmp_path)
    base = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    again = load_tokenizer(base)
    for text in (TEXT[:3000], STRANGE):
        tokens = made.encode(text)
        assert tokens == again.encode(text) == list(base(text)["input_ids"])
        assert again.decode(tokens) == made.decode(tokens)
        assert set(tokens) <= set(range(size))
    assert again.kind == kind
    assert again.vocab == made.vocab
    assert made.vocab_size == again.vocab_size == len(base) == size


def test_byte_pairs_lose_nothing():
    made = make_tokenizer("bpe", 600, TEXT)
    assert made.decode(made.encode(TEXT)) == TEXT
    assert made.decode(made.encode(STRANGE)) == STRANGE


@pytest.mark.parametrize("size", [4, 8, 16, 27])
def test_letters_are_the_tokens_of_the_n_gram_pair(size):
    made, pair = make_tokenizer("letters", size, TEXT), TextPair(TEXT, size, 0, 0)
    assert tuple(made.encode(TEXT)) == pair.encode(TEXT)
    assert made.decode(made.encode(TEXT)) == pair.show(pair.encode(TEXT))


def test_rest_token_is_never_one_of_the_letters():
    made = make_tokenizer("letters", 3, "··ab··ab·")
    assert made.decode(made.encode("a·b")) == "a·□"
    assert made.encode("·axb") == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("kind", "size", "text", "words"),
    [
        ("words", 8, TEXT, "unknown tokenizer 'words'; choose letters, bpe"),
        ("letters", 1, TEXT, "a letters tokenizer has 2 to 1000 tokens, not 1"),
        ("bpe", 256, TEXT, "a bpe tokenizer has 257 to 50000 tokens, not 256"),
        ("letters", 16, "abc", "3 different symbols, too few for V = 16; choose a smaller vocabulary"),
        ("bpe", 5000, "abc", "byte-pair tokens, not 5000; give a smaller vocab or a longer text"),
        ("letters", 8, "", "the text is empty"),
    ],
)
def test_a_tokenizer_that_cannot_be_made_is_one_clear_line(kind, size, text, words):
    with pytest.raises(InvalidInput, match=words) as refused:
        make_tokenizer(kind, size, text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("mark", [{}, {"draftproof_kind": "unheard-of"}])
def test_a_tokenizer_made_elsewhere_has_no_kind(mark):
    assert load_tokenizer(SimpleNamespace(init_kwargs=mark)).kind is None
