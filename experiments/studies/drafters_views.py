"""The drafts of the study `drafters` with what was found of each: tables, picture and plain data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.report.section import Section, number, text
from draftproof.experiments.grid.store import Row

#: The path, the branches and the tree whose laws are told.
PATH, BRANCHES, TREE = "delayed:K=1,L1=0,L2=4", "delayed:K=2,L1=0,L2=2", "specblock:places=2,blocks=2,nodes=6,cover=3/4"


@dataclass
class Drafter:
    """A draft at one temperature. rows: by scheme and verifier; bounds: by scheme; depths: on the path.

    passes: of the drafter for a path of four. rates: tokens a second by verifier, where they are measured.
    """

    name: str
    temperature: float
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    depths: list[dict[str, Any]] = field(default_factory=list)
    passes: int = 0
    rates: dict[str, float] = field(default_factory=dict)

    def mean(self, scheme: str, verifier: str) -> float | None:
        """The block efficiency."""
        row = self.rows.get((scheme, verifier))
        return None if row is None else row["block_efficiency_float"]


def sections(found: Sequence[Drafter]) -> Iterator[Section]:
    """The tables: by depth, and what the drafts bring; the lowest temperature first."""
    found = sorted(found, key=lambda each: each.temperature)
    depths = range(1, 1 + max(len(each.depths) for each in found))
    for key, title in (("distance", "Mean L1(p, q) of the token of depth d"), ("accepted", "P(tau ≥ d | tau ≥ d - 1)")):
        headings = ("temperature", "draft", *(f"d = {depth}" for depth in depths))
        rows = [
            [text(f"{each.temperature:g}"), text(each.name), *(number(row[f"{key}_float"]) for row in each.depths)]
            for each in found
        ]
        yield Section(key, title, headings, rows)
    headings = (
        "temperature", "draft", "passes", "naive, path", "naive", "layer_transport", "optimum", "nss, tree",
        *(f"tokens/s, {name}" for name in (found[0].rates if found else ())),
    )  # fmt: skip
    rows = [
        [
            text(f"{each.temperature:g}"),
            text(each.name),
            text(each.passes),
            number(each.mean(PATH, "naive")),
            *(number(each.mean(BRANCHES, name)) for name in ("naive", "layer_transport")),
            number(each.bounds.get(BRANCHES)),
            number(each.mean(TREE, "nss")),
            *(text(f"{rate:.0f}") for rate in each.rates.values()),
        ]
        for each in found
    ]
    yield Section("brings", "Tokens a block, and tokens a second", headings, rows)


def figure(found: Sequence[Drafter]) -> bytes:
    """A PNG: acceptance by depth on the path, a panel for each temperature and a line for each draft."""
    warmths = sorted({each.temperature for each in found})
    drawn, panels = matplotlib_pyplot().subplots(
        1, len(warmths), figsize=(3.4 * len(warmths) + 1.6, 3.6), sharey=True, squeeze=False, layout="constrained"
    )
    for axes, warmth in zip(panels[0], warmths, strict=True):
        lines = [each for each in found if each.temperature == warmth]
        for place, each in enumerate(lines):
            points = [(row["depth"], row["accepted_float"]) for row in each.depths]
            axes.plot(*zip(*points, strict=True), **line_style(place), markersize=5, label=each.name)
        axes.set_title(f"temperature {warmth:g}", loc="left", fontsize=10)
        axes.set_xlabel("depth d of the drafted token")
        axes.set_xticks([row["depth"] for row in lines[0].depths])
        style_axes(axes)
    panels[0][0].set_ylabel("P(tau ≥ d | tau ≥ d - 1)")
    drawn.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    return as_png(drawn, 140)


def fields(each: Drafter) -> dict[str, Any]:
    """A draft as plain data."""
    means = {f"{verifier} on {scheme}": row["block_efficiency_float"] for (scheme, verifier), row in each.rows.items()}
    return {
        "draft": each.name,
        "temperature": each.temperature,
        "passes": each.passes,
        "block_efficiency": means,
        "optimum": each.bounds,
        "depths": [{key: row[f"{key}_float"] for key in ("distance", "accepted", "reached")} for row in each.depths],
        "tokens_per_second": each.rates,
    }
