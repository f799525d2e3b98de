"""Train a small pair of causal language models; the same recipe gives the same models.

That holds on one machine, with one number of threads and one set of versions, as these decide the order of sums.
AdamW with a linear warm-up and a cosine decay over windows drawn at random.

A target with many layers is trained with few first. Then copies of each layer are inserted behind it with output
weights 0, which change nothing until they are trained (function-preserving growth, Net2Net, arXiv:1511.05641).
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from math import cos, log, pi
from statistics import fmean
from typing import Any

import numpy as np

from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.devices import libraries, within_memory
from draftproof.experiments.models.pair.tokenizers import KINDS
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.progress import Progress

#: Longest text that a trained model can be asked about, in tokens.
LONGEST = 4096
WARM_UP = 20
LARGEST_GRADIENT = 1.0


@dataclass(frozen=True)
class Size:
    """How large a model is. heads divides hidden; tied: one matrix for the tokens read and the tokens predicted."""

    hidden: int
    layers: int
    heads: int
    tied: bool = False

    @property
    def inner(self) -> int:
        """Width of the feed-forward layers: 8/3 of the hidden width, in multiples of 8."""
        return -(-self.hidden * 8 // 24) * 8


@dataclass(frozen=True)
class Plan:
    """How a model is trained. Windows hold `window` tokens; `batch` of them make a step.

    noise: share of the tokens read that are replaced by random ones, so that a text seen many times is not learned by
    heart. decay: weight decay. Raises `InvalidInput` for counts below 1, a rate that is not positive, and for a noise
    outside 0 to 1.
    """

    steps: int
    batch: int = 8
    window: int = 128
    rate: float = 3e-3
    noise: float = 0.0
    decay: float = 0.1

    def __post_init__(self) -> None:
        if min(self.steps, self.batch) < 1 or self.window < 2:
            raise InvalidInput(
                f"training of {self.steps} steps with {self.batch} windows of {self.window} tokens is none; "
                "use at least 1 step, 1 window and 2 tokens"
            )
        if not self.rate > 0:
            raise InvalidInput(f"learning rate {self.rate} must be above 0")
        if not (0 <= self.noise < 1 and self.decay >= 0):
            raise InvalidInput(
                f"noise {self.noise} must be at least 0 and below 1, weight decay {self.decay} at least 0"
            )


def new_model(size: Size, vocab_size: int, seed: int) -> Any:
    """A Llama-type model with random weights that depend on nothing but the arguments; no token is special."""
    torch, transformers = libraries()
    config = transformers.LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=size.hidden,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        max_position_embeddings=LONGEST,
        initializer_range=size.hidden**-0.5,  # the usual 0.02 is for wide models; narrow ones then learn slowly
        tie_word_embeddings=size.tied,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.LlamaForCausalLM(config)


def train(model: Any, tokens: Any, plan: Plan, seed: int, device: Any, tick: Progress) -> float:
    """Train `model` in place on tokens of shape `(n,)`; the mean loss of the last tenth of the steps, in bits a token.

    `tick` is called with 1 after every step.

    Raises as `fitted`.
    """
    torch, _ = libraries()
    generator = np.random.default_rng(seed)

    def losses_of(windows: Any) -> tuple[Any, Any]:
        entered = _noisy(windows[:, :-1], plan.noise, model.config.vocab_size, generator)
        logits = model(entered, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        return loss, loss

    with within_memory("training", device):
        model.to(device)
    return fitted(model, tokens, plan, generator, plan.window + 1, losses_of, tick)


def fitted(
    model: Any,
    tokens: Any,
    plan: Plan,
    generator: np.random.Generator,
    length: int,
    losses_of: Callable[[Any], tuple[Any, Any]],
    tick: Progress,
) -> float:
    """Train a model in place, then without gradients; the mean shown loss of the last tenth of the steps, in bits.

    length: tokens of a window that is drawn. losses_of: the loss of windows, shape `(batch, length)`, and the one that
    is shown, in nats. tick: as for `train`.
    Raises `InvalidInput` where the text is shorter than a window or the device has no space.
    """
    torch, _ = libraries()
    if len(tokens) <= plan.window + 1:
        raise InvalidInput(
            f"{len(tokens)} training tokens are too few for windows of {plan.window}; give a longer text"
        )
    device = next(model.parameters()).device
    text, offsets = torch.as_tensor(np.asarray(tokens), device=device), torch.arange(length, device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.rate, betas=(0.9, 0.95), weight_decay=plan.decay)
    losses: list[float] = []
    model.train()
    with within_memory("training", device):
        for step in range(plan.steps):
            starts = generator.integers(0, len(tokens) - plan.window, plan.batch)
            windows = text[torch.as_tensor(starts, device=device)[:, None] + offsets]
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * rate_at(step, step / plan.steps)
            loss, shown = losses_of(windows)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
            optimizer.step()
            # As a number: stored tensors would fragment the memory for the next logits, a gigabyte in a hundred steps.
            losses.append(float(shown.detach()))
            tick(1)
    model.eval().requires_grad_(False)
    return fmean(losses[-max(1, len(losses) // 10) :]) / log(2)


def rate_at(step: int, done: float) -> float:
    """The learning rate as a share of its largest value."""
    return min(1.0, (step + 1) / WARM_UP) * (0.05 + 0.95 * (1 + cos(pi * done)) / 2)


def _noisy(tokens: Any, share: float, vocab_size: int, generator: np.random.Generator) -> Any:
    torch, _ = libraries()
    if share == 0:
        return tokens
    replaced = torch.from_numpy(generator.random(tokens.shape) < share).to(tokens.device)
    others = torch.from_numpy(generator.integers(0, vocab_size, tokens.shape)).to(tokens.device)
    return torch.where(replaced, others, tokens)


def grown(model: Any, layers: int) -> Any:
    """A Llama-type model of so many layers with the function of `model`, which stays as it is.

    Raises `InvalidInput` where that is no multiple of the layers there are.
    """
    torch, _ = libraries()
    before = model.config.num_hidden_layers
    if layers < before or layers % before:
        raise InvalidInput(f"{before} layers do not grow to {layers}; choose a multiple of {before}")
    larger = deepcopy(model)
    larger.config.num_hidden_layers = layers
    larger.config.layer_types = None
    stack = []
    for layer in larger.model.layers:
        stack.append(layer)
        for _ in range(layers // before - 1):
            copy = deepcopy(layer)
            for last in (copy.self_attn.o_proj, copy.mlp.down_proj):
                torch.nn.init.zeros_(last.weight)
            stack.append(copy)
    for number, layer in enumerate(stack):
        layer.self_attn.layer_idx = number
    larger.model.layers = torch.nn.ModuleList(stack)
    return larger.requires_grad_(True)


@dataclass(frozen=True)
class InitialTarget:
    """A target before it grows: the number of its layers, and the plan of its first training."""

    layers: int
    plan: Plan


@dataclass(frozen=True)
class Recipe:
    """A text, a tokenizer, a seed, and for each model a size and a training plan. initial: the target before growth."""

    corpus: Corpus
    tokenizer: str = "letters"
    vocab_size: int = 8
    seed: int = 0
    target: Size = Size(hidden=128, layers=3, heads=8)
    draft: Size = Size(hidden=32, layers=1, heads=2)
    target_plan: Plan = Plan(steps=800)
    draft_plan: Plan = Plan(steps=600, rate=1e-2)
    initial: InitialTarget | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """All fields as plain data, with the hash of the text in place of its name."""
        return {
            "text_hash": self.corpus.digest,
            "tokenizer": self.tokenizer,
            "vocab_size": self.vocab_size,
            "seed": self.seed,
            "target": {**asdict(self.target), **asdict(self.target_plan)},
            "draft": {**asdict(self.draft), **asdict(self.draft_plan)},
            **({"young": {"layers": self.initial.layers, **asdict(self.initial.plan)}} if self.initial else {}),
        }

    @property
    def strong_id(self) -> str:
        return strong_id(self.configuration)


#: A target of many layers, most of them inserted late, so that it is trained in minutes.
_DEEP: dict[str, Any] = {
    "target": Size(hidden=128, layers=64, heads=8),
    "draft": Size(hidden=64, layers=1, heads=2),
    "target_plan": Plan(steps=80, rate=1e-3),
    "draft_plan": Plan(steps=800, rate=6e-3),
    "initial": InitialTarget(8, Plan(steps=1200)),
}
#: A text in byte pairs has few tokens of many kinds: the target reads it often and needs noise against overfitting.
_BYTE_PAIRS: dict[str, Any] = {
    "target": Size(hidden=128, layers=3, heads=8, tied=True),
    "draft": Size(hidden=64, layers=1, heads=2, tied=True),
    "target_plan": Plan(steps=1600, noise=0.1, decay=0.3),
    "draft_plan": Plan(steps=600, rate=6e-3),
}
#: The fields of recipes by their name, then by the tokenizer.
RECIPES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "small": {"letters": {}, "bpe": {"vocab_size": 2048, **_BYTE_PAIRS}},
    "deep": {"letters": {"vocab_size": 64, **_DEEP}, "bpe": {"vocab_size": 2048, **_DEEP}},
}


def choose_recipe(
    corpus: Corpus, tokenizer: str, vocab_size: int | None, seed: int, steps: int | None, name: str = "small"
) -> Recipe:
    """The recipe of this name with what the options change; raises `InvalidInput` for an unknown one.

    steps: of the target; those of the other plans are scaled in proportion.
    """
    if tokenizer not in KINDS:
        raise InvalidInput(f"unknown tokenizer {tokenizer!r}; choose {', '.join(KINDS)}")
    if name not in RECIPES:
        raise InvalidInput(f"unknown recipe {name!r}; choose {' or '.join(RECIPES)}")
    made = Recipe(corpus, tokenizer, seed=seed, **RECIPES[name][tokenizer])
    if vocab_size is not None:
        made = replace(made, vocab_size=vocab_size)
    if steps is None:
        return made
    share = steps / made.target_plan.steps

    def scaled(plan: Plan) -> Plan:
        return replace(plan, steps=max(1, round(plan.steps * share)))

    initial = made.initial and replace(made.initial, plan=scaled(made.initial.plan))
    return replace(made, target_plan=scaled(made.target_plan), draft_plan=scaled(made.draft_plan), initial=initial)
