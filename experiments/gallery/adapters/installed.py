"""transformers as it is installed: its acceptance step, and whole texts of assisted generation."""

from importlib import import_module
from pathlib import Path
from typing import Any


def sampling(checkout: Path, path: str) -> Any:
    """`_speculative_sampling`."""
    return import_module("transformers.generation.utils")._speculative_sampling


def assisted(checkout: Path, path: str) -> Any:
    """`generate` with an assistant that drafts one token at a time."""

    import_module("transformers.generation.utils")

    def generate(target: Any, draft: Any, prompt: Any, new_tokens: int) -> Any:
        settings = draft.generation_config
        settings.num_assistant_tokens, settings.num_assistant_tokens_schedule = 1, "constant"
        settings.assistant_confidence_threshold = 0
        return target.generate(prompt, assistant_model=draft, do_sample=True, top_k=0, max_new_tokens=new_tokens)

    return generate
