"""`draftproof model train`: a pair of models, a head on a target's features, or a network that chooses trees."""

from typing import Annotated, Any

import typer

from draftproof.experiments.cli.train.head import train_head
from draftproof.experiments.cli.train.options import SharedOptions
from draftproof.experiments.cli.train.pair import RecipeOptions, train_pair
from draftproof.experiments.cli.train.selector import SelectorOptions, train_selector
from draftproof.experiments.inputs.options import fields_given, grouped
from draftproof.experiments.inputs.text import text_files
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.errors import InvalidInput

KINDS = ("pair", *HEADS, "selector")


@grouped(shared=SharedOptions, pair=RecipeOptions, selector=SelectorOptions)
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
    shared: SharedOptions,
    pair: RecipeOptions,
    selector: SelectorOptions,
) -> int:
    """Train a pair of models, a head or a selector on text, and print how good it is. An existing one is reused.

    A head is used as `--draft KIND:FOLDER`, a selector in `compare` and `model validate --policy`. Labels of a selector
    are exact where its verifier goes from the top down and tables are small, else means over sampled trees.
    """
    if kind not in KINDS:
        raise InvalidInput(f"unknown --kind {kind!r}; choose {', '.join(KINDS)}")
    belong: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("pair",), fields_given(pair)),
        (("selector",), {"VERIFIER": chosen, **fields_given(selector)}),
        (("specblock",), {"--places": shared.places}),
        (("pair", *HEADS), {"--steps": shared.steps}),
        ((*HEADS, "selector"), {"--pair": shared.folder, "--target": shared.target}),
    ]
    for kinds, options in belong:
        given = [flag for flag, value in options.items() if value is not None]
        if given and kind not in kinds:
            raise InvalidInput(f"{given[0]} belongs to --kind {', '.join(kinds)}; leave it out")
    inputs = (*text_files(shared.text), selector.prompts)
    check_files(inputs, {"--json": shared.json_target, "--resume": selector.resume})
    if kind == "pair":
        return train_pair(shared, pair)
    return train_selector(chosen or "specinfer", shared, selector) if kind == "selector" else train_head(kind, shared)
