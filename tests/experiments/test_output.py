"""What names can do to whoever reads them: nothing, on a terminal, in a spreadsheet, on a page."""

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest
from rich.table import Table as RichTable
from rich.text import Text

from draftproof.experiments.cli.compare.views import comparison
from draftproof.experiments.grid.figures import delay_figure
from draftproof.experiments.result import Table
from draftproof.experiments.shared.output import csv_cell, printable_json
from draftproof.experiments.shared.progress import PlainConsole, remark
from draftproof.simulator import Card
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, cut, printable
from draftproof.simulator.verdicts.validation import check_card

#: Clears a screen, changes the title, turns text around, is a control sequence in one character.
EVIL = "a\x1b[2J\x1b]0;x\x07\u202eb\x9b31mc"
MARKUP = "[red]x[/red] [link=https://a.b]y[/link] :cat: $\\frac{$"


def drawn(thing: object) -> str:
    """What a terminal gets, colours included."""
    stream = io.StringIO()
    PlainConsole(file=stream, force_terminal=True, width=200, color_system=None).print(thing)
    return stream.getvalue()


def test_what_a_terminal_obeys_is_written_out():
    table = RichTable(EVIL, title=EVIL)
    table.add_row(EVIL, EVIL)
    for thing in (EVIL, Text(EVIL), table):
        text = drawn(thing)
        assert text.replace("\n", "").isprintable()
        assert "\\x1b[2J" in text
        assert "\\u202eb\\x9b31m" in text


def test_a_remark_is_one_line(capsys):
    remark(f"{EVIL}\ndraftproof: LOSSLESS {MARKUP}")
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err[:-1].isprintable()
    assert MARKUP in err


@pytest.mark.parametrize("text", ["plain", "é \u2603", EVIL, "a\nb", "\ud800", "\U0001f408", "\u2028"])
def test_what_is_quoted_can_be_printed(text):
    assert cut(text).isprintable()
    assert printable(text).encode("ascii", "backslashreplace") == text.encode("unicode_escape") or text.isprintable()


@pytest.mark.parametrize("value", [{"a": EVIL, EVIL: "\x7f\u2028\ud800"}, ["é"], 1.5, "\U000e0001"])
def test_json_is_the_same_and_can_be_printed(value):
    text = printable_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(text) == value
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"), ("+a", "'+a"), ("@x", "'@x"), ("-a", "'-a"), ("\t=1", "'\t=1"), ("\r=1", "'\r=1"),
        ("-1/3", "-1/3"), ("-1.5e-7", "-1.5e-7"), ("+5", "+5"), ("-2+3", "'-2+3"), ("naive", "naive"), (-1.5, -1.5),
        (None, None), ("", ""),
    ],
)  # fmt: skip
def test_a_text_that_a_spreadsheet_would_compute_is_marked(value, cell):
    assert csv_cell(value) == cell


def row(name: str, shape: str = "2, 0, 1") -> dict[str, object]:
    law = {"block_efficiency": Fraction(-1, 3), "block_efficiency_float": 1.5, "variance": 0, "variance_float": 0.0}
    scheme = {"name": "delayed", "K": 2, "L1": 0, "L2": 1}
    return {
        **law, "verifier": name, "shape": shape, "control": False, "lossless": True, "depth_distribution": [0.5, 0.5],
        "max_deviation_float": 0.0, "total_variation_float": 0.0, "arithmetic": "rational", "engine": "enumerate",
        "nodes": 2, "seconds": 1.0, "strong_id": "=x", "scheme": scheme, "K": 2, "L1": 0, "L2": 1,
    }  # fmt: skip


NAMES = ["=cmd|' /C calc'!A0", "a|b`c*d_e<b>", r"\input{x} 50% & #1 ~^$_{", MARKUP]


def table() -> Table:
    """A comparison of verifiers with such names."""
    said = {"world": "w", "sampling": None, "verdict": "PROVED", "scheme_object": Delayed(2, 0, 1)}
    return comparison([{**row(name), **said} for name in NAMES])


def test_csv_of_a_comparison_computes_nothing():
    lines = list(csv.DictReader(io.StringIO(table().csv())))
    assert [line["verifier"] for line in lines] == ["'" + NAMES[0], *NAMES[1:]]
    assert all(line["block_efficiency"] == "-1/3" for line in lines)


def test_markdown_keeps_its_cells():
    lines = [line for line in table().markdown().splitlines() if line.startswith("|")]
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1
    assert all("<" not in line.replace(r"\<", "") for line in lines)


def test_figures_take_any_name():
    rows = [
        {**row(name), "L1": delay, "scheme": {"name": "delayed", "K": 1, "L1": delay, "L2": 2 - delay}}
        for name in NAMES
        for delay in (0, 1)
    ]
    assert delay_figure(rows, MARKUP).startswith(b"\x89PNG")


@pytest.mark.parametrize("field", ["name", "title"])
@pytest.mark.parametrize("value", ["a\nb", "a\x1b[31m", "a\u202eb"])
def test_a_card_is_one_line_without_escapes(field, value):
    fields = {"name": "mine", "title": "Mine", "source": None, field: value}
    with pytest.raises(InvalidInput, match=f"the card has {field} = "):
        check_card(Card(**fields))


OWN = """
class Line:
    name = "x\\x1b[31m\\nLOSSLESS"
    depth = 1
    def draw(self, draft, coin):
        raise ValueError("\\x1b]0;title\\x07 \\n second line")
"""


def test_names_and_errors_of_others_reach_no_terminal_raw(draftproof):
    Path("own.py").write_text(OWN)
    ran = draftproof("check", "naive", "--scheme", "own.py:Line", "--world", "family:dirichlet,vocab=2")
    assert ran.code == 2
    assert (ran.out + ran.err).replace("\n", "").isprintable()
    assert ran.err.splitlines()[-1].startswith("draftproof: ")
    assert "\nLOSSLESS" not in ran.out + ran.err
