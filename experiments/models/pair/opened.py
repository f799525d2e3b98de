"""Opens a pair of models (trained now, loaded from a folder, or any two models), with its text."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs.text import EMBEDDED, text_label
from draftproof.experiments.models.pair.corpus import Corpus, read_corpus
from draftproof.experiments.models.pair.devices import choose_device, libraries
from draftproof.experiments.models.pair.drafts import parse_draft
from draftproof.experiments.models.pair.folder import make_pair, recorded
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.pair.pair import Pair, load_pair
from draftproof.experiments.models.pair.roots import (
    BOS,
    CONTEXT_TOKENS,
    LENGTHS,
    Prompts,
    Roots,
    continued_roots,
    read_prompts,
    roots_of,
    with_bos,
)
from draftproof.experiments.models.pair.training import choose_recipe
from draftproof.experiments.runtime import temporary
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

#: Training steps of the target of a quick validation.
QUICK_STEPS = 150
#: Models of fewer parameters run on one thread.
SMALL = 5_000_000


@dataclass(frozen=True)
class PairRequest:
    """The models that a world names: those of a `folder` of `model train`, or `target` and `draft`.

    draft: with a folder, it replaces the draft there; it is a model or a spec of `drafts`. text, prompts: where roots
    come from, so many `roots`. bos: whether roots begin with the token for it; context: how many tokens a root has.
    Raises `InvalidInput` for keys that contradict each other. A target without a draft is for heads alone.
    """

    folder: str | None = None
    target: str | None = None
    draft: str | None = None
    device: str = "auto"
    dtype: str = "float32"
    text: str = EMBEDDED
    prompts: str | None = None
    bos: str = "auto"
    context: int | None = None
    roots: int | None = None

    def __post_init__(self) -> None:
        if self.folder is None and self.target is None:
            raise InvalidInput(
                "models need a folder of `model train`, as models:FOLDER, or models:target=PATH,draft=PATH"
            )
        if self.folder is not None and self.target is not None:
            raise InvalidInput(f"models:{self.folder} and target={self.target} both say which models; give one of them")
        if self.draft is not None:
            parse_draft(self.draft)
        if self.bos not in BOS:
            raise InvalidInput(f"bos {self.bos}: choose {', '.join(BOS)}")
        for name in ("roots", "context"):
            if getattr(self, name) == 0:
                raise InvalidInput(f"{name}=0 leaves nothing; give at least 1")


@dataclass(frozen=True)
class Opened:
    """A pair with its text.

    prompts: roots come from them instead of the text. context: the number of tokens of a root from a text, or the most
    last tokens of a prompt.
    """

    pair: Pair
    corpus: Corpus
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
        return self._of_text(otherwise if count is None else count, (CONTEXT_TOKENS,))

    def many_roots(self, count: int, seed: int, sampling: Sampling) -> Roots:
        """About `count` contexts of several lengths: from the text, or from texts of the target after all prompts."""
        if self.prompts is not None:
            prompts = self.prompts.roots(self.pair, min(count, len(self.prompts.prompts)), self.context)
            return continued_roots(self.pair, prompts, count, seed, sampling)
        return self._of_text(count, LENGTHS)

    def _of_text(self, count: int, lengths: Sequence[int]) -> Roots:
        """lengths: without `context`; half of the models' positions are left for what follows."""
        if self.context is not None:
            lengths = (self.context,)
        elif self.pair.positions is not None:
            lengths = [min(length, self.pair.positions // 2) for length in lengths]
        contexts = roots_of(self.held_out, count, lengths, self.pair.begins)
        return Roots(tuple(contexts), f"roots of {text_label(self.corpus.name)}")


@contextmanager
def open_pair(wanted: PairRequest | None, seed: int = 0, quick: bool = False) -> Iterator[Opened]:
    """The wanted pair; without one a small pair is trained, and deleted afterwards.

    seed, quick: of that training. In the body small models run on one thread, since several threads are slower for
    them. Raises `InvalidInput`.
    """
    with temporary(Path(tempfile.gettempdir()), "draftproof", folder=True) as folder:
        if wanted is None:
            wanted = PairRequest(f"{folder}/pair")
            recipe = choose_recipe(read_corpus(EMBEDDED), "letters", None, seed, QUICK_STEPS if quick else None)
            with suitable_threads():
                make_pair(recipe, f"{folder}/pair", choose_device(wanted.device))
        opened = load_wanted(wanted)
        with suitable_threads(opened.pair.target):
            yield opened


def load_wanted(wanted: PairRequest) -> Opened:
    """An existing pair, with the text or prompts for its roots; nothing is trained, measured or written.

    Raises `InvalidInput`, also for a folder that holds a pair of another text.
    """
    if wanted.target is not None and wanted.draft is None:
        raise InvalidInput(f"target={wanted.target} is given without draft; a pair needs both, as target=..,draft=..")
    corpus = read_corpus(wanted.text)
    prompts = None if wanted.prompts is None else read_prompts(wanted.prompts)
    target, draft = wanted.target, wanted.draft
    if wanted.folder is not None:
        record = recorded(
            Path(wanted.folder), "name a folder that draftproof model train has made, or a new one to train in"
        )
        if record is None:
            way_out = f"make one: draftproof model train --out {wanted.folder}"
            raise InvalidInput(f"{wanted.folder} holds no trained pair; {way_out}")
        if record.get("text_hash") != corpus.digest:
            raise InvalidInput(
                f"{wanted.folder} holds a pair of another text than {corpus.name}; give its own as text=FILE of models"
            )
        target = f"{wanted.folder}/target"
        draft = f"{draft}:{wanted.folder}/{draft}" if draft in HEADS else draft or f"{wanted.folder}/draft"
    pair = load_pair(str(target), draft, wanted.device, wanted.dtype, corpus)
    for note in pair.notes:
        remark(note)
    if pair.tokenizer is None:
        raise InvalidInput(f"{pair.names[0]} has no tokenizer; root contexts are taken from a text, which needs one")
    return Opened(with_bos(pair, wanted.bos), corpus, prompts, wanted.context)


@contextmanager
def suitable_threads(target: Any = None) -> Iterator[None]:
    """In the body a small target runs on one thread, since several threads are slower for it; None: one to train."""
    torch, _ = libraries()
    before = torch.get_num_threads()
    try:
        if target is None or sum(weights.numel() for weights in target.parameters()) < SMALL:
            torch.set_num_threads(1)
        yield
    finally:
        torch.set_num_threads(before)
