"""What a search for the fastest candidate found: the ranking as tables and as a picture, and what to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draftproof.experiments.grid.figures import as_png, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.groups import FEWEST, few_text
from draftproof.experiments.inputs.schemes import scheme_spec, shape_name
from draftproof.experiments.inputs.verifiers import Combination
from draftproof.experiments.models.measure.rounds import Interval, Text, beside, speed_up
from draftproof.experiments.models.measure.setting import device_name
from draftproof.experiments.models.measure.writers import ASSISTED, Way, sampling_of
from draftproof.experiments.result import Column, Result, Table, hidden
from draftproof.simulator.drafts import Delayed

if TYPE_CHECKING:
    from draftproof.experiments.models.measure.choose import Search

#: Rows that people see, and bars of the picture.
SHOWN = 12
_COLUMNS = (
    Column("tokens_per_second", "exact", "tokens/s"),
    Column("measured_block_efficiency", "exact", "tokens a block"),
    Column("expected_block_efficiency", "exact", "exact"),
    Column("speedup", "exact", "times generate"),
    Column("speedup_interval", "interval", "95 %"),
    Column("of_first", "exact", "times the first"),
    Column("of_first_interval", "interval", "95 % of it"),
    Column("distinguishable", title="slower"),
    Column("texts", "count"),
    *hidden("scheme", "spec", "last_stage", "block_milliseconds", "break_even"),
)
_MEANING = (
    "texts: each beside one of generate; slower: than the first, beyond doubt; exact: at a context within each text",
    "the speed-up below is from further texts of the best: above, the best of several estimates reads high",
)


def choice_result(
    search: Search,
    confirmed: Sequence[Text],
    passes: Mapping[str, float],
    exact: Mapping[Way, float],
    plot: str | None = None,
) -> Result:
    """The ranking. confirmed: texts of the best candidate and `generate` alone. passes: `target_passes`.

    exact: exact tokens a block. plot: file of a picture of the ranking.
    """
    setting, amount = search.setting, search.amount
    ways = ranked(search)
    rows = [_row(search, way, exact.get(way)) for way in ways]
    turns = [text.plain.seconds for texts in search.texts.values() for text in texts]
    plain = amount.tokens / float(np.median(turns))
    assisted = _speed(search, ASSISTED) if ASSISTED in search.ways else None
    notes = [
        *search.notes,
        f"baseline: generate of transformers: the same prompts, {setting.sampling}, cache on, {amount.tokens} tokens a "
        "text, from call to return",
        passes_line(passes, rows[0]["break_even"]),
        f"generate: {plain:.0f} tokens/s" + _assisted_text(assisted),
        *([f"{len(rows) - SHOWN} more were measured; --json has them"] if len(rows) > SHOWN else []),
        *([few_text("roots")] if amount.roots < FEWEST else []),
        *_MEANING,
        f"use {recommendation(search, confirmed)}",
        generate_call(search, confirmed),
    ]
    about = {
        "target": setting.pair.names[0],
        "draft": setting.pair.names[1],
        **{name: setting.fields[name] for name in ("V", "text_hash", "device")},
        "after": str(setting.root_set),
        "sampling": str(setting.sampling),
        "clock": search.clock,
        "roots": amount.roots,
        "tokens": amount.tokens,
        "generate_tokens_per_second": plain,
        "target_passes": dict(passes),
        "assisted": assisted,
        "confirmed": {"texts": len(confirmed), **speed_up(confirmed).fields("speedup")},
        "recommendation": recommendation(search, confirmed),
        "paste": generate_call(search, confirmed),
        "seconds": round(search.forecast.passed, 1),
    }
    heading = "K, L1, L2" if all(isinstance(scheme, Delayed) for _, scheme in ways) else "scheme"
    columns = [Column("verifier"), Column("shape", title=heading), *_COLUMNS]
    tables = [Table.of(columns, rows, shown=len(rows) <= SHOWN)]
    if len(rows) > SHOWN:
        tables.append(Table.of(columns, rows[:SHOWN], title="the fastest", name="fastest"))
    tables.append(Table.whole([], [about], name="about", shown=False))
    where = f"V = {about['V']}, {setting.sampling}, {device_name(setting.pair.device)}, {search.clock} clock"
    title = f"target {about['target']}, draft {about['draft']}, {where}, after {setting.root_set}"
    return Result(title, tables, notes, files={plot: figure(rows, plain)} if plot else {})


def _assisted_text(assisted: Mapping[str, Any] | None) -> str:
    if assisted is None:
        return ""
    low, high = assisted["speedup_interval"]
    return f"; assisted generation: {assisted['speedup']:.2f} ({low:.2f} to {high:.2f}) times as many"


def passes_line(passes: Mapping[str, float], break_even: float) -> str:
    """How long passes of the target take, and from how many tokens a block on the first candidate pays."""
    (_, one), *more = passes.items()
    longer = "".join(f", {seconds / one:.2f} times as long over {size}" for size, seconds in more)
    return (
        f"a pass of the target takes {1e3 * one:.1f} ms over one token{longer}; a block of the first takes as long as "
        f"{break_even:.2f} tokens of generate"
    )


def ranked(search: Search) -> list[Combination]:
    """The verifiers and schemes that wrote: those of the last stage, then the others, the fastest first."""
    others = [way for way in search.combinations if search.texts[way] and way not in search.left]
    return [*search.left, *sorted(others, key=lambda way: -speed_up(search.texts[way]).mean)]


def _row(search: Search, way: Combination, exact: float | None) -> dict[str, Any]:
    named, scheme = way
    texts = search.texts[way]
    tokens, blocks = sum(text.own.tokens for text in texts), sum(text.own.blocks for text in texts)
    block = float(np.median([text.own.block for text in texts]))
    first = beside(texts, search.texts[search.left[0]])
    return {
        "verifier": named.label,
        "shape": shape_name(scheme),
        "scheme": scheme.as_dict(),
        "spec": scheme_spec(scheme),
        "texts": len(texts),
        "last_stage": way in search.left,
        "expected_block_efficiency": exact,
        "measured_block_efficiency": tokens / blocks,
        "block_milliseconds": 1e3 * block,
        "break_even": block / float(np.median([text.plain.block for text in texts])),
        **_speed(search, way),
        **(first if way != search.left[0] else Interval(1.0, 1.0, 1.0)).fields("of_first"),
        "distinguishable": first.high < 1,
    }


def _speed(search: Search, way: Way) -> dict[str, Any]:
    texts = search.texts[way]
    seconds = sum(text.own.seconds for text in texts)
    rate = len(texts) * search.amount.tokens / seconds
    return {"tokens_per_second": rate, **speed_up(texts).fields("speedup")}


def _name(way: Way) -> str:
    return f"{way} of transformers" if isinstance(way, str) else f"{way[0].label} on {way[1]}"


def recommendation(search: Search, confirmed: Sequence[Text]) -> str:
    """One line: what to use, its speed-up over `generate`, and which candidates are not distinguishable from it.

    confirmed: the texts of the best candidate and `generate` alone, from which the speed-up is.
    """
    best, speed = search.best, speed_up(confirmed)
    last = [way for way in search.last if way != best]
    interval = f"{speed.mean:.2f} times the tokens a second of generate (95 %: {speed.low:.2f} to {speed.high:.2f})"
    if speed.high < 1:
        open_ = [_name(way) for way in last if speed_up(search.texts[way]).high >= 1]
        unless = f"; open, whether faster than generate: {', '.join(open_)}" if open_ else ""
        return f"no speculation: the best, {_name(best)}, has {interval}{unless}"
    similar = [_name(way) for way in last if beside(search.texts[way], search.texts[best]).high >= 1]
    also = f"; not distinguishable from it: {', '.join(similar)}" if similar else ""
    sure = "" if speed.low > 1 else "; whether it is faster than generate is open"
    return f"{_name(best)}: {interval}{sure}{also}"


def generate_call(search: Search, confirmed: Sequence[Text]) -> str:
    """The call of `generate` that uses the best candidate; plain `generate` where it was confirmed to be slower."""
    way, sampling = search.best, search.setting.sampling
    given = [", ".join(f"{name}={value}" for name, value in sampling_of(sampling).items())]
    if speed_up(confirmed).high >= 1:
        given.insert(0, "assistant_model=draft" if isinstance(way, str) else "draft=draft")
        if not isinstance(way, str):
            own = sampling.of("draft")
            draft_option = "" if own == sampling.of("target") else f', draft_sampling="{own.text}"'
            given.insert(1, f'custom_generate=generate_with("{way[0].spec}", "{scheme_spec(way[1])}"{draft_option})')
    return f"target.generate(**inputs, {', '.join(given)}, max_new_tokens=..)"


def figure(rows: Sequence[Mapping[str, Any]], plain: float) -> bytes:
    """A PNG of tokens a second, fastest on top, and a line for `generate`. plain: tokens a second of it."""
    bars = rows[:SHOWN][::-1]
    picture, axes = matplotlib_pyplot().subplots(figsize=(7.2, 1.2 + 0.32 * len(bars)))
    for height, row in enumerate(bars):
        color = "#0072B2" if row["last_stage"] else "#56B4E9"
        axes.barh(height, row["tokens_per_second"], height=0.62, color=color)
        ends = [end * plain for end in row["speedup_interval"]]
        axes.plot(ends, [height, height], color="black", linewidth=1.4, solid_capstyle="butt")
    axes.axvline(plain, color="0.35", linestyle="--", linewidth=1, label="generate of transformers")
    axes.set_yticks(range(len(bars)), [f"{row['verifier']}  {row['shape']}" for row in bars], fontsize=8)
    axes.set_xlabel("tokens a second (line: 95 %; dark: until the last stage)", fontsize=8)
    style_axes(axes)
    axes.grid(axis="y", visible=False)
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    picture.tight_layout()
    return as_png(picture, 150)
