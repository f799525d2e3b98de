"""The report as one file of HTML: no network, light and dark, tables that sort and filter, fit for print."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from experiments.commands.claims.verdicts import RECORDED
from experiments.commands.claims.views import recorded
from experiments.commands.gallery.entries import ENTRIES
from experiments.commands.gallery.work import measured
from experiments.commands.report.figures import bars, curves
from experiments.commands.report.matched import TIMES

_STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#f1f3f5;--line:#ced4da;--mark:#1864ab}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181b;--soft:#22262b;--line:#3b4148;--mark:#74c0fc}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1100px;padding:1rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}h1{margin:.2em 0}code{font-size:.85em;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}
th,td{padding:.3em .6em;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--mark)}
td.n{text-align:right}ul.findings{background:var(--soft);padding:1em 1em 1em 2em;border-left:4px solid var(--mark)}
input{width:100%;max-width:24em;padding:.3em;margin:.4em 0;background:var(--paper);color:var(--ink);
border:1px solid var(--line)}svg{width:100%;max-width:760px;height:auto}svg text{fill:var(--ink);font:13px system-ui}
.bar{fill:var(--mark)}.line{fill:none;stroke:hsl(var(--hue) 60% 50%);stroke-width:2}.dot{fill:hsl(var(--hue) 60% 50%)}
details{margin:.5em 0}.how{opacity:.8;font-size:.9em}
@media print{input{display:none}details>*{display:block}body{max-width:none;font-size:11pt}tr{break-inside:avoid}}
"""
_SCRIPT = """
for(const table of document.querySelectorAll('table')){const body=table.tBodies[0];
table.querySelectorAll('th button').forEach((button,column)=>button.addEventListener('click',()=>{
const up=button.dataset.up!=='yes';table.querySelectorAll('th button').forEach(b=>{delete b.dataset.up;
b.closest('th').removeAttribute('aria-sort')});button.dataset.up=up?'yes':'no';
button.closest('th').setAttribute('aria-sort',up?'ascending':'descending');
const key=row=>{const cell=row.cells[column],value=cell.dataset.value;return value===undefined?cell.textContent:+value};
[...body.rows].sort((a,b)=>{const x=key(a),y=key(b);
const d=typeof x==='number'&&typeof y==='number'?x-y:String(x).localeCompare(String(y));return up?d:-d})
.forEach(row=>body.append(row))}))}
for(const input of document.querySelectorAll('input[data-table]'))input.addEventListener('input',()=>{
const words=input.value.toLowerCase().split(/ +/);
for(const row of document.getElementById(input.dataset.table).tBodies[0].rows){
const text=row.textContent.toLowerCase();row.hidden=!words.every(word=>text.includes(word))}})
"""
Cell = tuple[str, float | None]


def page(summary: Mapping[str, Any], stores: Sequence[str], version: str) -> str:
    """The whole report. stores: the names of what it was made from."""
    again = shlex.join(["draftproof", "report", *stores, "--json", "-"])
    named = ", ".join(stores)
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>draftproof: {escape(named)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>What {escape(named)} shows</h1>",
        '<ul class="findings">' + "".join(f"<li>{escape(text)}</li>" for text in summary["findings"]) + "</ul>",
        f'<p class="how">Made by draftproof {escape(version)}. Every number of these tables is printed by '
        f"<code>{escape(again)}</code>; a single row by the command beside it.</p>",
        *(_verifiers(summary) if summary["rows"] else ()),
        *(_schemes(summary) if summary["rows"] else ()),
        *(_pairs(summary) if summary["rows"] else ()),
        *(_matched(summary) if summary["rows"] else ()),
        *_shares(summary),
        *_cells(summary),
        *_ledger(),
        *_gallery(),
        f"<script>{_SCRIPT}</script></body></html>\n",
    ]
    return "\n".join(parts)


def _verifiers(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Verifiers</h2>"
    sound = [row for row in summary["verifiers"] if row["lossless"] == row["rows"] and not row["control"]]
    shares = {row["verifier"]: row["share"] for row in sound if row["share"] is not None}
    if shares:
        hover = {
            row["verifier"]: f"{row['verifier']}: {row['share']:.4%} of the optimum, {row['worst']:.4%} at worst"
            for row in sound
            if row["share"] is not None
        }
        yield bars(shares, "mean share of the optimum", hover)
    headings = (
        "verifier",
        "rows",
        "lossless",
        "mean tokens a block",
        "share of optimum",
        "worst share",
        "best of all",
        "worst row",
    )
    rows = [
        [
            (row["verifier"], None), _count(row["rows"]), _count(row["lossless"]), _number(row["mean"]),
            _percent(row["share"]), _percent(row["worst"]), _percent(row["wins"]),
            (row["worst_command"] or row["refuted_command"], None),
        ]
        for row in summary["verifiers"]
    ]  # fmt: skip
    yield _table("verifiers", headings, rows, commands=(7,))


def _schemes(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Draft schemes</h2>"
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    best: dict[tuple[str, int], float] = {}
    for row in summary["by_scheme"]:
        key = (row["verifier"], row["nodes"])
        best[key] = max(best.get(key, 0.0), row["mean"])
    for (name, nodes), value in best.items():
        lines[name].append((nodes, value))
    yield curves(lines, "best mean tokens a block by drafted tokens", "drafted tokens", "tokens a block")
    headings = ("scheme", "drafted tokens", "verifier", "worlds", "mean tokens a block", "optimum")
    rows = [
        [(row["scheme"], None), _count(row["nodes"]), (row["verifier"], None), _count(row["worlds"]),
         _number(row["mean"]), _number(row["optimum"])]
        for row in summary["by_scheme"]
    ]  # fmt: skip
    yield _table("schemes", headings, rows)


def _pairs(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>One against another</h2>"
    headings = ("verifier", "against", "common rows", "below in", "largest difference", "where")
    rows = [
        [(pair["verifier"], None), (pair["other"], None), _count(pair["rows"]), _count(pair["below"]),
         _number(pair["largest"]), (pair["command"], None)]
        for pair in summary["pairs"]
    ]  # fmt: skip
    yield _table("pairs", headings, rows, commands=(5,))


def _ledger() -> Iterator[str]:
    known = recorded(RECORDED)
    if not known:
        return
    yield '<h2>What papers claim</h2><p class="how">As recorded; <code>draftproof claims</code> tests them again.</p>'
    rows: list[Sequence[Cell]] = [
        [
            (row["id"], None),
            (row["status"], None),
            (row["statement"], None),
            (row["evidence"], None),
            (row["command"], None),
        ]
        for row in known.values()
    ]
    yield _table("claims", ("claim", "status", "statement", "evidence", "command"), rows, commands=(4,))


def _matched(summary: Mapping[str, Any]) -> Iterator[str]:
    yield (
        '<h2>On equal terms</h2><p class="how">Each world with the best of the schemes: at equal drafted tokens, at '
        f"equal depth, and in tokens per time of delayed trees, where {escape(TIMES)}.</p>"
    )
    headings = ("at equal", "value", "verifier", "worlds", "mean", "median", "best of all")
    rows = [
        [(row["term"], None), ("", None) if row["value"] is None else _count(row["value"]), (row["verifier"], None),
         _count(row["worlds"]), _number(row["mean"]), _number(row["median"]), _percent(row["wins"])]
        for row in summary["matched"]
    ]  # fmt: skip
    yield _table("matched", headings, rows)


def _shares(summary: Mapping[str, Any]) -> Iterator[str]:
    if not summary["shares"]:
        return
    yield "<h2>Shares of the optimum</h2>"
    rows = [
        [(row["verifier"], None), _count(row["instances"]), _percent(row["mean"]), _percent(row["worst"])]
        for row in summary["shares"]
    ]
    yield _table("shares", ("verifier", "instances", "mean share", "worst share"), rows)


def _cells(summary: Mapping[str, Any]) -> Iterator[str]:
    if not summary["cells"]:
        return
    yield "<h2>On real models</h2>"
    headings = ("verifier", "scheme", "predicted", "measured", "standard error", "z", "blocks")
    rows = [
        [(row["verifier"], None), (row["shape"], None), _number(row["predicted"]), _number(row["measured"]),
         _number(row["total_error"]), (f"{row['z']:+.2f}", row["z"]), _count(row["blocks"])]
        for row in summary["cells"]
    ]  # fmt: skip
    yield _table("cells", headings, rows)


def _gallery() -> Iterator[str]:
    known = measured()
    yield (
        '<h2>Verifiers of public projects</h2><p class="how">As recorded; <code>draftproof gallery --checkout FOLDER'
        "</code> measures them again.</p>"
    )
    rows: list[Sequence[Cell]] = [
        [
            (entry.name, None),
            (f"{entry.repository}: {entry.what}", None),
            (known[entry.name].verdict, None),
            _count(known[entry.name].instances),
            _count(known[entry.name].refuted),
            (f"draftproof gallery {entry.name}", None),
        ]
        for entry in ENTRIES
        if entry.name in known
    ]
    yield _table("gallery", ("entry", "what", "verdict", "instances", "refuted", "command"), rows, commands=(5,))


def _table(name: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]], commands: Sequence[int] = ()) -> str:
    """A table with a field to filter it. commands: columns that hold commands."""
    head = "".join(f'<th scope="col"><button type="button">{escape(text)}</button></th>' for text in headings)
    body = "".join(
        "<tr>" + "".join(_cell(cell, place in commands) for place, cell in enumerate(row)) + "</tr>" for row in rows
    )
    field = f'<input data-table="{name}" type="search" placeholder="filter" aria-label="filter {name}">'
    return (
        f'{field}<div class="wide"><table id="{name}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(cell: Cell, command: bool) -> str:
    text, value = cell
    inner = f"<code>{escape(text)}</code>" if command and text else escape(text)
    return (
        f"<td>{inner}</td>" if value is None else f'<td class="n" data-value="{value!r}" title="{value!r}">{inner}</td>'
    )


def _count(value: int) -> Cell:
    return f"{value:,}", float(value)


def _number(value: float | None) -> Cell:
    return ("", None) if value is None else (f"{value:.4f}", value)


def _percent(value: float | None) -> Cell:
    return ("", None) if value is None else (f"{value:.2%}", value)
