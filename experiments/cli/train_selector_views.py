"""What `draftproof train-selector` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from draftproof.experiments.inputs.text import text_label


def show(console: Console, report: dict[str, Any]) -> None:
    """The figures on held-out roots, and what was chosen."""
    shares, how = report["roots"], report["hyperparameters"]
    table = Table(
        title=f"{report['verifier']}, V = {report['vocab_size']}, {len(report['actions'])} shapes, labels "
        f"{report['labels']}: {shares['held_out']} held-out roots of {text_label(report['text'])} after "
        f"{shares['training']} to train on and {shares['validating']} to choose by",
        title_justify="left",
    )
    for name in ("sampling", "policy", "tokens per time", "over static", "95 %", "regret", "tokens a block", "used"):
        table.add_column(name, justify="left" if name in ("sampling", "policy") else "right")
    settings = report["settings"]
    for number, row in enumerate(report["rows"]):
        first = number == 0 or report["rows"][number - 1]["setting"] != row["setting"]
        if first and number:
            table.add_section()
        table.add_row(
            _sampling(settings[row["setting"]]) if first else "",
            row["policy"],
            f"{row['tokens_per_time']:.6g}",
            f"{row['over_static']:+.2%}",
            f"{row['over_static_low']:+.2%} to {row['over_static_high']:+.2%}",
            f"{row['regret']:.3%}",
            f"{row['tokens_per_block']:.5f}",
            str(row["used"]),
        )
    console.print(table)
    bases = "; ".join(", ".join(map(str, base)) for base in report["base"])
    console.print(
        f"static: K, L1, L2 = {bases}, the best on the roots to train on. oracle: the best action of every root, "
        f"{_oracle(report['labels'])} used: actions.",
        soft_wrap=True,
    )
    console.print(
        f"chosen of {len(report['grid'])} networks: lambda {how['penalty']:g}, alpha {how['share']:g}, dropout "
        f"{how['dropout']:g}, AdamW at {how['rate']:g}, {how['epochs']} epochs ({how['gain']:+.2%} "
        "where it was chosen)",
        soft_wrap=True,
    )
    console.print(f"selector: {report['file']}", soft_wrap=True)


def _oracle(labels: str) -> str:
    """What its figure means."""
    if labels == "exact":
        return "which no policy can pass."
    return "by noisy labels: the largest of them is too large, and so is regret; other figures have no bias."


def _sampling(warp: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in warp.items() if value is not None)
