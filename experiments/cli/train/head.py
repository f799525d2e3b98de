"""`draftproof model train --kind eagle`, and of the other kinds of heads."""

from pathlib import Path

from draftproof.experiments.cli.train.options import SharedOptions
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.errors import InvalidInput


def train_head(kind: str, given: SharedOptions) -> int:
    """Train a head on a target's features: a draft of one or two layers, `--draft KIND:FOLDER`."""
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.pair.head_training import PLANS, make_head
    from draftproof.experiments.models.pair.opened import suitable_threads
    from draftproof.experiments.models.pair.pair import load_pair
    from draftproof.experiments.shared.progress import bar, remark

    places = 4 if kind == "specblock" and given.places is None else given.places
    steps = PLANS[kind].steps if given.steps is None else given.steps
    folder, target, out = given.folder, given.target, given.out
    if (folder is None) == (target is None):
        raise InvalidInput("give the target whose features the head reads: either --pair FOLDER or --target PATH")
    if target is not None and out is None:
        raise InvalidInput("--target is given without --out; say where the head goes")
    where = Path(out if out is not None else f"{folder}/{kind}")
    corpus = read_corpus(given.text)
    pair = load_pair(target if target is not None else f"{folder}/target", None, given.device)
    with suitable_threads(pair), bar("training the head", steps) as tick:
        record, reused = make_head(pair, corpus, kind, steps, given.seed, where, tick, places)
    if reused:
        remark(f"{where} holds this head already; it was not trained again")
    console_for(given.json_target).print(
        f"{kind} head in {where}: {record['parameters']:,} parameters, {steps} steps, cross-entropy to the target's "
        f"rows {record['loss_bits_per_token']:.3f} bits a token; use it: --draft {kind}:{where}",
        soft_wrap=True,
        highlight=False,
    )
    write_json(given.json_target, record)
    return 0
