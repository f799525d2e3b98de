"""`draftproof model train --kind eagle`, and of the other kinds of heads."""

from pathlib import Path

from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.errors import InvalidInput


def train_head(
    kind: str,
    models: tuple[str | None, str | None, str, str],
    out: str | None,
    steps: int | None,
    places: int | None,
    seed: int,
    json_target: str | None,
) -> int:
    """Train a head on a target's features: a draft of one or two layers, `--draft KIND:FOLDER`.

    models: folder of a pair or target, the text, the device.
    """
    folder, target, text, device = models
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.head_training import PLANS, make_head
    from draftproof.experiments.models.pair.opened import suitable_threads
    from draftproof.experiments.models.pair.pair import load_target
    from draftproof.experiments.shared.progress import bar, remark

    if kind == "specblock" and places is None:
        places = 4
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
