"""`draftproof train-head`."""

from pathlib import Path
from typing import Annotated

import typer

from draftproof.experiments.inputs.options import JsonTarget
from draftproof.experiments.inputs.text import EMBEDDED, text_files
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
    out: Annotated[
        str | None, typer.Option("--out", help="Folder for the head (default: `eagle` in the folder of the pair).")
    ] = None,
    text: Annotated[str, typer.Option("--text", help=f"A UTF-8 file, or {EMBEDDED} (embedded).")] = EMBEDDED,
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and batches.")] = 0,
    device: Annotated[str, typer.Option(help="auto (CUDA where there is one), cpu or cuda.")] = "auto",
    json_target: JsonTarget = None,
) -> int:
    """Train an EAGLE-style head on a target's features: a draft of one layer, `--draft eagle:FOLDER`."""
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.head_training import make_head
    from draftproof.experiments.models.pair.opened import suitable_threads
    from draftproof.experiments.models.pair.pair import load_target
    from draftproof.experiments.shared.progress import bar, remark

    check_files(text_files(text), {"--json": json_target})
    if (folder is None) == (target is None):
        raise InvalidInput("give the target whose features the head reads: either --pair FOLDER or --target PATH")
    if target is not None and out is None:
        raise InvalidInput("--target is given without --out; say where the head goes")
    where = Path(out if out is not None else f"{folder}/eagle")
    corpus = read_corpus(text)
    pair = load_target(target if target is not None else f"{folder}/target", device, "float32")
    with suitable_threads(pair), bar("training the head", steps) as tick:
        record, reused = make_head(pair, corpus, steps, seed, where, tick)
    if reused:
        remark(f"{where} holds this head already; it was not trained again")
    console_for(json_target).print(
        f"head in {where}: {record['parameters']:,} parameters, {steps} steps, cross-entropy to the target's rows "
        f"{record['loss_bits_per_token']:.3f} bits a token; use it: --draft eagle:{where}",
        soft_wrap=True,
        highlight=False,
    )
    write_json(json_target, record)
    return 0
