"""Everything that decides which pair training makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.tokenizers import KINDS
from draftproof.experiments.models.pair.training import Plan, Size
from draftproof.experiments.shared.rows import strong_id
from draftproof.simulator.errors import InvalidInput

#: Vocabulary size where none is given.
VOCAB = {"letters": 8, "digits": 8, "bpe": 2048}
#: Of a time limit for both models, what the target gets; and of that, what a target gets before it grows.
TARGET_SHARE, YOUNG_SHARE = 0.8, 0.5
#: Names of recipes: the standard one, and one whose target has many layers.
RECIPES = ("small", "deep")

LARGE, SMALL = Size(hidden=128, layers=3, heads=8), Size(hidden=32, layers=1, heads=2)
LONG, SHORT = Plan(steps=800), Plan(steps=600, rate=1e-2)
#: Byte pairs are few in a text and many in kind: the target sees each often, so it takes longer and needs the noise.
PAIRS_LARGE, PAIRS_SMALL = replace(LARGE, tied=True), Size(hidden=64, layers=1, heads=2, tied=True)
PAIRS_LONG, PAIRS_SHORT = Plan(steps=1600, noise=0.1, decay=0.3), Plan(steps=600, rate=6e-3)
#: Many layers cost as many times one layer, and are trained in minutes where most of them come late.
DEEP, NARROW, DEEP_VOCAB = replace(LARGE, layers=64), Size(hidden=64, layers=1, heads=2), 64
GROWN, NARROWS = Plan(steps=80, rate=1e-3), Plan(steps=800, rate=6e-3)


@dataclass(frozen=True)
class Young:
    """A target before it grows: it has so many layers, and is trained by this plan first."""

    layers: int
    plan: Plan


YOUNG = Young(8, Plan(steps=1200))


@dataclass(frozen=True)
class Recipe:
    """A text, a tokenizer, a seed, and for both models a size and a training plan. young: the target at first."""

    corpus: Corpus
    tokenizer: str = "letters"
    vocab_size: int = 8
    seed: int = 0
    target: Size = LARGE
    draft: Size = SMALL
    target_plan: Plan = LONG
    draft_plan: Plan = SHORT
    young: Young | None = None

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
            **({"young": {"layers": self.young.layers, **asdict(self.young.plan)}} if self.young else {}),
        }

    @property
    def strong_id(self) -> str:
        """Hash of the configuration."""
        return strong_id(self.configuration)


def choose_recipe(
    corpus: Corpus,
    tokenizer: str,
    vocab_size: int | None,
    seed: int,
    steps: int | None,
    seconds: float | None,
    name: str = "small",
) -> Recipe:
    """The recipe of this name with what the options change; raises `InvalidInput` for options that contradict.

    steps: of the target; everything else takes as many in proportion. seconds: for both models together.
    """
    if tokenizer not in KINDS:
        raise InvalidInput(f"unknown tokenizer {tokenizer!r}; choose {', '.join(KINDS)}")
    if name not in RECIPES:
        raise InvalidInput(f"unknown recipe {name!r}; choose {' or '.join(RECIPES)}")
    if steps is not None and seconds is not None:
        raise InvalidInput("--steps and --seconds both say how long to train; give one of them")
    made = _named(name, corpus, tokenizer, vocab_size, seed)
    if steps is not None:
        share = steps / made.target_plan.steps
        made = _replanned(made, lambda plan, _: replace(plan, steps=max(1, round(plan.steps * share))))
    if seconds is not None:
        made = _replanned(made, lambda plan, part: replace(plan, seconds=seconds * part))
    return made


def _named(name: str, corpus: Corpus, tokenizer: str, vocab_size: int | None, seed: int) -> Recipe:
    deep = name == "deep"
    usual = DEEP_VOCAB if deep and tokenizer == "letters" else VOCAB[tokenizer]
    made = Recipe(corpus, tokenizer, usual if vocab_size is None else vocab_size, seed)
    if deep:
        return replace(made, target=DEEP, draft=NARROW, target_plan=GROWN, draft_plan=NARROWS, young=YOUNG)
    if tokenizer == "bpe":
        return replace(made, target=PAIRS_LARGE, draft=PAIRS_SMALL, target_plan=PAIRS_LONG, draft_plan=PAIRS_SHORT)
    return made


def _replanned(recipe: Recipe, changed: Callable[[Plan, float], Plan]) -> Recipe:
    """All plans changed, each told its share of the time."""
    young = YOUNG_SHARE if recipe.young else 0.0
    made = replace(
        recipe,
        target_plan=changed(recipe.target_plan, TARGET_SHARE * (1 - young)),
        draft_plan=changed(recipe.draft_plan, 1 - TARGET_SHARE),
    )
    if recipe.young is None:
        return made
    return replace(made, young=replace(recipe.young, plan=changed(recipe.young.plan, TARGET_SHARE * young)))
