"""From what `--draft` says to a draft for a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.models.drafts.specs import HEAD, KINDS, DraftSpec, parse_draft
from draftproof.simulator.errors import InvalidInput


def make_draft(spec: str | DraftSpec, target: Any, tokens: Sequence[int] | None = None) -> Any:
    """A draft model for a target of transformers: `assistant_model=make_draft("lookup", target)`.

    spec: as `--draft` has it. tokens: of the text that n-grams are counted on. The draft is where the target is.
    Raises `InvalidInput` for what is no draft to be made, and where text is needed and there is none.
    """
    found = parse_draft(spec) if isinstance(spec, str) else spec
    if found is None:
        raise InvalidInput(
            f"{spec} is no draft that can be made; choose {', '.join([*KINDS, HEAD])}, such as ngram:order=4"
        )
    if found.kind == HEAD:
        from draftproof.experiments.models.drafts.eagle import load_head

        if not found.folder:
            raise InvalidInput("--draft eagle: say where the head is, eagle:FOLDER; make one: draftproof train-head")
        return load_head(found.folder, target)
    size = int(target.config.get_text_config(decoder=True).vocab_size)
    options: dict[str, Any] = dict(found.options)
    if found.kind == "early":
        from draftproof.experiments.models.drafts.early import early_exit

        return early_exit(target, **options)
    if found.kind == "lookup":
        from draftproof.experiments.models.drafts.lookup import lookup

        return lookup(size, **options).placed(target)
    from draftproof.experiments.models.drafts.ngram import count_ngrams

    if tokens is None:
        raise InvalidInput(f"{found} counts n-grams of a text; give its tokens")
    return count_ngrams(tokens, size, **options).placed(target)
