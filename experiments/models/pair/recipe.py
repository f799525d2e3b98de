"""Everything that decides which pair training makes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from experiments.models.pair.corpus import Corpus
from experiments.models.pair.tokenizers import KINDS
from experiments.models.pair.training import Plan, Size
from experiments.shared.rows import strong_id
from simulator.errors import InvalidInput

#: Vocabulary size where none is given.
VOCAB = {"letters": 8, "digits": 8, "bpe": 2048}
#: Of a time limit for both models, what the target gets.
TARGET_SHARE = 0.8

LARGE, SMALL = Size(hidden=128, layers=3, heads=8), Size(hidden=32, layers=1, heads=2)
LONG, SHORT = Plan(steps=800), Plan(steps=600, rate=1e-2)
#: Byte pairs are few in a text and many in kind: the target sees each often, so it takes longer and needs the noise.
PAIRS_LARGE, PAIRS_SMALL = replace(LARGE, tied=True), Size(hidden=64, layers=1, heads=2, tied=True)
PAIRS_LONG, PAIRS_SHORT = Plan(steps=1600, noise=0.1, decay=0.3), Plan(steps=600, rate=6e-3)


@dataclass(frozen=True)
class Recipe:
    """A text, a tokenizer, a seed, and for both models a size and a training plan."""

    corpus: Corpus
    tokenizer: str = "letters"
    vocab_size: int = 8
    seed: int = 0
    target: Size = LARGE
    draft: Size = SMALL
    target_plan: Plan = LONG
    draft_plan: Plan = SHORT

    @property
    def configuration(self) -> dict[str, Any]:
        """All of it but the text's name, for which its hash stands; JSON."""
        return {
            "text_hash": self.corpus.digest,
            "tokenizer": self.tokenizer,
            "vocab_size": self.vocab_size,
            "seed": self.seed,
            "target": {**asdict(self.target), **asdict(self.target_plan)},
            "draft": {**asdict(self.draft), **asdict(self.draft_plan)},
        }

    @property
    def strong_id(self) -> str:
        """Hash of the configuration."""
        return strong_id(self.configuration)


def choose_recipe(
    corpus: Corpus, tokenizer: str, vocab_size: int | None, seed: int, steps: int | None, seconds: float | None
) -> Recipe:
    """The standard recipe with what the options change; raises `InvalidInput` for options that contradict.

    steps: of the target; the draft takes as many in proportion. seconds: for both models together.
    """
    if tokenizer not in KINDS:
        raise InvalidInput(f"unknown tokenizer {tokenizer!r}; choose {', '.join(KINDS)}")
    if steps is not None and seconds is not None:
        raise InvalidInput("--steps and --seconds both say how long to train; give one of them")
    made = Recipe(corpus, tokenizer, VOCAB[tokenizer] if vocab_size is None else vocab_size, seed)
    if tokenizer == "bpe":
        made = replace(made, target=PAIRS_LARGE, draft=PAIRS_SMALL, target_plan=PAIRS_LONG, draft_plan=PAIRS_SHORT)
    plans = made.target_plan, made.draft_plan
    if steps is not None:
        share = steps / plans[0].steps
        plans = replace(plans[0], steps=steps), replace(plans[1], steps=max(1, round(plans[1].steps * share)))
    if seconds is not None:
        plans = (
            replace(plans[0], seconds=seconds * TARGET_SHARE),
            replace(plans[1], seconds=seconds * (1 - TARGET_SHARE)),
        )
    return replace(made, target_plan=plans[0], draft_plan=plans[1])
