"""Tables and the picture of the study of policies. Functions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.shared.drawing import as_png, drawing_board, line_style, quiet_axes

#: Rivals in the order of the ladder; those that learn are shown held out as well.
LADDER = ("entropy", "tree", "linear", "boosting", "ratio", "greedy", "best")


def of_kind(rows: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The rows of one kind."""
    return [row for row in rows if row["kind"] == kind]


def text(rows: Sequence[dict[str, Any]]) -> str:
    """What is printed."""
    return markdown(rows)


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Every table for which there are rows."""
    parts = [
        *(part for target in _targets(rows) for part in (_ladder(rows, target),)),
        _across(rows),
        _temperatures(rows),
        _depth(rows),
        _labels(rows),
        _delay(rows),
        _drift(rows),
    ]
    return "\n".join(part for part in parts if part)


def _table(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    cells = [list(headings), ["---"] * len(headings), *map(list, lines)]
    return f"### {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def _targets(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(target for row in of_kind(rows, "ladder") for target in row["times"]))


def _gain(rate: float, static: float) -> str:
    return f"{rate / static - 1:+.2%}"


def _ladder(rows: Sequence[dict[str, Any]], target: str) -> str:
    """Tokens per time of the best static action, and what each rival gains over it, held out in brackets."""
    lines = []
    for row in sorted(of_kind(rows, "ladder"), key=lambda row: row["world"]):
        rates = row["times"][target]["rivals"]
        static = rates["static"]["rate"]
        cells = [row["world"], f"`{row['verifier']}`", f"{static:.5f}"]
        for name in LADDER:
            found = rates.get(name)
            held = f" ({_gain(found['held_out'], static)})" if found and "held_out" in found else ""
            cells.append(_gain(found["rate"], static) + held if found else "")
        lines.append([*cells, str(rates["best"]["used"])])
    headings = ["world", "verifier", "static", *LADDER, "used by best"]
    return _table(f"A target pass takes {target} draft passes", headings, lines)


def _across(rows: Sequence[dict[str, Any]]) -> str:
    """The best policy of each verifier against the best static action of traversal, and against its best policy."""
    lines = []
    known = {(row["world"], row["verifier"]): row for row in of_kind(rows, "ladder")}
    for (world, verifier), row in sorted(known.items()):
        rival = known.get((world, "traversal"))
        if rival is None or verifier == "traversal":
            continue
        cells = [world, f"`{verifier}`"]
        for target, found in row["times"].items():
            mine, other = found["rivals"], rival["times"][target]["rivals"]
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
    for row in of_kind(rows, "ladder"):
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


def _depth(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for row in of_kind(rows, "depth"):
        for cut in row["cuts"]:
            shape = cut["static"].removeprefix("delayed(").rstrip(")")
            lines.append(
                [
                    str(cut["depth"]),
                    str(cut["target_time"]),
                    str(cut["actions"]),
                    shape,
                    f"{cut['static_tokens']:.3f}",
                    f"{cut['gain']:+.2%}",
                    f"{cut['gain_in_tokens']:+.2%}",
                    f"{cut['greedy_loses']:.3%}",
                    str(cut["used"]),
                ]
            )
    headings = ["depth up to", "t_p", "actions", "best static", "its tokens a block"]
    headings += ["best policy, tokens per time", "its tokens a block", "greedy loses", "used"]
    return _table("The published actions cut at a depth, `specinfer`", headings, lines)


def _labels(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        [
            f"`{row['verifier']}`",
            str(each["trees"]),
            *(f"{value:+.2%}" for value in (each["promised"], each["got"], row["best"])),
        ]
        for row in of_kind(rows, "labels")
        for each in row["labels"]
    ]
    headings = ["verifier", "trees a label", "promised by the labels", "got", "best policy"]
    return _table("Choosing by labels from sampled trees, over the best static action", headings, lines)


def _delay(rows: Sequence[dict[str, Any]]) -> str:
    found = of_kind(rows, "delay")
    if not found:
        return ""
    shapes = [(c["budget"], c["K"], c["L1"], c["L2"] * (c["K"] > 1)) for c in found[0]["curves"]]  # one path: a trunk
    order = sorted(range(len(shapes)), key=lambda i: (shapes[i][0], shapes[i][2]))
    headings = ["verifier", *(f"{n}: {K}, {L1}, {L2}" for n, K, L1, L2 in (shapes[i] for i in order))]
    lines = [[f"`{row['verifier']}`", *(f"{row['curves'][i]['tokens']:.4f}" for i in order)] for row in found]
    return _table("Tokens a block in the long run, drafted tokens: K, L1, L2", headings, lines)


def _drift(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for row in of_kind(rows, "drift"):
        for name, key in (
            ("distance on drafts", "distance"),
            ("distance on accepted", "distance_accepted"),
            ("accepted", "accepted"),
        ):
            lines.append([row["world"], name, *(f"{depth[key]:.4f}" for depth in row["depths"])])
    count = len(of_kind(rows, "drift")[0]["depths"]) if lines else 0
    headings = ["world", "", *(f"d = {d}" for d in range(count))]
    return _table(
        "One draft: `E |p - q|_1` at depth d, and the chance that the next token is accepted", headings, lines
    )


def _drawn(worlds: Sequence[str]) -> str:
    """The world of the picture: that with the most verifiers, at temperature 1 before others."""
    return max(worlds, key=lambda world: (worlds.count(world), world.endswith("temperature 1"), world < "V = 5"))


def figure(rows: Sequence[dict[str, Any]]) -> bytes:
    """Left: the gain by depth. Right: the ladder of each verifier in the first world at ten draft passes."""
    pyplot = drawing_board()
    board, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    cuts = [cut for row in of_kind(rows, "depth") for cut in row["cuts"]]
    for number, target in enumerate(dict.fromkeys(cut["target_time"] for cut in cuts)):
        points = [(cut["depth"], 100 * cut["gain"]) for cut in cuts if cut["target_time"] == target]
        left.plot(*zip(*points, strict=True), **line_style(number), label=f"target pass = {target} draft passes")
    left.set(xlabel="deepest shape", ylabel="tokens per time over the best static action, %")
    left.set_title("The best policy of specinfer", loc="left")
    worlds = [row["world"] for row in of_kind(rows, "ladder")]
    ladders = [row for row in of_kind(rows, "ladder") if worlds and row["world"] == _drawn(worlds)]
    steps = ("static", "entropy", "tree", "boosting", "greedy", "best")
    for number, row in enumerate(ladders):
        rates = row["times"]["10"]["rivals"] if "10" in row["times"] else {}
        points = [100 * (rates[step]["rate"] / rates["static"]["rate"] - 1) for step in steps if step in rates]
        right.plot(range(len(points)), points, **line_style(number), label=row["verifier"])
    right.set_xticks(range(len(steps)), steps)
    right.set_title("What is known, and what it is worth: 10 draft passes, depth up to 4", loc="left")
    for axes in (left, right):
        quiet_axes(axes)
        if axes.has_data():
            axes.legend(frameon=False, fontsize=8)
    return as_png(board, 110)
