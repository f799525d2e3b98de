"""`draftproof model train --kind pair`."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console

from draftproof.experiments.cli.train.options import SharedOptions
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import console_for, remark
from draftproof.simulator.errors import InvalidInput

_PAIR: Any = {"rich_help_panel": "Of --kind pair"}


@dataclass(frozen=True)
class RecipeOptions:
    """The options of `model train --kind pair` alone."""

    recipe: Annotated[
        str,
        typer.Option(help="small, or deep: a target of 64 layers and a draft of one (with letters V = 64).", **_PAIR),
    ] = "small"
    tokenizer: Annotated[
        str, typer.Option(help="letters (frequent symbols and a rest token) or bpe (byte pairs).", **_PAIR)
    ] = "letters"
    vocab: Annotated[
        int | None,
        typer.Option("--vocab", help="Vocabulary size V (default 8, bpe 2048).", **_PAIR),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(
            min=1.0, help="Training time of both models instead of --steps; steps then differ from run to run.", **_PAIR
        ),
    ] = None


def train_pair(shared: SharedOptions, options: RecipeOptions) -> int:
    """Train a small target and a smaller draft on text, and print how good they are. An existing pair is reused."""
    out = shared.out
    if out is None:
        raise InvalidInput("--out is missing: the folder for the pair")
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.devices import choose_device
    from draftproof.experiments.models.pair.folder import make_pair
    from draftproof.experiments.models.pair.training import choose_recipe

    where = choose_device(shared.device)
    corpus, seed, steps = read_corpus(shared.text), shared.seed, shared.steps
    chosen = choose_recipe(corpus, options.tokenizer, options.vocab, seed, steps, options.seconds, options.recipe)
    record, reused = make_pair(chosen, out, where)
    if reused:
        remark(f"{out} holds this pair already; it was not trained again")
    _show(console_for(shared.json_target), out, record)
    write_json(shared.json_target, record)
    return 0


def _show(console: Console, out: str, record: dict[str, Any]) -> None:
    configuration, bits = record["configuration"], record["bits_per_character"]
    console.print(
        f"pair in {out}: {configuration['tokenizer']}, V = {configuration['vocab_size']}, seed {configuration['seed']}"
    )
    console.print(f"  text {record['text']} (sha256 {record['text_hash']}), trained on {record['device']}")
    console.print(
        f"  bits per character on the last {record['characters']['held_out']:,} characters, held out"
        + (", rare symbols as one token" if configuration["tokenizer"] == "letters" else "")
    )
    sizes = record["parameters"]
    for name, value, what in (
        ("target", bits["target"], f"{sizes['target']:,} parameters, {record['steps']['target']} steps"),
        ("draft", bits["draft"], f"{sizes['draft']:,} parameters, {record['steps']['draft']} steps"),
        ("n-gram", bits["ngram3"], "order 3"),
        ("n-gram", bits["ngram1"], "order 1"),
    ):
        console.print(f"    {name:<8}{value:.4f}  {what}")
    console.print(f"  sample of the target after {record['sample']['prompt']!r}")
    # A model of bytes can write control characters, which must not reach the terminal.
    written = "".join(symbol if symbol.isprintable() or symbol == "\n" else "�" for symbol in record["sample"]["text"])
    console.print("    " + written.replace("\n", "\n    "))
