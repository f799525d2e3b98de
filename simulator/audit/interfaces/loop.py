"""The loop interface: FUNCTION gets a target and a draft model and a prompt, and returns a text of so many new tokens.

A text of `N` new tokens is read as `N - 1` accepted ones and a correction, so it is lossless where every new token has
the law of the target's row. Models are made anew for every call. After a text that is longer than the instance is deep
a model answers with the row of the text's last tokens; no token that is judged depends on it.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, shown, tokens, whole_tokens
from draftproof.simulator.audit.rows import RowForm
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.protocol import Context, DraftNode, Vector, Verdict
from draftproof.simulator.symbolic import concrete

#: The text before the new tokens; two tokens, so that no vocabulary is too small.
PROMPT: Context = (1, 0)


def prompt_of(ends: int | None) -> Context:
    """The prompt of a loop; the token that ends a text is not in it."""
    return PROMPT if ends is None or ends not in PROMPT else (1 - ends,) * len(PROMPT)


#: Names of a cache in versions of transformers.
_CACHES = ("cache", "past_key_values")


class Table:
    """The rows of a process after any text that begins with the prompt. name: "target" or "draft"."""

    def __init__(self, root: DraftNode, name: str, prompt: Context = PROMPT) -> None:
        self._root = root
        self._name = name
        self._prompt = prompt
        self._depth = _depth(root) - (name == "draft")
        self.size = len(root.target)

    def row(self, text: Context) -> Vector:
        """Shape `(V,)`; raises `InvalidVerifier` for a text of other tokens, or without the prompt."""
        wrong = next((token for token in text if not 0 <= token < self.size), None)
        if wrong is not None:
            raise InvalidVerifier(f"it asks the {self._name} model about the text {list(text)}; {wrong} is no token")
        prompt = self._prompt
        if text == prompt[: len(text)] != prompt:  # a prefix of the prompt has a row that decides nothing
            before: Vector = getattr(self._root, self._name)[::-1]
            return before
        if text[: len(prompt)] != prompt:
            asked = f"it asks the {self._name} model about {list(text)}"
            raise InvalidVerifier(f"{asked}, which does not begin with the prompt {list(prompt)}")
        context = text[len(prompt) :]
        if len(context) > self._depth:
            context = context[len(context) - self._depth :]
        node = self._root
        for token in context:
            node = node.child(token)
        row: Vector = getattr(node, self._name)
        return row


def _depth(node: DraftNode) -> int:
    depth = 0
    while node.children:
        node, depth = node.child(node.children[0]), depth + 1
    return depth


class Model:
    """A model as a function: the row after a text, shape `(V,)`, or `(B, V)` after an array of texts."""

    def __init__(self, table: Table, call: Call) -> None:
        self._table = table
        self._rows = call.rows
        self.vocab_size = table.size

    def __call__(self, text: Any) -> Any:
        plain = concrete(text)
        if isinstance(plain, (list, tuple)) and plain and isinstance(plain[0], (list, tuple)):
            return self._rows.array([self._table.row(tuple(item)) for item in plain])
        return self._rows.array(self._table.row(tokens(plain, "a text")))


def _model(call: Call, name: str) -> Any:
    table = Table(call.root, name, prompt_of(call.ends))
    return causal_model(table, call.rows, call.ends) if call.rows.library == "torch" else Model(table, call)


def _prompt(call: Call) -> Any:
    text = list(prompt_of(call.ends))
    return call.rows.integers([text] if call.rows.library == "torch" else text)


def _read(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    """The first new tokens; a text that is shorter goes on with the token that ends texts, where there is one."""
    wanted, ends = _depth(root) + 1, call.ends
    plain = concrete(getattr(result, "sequences", result))
    while isinstance(plain, (list, tuple)) and len(plain) == 1 and isinstance(plain[0], (list, tuple)):
        plain = plain[0]
    if not isinstance(plain, (list, tuple)):
        raise InvalidVerifier(f"it returned {shown(result)}; {wants}")
    text = tokens(list(plain), "the text")
    prompt = prompt_of(ends)
    if text[: len(prompt)] != prompt:
        raise InvalidVerifier(f"it returned the text {list(text)} after the prompt {list(prompt)}; return both in one")
    new = text[len(prompt) :]
    if ends is not None:
        new = (*new, *[ends] * (wanted - len(new)))
    if len(new) < wanted:
        way_out = "a token that ends texts is given as processing eos=TOKEN"
        raise InvalidVerifier(f"it returned {len(new)} new tokens, {list(new)}, and was asked for {wanted}; {way_out}")
    new = whole_tokens(new[:wanted])
    return Verdict(new[:-1], new[-1])


LOOP = Interface(
    name="loop",
    arguments={
        "target": lambda call: _model(call, "target"),
        "draft": lambda call: _model(call, "draft"),
        "prompt": _prompt,
        "new_tokens": lambda call: _depth(call.root) + 1,
    },
    read=_read,
    takes="(target, draft, prompt, new_tokens): models, functions from a text to the row after it, a text, a number; "
    "in torch causal models of transformers and a text of shape (1, n)",
    returns="the text: the prompt and at least so many new tokens, fewer where a text ends; further ones are cut off",
    prompt=prompt_of,
    drafts=True,
)


def causal_model(table: Any, rows: RowForm, ends: int | None = None) -> Any:
    """A causal model of transformers whose rows are those of a table; raises `InvalidInput` without transformers.

    ends: the token at which its `generate` stops.
    The cache is transformers' own, and its keys are the tokens and its values their positions. What the model answers
    depends on the tokens that it finds there, so a cache that is cropped wrongly, or not at all, gives wrong rows, as
    it does with a real model.
    """
    config, model = _classes()
    made = model(config(vocab_size=table.size), table, rows)
    made.eval()
    made.generation_config.pad_token_id = table.size  # none of the tokens: a mask is made of it
    made.generation_config.eos_token_id = ends
    return made


@cache
def _classes() -> tuple[Any, Any]:
    torch = torch_module("the loop interface")
    try:
        transformers: Any = import_module("transformers")
        cache_utils: Any = import_module("transformers.cache_utils")
        outputs: Any = import_module("transformers.modeling_outputs")
    except ImportError as error:
        raise InvalidInput(
            f"models in torch need transformers ({error}): pip install 'draftproof[models]', or use library python"
        ) from None

    # From 5.24 on a cache is called `cache`.
    name = next(item.name for item in fields(outputs.CausalLMOutputWithPast) if item.name in _CACHES)

    class TableConfig(transformers.PretrainedConfig):  # type: ignore[misc]
        model_type = "draftproof_table"

        def __init__(self, vocab_size: int = 2, **options: Any) -> None:
            super().__init__(**options)
            self.vocab_size = vocab_size
            self.num_hidden_layers = self.hidden_size = self.num_attention_heads = 1
            self.eos_token_id = self.bos_token_id = None

    class TableModel(transformers.PreTrainedModel, transformers.GenerationMixin):  # type: ignore[misc]
        config_class = TableConfig
        _supports_cache_class = True

        def __init__(self, config: Any, table: Any, rows: RowForm) -> None:
            super().__init__(config)
            kind = getattr(torch, rows.kind.name)
            self.weight = torch.nn.Parameter(torch.zeros(1, dtype=kind), requires_grad=False)
            self._table = table
            self._rows = rows
            self.post_init()

        def forward(
            self,
            input_ids: Any = None,
            attention_mask: Any = None,
            position_ids: Any = None,
            past_key_values: Any = None,
            cache: Any = None,
            logits_to_keep: int = 0,
            **_: Any,
        ) -> Any:
            given = past_key_values if cache is None else cache
            held = given if given is not None else cache_utils.DynamicCache(config=self.config)
            tokens, positions = _remembered(torch, held, input_ids, position_ids)
            texts = _texts(tokens, positions, input_ids.shape[1], attention_mask, position_ids is not None)
            rows = [[self._table.row(text) for text in request] for request in texts]
            asked = [request[-logits_to_keep:] if logits_to_keep else request for request in rows]
            logits = self._rows.array(asked).log()
            return outputs.CausalLMOutputWithPast(logits=logits, **{name: held})

    return TableConfig, TableModel


def _remembered(torch: Any, held: Any, ids: Any, position_ids: Any) -> tuple[Any, Any]:
    """The tokens and positions that the cache holds once these are added, each of shape `(B, total)`."""
    before = held.get_seq_length()
    if position_ids is None:
        position_ids = torch.arange(before, before + ids.shape[1])[None]
    positions = position_ids.expand(ids.shape[0], -1)
    parts = [part.to(torch.float64)[:, None, :, None] for part in (ids, positions)]
    keys, values = held.update(*parts, 0)
    return keys[:, 0, :, 0].to(torch.int64).tolist(), values[:, 0, :, 0].to(torch.int64).tolist()


def _texts(tokens: Any, positions: Any, count: int, mask: Any, has_positions: bool) -> list[list[tuple[int, ...]]]:
    """What every one of the last `count` tokens of every request sees, itself last."""
    mask = next(iter(mask.values())) if isinstance(mask, dict) else mask
    texts = []
    for request, (line, places) in enumerate(zip(tokens, positions, strict=True)):
        first = len(line) - count
        seen = [_visible(mask, request, query, first, len(line)) for query in range(count)]
        texts.append([_text(line, places, item, has_positions) for item in seen])
    return texts


def _visible(mask: Any, request: int, query: int, first: int, total: int) -> list[int]:
    """The places that a query sees."""
    before = range(first + query + 1)
    if mask is None:
        return list(before)
    row = mask[request if mask.shape[0] > 1 else 0]
    if row.dim() == 1:  # 1 where there is a token
        return [place for place in before if row[place]]
    row = row[0, query if row.shape[1] > 1 else 0]
    if row.dtype.is_floating_point:  # added to scores: 0 where it is seen
        return [place for place in range(total) if row[place] > -1]
    return [place for place in range(total) if row[place]]


def _text(line: list[int], places: list[int], seen: list[int], has_positions: bool) -> tuple[int, ...]:
    """The visible tokens in the order of their positions, which must follow each other."""
    ordered = sorted(seen, key=lambda place: places[place]) if has_positions else seen
    numbers = [places[place] for place in ordered]
    if has_positions and any(later != earlier + 1 for earlier, later in pairwise(numbers)):
        raise InvalidVerifier(f"the model is shown the tokens {[line[n] for n in ordered]} at the positions {numbers}")
    return tuple(line[place] for place in ordered)
