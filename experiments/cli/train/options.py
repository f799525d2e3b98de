"""The options of `model train` that several kinds share."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from draftproof.experiments.inputs.options import JsonTarget
from draftproof.experiments.inputs.text import EMBEDDED

_HEAD: Any = {"rich_help_panel": "Of heads and selectors"}


@dataclass(frozen=True)
class SharedOptions:
    """What is trained on, how, and where it goes. places: of specblock alone."""

    out: Annotated[
        str | None,
        typer.Option("--out", help="Folder for what is made (default of a head: PAIR/KIND; of a selector: PAIR)."),
    ] = None
    text: Annotated[str, typer.Option("--text", help=f"A UTF-8 file, or {EMBEDDED} (embedded).")] = EMBEDDED
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Training steps of a head or the target (default 800, bpe 1600, deep 80; by head)."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and batches.")] = 0
    device: Annotated[str, typer.Option(help="auto (CUDA where there is one), cpu or cuda.")] = "auto"
    json_target: JsonTarget = None
    folder: Annotated[str | None, typer.Option("--pair", help="Folder of a trained pair.", **_HEAD)] = None
    target: Annotated[
        str | None,
        typer.Option("--target", help="Instead of --pair: a causal model of transformers, path or name.", **_HEAD),
    ] = None
    places: Annotated[
        int | None,
        typer.Option(min=1, max=16, help="Of specblock: the depths that one pass drafts (default 4).", **_HEAD),
    ] = None
