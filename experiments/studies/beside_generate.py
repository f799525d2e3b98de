"""Our verifiers beside transformers' own assisted generation: `python -m experiments.studies.beside_generate --pair P`.

Tokens a second of `generate` alone, with its assistant, and with each verifier on each tree (`generate_with`): same
pair, same texts, one run, ways of writing in turn; with 95 % intervals of paired rounds, and where the time goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.models import options as opt
from experiments.shared.consoles import chosen_verifiers, console_for
from experiments.shared.grouped import grouped
from experiments.shared.options import JsonTarget
from experiments.shared.output import check_files, write_json, write_whole
from experiments.shared.progress import remark
from experiments.shared.text import text_files
from simulator.drafts import Delayed
from simulator.errors import InvalidInput
from simulator.protocol import DraftScheme

if TYPE_CHECKING:
    from experiments.models.speed.beside import Writer

VERIFIERS = ("block", "traversal", "layer_transport")
#: A path as long as the assistant's, and a tree.
SHAPES = (Delayed(1, 0, 4), Delayed(2, 1, 2))
HEADINGS = (
    "way of writing",
    "tokens/s",
    "times generate",
    "times its assistant",
    "tokens a target pass",
    "draft passes a token",
    "time in target",
    "in draft",
    "around",
    "ms a target pass",
    "a draft pass",
)


@grouped(sampling=opt.WarpOptions, pair=opt.PairOptions, shape=opt.SchemeOptions)
def main(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: three of them.")] = None,
    *,
    sampling: opt.WarpOptions,
    vectors: opt.Vectors = "numpy",
    seed: opt.Seed = 0,
    pair: opt.PairOptions,
    shape: opt.SchemeOptions,
    roots: Annotated[int, typer.Option(min=1, help="Texts: root contexts that are continued.")] = 4,
    tokens: Annotated[int, typer.Option(min=4, help="Tokens after each root.")] = 100,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds, each a turn of every way of writing.")] = 5,
    json_target: JsonTarget = None,
    markdown: opt.Markdown = None,
) -> int:
    """Tokens a second beside transformers' own generation, alone and assisted."""
    check_files(text_files(pair.text), {"--json": json_target, "--markdown": markdown})
    from experiments.models.drafts.features import reads_features
    from experiments.models.pair.opened import open_pair
    from experiments.models.pair.roots import roots_of
    from experiments.models.speed.beside import ALONE, ASSISTED, assisted_by, beside
    from experiments.models.validation.contest import device_name

    shapes, warp, console = shape.schemes(SHAPES), sampling.warp(), console_for(json_target)
    lengths = {each.depth for each in shapes if isinstance(each, Delayed) and each.K == 1 and each.depth}
    paths = [assisted_by(depth) for depth in sorted(lengths)]
    ours = _ours(chosen or list(VERIFIERS), shapes, vectors)
    with open_pair(pair.wanted(seed)) as opened:
        where = roots_of(opened.held_out, roots)
        # Assistants of transformers read tokens alone.
        theirs = [] if reads_features(opened.pair.draft) else [ASSISTED, *paths]
        rows = beside(opened.pair, [ALONE, *theirs, *ours], where, warp, tokens, rounds, seed)
        target, draft = opened.pair.names
        about = f"target {target}, draft {draft}, V = {opened.pair.vocab_size}, {warp}"
        about += f", {device_name(opened.pair.device)}, {roots} texts of {tokens} tokens, {rounds} rounds"
    table = as_markdown(rows)
    console.print(f"{about}\n\n{table}", soft_wrap=True, markup=False, highlight=False)
    write_json(json_target, {"about": about, "rows": rows})
    if markdown:
        write_whole(markdown, f"{about}\n\n{table}\n")
    return 0


def as_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of the rows, in their order."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    for row in rows:
        cells = [
            row["writer"],
            f"{row['tokens_per_second']:.0f}",
            *(_interval(row[name]) for name in ("times_alone", "times_assisted")),
            *(f"{row[name]:.2f}" for name in ("tokens_per_target_pass", "draft_passes_per_token")),
            *(f"{row[name]:.0%}" for name in ("target_share", "draft_share", "around_share")),
            *(f"{row[name]:.2f}" for name in ("target_ms", "draft_ms")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _ours(names: list[str], schemes: Sequence[DraftScheme], vectors: str) -> list[Writer]:
    """Every verifier on every scheme that its card claims; raises `InvalidInput` where that is none."""
    from experiments.models.drop_in.generate_with import generate_with
    from experiments.models.speed.beside import Writer

    found: list[Writer] = []
    for named, scheme in product(chosen_verifiers(names), schemes):
        try:
            made = generate_with(named.verifier, scheme, vectors=vectors)
        except InvalidInput as error:
            remark(f"left out: {error}")
        else:
            found.append(Writer(f"{named.label} on {scheme}", made))
    if not found:
        raise InvalidInput("no verifier is lossless on any of these schemes; choose others")
    return found


def _interval(found: Sequence[float] | None) -> str:
    return "-" if found is None else "{:.2f} ({:.2f} to {:.2f})".format(*found)


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
