"""`generate` of transformers with any verifier and any draft tree: `custom_generate=generate_with("traversal", ..)`.

transformers prepares what it always does, then calls what `generate_with` made instead of its own loop, with those
arguments of `generate` that only this one has: `draft` and `text_streamer`. (`assistant_model` and `streamer` are not
handed on by transformers 5.23.) What the loop cannot do is refused, with the way out. `B` is the number of texts and
`n` the length of the longest prompt; shorter ones have padding on the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

from draftproof.experiments.api.calls import SCHEME
from draftproof.experiments.inputs.schemes import as_scheme
from draftproof.experiments.inputs.verifiers import as_verifier
from draftproof.experiments.models.pair.devices import check_fits, libraries, max_positions
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.experiments.models.pair.tokenizers import TextTokenizer, load_tokenizer
from draftproof.simulator.drafts import UserScheme, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.verifiers import REGISTRY

if TYPE_CHECKING:
    from draftproof.experiments.models.loop.generation import Ends, Piece


#: Settings of `generate` that choose another way of decoding or drafting: the name, and the default values.
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
#: Kinds of caches with the same content as ours; others offload or quantise it.
_CACHES = (None, "dynamic", "static", "sliding_window", "hybrid")
#: What a dictionary of results would hold, row by row.
_ROWS = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
#: Inputs that the loop uses or replaces: it has its own masks, positions and caches.
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


#: What the loop applies, in the order of `generate`: the class, our name, and its attribute.
_APPLIED = {
    "RepetitionPenaltyLogitsProcessor": ("repetition_penalty", "penalty"),
    "NoRepeatNGramLogitsProcessor": ("no_repeat_ngram_size", "ngram_size"),
    "MinLengthLogitsProcessor": ("min_new_tokens", "min_length"),
    "MinNewTokensLengthLogitsProcessor": ("min_new_tokens", "min_new_tokens"),
    "TemperatureLogitsWarper": ("temperature", "temperature"),
    "TopKLogitsWarper": ("top_k", "top_k"),
    "TopPLogitsWarper": ("top_p", "top_p"),
    "MinPLogitsWarper": ("min_p", "min_p"),
    "TypicalLogitsWarper": ("typical_p", "mass"),
}


def sampling_of(processors: Sequence[Any], width: int, names: Sequence[str]) -> Sampling:
    """These processors of logits as a `Sampling` for both models; raises `InvalidInput` for one that is not supported.

    They are those that `generate` made of its settings. Without sampling none has a temperature, and the caller is
    greedy. width: of the prompts with their padding; names: of the tokens, by which masks know them.
    """
    order = [*_APPLIED, "LogitNormalization"]  # the last one changes no probability
    kinds = [type(processor).__name__ for processor in processors]
    for kind in kinds:
        if kind not in order:
            ours = ", ".join(dict.fromkeys(name for name, _ in _APPLIED.values()))
            raise InvalidInput(f"generate asks for {kind}; the loop applies {ours} to both models and no more")
    if kinds != [kind for kind in order if kind in kinds]:
        raise InvalidInput(
            f"generate asks for {', '.join(kinds)}; the loop applies each once, in the order of generate"
        )
    given: dict[str, Any] = {}
    for kind, processor in zip(kinds, processors, strict=True):
        name, attribute = _APPLIED.get(kind, ("", ""))
        if name == "min_new_tokens":
            ends = processor.eos_token_id.tolist()
            if len(ends) != 1:
                raise InvalidInput(f"{attribute} with {len(ends)} tokens that end a text; give one eos_token_id")
            least = getattr(processor, attribute) - (width if attribute == "min_length" else 0)
            given |= {"eos": names[ends[0]], name: max(least, given.get(name, 0))}
        elif name:
            given[name] = getattr(processor, attribute)
        if isinstance(getattr(processor, "prompt_ignore_length", None), int):
            raise InvalidInput("prompt_ignore_length: the loop's repetition_penalty is of the whole text; leave it out")
    return Sampling(**given)


def joined(ours: Sampling, theirs: Sampling) -> Sampling:
    """The settings of `generate_with` and those of `generate`; raises `InvalidInput` where they contradict."""
    for name, value in theirs.settings.items():
        if ours.settings.get(name, value) != value:
            raise InvalidInput(
                f"{name} is {ours.settings[name]} for generate_with and {value} for generate; leave one of them out"
            )
    return Sampling(**{**ours.settings, **theirs.settings})


#: At most one in so many tokens of the larger model may be padding.
PADDING = 32


class Narrow:
    """Wraps the model `wrapped_model` so that it has `size` tokens; other attributes are those of the model."""

    def __init__(self, wrapped_model: Any, own: int, size: int) -> None:
        self.wrapped_model, self._own, self._size = wrapped_model, own, size

    def __call__(self, input_ids: Any, **given: Any) -> Any:
        """The output of the model, with logits for `size` tokens."""
        from torch.nn.functional import pad

        output = self.wrapped_model(input_ids=input_ids.clamp(max=self._own - 1), **given)
        output.logits = pad(output.logits[..., : self._own], (0, self._size - self._own), value=float("-inf"))
        return output

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped_model, name)


def pair_of(target: Any, draft: Any, tokenizer: TextTokenizer | None = None) -> Pair:
    """The two models as a pair; raises `InvalidInput` for two that do not speak the same tokens in the same place.

    One may be padded further than the other: texts are those of the target, its padding included. tokenizer: by whose
    text masks name tokens.
    """
    if draft is None:
        raise InvalidInput(
            "no draft model came along; give it to generate as draft=.. (transformers does not hand on assistant_model)"
        )
    if not hasattr(draft, "config"):
        raise InvalidInput(f"draft={draft!r} is no model; make_draft(.., target) makes those of worlds")
    for name, model in (("the target", target), ("the draft", draft)):
        if model.config.is_encoder_decoder:
            raise InvalidInput(f"{name} ({type(model).__name__}) has an encoder; the loop takes decoders alone")
    sizes = [int(model.config.get_text_config(decoder=True).vocab_size) for model in (target, draft)]
    if abs(sizes[0] - sizes[1]) * PADDING > max(sizes):
        raise InvalidInput(
            f"the target has logits for {sizes[0]} tokens, the draft for {sizes[1]}, which is more than padding; "
            "choose two models with the same tokenizer"
        )
    if target.device != draft.device:
        raise InvalidInput(f"the target is on {target.device}, the draft on {draft.device}; move one to the other")
    reader = Narrow(draft, sizes[1], sizes[0]) if sizes[1] < sizes[0] else draft
    return Pair(target, reader, tokenizer, target.device, target.dtype, sizes[0])


def prompts_of(input_ids: Any, extra: dict[str, Any]) -> tuple[list[list[int]], list[list[int]]]:
    """The tokens of each text, and those of its padding; raises `InvalidInput` where that is not on the left alone.

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
    pairs = list(zip(input_ids, seen.bool(), strict=True))
    return [row[text].tolist() for row, text in pairs], [row[~text].tolist() for row, text in pairs]


def check_length(pair: Pair, prompts: Sequence[Sequence[int]], most: int, depth: int) -> None:
    """Raise `InvalidInput` where `most` tokens after one of the prompts, and the last tree, are beyond the models."""
    longest = max(map(len, prompts))
    for which in ROLES:
        limit = max_positions(pair.model(which))
        left = 0 if limit is None else limit - longest + 1 - depth
        check_fits(
            *(pair.model(which), which, longest + most - 1 + depth),
            f": a prompt of {longest}, {most} new tokens and a tree of depth {depth} do not fit",
            f"max_new_tokens={left} does" if left > 0 else "give a shorter prompt or a smaller tree",
        )


def ends_of(criteria: Any, input_ids: Any, most: int) -> Ends:
    """Whether these criteria of stopping say so of a text after its last token.

    most: how many tokens may follow. They see the padded prompts and the tokens, all texts as long as this one, as in
    `generate`, and no scores; texts that are behind have zeros where they have no token yet.
    """
    texts = input_ids.new_zeros(len(input_ids), input_ids.shape[1] + most)
    texts[:, : input_ids.shape[1]] = input_ids

    def ends(text: int, tokens: Sequence[int]) -> bool:
        length = input_ids.shape[1] + len(tokens)
        texts[text, length - 1] = tokens[-1]
        return len(tokens) >= most or bool(criteria(texts[:, :length], None)[text])

    return ends


@dataclass(frozen=True)
class Generating:
    """See `generate_with`, which makes it."""

    verifier: Verifier
    scheme: DraftScheme
    seed: int | Sequence[int] | None
    vectors: str
    each_block: Callable[[Piece], object] | None
    sampling: str = ""
    draft_sampling: str | None = None
    told: str | None = None
    tokenizer: TextTokenizer | None = None

    def __call__(
        self,
        model: Any,
        input_ids: Any,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        draft: Any = None,
        text_streamer: Any = None,
        **extra: Any,
    ) -> Any:
        """The texts with what was written after them, shape `(B, length)`, or a dictionary of results that holds them.

        Called by `generate`. draft: the draft model. text_streamer: a streamer of transformers, which gets the prompt
        and then every block; one text at a time. Raises `InvalidInput` for what it cannot do.
        """
        from draftproof.experiments.models.loop.generation import pieces
        from draftproof.experiments.models.loop.loop import Loop
        from draftproof.experiments.models.loop.vectors import coin_for

        check_ways(generation_config, extra)
        drawn = bool(generation_config.do_sample)
        pair = pair_of(model, draft, self.tokenizer)
        prompts, paddings = prompts_of(input_ids, extra)
        asked = sampling_of(logits_processor, int(input_ids.shape[1]), pair.token_names)
        pad = _padding(generation_config, stopping_criteria, text_streamer, len(prompts))
        most = int(generation_config.max_length) - int(input_ids.shape[1])
        target = asked if drawn else replace(asked, temperature=0.0)
        check_length(pair, prompts, most, self.scheme.depth)
        used = Samplings.of_target(
            joined(Sampling.parse(self.sampling), target), self.draft_sampling, self.told
        ).telling(self.told)
        loop = Loop(pair, used, self.vectors)
        coins = [coin_for(self.vectors, seed, pair.device) for seed in self._seeds(len(prompts), drawn)]
        texts: list[list[int]] = [[] for _ in prompts]
        ends = ends_of(stopping_criteria, input_ids, most)
        if text_streamer is not None:
            text_streamer.put(input_ids.cpu())
        for piece in pieces(loop, self.verifier, self.scheme, prompts, coins, most, ends, paddings):
            texts[piece.text] += piece.tokens
            if self.each_block is not None:
                self.each_block(piece)
            if text_streamer is not None:
                text_streamer.put(input_ids.new_tensor(piece.tokens).cpu())
        if text_streamer is not None:
            text_streamer.end()
        return _result(input_ids, texts, pad, bool(generation_config.return_dict_in_generate))

    def _seeds(self, texts: int, drawn: bool) -> Sequence[int]:
        if self.seed is None:
            torch, _ = libraries()
            first = int(torch.randint(2**62, (1,))) if drawn else 0  # as `generate`, after torch.manual_seed
        elif not isinstance(self.seed, Sequence):
            first = int(self.seed)
        else:
            if len(self.seed) != texts:
                raise InvalidInput(f"{len(self.seed)} seeds for {texts} texts; give one for each, or a single number")
            return [int(seed) for seed in self.seed]
        return range(first, first + texts)


def generate_with(
    verifier: Any = "traversal",
    scheme: Any = SCHEME,
    seed: int | Sequence[int] | None = None,
    vectors: str = "numpy",
    each_block: Callable[[Piece], object] | None = None,
    lossy: bool = False,
    draft_sampling: str | None = None,
    sampling: str | None = None,
    told: str | None = None,
    tokenizer: Any = None,
) -> Generating:
    """What `model.generate(**inputs, draft=draft, custom_generate=..)` calls to write with this verifier.

    verifier, scheme: objects, or text as on the command line.
    seed: text `i` of a batch has the seed `seed + i`, or the `i`-th of several, and does not hang on its neighbours,
    but for the padding, which `no_repeat_ngram_size` counts, as in transformers; None takes torch's, as `generate`
    does. vectors: "numpy" or "torch", what the verifier gets. each_block: told every block of every text as it comes
    (`Piece`).
    lossy: whether a verifier of the library may write that is not declared lossless on this scheme, so that texts are
    not those of the target. draft_sampling: how tokens are drawn from the draft, where otherwise than from the target,
    such as "temperature=.5". sampling: settings beside those of `generate`, such as masks: "eos=.,regex=(ab|c)*";
    tokenizer: of transformers, by whose text they name tokens, otherwise letters or numbers. told: the `q` that the
    verifier is given, as `told` of `draftproof model validate`; with another than is drawn from, `lossy` is needed.
    A text that has ended before others is padded. transformers does so where an `eos_token_id` is given, else it writes
    on until the last text ends.
    Raises `InvalidInput` for what is no verifier or no scheme, and for two that do not go together.
    """
    _check_seed(seed)
    if told is not None and not lossy:
        raise InvalidInput(
            f"told={told!r}: a verifier that is told another q than drafts are drawn from does not write with the "
            "target's law; give lossy=True if that is what you want"
        )
    Samplings.of_target(Sampling.parse(sampling or ""), draft_sampling, told)
    names = None if tokenizer is None else load_tokenizer(tokenizer)
    named, shape = as_verifier(verifier), as_scheme(scheme)
    card = named.verifier.card
    ours, known = any(card is entry.card for entry in REGISTRY.values()), lossless_for(card)
    if ours and not known and not lossy:
        raise InvalidInput(
            f"{card.name} is declared lossless on no drafts: what it writes does not have the target's law; give "
            "lossy=True if that is what you want, or another verifier"
        )
    if ours and known and not isinstance(shape, UserScheme) and shape.name not in known and not lossy:
        raise InvalidInput(f"{card.name} is not lossless on {shape}; it is on {', '.join(known)}")
    return Generating(
        named.verifier, shape, seed, vectors, each_block, sampling or "", draft_sampling, told, tokenizer=names
    )


def _check_seed(seed: Any) -> None:
    """Raise `InvalidInput` for what is no seed of a text, and no row of them."""
    for number in seed if isinstance(seed, Sequence) and not isinstance(seed, str) else (seed,):
        if seed is not None and not (isinstance(number, Integral) and int(number) >= 0):
            raise InvalidInput(
                f"seed {number!r} is no whole number of at least 0; give one, one for each text, or None"
            )


def _padding(config: Any, criteria: Any, streamer: Any, texts: int) -> int:
    """The padding token after texts that end before others; raises `InvalidInput` where one is needed and not set."""
    pad = config._pad_token_tensor
    if texts > 1 and streamer is not None:
        raise InvalidInput(f"a streamer takes one text, not {texts}; generate_with(.., each_block=..) is told of all")
    if texts > 1 and pad is None and any(type(criterion).__name__ != "MaxLengthCriteria" for criterion in criteria):
        raise InvalidInput(
            "texts may end at different lengths: say what stands behind the shorter ones, pad_token_id=.."
        )
    return 0 if pad is None else int(pad)


def _result(input_ids: Any, texts: Sequence[Sequence[int]], pad: int, as_dictionary: bool) -> Any:
    """What `generate` returns: prompts and texts side by side, padded on the right."""
    torch, transformers = libraries()
    width = max(map(len, texts))
    written = input_ids.new_tensor([[*text, *[pad] * (width - len(text))] for text in texts])
    sequences = torch.cat([input_ids, written], dim=1)
    if not as_dictionary:
        return sequences
    return transformers.generation.GenerateDecoderOnlyOutput(sequences=sequences)
