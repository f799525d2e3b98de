"""A text split into a training part and a held-out end, and how well models predict the held-out end.

Models are compared with the interpolated n-gram models of `text_drafts`.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from draftproof.experiments.inputs.text import read_text
from draftproof.experiments.models.pair.devices import libraries, within_memory
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin

#: Share of the text that is held out.
HELD_OUT = 0.05
#: The least number of characters of a text.
SHORTEST = 2_000


@dataclass(frozen=True)
class Corpus:
    """A text by name; raises `InvalidInput` where it is too short to be split."""

    name: str
    text: str

    def __post_init__(self) -> None:
        if len(self.text) < SHORTEST:
            raise InvalidInput(f"text {self.name} has {len(self.text)} symbols; training needs at least {SHORTEST}")

    @property
    def digest(self) -> str:
        """Hash of the whole text: 16 hexadecimal digits, as of `draftproof.simulator.TextPair`."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def training(self) -> str:
        return self.text[: self._cut]

    @property
    def held_out(self) -> str:
        return self.text[self._cut :]

    @property
    def _cut(self) -> int:
        return len(self.text) - round(len(self.text) * HELD_OUT)


def read_corpus(name: str) -> Corpus:
    """The text of a UTF-8 file or the embedded one; raises `InvalidInput`."""
    return Corpus(name, read_text(name))


def ngram_bits(training: Any, held_out: Any, vocab_size: int, order: int) -> float:
    """Bits per token of the held-out tokens, each after the `order` tokens before it, training tokens included.

    training, held_out: token arrays of shape `(n,)`. Raises `InvalidInput` where `training` is shorter than a context,
    and for too many contexts.
    """
    from draftproof.experiments.models.pair.text_drafts import count_ngrams

    model = count_ngrams(training, vocab_size, order).double()
    return model_bits(model, np.asarray(training), np.asarray(held_out), vocab_size, WINDOW)


#: Windows scored in one pass, and the most numbers of logits in it, which may allow fewer windows.
BATCH, BATCH_ENTRIES = 64, 2**24
#: Windows of n-grams, whose contexts are far shorter.
WINDOW = 64


#: What `measure` returns.
QUALITY = ("target", "draft", "ngram3", "ngram1", "tokens_per_character")


def measure(
    models: Sequence[Any], training: Any, held_out: Any, characters: int, vocab_size: int, window: int
) -> dict[str, float]:
    """Bits per character of target, draft and n-grams of order 3 and 1 on the same text, and tokens a character.

    Tokens are arrays of shape `(n,)`, `characters` the number held out.
    """
    share = len(held_out) / characters
    bits = [model_bits(model, training, held_out, vocab_size, window) for model in models]
    bits += [ngram_bits(training, held_out, vocab_size, order) for order in (3, 1)]
    return dict(zip(QUALITY, [*(per_token * share for per_token in bits), share], strict=True))


def model_bits(model: Any, training: Any, held_out: Any, vocab_size: int, window: int) -> float:
    """Bits per token of the held-out tokens, each scored once, after at least `window / 2` tokens before it.

    Windows of `window` tokens overlap by half; the first begins in the training tokens.
    """
    torch, _ = libraries()
    half, count = window // 2, max(1, min(BATCH, BATCH_ENTRIES // (window * vocab_size)))
    before = training[-half:]
    tokens, skipped = np.concatenate([before, held_out]), len(before)
    total = 0.0
    with torch.no_grad(), within_memory("scoring held-out text", model.device):
        for first in range(0, len(held_out), half * count):
            starts = range(first, min(first + half * count, len(held_out)), half)
            rows = [torch.from_numpy(tokens[start : start + skipped + half]) for start in starts]
            batch = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1).to(model.device)
            chances = model(batch.clamp(min=0), use_cache=False).logits[:, skipped - 1 : -1]
            wanted = batch[:, skipped:]
            scored = chances.double().log_softmax(dim=-1).gather(-1, wanted.clamp(min=0)[..., None])[..., 0]
            total -= float(scored[wanted >= 0].sum())
    return total / log(2) / len(held_out)


def sample(model: Any, prompt: Sequence[int], count: int, coin: Coin, row_of: Callable[..., Any]) -> tuple[int, ...]:
    """`count` tokens after the prompt, one at a time.

    row_of: such as `Sampling.of_logits`, the row of logits, shape `(1, V)`, after tokens `texts`, shape `(1, n)`.
    """
    torch, _ = libraries()
    entered, cache = torch.tensor([list(prompt)], device=model.device), None
    text = entered
    with torch.no_grad(), within_memory("writing a sample", model.device):
        for _ in range(count):
            output = model(entered, past_key_values=cache, use_cache=True)
            token = coin.choose(row_of(output.logits[:, -1], texts=text)[0].cpu().numpy())
            entered, cache = torch.tensor([[token]], device=model.device), output.past_key_values
            text = torch.cat([text, entered], 1)
    return tuple(text[0, len(prompt) :].tolist())
