"""Train one small causal language model on tokens: the same numbers in, the same model out.

That holds for one machine, number of threads and set of versions, for sums are rounded in the order they are taken in.

AdamW with a linear warm-up and a cosine decay over windows drawn at random. A run is given by its number of steps; with
a limit in seconds the schedule follows the clock instead, and the number of steps that were done is part of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, log, pi
from statistics import fmean
from time import perf_counter
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.devices import libraries, within_memory
from draftproof.simulator.errors import InvalidInput

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
    heart. decay: weight decay. Raises `InvalidInput` for counts below 1, a rate or a time that is not positive, and a
    noise outside 0 to 1.
    """

    steps: int
    batch: int = 8
    window: int = 128
    rate: float = 3e-3
    noise: float = 0.0
    decay: float = 0.1
    seconds: float | None = None

    def __post_init__(self) -> None:
        if min(self.steps, self.batch) < 1 or self.window < 2:
            raise InvalidInput(
                f"training of {self.steps} steps with {self.batch} windows of {self.window} tokens is none; "
                "use at least 1 step, 1 window and 2 tokens"
            )
        if not self.rate > 0 or (self.seconds is not None and not self.seconds > 0):
            raise InvalidInput(f"learning rate {self.rate} and seconds {self.seconds} must be above 0")
        if not (0 <= self.noise < 1 and self.decay >= 0):
            raise InvalidInput(
                f"noise {self.noise} must be at least 0 and below 1, weight decay {self.decay} at least 0"
            )


@dataclass(frozen=True)
class Trained:
    """A trained model in evaluation mode, the steps done, and the mean loss of the last tenth, in bits per token."""

    model: Any
    steps: int
    loss: float


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


def train(model: Any, tokens: Any, plan: Plan, seed: int, device: Any, tick: Callable[[float], None]) -> Trained:
    """Train `model` in place on tokens of shape `(n,)`; `tick` is told the share of the work that each step was.

    Raises `InvalidInput` where the text is shorter than a window or the device has no space.
    """
    torch, _ = libraries()
    if len(tokens) <= plan.window + 1:
        raise InvalidInput(
            f"{len(tokens)} training tokens are too few for windows of {plan.window}; give a longer text"
        )
    generator = np.random.default_rng(seed)
    text, offsets = torch.as_tensor(tokens, device=device), torch.arange(plan.window + 1, device=device)
    losses: list[float] = []
    begun, done = perf_counter(), 0.0
    with within_memory("training", device):
        model = model.to(device).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=plan.rate, betas=(0.9, 0.95), weight_decay=plan.decay)
        while done < 1:
            starts = generator.integers(0, len(tokens) - plan.window, plan.batch)
            windows = text[torch.as_tensor(starts, device=device)[:, None] + offsets]
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * rate_at(len(losses), done)
            entered = _noisy(windows[:, :-1], plan.noise, model.config.vocab_size, generator)
            losses.append(_step(model, optimizer, entered, windows[:, 1:]))
            before, done = done, _share(plan, len(losses), begun)
            tick(min(done, 1.0) - before)
    last = fmean(losses[-max(1, len(losses) // 10) :])
    return Trained(model.eval().requires_grad_(False), len(losses), last / log(2))


def _share(plan: Plan, steps: int, begun: float) -> float:
    """How much of the work is done, from 0 to 1."""
    return steps / plan.steps if plan.seconds is None else (perf_counter() - begun) / plan.seconds


def rate_at(step: int, done: float) -> float:
    """The learning rate as a share of its largest value."""
    return min(1.0, (step + 1) / WARM_UP) * (0.05 + 0.95 * (1 + cos(pi * done)) / 2)


def _noisy(tokens: Any, share: float, vocab_size: int, generator: np.random.Generator) -> Any:
    """Tokens of which this share, on average, is replaced by random ones."""
    torch, _ = libraries()
    if share == 0:
        return tokens
    replaced = torch.from_numpy(generator.random(tokens.shape) < share).to(tokens.device)
    others = torch.from_numpy(generator.integers(0, vocab_size, tokens.shape)).to(tokens.device)
    return torch.where(replaced, others, tokens)


def _step(model: Any, optimizer: Any, entered: Any, wanted: Any) -> float:
    """One step; the loss before it, in nats per token."""
    torch, _ = libraries()
    logits = model(entered, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
    optimizer.step()
    # As a number: tensors that stay would each hold a corner of the memory that the next step's logits need, a
    # gigabyte in a hundred steps; and a clock that limits the training must not run ahead of the device.
    return float(loss.detach())
