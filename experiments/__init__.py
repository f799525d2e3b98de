"""The only room with input and output: commands, real models, and what `import draftproof` offers."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "compare":  # what it needs is imported when it is asked for
        from draftproof.experiments.api.comparing import compare

        return compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
