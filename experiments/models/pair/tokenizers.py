"""Tokenizers of a chosen vocabulary size `V`: letters or byte pairs.

`letters`: the `V - 1` most frequent symbols, most frequent first, and one rest token (`·`), as n-grams have it.
`bpe`: byte-pair tokens trained on the text; nothing is lost.
All are saved in the format of transformers, so that its `AutoTokenizer` reads them and gives the same tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from draftproof.experiments.models.pair.devices import libraries
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.instances.ngram import TextPair

#: Kinds of tokenizer with the vocabulary sizes that they can have.
KINDS = {"letters": (2, 1_000), "bpe": (257, 50_000)}
#: Candidates for the rest token; the first one that is not in the alphabet is taken.
_REST = "·□�"


@dataclass(frozen=True)
class TextTokenizer:
    """Text to tokens and back.

    base: a tokenizer of transformers. kind: one of `KINDS`, None for a tokenizer that was made elsewhere.
    """

    base: Any
    kind: str | None = None

    @cached_property
    def vocab(self) -> dict[str, int]:
        return dict(self.base.get_vocab())

    @cached_property
    def vocab_size(self) -> int:
        """`V`: one more than the largest token."""
        return max(self.vocab.values()) + 1

    @cached_property
    def begins(self) -> tuple[int, ...]:
        """The special tokens that it puts before a text, such as one for its beginning; none of kinds made here."""
        if self.kind is not None:
            return ()
        alone, whole = self.encode("a"), [int(token) for token in self.base.encode("a")]
        starts = range(len(whole) - len(alone) + 1)
        return tuple(whole[: next((at for at in starts if whole[at : at + len(alone)] == alone), 0)])

    @property
    def bos(self) -> int | None:
        """The token for the beginning of a text; None where there is none."""
        token = self.base.bos_token_id
        return None if token is None else int(token)

    def encode_chat(self, messages: Sequence[Any]) -> list[int]:
        """The messages as the template writes them, up to where an answer stands: a last one of the assistant goes on.

        Raises `InvalidInput` without a template, and for messages that it does not take.
        """
        if not self.base.chat_template:
            raise InvalidInput("messages need a chat template, and the tokenizer has none; give a text")
        answered = messages[-1].get("role") == "assistant"
        try:
            text = self.base.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=not answered, continue_final_message=answered
            )
        except Exception as error:  # a template is a program of others, which may raise anything
            raise InvalidInput(f"the chat template does not take these messages: {cut(error)}") from None
        return self.encode(text)

    def encode(self, text: str) -> list[int]:
        """`text` as tokens, without special ones before or after."""
        return [int(token) for token in self.base.encode(text, add_special_tokens=False)]

    def decode(self, tokens: Sequence[int]) -> str:
        """Tokens as text; a byte that is no text becomes `�`."""
        return str(self.base.decode(list(tokens)))

    def save(self, folder: Path) -> None:
        self.base.save_pretrained(folder)


def make_tokenizer(kind: str, vocab_size: int, text: str) -> TextTokenizer:
    """A tokenizer for this text; raises `InvalidInput` for an unknown kind or a size that it cannot have."""
    if kind not in KINDS:
        raise InvalidInput(f"unknown tokenizer {kind!r}; choose {', '.join(KINDS)}")
    least, most = KINDS[kind]
    if not least <= vocab_size <= most:
        raise InvalidInput(f"a {kind} tokenizer has {least} to {most} tokens, not {vocab_size}")
    if not text:
        raise InvalidInput("the text is empty; a tokenizer needs some")
    make = {"letters": _letters, "bpe": _byte_pairs}[kind]
    return _wrapped(make(vocab_size, text), kind)


def load_tokenizer(base: Any) -> TextTokenizer:
    """A tokenizer of transformers as ours; one that `make_tokenizer` made is known by its mark."""
    kind = base.init_kwargs.get("draftproof_kind")
    return TextTokenizer(base, kind if kind in KINDS else None)


def _wrapped(core: Any, kind: str) -> TextTokenizer:
    _, transformers = libraries()
    base = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, clean_up_tokenization_spaces=False, draftproof_kind=kind
    )
    return TextTokenizer(base, kind)


def _letters(vocab_size: int, text: str) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    alphabet = TextPair(text, vocab_size, 0, 0).alphabet
    rest = next(symbol for symbol in _REST if symbol not in alphabet)
    core = Tokenizer(models.WordLevel({symbol: i for i, symbol in enumerate(alphabet + rest)}, unk_token=rest))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    core.decoder = decoders.Fuse()
    return core


def _byte_pairs(vocab_size: int, text: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    core.train_from_iterator(text.splitlines(keepends=True), trainer)
    if core.get_vocab_size() != vocab_size:
        raise InvalidInput(
            f"the text yields {core.get_vocab_size()} byte-pair tokens, not {vocab_size}; "
            "give a smaller vocab or a longer text"
        )
    return core
