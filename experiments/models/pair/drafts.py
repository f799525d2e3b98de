"""Drafts that are built for a target: `lookup:n=3`, `ngram:order=4`, `early:layers=2` and heads.

Early exit is the target's first layers with its own last norm and its own output layer: a model of the target's class
with fewer layers whose weights are the target's, not copies of them. It takes no memory except for its caches.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from draftproof.experiments.inputs.grammar import parse_assignments
from draftproof.experiments.models.pair.devices import libraries
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.simulator.errors import InvalidInput

#: For every kind of draft its options with their defaults; None for an option that must be given.
KINDS: Mapping[str, Mapping[str, int | float | None]] = {
    "lookup": {"n": 3, "smoothing": 0.1},
    "ngram": {"order": 4},
    "early": {"layers": None},
}


@dataclass(frozen=True)
class DraftSpec:
    """A draft to build. kind: one of `KINDS` with all of its options, or of `HEADS` with its folder."""

    kind: str
    options: Mapping[str, int | float] = field(default_factory=dict)
    folder: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is counted on a text."""
        return self.kind == "ngram"

    def __str__(self) -> str:
        return f"{self.kind}:{self.folder}" + ",".join(f"{name}={value:g}" for name, value in self.options.items())


def parse_draft(text: str) -> DraftSpec | None:
    """The draft that `KIND[:option=value..]` describes; None for any other text, such as the path of a folder.

    Between options stands `:` or `,`, in a world only `:`. Raises `InvalidInput` for an unknown option, and for a value
    that is no number or out of range.
    """
    kind, _, rest = text.partition(":")
    if kind in HEADS:
        return DraftSpec(kind, folder=rest)
    if kind not in KINDS:
        return None
    usual = KINDS[kind]
    way_out = f"write {kind}:" + ":".join(f"{name}={2 if value is None else value:g}" for name, value in usual.items())
    given: dict[str, int | float] = {}
    for name, value in parse_assignments(rest.replace(":", ","), kind, text).items():
        if name not in usual:
            raise InvalidInput(f"draft={text}: {name} is no option of {kind}; {way_out}")
        try:
            given[name] = float(value) if isinstance(usual[name], float) else int(value)
        except ValueError:
            raise InvalidInput(f"draft={text}: {value!r} is no number of that kind; {way_out}") from None
        if given[name] < 1 if isinstance(given[name], int) else not 0 < given[name] < 1:
            raise InvalidInput(f"draft={text}: {name} must be at least 1, a share between 0 and 1; {way_out}")
    options = {name: given.get(name, value) for name, value in usual.items()}
    missing = [name for name, value in options.items() if value is None]
    if missing:
        raise InvalidInput(f"draft={text}: {missing[0]} is missing; {way_out}")
    return DraftSpec(kind, {name: value for name, value in options.items() if value is not None})


def early_exit(target: Any, layers: int) -> Any:
    """The draft of the first `layers` layers; raises `InvalidInput` unless the target has more of them."""
    torch, _ = libraries()
    config = deepcopy(target.config)
    text = config.get_text_config(decoder=True)
    before = text.num_hidden_layers
    if not 1 <= layers < before:
        raise InvalidInput(f"early:layers={layers}: the target has {before} layers; leave after 1 to {before - 1}")
    text.num_hidden_layers = layers
    if getattr(text, "layer_types", None):
        text.layer_types = list(text.layer_types[:layers])
    try:
        with torch.device("meta"):
            draft = type(target)(config)
        given = target.state_dict()
        draft.load_state_dict({name: given[name] for name in draft.state_dict()}, assign=True)
        _share_buffers(draft, target)
    except (KeyError, RuntimeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"early exit: {type(target).__name__} is not made of layers that can be left out ({type(error).__name__}); "
            "choose another draft"
        ) from None
    draft.generation_config = deepcopy(target.generation_config)
    return draft.eval().requires_grad_(False)


def _share_buffers(draft: Any, target: Any) -> None:
    """Let the draft use the target's buffers that are not saved weights, such as rotary frequencies."""
    given = dict(target.named_buffers())
    for name, buffer in list(draft.named_buffers()):
        if buffer.is_meta:
            holder, _, last = name.rpartition(".")
            draft.get_submodule(holder)._buffers[last] = given[name]


def make_draft(spec: str | DraftSpec, target: Any, tokens: Sequence[int] | None = None) -> Any:
    """A draft model for a target of transformers: `draft=make_draft("lookup", target)`.

    spec: as `draft=` of worlds. tokens: of the text that n-grams are counted on. The draft is on the target's device.
    Raises `InvalidInput` for an unknown kind, and where a text is needed and none is given.
    """
    wanted = parse_draft(spec) if isinstance(spec, str) else spec
    if wanted is None:
        raise InvalidInput(
            f"{spec} is no draft that can be made; choose {', '.join([*KINDS, *HEADS])}, such as ngram:order=4"
        )
    if wanted.kind in HEADS:
        from draftproof.experiments.models.pair.head import load_head

        if not wanted.folder:
            raise InvalidInput(
                f"draft={wanted.kind}: say where the head is, {wanted.kind}:FOLDER; "
                f"make one: draftproof model train --kind {wanted.kind}"
            )
        return load_head(wanted.folder, target, wanted.kind)
    size = int(target.config.get_text_config(decoder=True).vocab_size)
    options: dict[str, Any] = dict(wanted.options)
    if wanted.kind == "early":
        return early_exit(target, **options)
    if wanted.kind == "lookup":
        from draftproof.experiments.models.pair.text_drafts import lookup

        return lookup(size, **options).placed(target)
    from draftproof.experiments.models.pair.text_drafts import count_ngrams

    if tokens is None:
        raise InvalidInput(f"{wanted} counts n-grams of a text; give its tokens")
    return count_ngrams(tokens, size, **options).placed(target)
