"""How often intervals from sampled trees hold the true block efficiency: `python -m experiments.studies.coverage`.

Each setting is predicted 200 times, from other trees each time, on pairs of small untrained models: of 8 tokens, where
exact tables tell the truth, and of 4,096, where a sum over all paths does, or a long run with an error of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.shared.consoles import console_for
from experiments.shared.options import JsonTarget
from experiments.shared.output import check_files, write_json, write_whole
from experiments.shared.progress import bar
from simulator.drafts import Delayed
from verifiers import make

if TYPE_CHECKING:
    from experiments.models.predicted.coverage import Coverage, Setting, Truth

#: Contexts that trees are drawn after, and trees after each.
ROOTS = ((1, 2, 3), (3, 1, 5, 2))
FEW, MORE = 8, 64
#: Vocabulary, noise on the draft's weights and spread of all weights: drafts that are often right, and less often.
WORLDS = ((8, 0.01, 0.3), (8, 0.05, 0.3), (4096, 0.02, 0.2))
CASES = (("naive", Delayed(1, 0, 2)), ("traversal", Delayed(2, 0, 2)), ("layer_transport", Delayed(2, 1, 1)))
#: Trees a root of a long run, where nothing else tells the truth.
LONG = 2000
HEADINGS = (
    "V",
    "verifier",
    "tree",
    "trees",
    "truth",
    "by",
    *("interval", "holds", "Student", "holds"),
    "normal",
    "half",
)


def main(
    repetitions: Annotated[int, typer.Option(min=20, help="Predictions of each setting.")] = 200,
    first: Annotated[int | None, typer.Option(min=1, help="Only the first N settings.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trees.")] = 0,
    json_target: JsonTarget = None,
    markdown: Annotated[str | None, typer.Option(help="Write the table to this file.")] = None,
) -> int:
    """Count how often intervals hold the truth. Exit 1: fewer of a prediction's own than 95 %."""
    check_files((), {"--json": json_target, "--markdown": markdown})
    from experiments.models.pair.opened import on_threads
    from experiments.models.predicted.coverage import coverage

    rows, chosen = [], list(islice(settings(), first))
    with bar("predictions", repetitions * len(chosen)) as tick:
        for setting, truth_of in chosen:
            with on_threads(setting.pair):
                truth = truth_of(setting)
                rows.append(_row(setting, truth, coverage(setting, truth, repetitions, seed, tick)))
    passed = all(row["covers"]["interval"] for row in rows)
    table = as_markdown(rows)
    console_for(json_target).print(table, soft_wrap=True, markup=False, highlight=False)
    write_json(json_target, {"repetitions": repetitions, "seed": seed, "covers": passed, "rows": rows})
    if markdown:
        write_whole(markdown, f"{table}\n")
    return 0 if passed else 1


def settings() -> Iterator[tuple[Setting, Callable[[Setting], Truth]]]:
    """What is predicted, each with what tells the truth about it."""
    from experiments.models.pair.warp import Warp
    from experiments.models.predicted.coverage import Setting, by_products, by_tables, by_trees, made_pair

    for vocab, noise, spread in WORLDS:
        pair, small = made_pair(vocab, noise=noise, spread=spread), vocab <= 8
        for name, scheme in CASES:
            truth = by_tables if small else by_products if name == "naive" else by_trees(LONG)
            for trees in (FEW, MORE) if small else (FEW,):
                yield Setting(f"noise {noise}", pair, make(name), scheme, Warp(), ROOTS, trees), truth


def _row(setting: Setting, truth: Truth, found: Coverage) -> dict[str, Any]:
    return {
        "vocab_size": setting.pair.vocab_size,
        "world": setting.name,
        "verifier": setting.verifier.card.name,
        "scheme": setting.scheme.as_dict(),
        "roots": len(setting.roots),
        "trees": setting.trees,
        "truth": truth.mean,
        "truth_error": truth.error,
        "how": truth.how,
        "repetitions": found.repetitions,
        "hits": found.hits,
        "widths": found.widths,
        "shares": {kind: list(found.share(kind)) for kind in found.hits},
        "covers": {kind: found.covers(kind) for kind in found.hits},
    }


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The counts: of the interval of a prediction and of Student's with their exact 95 % intervals and widths."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    for row in rows:
        shape = ", ".join(str(row["scheme"][key]) for key in ("K", "L1", "L2"))
        error = f" ± {row['truth_error']:.4f}" if row["truth_error"] else ""
        cells = [
            f"{row['vocab_size']:,} ({row['world']})",
            f"`{row['verifier']}`",
            shape,
            f"{row['roots']} x {row['trees']}",
            f"{row['truth']:.4f}{error}",
            row["how"],
        ]
        for kind in ("interval", "student"):
            cells += [f"{row['widths'][kind]:.3f}", f"{_count(row, kind)} ({_percent(row['shares'][kind])})"]
        cells += [_count(row, "normal"), _count(row, "half")]
        lines.append("| " + " | ".join(cells) + " |")
    count = rows[0]["repetitions"] if rows else 0
    lines.append(f"\nholds: of {count} intervals, and the 95 % interval of that share; ✗: too few for 95 %.")
    lines.append("interval: of a prediction, valid for any law; half: as wide as half of Student's, which must fail.")
    return "\n".join(lines)


def _count(row: dict[str, Any], kind: str) -> str:
    return f"{row['hits'][kind]}" + ("" if row["covers"][kind] else " ✗")


def _percent(share: Sequence[float]) -> str:
    return f"{share[0]:.1%} to {share[1]:.1%}"


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
