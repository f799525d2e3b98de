"""Tables and the picture of the study of selectors. Functions of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.shared.drawing import as_png, drawing_board, line_style, quiet_axes

#: Policies in the order of what they know; drawings of the roots for an interval.
LADDER = ("one", "static", "entropy", "tree", "linear", "boosting", "selector", "oracle")
DRAWINGS = 2000
#: Whose best static action and selector the others stand beside.
RIVAL = "traversal"


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Every table for which there are rows."""
    parts = [_ladder(rows, target) for target in _targets(rows)]
    return "\n".join(part for part in [*parts, _across(rows), _delay(rows)] if part)


def rate(policy: Mapping[str, Any]) -> float:
    """Tokens per time over the roots."""
    return float(sum(policy["tokens"]) / sum(policy["times"]))


def gain(mine: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float, float]:
    """What one policy brings over another at the same roots, and 95 % from drawing the roots again."""
    count = len(mine["tokens"])
    places = np.random.default_rng(0).integers(count, size=(DRAWINGS, count))

    def rates(policy: Mapping[str, Any]) -> Any:
        return np.array(policy["tokens"])[places].sum(1) / np.array(policy["times"])[places].sum(1)

    low, high = np.quantile(rates(mine) / rates(other) - 1, (0.025, 0.975))
    return rate(mine) / rate(other) - 1, float(low), float(high)


def _targets(rows: Sequence[dict[str, Any]]) -> list[float]:
    return sorted({row["target_time"] for row in rows})


def _table(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    cells = [list(headings), ["---"] * len(headings), *map(list, lines)]
    return f"### {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def _ladder(rows: Sequence[dict[str, Any]], target: float) -> str:
    """Tokens per time of the best static action of each temperature, what the rest gain over it, and regret."""
    lines = []
    of = [row for row in rows if row["target_time"] == target]
    for temperature in [setting["temperature"] for setting in of[0]["settings"]]:
        for row in of:
            setting = next(each for each in row["settings"] if each["temperature"] == temperature)
            found = setting["policies"]
            static, best = found["static"], rate(found["oracle"])
            cells = [f"{temperature:g}", f"`{row['verifier']}`", f"{rate(static):.5f}"]
            cells.append(", ".join(map(str, setting["static"])))
            for name in LADDER:
                if name in ("static", "selector") or name not in found:
                    continue
                cells.append(f"{rate(found[name]) / rate(static) - 1:+.2%}")
                if name == "boosting" or (name == "entropy" and "boosting" not in found):
                    mean, low, high = gain(found["selector"], static)
                    cells.append(f"{mean:+.2%} ({low:+.2%} to {high:+.2%})")
            cells.append(f"{1 - rate(found['selector']) / best:.2%}")
            lines.append([*cells, str(found["selector"]["used"])])
    known = [name for name in LADDER if name in of[0]["settings"][0]["policies"] and name != "static"]
    headings = ["temperature", "verifier", "static", "K, L1, L2", *known, "regret", "used"]
    first = of[0]
    title = (
        f"A target pass takes {target:g} draft passes: V = {first['V']}, {len(first['shapes'])} shapes, labels "
        f"{first['labels']}, {first['held_out']} held-out roots a temperature"
    )
    return _table(title, headings, lines)


def _across(rows: Sequence[dict[str, Any]]) -> str:
    """Each verifier's static action and selector against the rival's static action and selector, with 95 %."""
    rivals = {row["target_time"]: row for row in rows if row["verifier"] == RIVAL}
    lines = []
    for row in rows:
        rival = rivals.get(row["target_time"])
        if rival is None or row["verifier"] == RIVAL:
            continue
        for setting, other in zip(row["settings"], rival["settings"], strict=True):
            mine, theirs = setting["policies"], other["policies"]
            pairs = (("static", "static"), ("selector", "static"), ("selector", "selector"), ("oracle", "oracle"))
            gains = [gain(mine[one], theirs[two]) for one, two in pairs]
            cells = [f"{mean:+.2%} ({low:+.2%} to {high:+.2%})" for mean, low, high in gains]
            lines.append([f"{row['target_time']:g}", f"{setting['temperature']:g}", f"`{row['verifier']}`", *cells])
    headings = ["t_p", "temperature", "verifier", "static, both", f"selector against static `{RIVAL}`"]
    headings += ["selector, both", "oracle, both"]
    return _table(f"Against `{RIVAL}` at the same roots", headings, lines)


def _delay(rows: Sequence[dict[str, Any]]) -> str:
    """Tokens a block over all roots of shapes with as many drafted tokens, by the length of the trunk."""
    of = [row for row in rows if row["target_time"] == rows[0]["target_time"]]
    budgets: dict[int, list[tuple[int, int]]] = {}
    for place, (K, L1, L2) in enumerate(of[0]["shapes"]):
        budgets.setdefault(L1 + K * L2, []).append((L1 + L2 if K == 1 else L1, place))
    columns = [(n, place) for n, each in sorted(budgets.items()) if len(each) > 1 for _, place in sorted(each)]
    if not columns:
        return ""
    headings = ["temperature", "verifier"]
    headings += [f"{n}: {', '.join(map(str, of[0]['shapes'][place]))}" for n, place in columns]
    lines = [
        [
            f"{setting['temperature']:g}",
            f"`{row['verifier']}`",
            *(f"{setting['mean_tokens'][p]:.4f}" for _, p in columns),
        ]
        for number in range(len(of[0]["settings"]))
        for row in of
        for setting in [row["settings"][number]]
    ]
    return _table("Tokens a block over all roots, drafted tokens: K, L1, L2", headings, lines)


def figure(rows: Sequence[dict[str, Any]]) -> bytes:
    """A panel for each time and temperature: what a policy knows, and its tokens per time over the best static."""
    pyplot = drawing_board()
    targets = _targets(rows)
    temperatures = [setting["temperature"] for setting in rows[0]["settings"]]
    board, panels = pyplot.subplots(
        len(targets),
        len(temperatures),
        figsize=(12, 4.2 * len(targets)),
        layout="constrained",
        squeeze=False,
        sharey="row",
    )
    for line, target in zip(panels, targets, strict=True):
        for axes, temperature in zip(line, temperatures, strict=True):
            for number, row in enumerate(row for row in rows if row["target_time"] == target):
                setting = next(each for each in row["settings"] if each["temperature"] == temperature)
                found = setting["policies"]
                steps = [name for name in LADDER if name in found]
                gains = [100 * (rate(found[name]) / rate(found["static"]) - 1) for name in steps]
                axes.plot(range(len(steps)), gains, **line_style(number), label=row["verifier"])
                axes.set_xticks(range(len(steps)), steps, fontsize=8)
            axes.set_title(
                f"target pass = {target:g} draft passes, temperature {temperature:g}", loc="left", fontsize=10
            )
            quiet_axes(axes)
        line[0].set_ylabel("tokens per time over the best static action, %")
    panels[0][0].legend(frameon=False, fontsize=8)
    return as_png(board, 110)
