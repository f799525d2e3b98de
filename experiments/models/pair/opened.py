"""Opens a pair of models (trained now, loaded from a folder, or any two models), with its text and its quality."""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs.text import EMBEDDED, text_label
from draftproof.experiments.models.pair.corpus import Corpus, read_corpus
from draftproof.experiments.models.pair.devices import choose_device, libraries
from draftproof.experiments.models.pair.drafts import parse_draft
from draftproof.experiments.models.pair.folder import make_pair, recorded
from draftproof.experiments.models.pair.pair import Pair, load_folder, load_pair
from draftproof.experiments.models.pair.roots import (
    BOS,
    CONTEXT_TOKENS,
    LENGTHS,
    Prompts,
    Roots,
    continued_roots,
    read_prompts,
    spread_roots,
    text_roots,
    with_bos,
)
from draftproof.experiments.models.pair.training import choose_recipe
from draftproof.experiments.runtime import temporary
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

#: Training steps of the target with `--quick`.
QUICK_STEPS = 150
#: Models of fewer parameters run on one thread.
SMALL = 5_000_000


@dataclass(frozen=True)
class PairRequest:
    """The pair that the options ask for: a `folder` (trained now if new), `target` and `draft`, or none (train one).

    draft: with a folder, it replaces the draft there; it is a model or a spec of `drafts`. prompts: a file that roots
    come from instead of the text. bos: whether roots begin with the token for it; context: how many tokens a root has.
    Raises `InvalidInput` for a folder with a target, for a target without draft or a draft without target, and for
    options of training where nothing is trained.
    """

    folder: str | None = None
    target: str | None = None
    draft: str | None = None
    device: str = "auto"
    dtype: str = "float32"
    vocab: int | None = None
    tokenizer: str = "letters"
    text: str = EMBEDDED
    prompts: str | None = None
    bos: str = "auto"
    context: int | None = None
    seed: int = 0
    quick: bool = False

    def __post_init__(self) -> None:
        if self.draft is not None:
            parse_draft(self.draft)
        if self.target is not None and self.draft is None:
            raise InvalidInput("target is given without draft; a pair needs both, or neither to train one")
        if self.draft is not None and self.target is None and self.folder is None:
            raise InvalidInput("--draft is given without --target or --pair; a draft needs a model that it drafts for")
        if self.bos not in BOS:
            raise InvalidInput(f"bos {self.bos}: choose {', '.join(BOS)}")
        if self.target is None:
            return
        if self.folder is not None:
            raise InvalidInput("--pair and --target both say which models; give one of them")
        if self.vocab is not None or self.tokenizer != "letters":
            raise InvalidInput("--vocab and --tokenizer belong to a pair that is trained; the models given have theirs")

    def read_prompts(self) -> Prompts | None:
        """The prompts of the file, if one is given; raises `InvalidInput` that names file and line."""
        return None if self.prompts is None else read_prompts(self.prompts)


@dataclass(frozen=True)
class Opened:
    """A pair with its text. quality: bits per character by model, and sample, by role, of a pair made by `model train`.

    prompts: roots come from them instead of the text. context: the number of tokens of a root from a text, or the most
    last tokens of a prompt.
    """

    pair: Pair
    corpus: Corpus
    quality: dict[str, Any] | None = None
    sample: dict[str, str] | None = None
    prompts: Prompts | None = None
    context: int | None = None

    @property
    def held_out(self) -> list[int]:
        """The tokens of the held-out text, on which models made by `model train` were not trained."""
        return self.pair.encode(self.corpus.held_out)

    def roots(self, count: int | None, otherwise: int) -> Roots:
        """`count` roots from the prompts or the held-out text; raises `InvalidInput` where there are fewer.

        otherwise: the number for a text where `count` is None; prompts then give all.
        """
        if self.prompts is not None:
            return self.prompts.roots(self.pair, count, self.context)
        count = otherwise if count is None else count
        return text_roots(self.pair, self.corpus, count, self.context or self._length(CONTEXT_TOKENS))

    def many_roots(self, count: int, seed: int, sampling: Sampling) -> Roots:
        """About `count` contexts of several lengths: from the text, or from texts of the target after all prompts."""
        if self.prompts is not None:
            prompts = self.prompts.roots(self.pair, min(count, len(self.prompts.prompts)), self.context)
            return continued_roots(self.pair, prompts, count, seed, sampling)
        lengths = [self._length(tokens) for tokens in LENGTHS] if self.context is None else [self.context]
        contexts = spread_roots(self.held_out, count, self.pair.begins, lengths)
        return Roots(tuple(contexts), f"roots of {text_label(self.corpus.name)}")

    def _length(self, tokens: int) -> int:
        """So many tokens, or as many as leave half of the models' positions for what follows."""
        return tokens if self.pair.positions is None else min(tokens, self.pair.positions // 2)

    @property
    def root_source(self) -> dict[str, str]:
        """Where roots come from, for reports: name and hash of the file of prompts or of the text."""
        if self.prompts is not None:
            return {"prompts": self.prompts.path, "prompts_hash": self.prompts.digest}
        return {}


@contextmanager
def open_pair(wanted: PairRequest) -> Iterator[Opened]:
    """Opens the wanted pair, and trains it if necessary; a pair without a folder is deleted afterwards.

    In the body small models run on one thread, since several threads are slower for them. Raises `InvalidInput`.
    """
    if wanted.target is not None:
        opened = load_wanted(wanted)
        with suitable_threads(opened.pair):
            yield opened
        return
    with temporary(Path(tempfile.gettempdir()), "draftproof", folder=True) as folder, _threads(True):
        wanted = replace(wanted, folder=wanted.folder or f"{folder}/pair")
        record = _trained(wanted, str(wanted.folder))
        made = {"quality": record["bits_per_character"], "sample": record["sample"]} if wanted.draft is None else {}
        yield replace(load_wanted(wanted), **made)


def load_wanted(wanted: PairRequest) -> Opened:
    """An existing pair, with the text or prompts for its roots; nothing is trained, measured or written.

    Raises `InvalidInput`, also for a folder that holds a pair of another text, and for a pair without a tokenizer.
    """
    corpus, prompts = read_corpus(wanted.text), wanted.read_prompts()
    if wanted.target is not None and wanted.draft is not None:
        pair = load_pair(wanted.target, wanted.draft, wanted.device, wanted.dtype, corpus.training)
        pair = replace(pair, text_digest=corpus.digest)
    else:
        pair = load_folder(str(wanted.folder), wanted.device, wanted.dtype, wanted.draft, corpus.training)
        _check_text(str(wanted.folder), corpus, pair.text_digest)
    for note in pair.notes:
        remark(note)
    pair = with_bos(pair, wanted.bos)
    if pair.tokenizer is None:
        raise InvalidInput(f"{pair.names[0]} has no tokenizer; root contexts are taken from a text, which needs one")
    return Opened(pair, corpus, prompts=prompts, context=wanted.context)


def suitable_threads(pair: Pair) -> AbstractContextManager[None]:
    """In the body a small target runs on one thread, since several threads are slower for it."""
    return _threads(sum(weights.numel() for weights in pair.target.parameters()) < SMALL)


@contextmanager
def _threads(one: bool) -> Iterator[None]:
    torch, _ = libraries()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if one else before)
        yield
    finally:
        torch.set_num_threads(before)


def _trained(wanted: PairRequest, folder: str) -> dict[str, Any]:
    """The record of the pair of a folder, newly trained where the folder is new; raises `InvalidInput`."""
    corpus = read_corpus(wanted.text)
    record = recorded(Path(folder), "name another folder with --pair")
    if record is None:
        steps = QUICK_STEPS if wanted.quick else None
        recipe = choose_recipe(corpus, wanted.tokenizer, wanted.vocab, wanted.seed, steps, None)
        return make_pair(recipe, folder, choose_device(wanted.device))[0]
    there = record["configuration"]
    _check_text(folder, corpus, there.get("text_hash"))
    asked = {"vocab_size": wanted.vocab, "tokenizer": None if wanted.tokenizer == "letters" else wanted.tokenizer}
    for key, value in asked.items():
        if value is not None and there.get(key) != value:
            raise InvalidInput(
                f"{folder} holds a pair with {key} {there.get(key)}, not {value}; "
                "leave out --vocab and --tokenizer to use it, or name another folder with --pair"
            )
    remark(f"{folder} holds a pair already; it was not trained again")
    return record


def _check_text(folder: str, corpus: Corpus, text_hash: object) -> None:
    if text_hash != corpus.digest:
        raise InvalidInput(f"{folder} holds a pair of another text than {corpus.name}; give its own with --text")
