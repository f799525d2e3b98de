"""How bounds are shown: a few lines, a table by root, the gap against time."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from draftproof.experiments.grid.figures import as_png, drawing_board
from draftproof.experiments.shared.output import write_whole


def show(console: Console, fields: dict[str, Any], problem: str, goal: float) -> None:
    """The bounds in words, and root by root."""
    scheme = fields["scheme"]
    shape = f"K = {scheme['K']}, L1 = {scheme['L1']}, L2 = {scheme['L2']}"
    console.print(f"the optimum over all lossless verifiers, {shape}")
    console.print(f"  {problem}")
    console.print(
        f"  attained {fields['lower_float']:.9f}, at most {fields['upper_float']:.9f}, gap {_gap(fields['gap_float'])}"
        f" (exact arithmetic on both sides, {fields['method']})"
    )
    if fields["cut"]:
        console.print(
            "  both are about the whole vocabulary: attained by a verifier that stops at tokens not kept, while the "
            "upper\n  bound grants every block that leaves them; keep more of them with --vocab"
        )
    if any(root["solver_gap_float"] > goal for root in fields["roots"]):
        console.print(f"  the gap is above {goal:g}: {_why(fields['roots'], goal)}")
    files = [root[key] for key in ("certificate", "certificate_above") for root in fields["roots"] if root.get(key)]
    if files:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        console.print(
            f"  certificate: {files[0]}{more}; check it: draftproof bound --verify {files[0]}", soft_wrap=True
        )
    if len(fields["roots"]) == 1:
        return
    table = Table(title="by root context", title_justify="left")
    table.add_column("root")
    for heading in ("weight", "attained", "at most", "gap", "orders", "seconds"):
        table.add_column(heading, justify="right")
    for root in fields["roots"]:
        table.add_row(
            repr(root["root"]),
            f"{root['weight_float']:.4f}",
            f"{root['lower_float']:.7f}",
            f"{root['upper_float']:.7f}",
            _gap(root["gap_float"]),
            str(root["orders"]),
            f"{root['seconds']:.1f}",
        )
    console.print(table)


def _why(roots: list[dict[str, Any]], goal: float) -> str:
    """Why a gap stayed above the goal, and the way out."""
    wide = [root for root in roots if root["solver_gap_float"] > goal]
    if any(root["timed_out"] for root in wide):
        return "it stopped early; give it more --seconds or a smaller tree"
    return "float64 goes no further; ask for a wider --gap or a smaller tree"


def show_verified(console: Console, fields: dict[str, Any]) -> None:
    """What a certificate proves, or why it is rejected."""
    path = fields["certificate"]
    if not fields["valid"]:
        console.print(f"{path}: REJECTED\n  {fields['reason']}", soft_wrap=True)
        return
    shape = ", ".join(f"{name} = {fields['scheme'][name]}" for name in ("K", "L1", "L2"))
    console.print(f"{path}: VALID, recomputed in rationals without a solver")
    console.print(f"  {shape}, V = {fields['vocab_size']}, rows {fields['digest']}")
    meant = fields["instance_scheme"]
    if meant is not None and meant != fields["scheme"]:
        given = ", ".join(f"{key} = {value}" for key, value in meant.items() if key != "name")
        console.print(f"  the instance is meant for {meant['name']} ({given}): about that, this proves nothing")
    console.print(
        f"  some lossless verifier has block efficiency {fields['lower_float']:.9f}, "
        f"none has more than {fields['upper_float']:.9f}"
    )
    console.print(f"  gap {_gap(fields['gap_float'])}")


def _gap(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def draw(fields: dict[str, Any], caption: str, path: str) -> None:
    """A PNG of the gap against time, one line a root."""
    figure, axes = drawing_board().subplots(figsize=(6.4, 4.0), layout="constrained")
    for root in fields["roots"]:
        points = [(seconds, upper - lower) for seconds, lower, upper in root["history"] if upper > lower]
        if points:
            axes.step(*zip(*points, strict=True), where="post", marker=".", linewidth=1.2, label=repr(root["root"]))
    axes.set_yscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("upper bound - lower bound")
    axes.grid(color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if len(fields["roots"]) > 1 and axes.lines:
        axes.legend(frameon=False, fontsize=8, title="root")
    scheme = fields["scheme"]
    axes.set_title(
        f"Gap of the bounds, K = {scheme['K']}, L1 = {scheme['L1']}, L2 = {scheme['L2']}\n{caption}",
        loc="left",
        fontsize=9,
        wrap=True,
    )
    write_whole(path, as_png(figure, 160))
