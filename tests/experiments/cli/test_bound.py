"""`draftproof bound`: figures, certificates, and that a wrong certificate is rejected."""

import json
import signal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from draftproof.experiments.cli.bound import bound
from draftproof.experiments.cli.bound import optimum as bounds
from draftproof.experiments.result import Interrupted
from draftproof.lp_analysis import optimum
from draftproof.simulator.drafts import TopK
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess, rationalise
from tests.experiments.grid.stores import change

WORLD = ("--world", "family:perturbed,s=1")
SMALL = (*WORLD, "--K", 2, "--L2", 2)


def json_of(draftproof, *arguments):
    ran = draftproof("bound", *arguments, "--json")
    assert ran.code == 0, ran.err
    return ran.json


def row_of(draftproof, *arguments):
    [row] = json_of(draftproof, *arguments)["rows"]
    return row


def test_bounds_are_exact_and_close(draftproof):
    found = json_of(draftproof, *SMALL)
    [row], [root] = found["rows"], found["roots"]
    lower, upper = Fraction(row["lower"]), Fraction(row["upper"])
    assert 0 <= upper - lower == Fraction(row["gap"]) <= Fraction(1, 10**6)
    assert row["lower_float"] == float(lower)
    assert (row["scheme"], root["certificate"]) == ("delayed(K=2, L1=0, L2=2)", None)


def test_every_world_and_scheme_has_a_row_and_its_certificate(draftproof):
    several = ("--world", "family:perturbed,s=1,seeds=0..1", "--K", "1..2", "--L2", 1)
    found = json_of(draftproof, *several, "--certificate", "b.json", "-o", "b.csv")
    for row, root in zip(found["rows"], found["roots"], strict=True):
        world = f"family:perturbed,s=1,seeds={row['source']['seed']}"
        scheme = row["scheme"].replace("(", ":").strip(")").replace(" ", "")
        assert row_of(draftproof, "--world", world, "--scheme", scheme)["lower"] == row["lower"]
        proved = draftproof("verify", root["certificate"], "--json").row
        assert (proved["lower"], proved["upper"]) == (row["lower"], row["upper"])
    assert found["files"] == ["b-1.json", "b-2.json", "b-3.json", "b-4.json"]
    assert len(Path("b.csv").read_text().splitlines()) == 5
    assert "one world and one scheme" in draftproof("bound", *several, "--bias", 0, "--plot", "a.png").err


def test_a_numbered_certificate_never_replaces_an_input(draftproof):
    Path("b-1.json").write_text("a text of some words " * 50)
    ran = draftproof("bound", "--world", "text:b-1.json,roots=2", "--K", 2, "--L2", 1, "--certificate", "b.json")
    assert ran.code == 2
    assert "b-1.json" in ran.err
    assert Path("b-1.json").read_text().startswith("a text")


def test_a_certificate_for_another_instance_is_rejected(draftproof):
    json_of(draftproof, *SMALL, "--certificate", "bound.json")
    for name, seed in (("same.json", 0), ("other.json", 1)):
        fields = json_of(
            draftproof, "--world", f"family:perturbed,s=1,seeds={seed}", *SMALL[2:], "--certificate", "c.json"
        )
        assert fields["files"] == ["c.json"]
        Path(name).write_text(json.dumps(json.loads(Path("c.json").read_text())["instance"]))
    assert draftproof("verify", "bound.json", "--instance", "same.json").code == 0
    assert draftproof("verify", "bound.json", "--instance", "other.json").code == 1


def test_ctrl_c_keeps_the_roots_that_are_done(draftproof, monkeypatch):
    whole = bounds.bound_root

    def second_is_interrupted(root, *rest):
        if calls.append(root) or len(calls) == 2:
            raise KeyboardInterrupt
        return whole(root, *rest)

    calls: list[object] = []
    monkeypatch.setattr(bounds, "bound_root", second_is_interrupted)
    ran = draftproof("bound", "--world", "text:topics,roots=3", "--L2", 1, "--certificate", "c.json")
    assert ran.code == 130
    assert "after 1 of 3 rows" in ran.err
    assert [path.name for path in Path().iterdir()] == ["c-1.json"]


def test_compare_shows_the_optimum_and_what_is_left(draftproof):
    chosen = ("block", "traversal", "naive_from_target")
    ran = draftproof("compare", *chosen, *SMALL, "--arithmetic", "rational", "--json")
    fields = json.loads(ran.out)
    bound = row_of(draftproof, *SMALL)
    for row in fields["rows"]:
        assert row["optimum"] == bound["lower"]
        left = None if not row["lossless"] else Fraction(bound["upper"]) - Fraction(row["block_efficiency"])
        assert row["gap"] == (None if left is None else str(left))
        assert left is None or left >= 0
    assert "optimum" in draftproof("compare", "block", *SMALL).out


def test_a_wide_gap_is_said_to_be_for_want_of_time_only_where_it_is(draftproof):
    late = draftproof("bound", "--L2", 4, "--seconds", "1e-9")
    assert "it stopped early; give it more seconds or a smaller tree" in late.out
    exhausted = draftproof("bound", "--world", "family:dirichlet,seeds=2", "--L2", 3, "--gap", "1e-30")
    assert "the gap is above 1e-30: float64 goes no further" in exhausted.out
    assert "seconds or" not in exhausted.out
    assert "the gap is above" not in draftproof("bound", *SMALL).out


@pytest.fixture
def top_k_file():
    rows = FAMILIES["perturbed"].instance(2, 2, np.random.default_rng(0))
    Instance(rows.target, rows.draft, TopK(2, 0, 2)).save("top.json")
    return "top.json"


def test_a_shape_that_is_given_goes_before_another_scheme_in_the_file(draftproof, top_k_file):
    assert row_of(draftproof, "--world", top_k_file)["scheme"].startswith("top_k")
    for flags, scheme in (
        (("--K", 3), "delayed(K=3, L1=0, L2=2)"),
        (("--L1", 1, "--L2", 1), "delayed(K=2, L1=1, L2=1)"),
    ):
        assert row_of(draftproof, "--world", top_k_file, *flags)["scheme"] == scheme


def test_a_certificate_for_another_scheme_than_the_instance_file_says_so(draftproof, top_k_file):
    json_of(draftproof, "--world", top_k_file, "--K", 2, "--certificate", "c.json")
    checked = draftproof("verify", "c.json", "--instance", top_k_file)
    assert checked.code == 0
    assert "has the scheme top_k(K=2, L1=0, L2=2)" in checked.out
    assert "meant for" not in draftproof("verify", "c.json").out
    Path("d.json").write_text(json.dumps(json.loads(Path("c.json").read_text())["instance"]))
    assert "meant for" not in draftproof("verify", "c.json", "--instance", "d.json").out


def test_certificates_of_other_schemes(draftproof, top_k_file):
    found = row_of(draftproof, "--world", top_k_file, "--certificate", "c.json")
    assert found["method"] == "columns"
    checked = draftproof("verify", "c.json", "--instance", top_k_file)
    assert checked.code == 0
    assert "top_k(K=2, L1=0, L2=2)" in checked.out
    assert "proves nothing" not in checked.out


SCHEME = """
class Two:
    depth = 1
    def draw(self, draft, coin):
        return [(coin.choose(draft.row(())),) for _ in range(2)]
"""


def test_a_scheme_of_ones_own_has_bounds_and_no_certificate(draftproof):
    Path("mine.py").write_text(SCHEME)
    found = row_of(draftproof, "--scheme", "mine.py:Two")
    delayed = row_of(draftproof, "--scheme", "delayed:K=2,L1=0,L2=1")
    assert Fraction(found["lower"]) <= Fraction(delayed["upper"])
    assert Fraction(delayed["lower"]) <= Fraction(found["upper"])
    assert found["scheme"] == "Two"
    refused = draftproof("bound", "--scheme", "mine.py:Two", "--certificate", "c.json")
    assert (refused.code, "Two is defined elsewhere; leave out certificate" in refused.err) == (2, True)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it may ring in a callback first
def test_a_limit_of_time_holds_for_the_exact_recomputation_too(draftproof, monkeypatch):
    monkeypatch.setattr("draftproof.experiments.grid.bounds.LEAST_SECONDS", 1e-4)
    monkeypatch.setattr("draftproof.experiments.grid.bounds.TIME_FACTOR", 0)
    long = 10**400
    row = [f"{long // 3 + 1}/{long}", f"{long - long // 3 - 1}/{long}"]
    target = dict.fromkeys(("", "0", "1"), row)
    Path("long.json").write_text(
        json.dumps({"vocab_size": 2, "depth": 2, "target": {**target, **_deepest(row)}, "draft": target})
    )
    given = ("bound", "--world", "long.json", "--K", 400, "--L2", 2)
    ran = draftproof(*given, "--seconds", 0.01)
    assert (ran.code, ran.out) == (2, "")
    assert "draftproof: no bounds: " in ran.err
    assert "give more seconds" in ran.err
    monkeypatch.undo()
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def _deepest(row):
    return dict.fromkeys(("0,0", "0,1", "1,0", "1,1"), row)


def test_ctrl_c_prints_the_bounds_at_hand(draftproof, monkeypatch):
    def interrupted(*given, report, **settings):
        def stop(*found):
            report(*found)
            calls.append(found)
            if len(calls) == 3:
                raise KeyboardInterrupt

        return optimum(*given, report=stop, **settings)

    calls = []
    monkeypatch.setattr("draftproof.experiments.grid.bounds.optimum", interrupted)
    ran = draftproof("bound", *WORLD, "--K", 2, "--L2", 3, "--certificate", "c.json")
    assert ran.code == 130
    assert "interrupted, with the gap that it had" in ran.err
    assert "attained" in ran.out
    assert len(calls) == 3
    assert draftproof("verify", "c.json").code == 0


def test_drafts_that_forget_have_a_floor_beside_the_optimum(draftproof):
    given = ("bound", "--world", "text:topics,vocab=3,roots=2", "--K", 1, "--L2", 3, "--json", "--draft-sampling")
    rows = {memory: draftproof(*given, f"memory={memory}").json["memory"] for memory in (0, 2)}
    assert [row["depth"] for row in rows[0]] == [1, 2, 3]
    for memory, floors in rows.items():
        assert all(float(Fraction(row["floor"])) <= float(Fraction(row["rejected"])) for row in floors)
        assert [Fraction(row["floor"]) == 0 for row in floors] == [depth <= memory + 1 for depth in (1, 2, 3)]
    assert "memory" not in draftproof(*given[:-1]).json


def test_the_long_run_has_bounds_and_a_certificate(draftproof):
    ran = draftproof(
        "bound",
        "--world",
        "text:topics,vocab=2,target_order=2",
        "--K",
        2,
        "--L2",
        2,
        "--long-run",
        "--certificate",
        "c.json",
        "--json",
    )
    (row,) = ran.json["rows"]
    assert (row["states"], row["certificate"]) == (4, "c.json")
    assert 0 <= row["gap_float"] <= 1e-6
    assert row["one_block"] <= row["upper_float"] + 1e-9
    checked = draftproof("verify", "c.json", "--json")
    assert (checked.code, checked.json["rows"][0]["lower"]) == (0, row["lower"])
    assert (checked.row["states"], checked.row["scheme"]) == (4, "delayed(K=2, L1=0, L2=2)")


def test_where_the_start_decides_a_note_says_so():
    target, draft = rationalise(np.eye(2), 2), rationalise(np.array([[0.5, 0.5], [0, 1]]), 2)
    found = bound(world=(MarkovProcess(target, (0,)), MarkovProcess(draft, (0,))), K=1, L2=1, long_run=True)
    assert any("or the state of the start decides" in note for note in found.notes)


def test_means_of_some_roots_are_by_their_own_weights(draftproof, monkeypatch):
    """Roots that several processes have done when Ctrl-C comes need not be the first."""
    given = {"world": "text:topics,vocab=3,roots=3", "K": 1, "L2": 1, "resume": "rows.db"}
    roots = bound(**given).tables[1].records()
    change("rows.db", "delete from rows where rowid = 2")

    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(bounds, "bound_root", interrupted)
    with pytest.raises(Interrupted) as stop:
        bound(**given)
    done = [roots[0], roots[2]]
    weight = sum(root["weight"] for root in done)
    assert stop.value.result.row["lower"] == sum(root["weight"] * root["lower"] for root in done) / weight
