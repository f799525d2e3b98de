"""A target and a draft over the same tokens.

`V` is the vocabulary size, `n` the number of contexts. Token numbers are those of the models; `rows` and `logits`
take contexts of whole texts (root included), never of a draft tree alone.

The target may have more tokens than the draft where its embeddings have more padding, and it may sample these tokens.
The draft gives them no mass; where one occurs in a text the draft reads its own last token instead. A lossless verifier
is lossless with any draft.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.devices import (
    check_fits,
    choose_device,
    choose_dtype,
    configured_positions,
    libraries,
    within_memory,
)
from draftproof.experiments.models.pair.drafts import make_draft, parse_draft
from draftproof.experiments.models.pair.loading import Located, locate, read_config, read_model, read_tokenizer
from draftproof.experiments.models.pair.tokenizers import TextTokenizer
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.masks import LETTERS, dead_end
from draftproof.simulator.instances.sampling import Sampling

#: The most logits of one pass; more contexts are split into batches.
BATCH_ENTRIES = 2**24
ROLES = ("target", "draft")


@dataclass(frozen=True)
class Pair:
    """Two causal language models over the same tokens, in evaluation mode on one device.

    target, draft: models of transformers whose logits have shape `(.., V)`. tokenizer: None where they have none.
    text_digest: hash of the text of their world, None where there is none. notes: changes to the models, in words.
    bos: whether texts begin with the token for it: yes, no, or auto, as the tokenizer does.
    """

    target: Any
    draft: Any
    tokenizer: TextTokenizer | None
    device: Any
    dtype: Any
    vocab_size: int
    text_digest: str | None = None
    names: tuple[str, str] = ("target", "draft")
    notes: tuple[str, ...] = ()
    bos: str = "auto"

    def model(self, which: str) -> Any:
        """The model of a role; "told" is what a verifier is told of the draft."""
        return self.target if which == "target" else self.draft

    def reads_features(self, which: str) -> bool:
        """Whether this model is a draft that reads features of the target, as heads do.

        Its rows depend on where a tree begins; `continued` computes them.
        """
        return bool(getattr(self.model(which), "reads_features", False))

    @property
    def positions(self) -> int | None:
        """The number of tokens that both models are made for; None where neither says."""
        limits = [configured_positions(model) for model in (self.target, self.draft)]
        return min((limit for limit in limits if limit is not None), default=None)

    def room(self, tokens: int, most: int) -> int:
        """How many of `most` tokens both models have positions for after so many; at least 1."""
        return most if self.positions is None else max(1, min(most, self.positions - tokens))

    @cached_property
    def token_names(self) -> Sequence[str]:
        """What masks call the tokens: their text; without a tokenizer letters, or numbers where these are too few."""
        size = self.vocab_size
        if self.tokenizer is None:
            return LETTERS[:size] if size <= len(LETTERS) else tuple(map(str, range(size)))
        return tuple(self.decode((token,)) for token in range(size))

    def encode(self, text: str) -> list[int]:
        """`text` as tokens; raises `InvalidInput` where there is no tokenizer."""
        return self._tokenizer().encode(text)

    @property
    def begins(self) -> tuple[int, ...]:
        """The tokens that every text begins with, as `bos` and the tokenizer say."""
        if self.tokenizer is None or self.bos == "no":
            return ()
        tokens = self.tokenizer.begins
        if self.bos == "yes" and self.tokenizer.bos is not None:
            tokens = (self.tokenizer.bos,)
        return tokens if all(token < self.vocab_size for token in tokens) else ()

    def encode_chat(self, messages: Sequence[Any]) -> tuple[tuple[int, ...], list[int]]:
        """The first tokens of chat messages, and the other tokens up to where the answer begins; raises `InvalidInput`.

        Whether they begin with the token for it is decided by the chat template unless `bos` is yes or no.
        """
        tokenizer = self._tokenizer()
        tokens = tokenizer.encode_chat(messages)
        begun = tokens[:1] == [tokenizer.bos]
        rest = tokens[begun:]
        if self.bos == "auto":
            return tuple(tokens[:begun]), rest
        return self.begins, rest

    def decode(self, tokens: Sequence[int]) -> str:
        """Tokens as text; raises `InvalidInput` where there is no tokenizer."""
        return self._tokenizer().decode(tokens)

    def logits(self, which: str, contexts: Any, root: int | None = None) -> Any:
        """The logits after each context, shape `(n, V)`, on the device, in batches of plain passes without a cache.

        contexts: shape `(n, length)`, tokens of whole texts; length at least 1. root: how many of the first tokens,
        equal in all contexts, are before the tree (default: all); it matters only for drafts whose rows depend on it.
        Raises `InvalidInput` for other shapes or tokens, and for more tokens than the model has positions.
        """
        torch, _ = libraries()
        tokens = torch.as_tensor(contexts, dtype=torch.long, device=self.device)
        if tokens.ndim != 2 or tokens.shape[1] == 0:
            raise InvalidInput(
                f"contexts of shape {tuple(tokens.shape)}: a model needs at least one token before the next"
            )
        if len(tokens) and (int(tokens.min()) < 0 or int(tokens.max()) >= self.vocab_size):
            raise InvalidInput(f"contexts hold tokens outside 0..{self.vocab_size - 1}")
        if not len(tokens):  # models fail for an empty batch
            return torch.empty(0, self.vocab_size, dtype=self.dtype, device=self.device)
        check_fits(self.model(which), which, tokens.shape[1])
        batch = max(1, BATCH_ENTRIES // (tokens.shape[1] * self.vocab_size))
        with torch.no_grad(), within_memory(f"computing {len(tokens)} rows of the {which}", self.device):
            return torch.cat([self._last_logits(which, part, root) for part in tokens.split(batch)])

    def _last_logits(self, which: str, tokens: Any, root: int | None) -> Any:
        model = self.model(which)
        if root is not None and self.reads_features(which):
            return model.continued(tokens[:1, :root], tokens[:, root:])
        return model(tokens, use_cache=False).logits[:, -1]

    def rows(self, which: str, contexts: Any, sampling: Sampling | None = None, root: int | None = None) -> Any:
        """The exact next-token distributions after each context, float64, shape `(n, V)`; see `logits`."""
        torch, _ = libraries()
        texts = torch.as_tensor(contexts, dtype=torch.long, device=self.device)
        return self.sampled(which, self.logits(which, contexts, root), texts, sampling or Sampling(), root)

    def sampled(self, which: str, logits: Any, texts: Any, sampling: Sampling, root: int | None = None) -> Any:
        """The rows that logits after these texts become; root: as in `logits`, and masks begin behind it."""
        torch, _ = libraries()
        own = sampling.of(which)
        if not own.masked or not len(texts):
            return own.of_logits(logits, texts=texts)
        begins = texts.shape[1] if root is None else root
        masks = own.masks(self.vocab_size, tuple(texts[0, :begins].tolist()), self.token_names)
        free = (True,) * self.vocab_size
        given = [masks.allowed(context) for context in map(tuple, texts[:, begins:].tolist())]
        allowed = torch.tensor([free if row is None else row for row in given], device=self.device)
        allowed &= logits > -float("inf")
        closed = ~allowed.any(-1)
        self._refuse_closed(which, texts[closed], own, begins)
        return own.of_logits(logits, texts=texts, allowed=allowed | closed[:, None])

    def _refuse_closed(self, which: str, texts: Any, sampling: Sampling, begins: int) -> None:
        """Raises `InvalidInput` if one of these texts, after which masks allow nothing, is ever drawn."""
        for place in range(begins, texts.shape[1]):
            if len(texts):
                rows = self.rows(which, texts[:, :place], sampling, begins)
                texts = texts[rows.gather(1, texts[:, place : place + 1])[:, 0] > 0]
        if len(texts):
            raise dead_end(tuple(texts[0, begins:].tolist()), self.token_names)

    def _tokenizer(self) -> TextTokenizer:
        if self.tokenizer is None:
            raise InvalidInput(f"{self.names[0]} has no tokenizer; give tokens rather than text")
        return self.tokenizer


def load_pair(
    target: str, draft: str | None, device: str = "auto", dtype: str = "float32", corpus: Corpus | None = None
) -> Pair:
    """Any two causal language models of transformers, each a folder or a name; or a draft that is built for the target.

    draft: such as `ngram:order=4`, counted on the training part of `corpus` (`drafts`); None for the target itself.
    device: auto, cpu or cuda. dtype: float32, bfloat16, float16 or float64. Where embeddings are padded beyond the
    tokens that both tokenizers know, both models are cut to those tokens, and `notes` says so.
    Raises `InvalidInput`: a missing path, an unknown model, no causal language model, vocabularies that differ,
    no space, no CUDA, an unknown precision, torch or transformers not installed, a draft that cannot be built.
    """
    where, precision, spec = choose_device(device), choose_dtype(dtype), parse_draft(draft or "")
    given = [target] if draft is None or spec is not None else [target, draft]
    located = [locate(role, name) for role, name in zip(ROLES, given, strict=False)]
    configs, tokenizers = [read_config(model) for model in located], [read_tokenizer(model) for model in located]
    size = _common_size(located, configs, tokenizers)
    cut = [_cut_model(model, config, size, where, precision) for model, config in zip(located, configs, strict=True)]
    models, notes = [model for model, _ in cut], tuple(note for _, of_model in cut for note in of_model)
    tokenizer, names = tokenizers[0] or tokenizers[-1], (located[0].name, located[-1].name)
    text_digest = None if corpus is None else corpus.digest
    pair = Pair(models[0], models[-1], tokenizer, where, precision, size, text_digest, names, notes)
    if spec is None:
        return pair
    with within_memory(f"making the draft {spec}", where):
        counted = pair.encode(corpus.training) if spec.counts and corpus is not None else None
        return replace(pair, draft=make_draft(spec, pair.target, counted), names=(names[0], str(spec)))


def _cut_model(located: Located, config: Any, size: int, device: Any, dtype: Any) -> tuple[Any, tuple[str, ...]]:
    model = read_model(located, config, device, dtype)
    padding = _rows_of_logits(config) - size
    if not padding:
        return model, ()
    model.resize_token_embeddings(size)
    return model, (f"{located}: {padding} padding tokens beyond the {size} of the tokenizer were cut off",)


def _common_size(located: Sequence[Located], configs: Sequence[Any], tokenizers: Sequence[TextTokenizer | None]) -> int:
    """The number of tokens that both models have; raises `InvalidInput` where a token differs between them."""
    sizes = [_rows_of_logits(config) for config in configs]
    first, second = tokenizers[0], tokenizers[-1]
    if first is None or second is None:
        if sizes[0] != sizes[-1]:
            raise InvalidInput(
                f"{located[0]} has {sizes[0]} tokens and {located[1]} has {sizes[1]}, and not both have a tokenizer "
                "to tell which are the same; choose two models of one family"
            )
        return sizes[0]
    if first.vocab != second.vocab:
        raise InvalidInput(
            f"the vocabularies differ: {_difference(first, second)}; "
            "choose a target and a draft with the same tokenizer"
        )
    for model, size in zip(located, sizes, strict=True):
        if size < first.vocab_size:
            raise InvalidInput(f"{model} has logits for {size} tokens, its tokenizer has {first.vocab_size}")
    return first.vocab_size


def _difference(first: TextTokenizer, second: TextTokenizer) -> str:
    """The difference between the vocabularies of target and draft, in a few words."""
    if first.vocab_size != second.vocab_size:
        return f"the target has {first.vocab_size} tokens, the draft {second.vocab_size}"
    token = min(
        (name for name in first.vocab.keys() | second.vocab.keys() if first.vocab.get(name) != second.vocab.get(name)),
        key=lambda name: (first.vocab.get(name, first.vocab_size), name),
    )
    numbers = [str(tokenizer.vocab.get(token, "missing")) for tokenizer in (first, second)]
    return f"token {token!r} is {numbers[0]} in the target and {numbers[1]} in the draft"


def _rows_of_logits(config: Any) -> int:
    return int(config.get_text_config().vocab_size)


#: Fields of a configuration that do not affect what is computed (the precision is taken from the weights).
_ORIGIN = ("_name_or_path", "transformers_version", "dtype")


def pair_digest(pair: Pair, roles: Sequence[str] = ROLES) -> str:
    """Hash of both models, 16 hexadecimal digits: of their configurations and of every number of their weights."""
    torch, _ = libraries()
    digest = hashlib.sha256()
    for which in roles:
        model = pair.model(which)
        settings = {name: value for name, value in model.config.to_dict().items() if name not in _ORIGIN}
        described = json.dumps(settings, sort_keys=True, default=str)
        digest.update(f"{which} {type(model).__name__} {described}".encode())
        for name, values in model.state_dict().items():
            digest.update(f"{which} {name} {tuple(values.shape)} {values.dtype}".encode())
            digest.update(values.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]
