"""The table of `draftproof policies`. Functions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from draftproof.experiments.shared.output import short

#: Most used actions that are named.
NAMED = 3
#: Where a policy chooses the verifier as well.
TOGETHER = "any of them"


def table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """One line a policy, in the order given, by verifier."""
    checked = any(row["lossless"] is not None for row in rows)
    view = Table(title=title, title_justify="left", caption_justify="left")
    view.add_column("verifier")
    view.add_column("policy")
    for heading in ("tokens per time", "over static", "regret", "held out", "tokens a block", "used"):
        view.add_column(heading, justify="right")
    view.add_column("most used: K, L1, L2 and % of the blocks")
    if checked:
        view.add_column("lossless")
    for number, row in enumerate(rows):
        begins = number == 0 or rows[number - 1]["verifier"] != row["verifier"]
        if begins and number:
            view.add_section()
        cells = [row["verifier"] if begins else "", row["policy"], *(_numbers(row) if row["used"] else [""] * 7)]
        view.add_row(*cells, *([_verdict(row)] if checked else []))
    view.caption = (
        "over static: against the best action taken for ever. regret: share lost to the best of all policies; "
        "held out: regret where every state\nis chosen for by a learner that has not seen it. used: actions in use."
    )
    return view


def _numbers(row: dict[str, Any]) -> list[str]:
    return [
        f"{row['tokens_per_time_float']:.6f}",
        f"{row['over_static']:+.2%}",
        f"{row['regret']:.3%}",
        "" if row["held_out_regret"] is None else f"{row['held_out_regret']:.3%}",
        short(row["block_efficiency_float"]),
        str(row["used"]),
        _shares(row["actions"], several=row["verifier"] == TOGETHER),
    ]


def _shares(actions: dict[str, float], several: bool) -> str:
    parts = []
    for action, share in list(actions.items())[:NAMED]:
        shape = action.partition("delayed(")[2].rstrip(")")
        numbers = ", ".join(part.partition("=")[2] for part in shape.split(", "))
        which = action.partition(" on ")[0] + " " if several else ""
        parts.append(f"{which}{numbers} {share:.0%}")
    return "; ".join(parts)


def _verdict(row: dict[str, Any]) -> str:
    if row["lossless"] is None:
        return ""
    return f"{row['blocks_checked']} blocks" if row["lossless"] else "REFUTED"
