"""`draftproof model train`: a pair of models, a head on a target's features, or a network that chooses trees."""

from typing import Annotated, Any

import typer

from draftproof.experiments.cli.train.head import train_head
from draftproof.experiments.cli.train.pair import RecipeOptions, train_pair
from draftproof.experiments.cli.train.selector import SelectorOptions, train_selector
from draftproof.experiments.inputs.options import JsonTarget, fields_given, grouped
from draftproof.experiments.inputs.text import EMBEDDED, text_files
from draftproof.experiments.models.pair.drafts import HEADS
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.errors import InvalidInput

KINDS = ("pair", *HEADS, "selector")
_HEAD: Any = {"rich_help_panel": "Of heads and selectors"}


@grouped(pair=RecipeOptions, selector=SelectorOptions)
def train(
    chosen: Annotated[
        str | None, typer.Argument(metavar="[VERIFIER]", help="Of a selector (default specinfer).", show_default=False)
    ] = None,
    *,
    kind: Annotated[
        str,
        typer.Option(
            help=f"pair: a target and a smaller draft. {', '.join(HEADS)}: a draft of one or two layers on a target's "
            "features. selector: a network that chooses the tree of every block."
        ),
    ] = "pair",
    out: Annotated[
        str | None,
        typer.Option("--out", help="Folder for what is made (default of a head: PAIR/KIND; of a selector: PAIR)."),
    ] = None,
    text: Annotated[str, typer.Option("--text", help=f"A UTF-8 file, or {EMBEDDED} (embedded).")] = EMBEDDED,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Training steps of a head or the target (default 800, bpe 1600, deep 80; by head)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and batches.")] = 0,
    device: Annotated[str, typer.Option(help="auto (CUDA where there is one), cpu or cuda.")] = "auto",
    json_target: JsonTarget = None,
    folder: Annotated[str | None, typer.Option("--pair", help="Folder of a trained pair.", **_HEAD)] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Instead of --pair: a causal model of transformers, path or name.", **_HEAD),
    ] = None,
    places: Annotated[
        int | None,
        typer.Option(min=1, max=16, help="Of specblock: the depths that one pass drafts (default 4).", **_HEAD),
    ] = None,
    pair: RecipeOptions,
    selector: SelectorOptions,
) -> int:
    """Train a pair of models, a head or a selector on text, and print how good it is. An existing one is reused.

    A head is used as `--draft KIND:FOLDER`, a selector as `--policy selector`. Labels of a selector are exact where its
    verifier goes from the top down and tables are small, else means over sampled trees.
    """
    if kind not in KINDS:
        raise InvalidInput(f"unknown --kind {kind!r}; choose {', '.join(KINDS)}")
    belong: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("pair",), fields_given(pair)),
        (("selector",), {"VERIFIER": chosen, **fields_given(selector)}),
        (("specblock",), {"--places": places}),
        (("pair", *HEADS), {"--steps": steps}),
        ((*HEADS, "selector"), {"--pair": folder, "--target": target}),
    ]
    for kinds, options in belong:
        given = [flag for flag, value in options.items() if value is not None]
        if given and kind not in kinds:
            raise InvalidInput(f"{given[0]} belongs to --kind {', '.join(kinds)}; leave it out")
    check_files((*text_files(text), selector.prompts), {"--json": json_target, "--resume": selector.resume})
    if kind == "pair":
        return train_pair(out, text, steps, seed, device, pair, json_target)
    if kind == "selector":
        models = folder, target, text, device
        return train_selector(chosen or "specinfer", models, out, seed, selector, json_target)
    return train_head(kind, (folder, target, text, device), out, steps, places, seed, json_target)
