"""Tables and the picture of the study of policies. Functions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.grid.figures import as_png, drawing_board, line_style, quiet_axes

#: Rivals in the order of the ladder; those that learn are shown held out as well.
LADDER = ("entropy", "tree", "linear", "boosting", "ratio", "greedy", "best")


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Every table for which there are rows."""
    parts = [
        *(_ladder(rows, target) for target in _targets(rows)),
        _across(rows),
        _temperatures(rows),
    ]
    return "\n".join(part for part in parts if part)


def _table(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    cells = [list(headings), ["---"] * len(headings), *map(list, lines)]
    return f"### {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def _targets(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(target for row in rows for target in row["times"]))


def _gain(rate: float, static: float) -> str:
    return f"{rate / static - 1:+.2%}"


def _ladder(rows: Sequence[dict[str, Any]], target: str) -> str:
    """Tokens per time of the best static action, and what each rival gains over it, held out in brackets."""
    lines = []
    for row in sorted(rows, key=lambda row: row["world"]):
        rates = row["times"][target]["rivals"]
        static = rates["static"]["rate"]
        cells = [row["world"], f"`{row['verifier']}`", f"{static:.5f}"]
        for name in LADDER:
            entry = rates.get(name)
            held = f" ({_gain(entry['held_out'], static)})" if entry and "held_out" in entry else ""
            cells.append(_gain(entry["rate"], static) + held if entry else "")
        lines.append([*cells, str(rates["best"]["used"])])
    headings = ["world", "verifier", "static", *LADDER, "used by best"]
    return _table(f"A target pass takes {target} draft passes", headings, lines)


def _across(rows: Sequence[dict[str, Any]]) -> str:
    """The best policy of each verifier against the best static action of traversal, and against its best policy."""
    lines = []
    known = {(row["world"], row["verifier"]): row for row in rows}
    for (world, verifier), row in sorted(known.items()):
        rival = known.get((world, "traversal"))
        if rival is None or verifier == "traversal":
            continue
        cells = [world, f"`{verifier}`"]
        for target, entry in row["times"].items():
            mine, other = entry["rivals"], rival["times"][target]["rivals"]
            cells.append(
                f"{_gain(mine['static']['rate'], other['static']['rate'])}, "
                f"{_gain(mine['best']['rate'], other['static']['rate'])}, "
                f"{_gain(mine['best']['rate'], other['best']['rate'])}"
            )
        lines.append(cells)
    headings = ["world", "verifier", *(f"t_p = {target}" for target in _targets(rows))]
    title = "Against traversal: static against static, best policy against static, best policy against best policy"
    return _table(title, headings, lines)


def _temperatures(rows: Sequence[dict[str, Any]]) -> str:
    """One action for all temperatures of a world, the best for each, and the best policy; as many tokens at each."""
    lines = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["world"].partition(", temperature")[0], row["verifier"]), []).append(row)
    for (world, verifier), group in sorted(groups.items()):
        if len(group) < 2:
            continue
        cells = [world, f"`{verifier}`"]
        for target in group[0]["times"]:
            parts = [row["times"][target] for row in group]
            one = max(_mean([part["statics"][name] for part in parts]) for name in parts[0]["statics"])
            each = _mean([max(part["statics"].values()) for part in parts])
            best = _mean([part["rivals"]["best"]["rate"] for part in parts])
            cells.append(f"{_gain(each, one)}, {_gain(best, one)}")
        lines.append(cells)
    headings = ["world", "verifier", *(f"t_p = {target}" for target in _targets(rows))]
    return _table(
        "Over one action for all three temperatures: the best for each temperature, the best policy", headings, lines
    )


def _mean(rates: Sequence[float]) -> float:
    """Tokens per time where every world brings as many tokens."""
    return len(rates) / sum(1 / rate for rate in rates)


def _drawn(worlds: Sequence[str]) -> str:
    """The world of the picture: that with the most verifiers, at temperature 1 before others."""
    return max(worlds, key=lambda world: (worlds.count(world), world.endswith("temperature 1"), world < "V = 5"))


def figure(rows: Sequence[dict[str, Any]]) -> bytes:
    """The ladder of each verifier in one world at ten draft passes."""
    pyplot = drawing_board()
    board, axes = pyplot.subplots(figsize=(6, 4.6), layout="constrained")
    drawn = _drawn([row["world"] for row in rows])
    ladders = [row for row in rows if row["world"] == drawn]
    steps = ("static", "entropy", "tree", "boosting", "greedy", "best")
    for number, row in enumerate(ladders):
        rates = row["times"]["10"]["rivals"] if "10" in row["times"] else {}
        points = [100 * (rates[step]["rate"] / rates["static"]["rate"] - 1) for step in steps if step in rates]
        axes.plot(range(len(points)), points, **line_style(number), label=row["verifier"])
    axes.set_xticks(range(len(steps)), steps)
    axes.set_ylabel("tokens per time over the best static action, %")
    axes.set_title("What is known, and what it is worth: 10 draft passes, depth up to 4", loc="left")
    quiet_axes(axes)
    if axes.has_data():
        axes.legend(frameon=False, fontsize=8)
    return as_png(board, 110)
