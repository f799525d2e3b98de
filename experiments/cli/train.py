"""`draftproof train`."""

from typing import Annotated, Any

import typer
from rich.console import Console

from draftproof.experiments.inputs.options import JsonTarget
from draftproof.experiments.inputs.text import EMBEDDED, text_files
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for, remark


def train(
    *,
    out: Annotated[str, typer.Option("--out", help="Folder for the pair: target, draft, pair.json.")],
    recipe: Annotated[
        str, typer.Option(help="small, or deep: a target of 64 layers and a draft of one (with letters V = 64).")
    ] = "small",
    tokenizer: Annotated[
        str,
        typer.Option(help="letters (frequent symbols and a rest token) or bpe (byte pairs)."),
    ] = "letters",
    vocab: Annotated[
        int | None, typer.Option("--vocab", "--vocab-size", help="Vocabulary size V (default 8, bpe 2048).")
    ] = None,
    text: Annotated[str, typer.Option("--text", help=f"A UTF-8 file, or {EMBEDDED} (embedded).")] = EMBEDDED,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and batches.")] = 0,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training steps of the target (default 800, bpe 1600, deep 80).")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=1.0, help="Training time of both models instead of --steps; steps then differ from run to run."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto (CUDA where there is one), cpu or cuda.")] = "auto",
    json_target: JsonTarget = None,
) -> int:
    """Train a small target and a smaller draft on text, and print how good they are. An existing pair is reused."""
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.devices import choose_device
    from draftproof.experiments.models.pair.folder import make_pair
    from draftproof.experiments.models.pair.training import choose_recipe

    check_files(text_files(text), {"--json": json_target})
    where = choose_device(device)
    chosen = choose_recipe(read_corpus(text), tokenizer, vocab, seed, steps, seconds, recipe)
    record, reused = make_pair(chosen, out, where)
    if reused:
        remark(f"{out} holds this pair already; it was not trained again")
    _show(console_for(json_target), out, record)
    write_json(json_target, record)
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
