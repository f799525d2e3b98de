"""`draftproof train-head`."""

from pathlib import Path
from typing import Annotated

import typer

from draftproof.experiments.inputs.options import JsonTarget
from draftproof.experiments.inputs.text import EMBEDDED, text_files
from draftproof.experiments.models.pair.drafts import HEADS
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.errors import InvalidInput


def train_head(
    *,
    folder: Annotated[
        str | None, typer.Option("--pair", help="Folder of a trained pair; its target gets the head.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Instead of --pair: a causal model of transformers, path or name.")
    ] = None,
    kind: Annotated[str, typer.Option(help=f"Of head: {', '.join(HEADS)}.")] = HEADS[0],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", help="Folder for the head (default: one named after its kind in the folder of the pair)."
        ),
    ] = None,
    text: Annotated[str, typer.Option("--text", help=f"A UTF-8 file, or {EMBEDDED} (embedded).")] = EMBEDDED,
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps (default: by kind).")] = None,
    places: Annotated[
        int | None, typer.Option(min=1, max=16, help="Of specblock: the depths that one pass drafts (default 4).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and batches.")] = 0,
    device: Annotated[str, typer.Option(help="auto (CUDA where there is one), cpu or cuda.")] = "auto",
    json_target: JsonTarget = None,
) -> int:
    """Train a head on a target's features: a draft of one or two layers, `--draft KIND:FOLDER`."""
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.head_training import PLANS, make_head
    from draftproof.experiments.models.pair.opened import suitable_threads
    from draftproof.experiments.models.pair.pair import load_target
    from draftproof.experiments.shared.progress import bar, remark

    check_files(text_files(text), {"--json": json_target})
    if kind not in HEADS:
        raise InvalidInput(f"unknown kind of head {kind!r}; choose {', '.join(HEADS)}")
    if kind == "specblock":
        places = 4 if places is None else places
    elif places is not None:
        raise InvalidInput(f"--places belongs to specblock; a head of the kind {kind} has one place")
    steps = PLANS[kind].steps if steps is None else steps
    if (folder is None) == (target is None):
        raise InvalidInput("give the target whose features the head reads: either --pair FOLDER or --target PATH")
    if target is not None and out is None:
        raise InvalidInput("--target is given without --out; say where the head goes")
    where = Path(out if out is not None else f"{folder}/{kind}")
    corpus = read_corpus(text)
    pair = load_target(target if target is not None else f"{folder}/target", device, "float32")
    with suitable_threads(pair), bar("training the head", steps) as tick:
        record, reused = make_head(pair, corpus, kind, steps, seed, where, tick, places)
    if reused:
        remark(f"{where} holds this head already; it was not trained again")
    console_for(json_target).print(
        f"{kind} head in {where}: {record['parameters']:,} parameters, {steps} steps, cross-entropy to the target's "
        f"rows {record['loss_bits_per_token']:.3f} bits a token; use it: --draft {kind}:{where}",
        soft_wrap=True,
        highlight=False,
    )
    write_json(json_target, record)
    return 0
