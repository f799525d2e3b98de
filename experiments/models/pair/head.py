"""A head as a draft: one or two decoder layers on the target's features and the next token.

At a token the layers read the token's embedding joined with the feature of the token before it. What they put out
becomes a row, and the feature that the head expects at the token. For tokens of the text the features are the target's;
in a tree, which the target has not read yet, they are the head's own. So a row depends on where the tree begins:
`continued` computes the rows that the loop has. Kinds of heads (`drafts.HEADS`) are fields of one configuration:

- `eagle` ([2401.15077](https://arxiv.org/abs/2401.15077)): a feature is what the target's output layer reads; the same
  layer turns what the head puts out into a row.
- `griffin` ([2502.11018](https://arxiv.org/abs/2502.11018)): as `eagle`, with token-guided fusion and two outputs. The
  joined state, beside the token's embedding once more, goes through two linear maps with an activation between them,
  and the result is added to it. Departures: the expected feature is a linear map of the output, added to it, where the
  paper widens the layer; both norms of the fusion are separate.
- `eagle3` ([2503.01840](https://arxiv.org/abs/2503.01840)): a feature is a linear map of what the first, the middle and
  the last layer of the target put out, joined; the output layer is the head's own. Nothing asks it to predict features:
  in a tree it reads its own output, whatever that is. Departures: which layers; token and feature are joined before the
  layer rather than in its attention; the output layer has all tokens, where the paper keeps the frequent ones; it
  starts as a copy of the target's.
- `specblock` ([2605.07243](https://arxiv.org/abs/2605.07243)): as `eagle3` with two layers; one pass gives the rows of
  `K` places, the next depths of a tree. Where a block starts the layers read the token and `K - 1` further places that
  have a learned vector each instead of a token, with the same feature. Between two layers every place gets, beside its
  own state, that of the place before it. Place `k` gives the row after `k` more tokens, whichever they are. The next
  block starts `K` tokens later; its tokens inherit the output of the places that predicted them as their features.
  Departures: blocks follow one another, where the paper may start one at any place; a pass reads all tokens since the
  block before, where the paper reads the last one; the rank head is a rule of the draft scheme `specblock`; nothing is
  updated while texts are written.

Departures of all: a layer is always a Llama layer, the last one followed by a norm; trees and their passes are those of
the loop. `H` is the width of the target, `V` its vocabulary size. The embedding is the target's, not a copy.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, cast

import torch
from torch.nn.functional import pad, silu
from transformers import DynamicCache, LlamaConfig, LlamaModel, PreTrainedConfig, PreTrainedModel
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import CausalLMOutputWithPast

from draftproof.experiments.models.pair.devices import quiet_loading
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.pair.hidden import additive, features_of, layers_of, shifted
from draftproof.experiments.models.pair.loading import Located, check_files
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import parse_json, read_text


class HeadConfig(PreTrainedConfig):  # type: ignore[misc]
    """hidden_size: `H`, a multiple of the number of attention heads. kind: of `HEADS`, whose fields it has.

    three_layers: whether features are made of three layers of the target. own_output: whether the output layer is not
    the target's. guided: whether token and feature are fused as in GRIFFIN. second_output: whether the expected feature
    is another output than the one that rows are made of. places: how many depths get their rows from one pass.
    """

    model_type = "draftproof_head"
    vocab_size: int = 2
    hidden_size: int = 8
    num_attention_heads: int = 1
    num_hidden_layers: int = 1
    kind: str = "eagle"
    three_layers: bool = False
    own_output: bool = False
    guided: bool = False
    second_output: bool = False
    places: int = 1
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None


class Head(PreTrainedModel):  # type: ignore[misc]
    """The head as a model of transformers; `of` sets the target that it drafts for."""

    config_class = HeadConfig
    config: HeadConfig
    reads_features = True
    _supports_sdpa = True

    def __init__(self, config: HeadConfig) -> None:
        super().__init__(config)
        width = config.hidden_size

        def linear(inputs: int, outputs: int) -> torch.nn.Linear:
            return torch.nn.Linear(inputs * width, outputs, bias=False)

        self.joined = linear(2, width)
        inner = LlamaConfig(
            vocab_size=1,  # its input is embedded already
            hidden_size=width,
            intermediate_size=-(-width * 8 // 24) * 8,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            num_key_value_heads=config.num_attention_heads,
            initializer_range=width**-0.5,
            bos_token_id=None,
            eos_token_id=None,
        )
        self.layer = LlamaModel(inner)
        if config.guided:
            self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))
            self.widened, self.narrowed = linear(2, 2 * width), linear(2, width)
        if config.second_output:
            self.second = linear(1, width)
        if config.three_layers:
            self.fused = linear(3, width)
        if config.own_output:
            self.output = linear(1, config.vocab_size)
        if config.places > 1:
            self.place_vectors = torch.nn.Embedding(config.places, width)
        self.shifts = torch.nn.ModuleList(linear(2, width) for _ in range(config.num_hidden_layers - 1))
        self._targets: tuple[Any, ...] = ()  # in a tuple, so that torch does not register it as a submodule
        self.post_init()

    @property
    def places(self) -> int:
        """How many depths of a tree get their rows from one pass."""
        return self.config.places

    def of(self, target: Any) -> Self:
        """The head on the target's device, drafting for it; raises `InvalidInput` where sizes differ."""
        text = target.config.get_text_config(decoder=True)
        there, own = (text.hidden_size, text.vocab_size), (self.config.hidden_size, self.config.vocab_size)
        if there != own:
            raise InvalidInput(
                f"the head is for width {own[0]} and {own[1]} tokens, the target has {there[0]} and {there[1]}; "
                f"train one for it: draftproof model train --kind {self.config.kind}"
            )
        self._targets = (target,)
        self.to(target.device, target.dtype)
        return self

    @property
    def target(self) -> Any:
        """The model that it drafts for."""
        return self._targets[0]

    def watching(self) -> AbstractContextManager[list[torch.Tensor]]:
        """In the body, what the head looks at in every pass of its target, each for `taken`."""
        return layers_of(self.target) if self.config.three_layers else features_of(self.target)

    def taken(self, seen: torch.Tensor) -> torch.Tensor:
        """The features, shape `(B, n, H)`, from what `watching` has of a pass."""
        return cast(torch.Tensor, self.fused(seen)) if self.config.three_layers else seen

    def _entered(self, embedded: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """What the layers read at every token."""
        joined = cast(torch.Tensor, self.joined(torch.cat([embedded, features], -1)))
        if not self.config.guided:
            return joined
        both = torch.cat([norm(part) for norm, part in zip(self.norms, (joined, embedded), strict=True)], -1)
        return joined + cast(torch.Tensor, self.narrowed(silu(self.widened(both))))

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        features: torch.Tensor | None = None,
        places: torch.Tensor | None = None,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """The logits after each token; `hidden_states` holds the features that the head expects there.

        features: those of the token before each, shape `(B, n, H)`. If missing, a pass of the target over the text
        computes them; with a cache they are zeros. places: which place of a block each entry is, shape `(B, n)`, 0 for
        a token. An entry of a place above 0 stands behind that of the place before it, and its token is not read.
        """
        embedded = self.target.get_input_embeddings()(input_ids)
        if features is None:
            whole = past_key_values is None
            features = shifted(self.target_features(input_ids, attention_mask)) if whole else torch.zeros_like(embedded)
        later = None if places is None else (places > 0)[..., None]
        if later is not None:
            embedded = torch.where(later, self.place_vectors(cast(torch.Tensor, places)), embedded)
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        entered = self._entered(embedded, features)
        states = self._through(entered, later, attention_mask, position_ids, past_key_values, use_cache)
        output_layer = self.output if self.config.own_output else self.target.get_output_embeddings()
        logits = output_layer(states)
        expected = states + self.second(states) if self.config.second_output else states
        return CausalLMOutputWithPast(
            logits=logits, past_key_values=past_key_values, hidden_states=cast(Any, (expected,))
        )

    def _through(
        self,
        states: torch.Tensor,
        later: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        position_ids: torch.Tensor | None,
        cache: Any,
        use_cache: bool | None,
    ) -> torch.Tensor:
        """What the layers put out. later: which entries are places above 0, shape `(B, n, 1)`."""
        if position_ids is None:
            before = cache.get_seq_length() if cache is not None else 0
            position_ids = torch.arange(before, before + states.shape[1], device=states.device)[None]
        mask = create_causal_mask(
            config=self.layer.config,
            inputs_embeds=states,
            attention_mask=attention_mask,
            past_key_values=cache,
            position_ids=position_ids,
        )
        turned = self.layer.rotary_emb(states, position_ids=position_ids)
        for number, layer in enumerate(self.layer.layers):
            if number:
                before_it = pad(states[:, :-1], (0, 0, 1, 0))
                above = states if later is None else torch.where(later, before_it, states)
                states = self.shifts[number - 1](torch.cat([states, above], -1))
            states = layer(
                states,
                attention_mask=mask,
                position_embeddings=turned,
                position_ids=position_ids,
                past_key_values=cache,
                use_cache=use_cache,
            )
        return cast(torch.Tensor, self.layer.norm(states))

    @torch.no_grad()
    def target_features(self, tokens: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The target's features at these tokens of whole texts, shape `(B, n, H)`."""
        with self.watching() as seen:
            self.target(tokens, attention_mask=mask, use_cache=False)
        return self.taken(seen[0])

    @torch.no_grad()
    def continued(self, root: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        """The logits after `root + context` where trees begin after the root, shape `(n, V)`, block by block.

        root: the text before the tree, shape `(1, m)`; contexts: shape `(n, length)`.
        """
        count, length = contexts.shape
        features, cache = shifted(self.target_features(root)), DynamicCache()
        read = torch.zeros(0, dtype=torch.bool, device=root.device)  # which entries of the cache are tokens
        logits, features = self._block(root, features, cache, read)
        for start in range(0, length - length % self.places, self.places):
            if not start:
                cache.batch_repeat_interleave(count)
                features = features.expand(count, -1, -1)
            tokens = torch.ones(cache.get_seq_length(), dtype=torch.bool, device=root.device)
            tokens[: len(read)] = read
            tokens[len(tokens) - self.places + 1 :] = False
            read = tokens
            logits, features = self._block(contexts[:, start : start + self.places], features, cache, read)
        return logits[:, length % self.places].expand(count, -1)

    def _block(
        self, tokens: torch.Tensor, features: torch.Tensor, cache: Any, read: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits and states of the places of a block that starts at the last of these tokens.

        read: which entries of the cache are tokens, shape `(S,)`; all of these see the new ones.
        """
        more, count = self.places - 1, tokens.shape[1]
        inputs: dict[str, Any] = {}
        if more:
            new = torch.ones(count + more, count + more, dtype=torch.bool, device=read.device).tril()
            sees = torch.cat([read.expand(len(new), -1), new], 1)
            places = torch.tensor([[0] * count + list(range(1, self.places))], device=read.device)
            inputs = {
                "attention_mask": additive(sees[None], features.dtype).expand(len(tokens), -1, -1, -1),
                "position_ids": (int(read.sum()) + torch.arange(len(new), device=read.device))[None],
                "places": places.expand(len(tokens), -1),
            }
        output = self(
            pad(tokens, (0, more)),
            past_key_values=cache,
            use_cache=True,
            features=torch.cat([features, features[:, -1:].expand(-1, more, -1)], 1),
            **inputs,
        )
        return output.logits[:, count - 1 :], output.hidden_states[0][:, count - 1 :]

    def get_output_embeddings(self) -> Any:
        """Its own output layer; None where that is the target's."""
        return self.output if self.config.own_output else None


def new_head(target: Any, seed: int, kind: str = "eagle", **more: int) -> Head:
    """An untrained head for this target, with random weights that depend on its sizes and the seed alone.

    An output layer of its own has the weights of the target's; a place begins with its own state alone. more: further
    fields of its configuration.
    """
    text = target.config.get_text_config(decoder=True)
    fields = {
        "vocab_size": text.vocab_size,
        "hidden_size": text.hidden_size,
        "num_attention_heads": text.num_attention_heads,
        **HEADS[kind],
        **more,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = Head(HeadConfig(kind=kind, **fields)).of(target)
    with torch.no_grad():
        for shift in head.shifts:
            torch.nn.init.eye_(cast(torch.nn.Linear, shift).weight)
        if head.config.own_output:
            head.output.weight.copy_(target.get_output_embeddings().weight)
    return head


def load_head(folder: str, target: Any, kind: str = "eagle") -> Head:
    """A head that `draftproof model train` saved; raises `InvalidInput` for a folder without one of this kind."""
    way_out = f"make one: draftproof model train --kind {kind} --world models:target=PATH --out {folder}"
    none = InvalidInput(f"{folder} holds no {kind} head; {way_out}")
    if not Path(folder, "config.json").is_file():
        raise none
    check_files(Located("head", folder, local=True))
    fields = parse_json(read_text(Path(folder, "config.json"), "config.json"), "config.json")
    if (fields.get("model_type"), fields.get("kind")) != (HeadConfig.model_type, kind):
        raise none
    options = {"local_files_only": True, "use_safetensors": True, "output_loading_info": True}
    try:
        with quiet_loading():
            head, report = Head.from_pretrained(folder, **options)
    except Exception:  # a field of another kind fails in whatever way its use does
        raise none from None
    if report["missing_keys"]:
        raise none
    head.eval()
    head.requires_grad_(False)
    return cast(Head, head.of(target))
