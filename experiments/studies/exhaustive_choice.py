"""Is the answer of `choose` the best there is? `python -m experiments.studies.exhaustive_choice --pair P`.

Every verifier on every tree is measured, none left out, text after text in turn from the same roots; then `choose`
answers as it does for a user, and what it recommends is set beside the best of all. Exit 0: as good; 1: not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from experiments.commands.choose.command import SHAPES, VERIFIERS
from experiments.models import options as opt
from experiments.shared.consoles import chosen_verifiers, console_for
from experiments.shared.grouped import grouped
from experiments.shared.options import JsonTarget
from experiments.shared.output import check_files, write_json, write_whole
from experiments.shared.progress import INTERRUPTED, remark
from experiments.shared.rows import RowFile, check_rows
from experiments.shared.text import text_files

#: Candidates of the table.
SHOWN = 10


@grouped(sampling=opt.WarpOptions, pair=opt.PairOptions, shape=opt.SchemeOptions)
def main(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: those of choose.")
    ] = None,
    *,
    sampling: opt.WarpOptions,
    vectors: opt.Vectors = "numpy",
    clock: opt.Clock = "wall",
    seed: opt.Seed = 0,
    pair: opt.PairOptions,
    shape: opt.SchemeOptions,
    roots: Annotated[int, typer.Option(min=1, help="Root contexts that are continued.")] = 8,
    tokens: Annotated[int, typer.Option(min=4, help="Tokens after each root.")] = 32,
    rounds: Annotated[int, typer.Option(min=4, help="Rounds; every other one names the best.")] = 8,
    resume: opt.Resume = None,
    json_target: JsonTarget = None,
    markdown: opt.Markdown = None,
) -> int:
    """What `choose` recommends beside the best of all candidates, each measured."""
    outputs = {"--resume": resume, "--json": json_target, "--markdown": markdown}
    check_files(text_files(pair.text), outputs)
    check_rows(resume)
    from experiments.models.pair.devices import libraries

    libraries()
    from experiments.models.loop.timing import measured_by
    from experiments.models.speed import choice, choosing, exhaustive
    from experiments.models.validation.contest import device_name

    named, schemes = chosen_verifiers(chosen or list(VERIFIERS)), shape.schemes(SHAPES)
    warp, console, kept = sampling.warp(), console_for(json_target), RowFile(resume)
    try:
        with choice.open_pair(pair.wanted(seed)) as opened, measured_by(clock, opened.pair.device):
            where = choice.setting_of(opened, warp, roots, seed, vectors)
            trees, _ = choice.planned(schemes, where)
            quick, _ = choosing.in_time(named, opened.pair.vocab_size)
            players = [(each, one.scheme) for one in choosing.rehearsals(where, quick, trees) for each in one.players]
            remark(f"every one of {len(players)} candidates")
            rates = exhaustive.Rates(exhaustive.sweeps(where, players, tokens, rounds, kept, clock))
            remark("choose")
            answer = choice.chosen_of(where, named, schemes, choice.Amount(roots, tokens))
            names, size, device = opened.pair.names, opened.pair.vocab_size, device_name(opened.pair.device)
    except KeyboardInterrupt:
        remark(f"interrupted{f'; sweeps so far are kept in {resume}' if resume else ''}; no other file was written")
        return INTERRUPTED
    found = exhaustive.verdict(players, rates, answer)
    about = f"target {names[0]}, draft {names[1]}, V = {size}, {warp}, {device}, {clock} clock"
    about += f", {roots} roots of {tokens} tokens, {rounds} rounds"
    text = as_markdown(about, found)
    console.print(text, soft_wrap=True, markup=False, highlight=False)
    write_json(json_target, {"about": about, **found})
    if markdown:
        write_whole(markdown, text + "\n")
    return 0 if found["agrees"] else 1


def as_markdown(about: str, found: Mapping[str, Any]) -> str:
    """The verdict and the fastest candidates."""
    mean, low, high = found["ratio"]
    predicted = found["predicted"]
    said = "as good as the best" if found["agrees"] else "NOT as good as the best"
    lines = [
        about,
        "",
        f"- recommended by `choose`, which measured {found['measured_by_choose']} of {found['candidates']}: "
        f"{found['recommended']}, {found['recommended_tokens_per_second']:.0f} tokens/s, number {found['rank']} of all",
        f"- best, named by every other round: {found['best']}, {found['best_tokens_per_second']:.0f} tokens/s "
        f"(plain generation {found['plain_tokens_per_second']:.0f})",
        f"- recommended over best on the other rounds: {mean:.3f} (95 %: {low:.3f} to {high:.3f}): {said}",
        f"- predicted over measured tokens/s, each as times plain generation, {predicted['candidates']} candidates: "
        f"mean {predicted['mean']:.3f}, standard deviation {predicted['deviation']:.3f}, "
        f"within a tenth {predicted['within_a_tenth']} of {predicted['candidates']}",
        "",
        "| candidate | tokens/s |",
        "|---|---|",
    ]
    return "\n".join(
        lines + [f"| {row['candidate']} | {row['tokens_per_second']:.0f} |" for row in found["table"][:SHOWN]]
    )


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
