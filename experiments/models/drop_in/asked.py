"""What `generate` of transformers asks for, in our words; what we cannot do is refused, with the way out.

`B` is the number of texts and `n` the length of the longest prompt; shorter ones have padding on the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.models.loop.texts import Ends
from draftproof.experiments.models.pair.devices import libraries
from draftproof.experiments.models.pair.narrow import Narrow, alike
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.errors import InvalidInput

#: Settings of a generation that are another way of writing or drafting: the name, and what it is where nobody asks.
_OTHER_WAYS: dict[str, tuple[Any, ...]] = {
    "num_beams": (None, 1),
    "constraints": (None,),
    "force_words_ids": (None,),
    "penalty_alpha": (None, 0),
    "dola_layers": (None,),
    "prompt_lookup_num_tokens": (None,),
    "assistant_early_exit": (None,),
    "use_mtp": (None, False),
}
#: Caches that hold what ours hold, in another place; others hold it elsewhere, or rounded.
_CACHES = (None, "dynamic", "static", "sliding_window", "hybrid")
#: What a dictionary of results would hold, row by row.
_ROWS = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
#: What the loop reads by itself, or makes itself: its own masks, positions and caches.
_READ = {"attention_mask", "position_ids", "past_key_values", "use_cache", "logits_to_keep"}


def check_ways(config: Any, extra: dict[str, Any]) -> None:
    """Raise `InvalidInput` for settings that the loop cannot follow, and for inputs that it does not read."""
    for name, usual in _OTHER_WAYS.items():
        value = getattr(config, name, None)
        if value not in usual:
            raise InvalidInput(f"generate with {name}={value!r} is another way of generating; leave it out")
    for name in _ROWS if config.return_dict_in_generate else ():
        if getattr(config, name, None):
            raise InvalidInput(f"{name}=True: a block keeps no rows of the models; leave it out")
    for name, value in extra.items():
        if name not in _READ and value is not None:
            raise InvalidInput(f"generate was given {name}, which the loop does not read; it takes text alone")
    cache = getattr(config, "cache_implementation", None)
    if cache not in _CACHES:
        raise InvalidInput(f"cache_implementation={cache!r}: the loop keeps plain caches of its own; leave it out")
    if getattr(extra.get("past_key_values"), "_is_user_defined", False):
        raise InvalidInput("past_key_values: the loop keeps caches of its own; give the whole text as input_ids")


def warp_of(processors: Sequence[Any]) -> Warp:
    """What these processors of logits do, for both models; raises `InvalidInput` for one that we cannot apply.

    They are those that `generate` made of its settings. Without sampling there are none, and the caller is greedy.
    """
    fields = {"TemperatureLogitsWarper": "temperature", "TopKLogitsWarper": "top_k", "TopPLogitsWarper": "top_p"}
    order = [*fields, "LogitNormalization"]  # the last one changes no probability
    names = [type(each).__name__ for each in processors]
    for name in names:
        if name not in order:
            raise InvalidInput(
                f"generate asks for {name}; the loop applies temperature, top_k and top_p to both models and no more"
            )
    if names != [name for name in order if name in names]:
        raise InvalidInput(f"generate asks for {', '.join(names)}; the loop applies each once, temperature first")
    given = {
        fields[name]: getattr(each, fields[name])
        for name, each in zip(names, processors, strict=True)
        if name in fields
    }
    return Warp(**given)


def pair_of(target: Any, draft: Any) -> Pair:
    """The two models as a pair; raises `InvalidInput` for two that do not speak the same tokens in the same place.

    One may be padded further than the other: texts are those of the target, its padding included.
    """
    if draft is None:
        raise InvalidInput("no draft model came along; give it to generate: assistant_model=..")
    if not hasattr(draft, "config"):
        raise InvalidInput(
            f"assistant_model={draft!r} is no model; make_draft(.., target) makes those that --draft can name"
        )
    for name, model in (("the target", target), ("the draft", draft)):
        if model.config.is_encoder_decoder:
            raise InvalidInput(f"{name} ({type(model).__name__}) has an encoder; the loop takes decoders alone")
    sizes = [int(model.config.get_text_config(decoder=True).vocab_size) for model in (target, draft)]
    if not alike(*sizes):
        raise InvalidInput(
            f"the target has logits for {sizes[0]} tokens, the draft for {sizes[1]}, which is more than padding; "
            "choose two models with the same tokenizer"
        )
    if target.device != draft.device:
        raise InvalidInput(f"the target is on {target.device}, the draft on {draft.device}; move one to the other")
    reader = Narrow(draft, sizes[1], sizes[0]) if sizes[1] < sizes[0] else draft
    return Pair(target, reader, None, target.device, target.dtype, sizes[0])


def prompts_of(input_ids: Any, extra: dict[str, Any]) -> list[list[int]]:
    """The tokens of each text without its padding; raises `InvalidInput` where padding is not on the left alone.

    input_ids: shape `(B, n)`.
    """
    torch, _ = libraries()
    mask = extra.get("attention_mask")
    seen = torch.ones_like(input_ids) if mask is None else (mask != 0).to(input_ids)
    if seen.shape != input_ids.shape or bool((seen.diff(dim=1) < 0).any()):
        raise InvalidInput(
            "attention_mask hides tokens behind others; pad on the left: tokenizer.padding_side = 'left'"
        )
    positions = extra.get("position_ids")
    usual = (seen.cumsum(1) - 1).clamp(min=0)
    if positions is not None and not (positions.ndim == 2 and bool((positions.to(usual) == usual).all())):
        raise InvalidInput("position_ids are not those of the text; leave them out")
    return [row[kept.bool()].tolist() for row, kept in zip(input_ids, seen, strict=True)]


def ends_of(criteria: Any, input_ids: Any, most: int) -> Ends:
    """Whether these criteria of stopping, asked about one text at a time, say so after its last token.

    most: how many tokens may follow. They see the padded prompt and the tokens, as in `generate`, and no scores.
    """
    texts = input_ids.new_zeros(len(input_ids), input_ids.shape[1] + most)
    texts[:, : input_ids.shape[1]] = input_ids

    def ends(text: int, tokens: Sequence[int]) -> bool:
        length = input_ids.shape[1] + len(tokens)
        texts[text, length - 1] = tokens[-1]
        return len(tokens) >= most or bool(criteria(texts[text : text + 1, :length], None).any())

    return ends
