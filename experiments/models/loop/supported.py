"""Whether a model supports tree attention: it must obey given masks and positions, and have plain key-value caches."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any
from weakref import WeakKeyDictionary

import torch

from draftproof.experiments.models.loop.caches import forward, prompt_pass, windows_of
from draftproof.experiments.models.pair.devices import check_fits, within_memory
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.experiments.models.pair.roots import Roots
from draftproof.simulator.errors import InvalidInput

#: Largest rounding difference of a logit relative to the largest one, between passes of different shapes.
_ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}

#: Sliding windows of at most so many tokens are tested with a text that is longer.
_SHORT = 64

#: Models that were tested, with the settings then: the test takes some passes, and `generate` is called often.
_TRIED: WeakKeyDictionary[Any, tuple[str, torch.dtype, torch.device, bool]] = WeakKeyDictionary()


def check_supported(model: Any, name: str) -> None:
    """Raise `InvalidInput` for a model that tree attention would not work with.

    Checks the kind of its attention and caches, and then runs it: four sibling tokens in one pass must each get the
    logits that they get alone. A model is tested once.
    """
    attention = getattr(model.config, "_attn_implementation", None) or "eager"
    model = getattr(model, "wrapped_model", model)
    tried = attention, model.dtype, model.device, model.training
    if _TRIED.get(model) == tried:
        return
    if attention not in ("eager", "sdpa"):
        raise InvalidInput(f"{name}: attention {attention!r} takes no mask of ours; use attn_implementation='sdpa'")
    kinds = _odd_caches(model)
    if kinds:
        raise InvalidInput(
            f"{name} ({type(model).__name__}) has {' and '.join(kinds)}, which cannot read several paths in one pass; "
            "use a model with full or sliding-window attention in every layer"
        )
    try:
        with within_memory(f"trying {name}", model.device):
            difference = _probe(model)
    except InvalidInput:
        raise
    except Exception as error:  # models raise anything for arguments that they do not support
        raise InvalidInput(
            f"{name} ({type(model).__name__}) takes no 4-dimensional attention mask with positions and a cache "
            f"({type(error).__name__}); use a decoder such as Llama, Qwen or GPT-2"
        ) from error
    if not difference <= _ROUNDING.get(model.dtype, 1e-1):  # true for NaN
        if model.training:
            raise InvalidInput(f"{name} ({type(model).__name__}) is in training mode; call its eval()")
        raise InvalidInput(
            f"{name} ({type(model).__name__}) does not obey a tree mask: logits are off by {difference:.1g} of the "
            "largest; use a decoder such as Llama, Qwen or GPT-2"
        )
    _TRIED[model] = tried


def _odd_caches(model: Any) -> list[str]:
    """What a model caches other than keys and values of every token."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    if getattr(model, "_is_stateful", False):
        return ["a recurrent state"]
    if "local" in (getattr(model.config, "attention_layers", None) or ()):
        return ["local attention"]
    if getattr(model.config.get_text_config(decoder=True), "attention_chunk_size", None):
        return ["chunked attention"]
    kinds = {type(layer) for layer in DynamicCache(config=model.config).layers}
    return sorted(kind.__name__ for kind in kinds - {DynamicLayer, DynamicSlidingWindowLayer})


@torch.inference_mode()
def _probe(model: Any) -> float:
    """The largest difference between logits of siblings in one pass and in separate passes, over the largest logit.

    They follow one token, or a text longer than the sliding windows of the model where these are short.
    """
    size = model.config.get_text_config(decoder=True).vocab_size
    windows = [window for window in windows_of(model).values() if window is not None and window <= _SHORT]
    first = [token % size for token in range(1 + max(windows, default=0))]
    others = [(token + 1) % size for token in range(4)]
    device = model.device
    _, before = prompt_pass(model, first, device)
    tokens = torch.tensor([others], device=device)
    sees = torch.cat([before.held[:, None].expand(-1, 4, -1), torch.eye(4, dtype=torch.bool, device=device)[None]], 2)
    together, _ = forward(model, before, tokens, torch.full_like(tokens, len(first)), sees)
    alone = model(torch.tensor([[*first, token] for token in others], device=device)).logits[:, -1]
    return float((together.logits[0] - alone).abs().max() / alone.abs().max())


def check_prompt(pair: Pair, prompt: Sequence[int], more: int) -> None:
    """Raise `InvalidInput` unless a prompt has tokens of the vocabulary and both models can read `more` after it."""
    if not len(prompt):
        raise InvalidInput("the prompt is empty; give at least one token to start from")
    wrong = [token for token in prompt if not 0 <= token < pair.vocab_size]
    if wrong:
        raise InvalidInput(f"the prompt has token {wrong[0]}; tokens are 0..{pair.vocab_size - 1}")
    asked = f": a prompt of {len(prompt)} and {more} more do not fit"
    for which in ROLES:
        check_fits(pair.model(which), which, len(prompt) + more, asked, "give a shorter prompt or a smaller tree")


def check_roots(pair: Pair, roots: Roots, depth: int) -> None:
    """Raise `InvalidInput`, for a command, where a block of this depth does not fit after one of its roots."""
    for root, name in zip_longest(roots.contexts, roots.names, fillvalue="a root"):
        asked = f": {name} has {len(root)} and a tree of depth {depth} does not fit after it"
        for which in ROLES:
            way_out = "context=N keeps the last N tokens; L1, L2 or scheme name smaller trees"
            check_fits(pair.model(which), which, len(root) + depth + 1, asked, way_out)
