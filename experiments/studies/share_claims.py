"""The figures in the text of the study's page: a function of its rows, printed with its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]

#: Shares closer than this count as equal: they are quotients of sums in float64.
CLOSE = 1e-9
#: The verifier whose figures the page states.
COMPARED = "layer_transport"
#: A verifier is as good as another within this share.
AS_GOOD = 1e-4
#: How many of the worst are listed.
WORST = 10


def claims(rows: Sequence[Row]) -> str:
    """A list in markdown, one line a figure; rows as the study keeps them."""
    return "".join(f"- {name}: {figure}\n" for name, figure in _figures(rows))


def _figures(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    methods = Counter(row["method"] for row in rows)
    most = max(max(row["shares"].values()) for row in rows)
    names = list(rows[0]["shares"])
    yield "instances", f"{len(rows):,}, in {sum(row['seconds'] for row in rows) / 60:.0f} minutes of one core"
    yield "optima by method", _counted(methods)
    yield "largest certified gap", f"{max(row['gap_float'] for row in rows):.1e}"
    yield "largest share", f"{most:.4f}" if most <= 1 else f"1 + {most - 1:.1e}"
    leaders = [_leaders(row) for row in rows]
    others = [best for best in leaders if COMPARED not in best]
    yield "best, to 1e-9", _counted(Counter(name for best in leaders for name in best))
    yield (
        f"where `{COMPARED}` is not best ({len(others):,})",
        _counted(Counter(name for best in others for name in best)),
    )
    yield from _deep(rows)
    steps = [row for row in rows if row["L1"] + row["L2"] == 1]
    if steps:
        misses = {name: max(1 - row["shares"][name] for row in steps) for name in names}
        chosen = sorted(misses, key=lambda name: misses[name])[:3]
        text = ", ".join(f"`{name}` {max(misses[name], 0.0):.1e}" for name in chosen)
        yield f"largest misses at one step ({len(steps):,}), the best three", text
    below = {K: _share_of(rows, K, _greedy_below_block) for K in sorted({row["K"] for row in rows})}
    yield "`gbv` below `block`", ", ".join(f"{share:.0%} at K = {K}" for K, share in below.items())
    lost = sum(1 - row["shares"]["gbv"] for row in rows)
    left = sum(1 - row["shares"]["mixed_order, best a"] for row in rows)
    yield "of what `gbv` leaves, the best `a` brings back", f"{(lost - left) / lost:.0%}" if lost > 0 else "nothing"
    deepest = max(row["L1"] + row["L2"] for row in rows)
    yield f"instances of depth {deepest}", f"{sum(row['L1'] + row['L2'] == deepest for row in rows):,}"


def _deep(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    """Figures of the verifier `COMPARED` on trees deeper than one step."""
    deep = [row for row in rows if row["L1"] + row["L2"] > 1]
    if not deep:
        return
    shares = sorted(row["shares"][COMPARED] for row in deep)
    yield f"`{COMPARED}` at L > 1 ({len(deep):,})", f"mean {sum(shares) / len(shares):.5f}, worst {shares[0]:.4f}"
    ahead = sum(row["shares"][COMPARED] >= _next(row)[1] - AS_GOOD for row in deep)
    yield f"there ahead of all others, or within {AS_GOOD:.0e}", f"{ahead:,}, {ahead / len(deep):.1%}"
    for number, row in enumerate(sorted(deep, key=lambda row: row["shares"][COMPARED])[:WORST], start=1):
        shape = ", ".join(f"{key} = {row[key]}" for key in ("K", "L1", "L2", "seed"))
        name, share = _next(row)
        family = f"{row['family']}{row['parameters'] or ''}"
        lost = ", ".join(f"{mass:.4f}" for mass in row["lost"][COMPARED][1:])
        yield (
            f"worst {number} of `{COMPARED}`",
            f"{row['shares'][COMPARED]:.4f} ({family}, V = {row['vocab_size']}, {shape}; `{name}` {share:.4f}; lost at "
            f"depths 1, 2, ..: {lost})",
        )
    errors = [error for row in rows for error in row.get("errors", {}).values()]
    if errors:
        yield "shares that are sampled", f"{len(errors):,}, largest standard error {max(errors):.1e}"


def _next(row: Row) -> tuple[str, float]:
    """The best verifier but `COMPARED`, with its share."""
    others = {name: share for name, share in row["shares"].items() if name != COMPARED}
    name = max(others, key=others.__getitem__)
    return name, others[name]


def _leaders(row: Row) -> list[str]:
    """The verifiers with the largest share of this instance."""
    most = max(row["shares"].values())
    return [name for name, share in row["shares"].items() if share >= most - CLOSE]


def _greedy_below_block(row: Row) -> bool:
    return bool(row["shares"]["gbv"] < row["shares"]["block"] - CLOSE)


def _share_of(rows: Sequence[Row], K: int, holds: Callable[[Row], bool]) -> float:
    group = [row for row in rows if row["K"] == K]
    return sum(holds(row) for row in group) / len(group)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"`{name}` {count:,}" for name, count in counts.most_common()) or "none"
