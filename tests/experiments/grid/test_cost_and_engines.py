"""Which engine ran, what it was said to cost, and what shapes bring under a model of time."""

import json
from pathlib import Path

import pytest

from draftproof.experiments.cli.compare import views
from draftproof.experiments.grid.store import stored_rows
from draftproof.experiments.inputs.latency import time_model
from draftproof.simulator import InvalidInput

WORLD = "--world"
SEVERAL = ["nss", "naive", "specinfer", "block", "gbv", "mixed_order", "traversal", "ensemble", "block_by_weights"]
NUMBERS = ("block_efficiency", "variance", "depth_distribution", "lossless", "max_deviation", "total_variation")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("arguments", "engine"),
    [
        (("nss", "--K", 2), "structured (top-down)"),
        (("block", "--K", 2), "structured (path)"),
        (("traversal", "--K", 2), "structured (leaf-to-root)"),
        (("typical", "--K", 2), "enumerate"),
        (("nss", "--K", 2, "--engine", "enumerate"), "enumerate"),
        (("nss", "--scheme", "without_replacement"), "enumerate"),
        (("nss", "--L2", 3, WORLD, "text:topics,vocab=9,root=the"), "structured (top-down, collapsed)"),
        (
            ("nss", WORLD, "family:dirichlet,vocab=4", "--K", 3, "--L2", 10, "--arithmetic", "float64"),
            "structured (top-down, streamed)",
        ),
    ],
    ids=str,
)
def test_check_says_which_engine_ran(draftproof, arguments, engine):
    ran = draftproof("check", *arguments, "--json")
    assert ran.code in (0, 1)
    assert ran.row["engine"] == engine


@pytest.mark.parametrize("name", ["specinfer", "traversal"])
def test_a_collapsed_or_streamed_check_has_the_numbers_of_enumeration(draftproof, name, monkeypatch):
    given = ("check", name, WORLD, "text:topics,vocab=3,roots=3", "--K", 2, "--L2", 2, "--json")
    slow = draftproof(*given, "--engine", "enumerate")
    monkeypatch.setattr("draftproof.simulator.laws.structured.size.FULL_LAW", {True: 0, False: 0})
    fast = draftproof(*given)
    assert ("collapsed" in fast.row["engine"]) == (name == "specinfer")
    assert ("streamed" in fast.row["engine"]) == (name == "traversal")
    assert fast.json["roots"] == slow.json["roots"]
    assert [fast.row[field] for field in NUMBERS] == [slow.row[field] for field in NUMBERS]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nss", "--K", 3), "top-down, full law: 40 contexts, about 1 MiB, under a second"),
        (("traversal", "--K", 2), "leaf-to-root, full law: "),
        (("nss", WORLD, "text:topics,vocab=9,root=the", "--L2", 9), "top-down, collapsed: 6,561 states, about "),
        (("typical", "--K", 2), "81 draft trees, about "),
    ],
    ids=str,
)
def test_the_cost_is_announced_before_the_work(draftproof, arguments, line):
    assert any(each.startswith(line) for each in draftproof("check", *arguments).err.splitlines())


@pytest.mark.parametrize("command", ["check", "compare"])
def test_what_does_not_fit_into_the_memory_is_refused_with_what_does(draftproof, command):
    given = (command, "traversal", "--K", 2, "--arithmetic", "float64")
    ran = draftproof(*given, "--L2", 6, "--max-memory", 0.005)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.strip().splitlines()
    assert line.startswith("draftproof: traversal on delayed(K=2, L1=0, L2=6): at V = 3 this needs about ")
    assert "MiB, more than 5.1 MiB; the nearest shape that fits is delayed(K=" in line
    assert ", or allow more memory (--max-memory)" in line
    nearest = line.split("fits is delayed(K=")[1]
    K, L1, L2 = nearest.replace("L1=", "").replace("L2=", "").split(")")[0].split(", ")
    fits = draftproof(command, given[1], "--K", K, "--L1", L1, "--L2", L2, *given[4:], "--max-memory", 0.005)
    assert fits.code == 0


def test_torch_gives_the_numbers_of_numpy(draftproof):
    pytest.importorskip("torch", reason="the extra `models` is not installed")
    given = ("compare", *SEVERAL, "--world", "family:dirichlet,vocab=3", "--K", "1..2", "--L2", "1..2", "--json")
    here, there = (draftproof(*given, "--backend", backend).json["rows"] for backend in ("numpy", "torch"))
    for ours, theirs in zip(here, there, strict=True):
        assert theirs["engine"] == ours["engine"]
        # The same few hundred sums and products in another order.
        assert theirs["depth_distribution"] == pytest.approx(ours["depth_distribution"], abs=1e-12)
        assert theirs["max_deviation"] == pytest.approx(ours["max_deviation"], abs=1e-12)


def test_cuda_is_refused_where_there_is_none(draftproof):
    torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    ran = draftproof("check", "nss", "--K", 2, "--backend", "cuda", "--arithmetic", "float64")
    assert (ran.code, ran.out) == (2, "")
    line = ran.err.strip().splitlines()[-1]
    assert line.endswith("no CUDA device is available here; use backend torch or numpy (--backend)")


def shape(K: int, L1: int, L2: int, efficiency: float = 3.0) -> dict[str, object]:
    return {"K": K, "L1": L1, "L2": L2, "block_efficiency_float": efficiency}


def test_times_of_the_short_form_are_those_computed_by_hand():
    model = time_model("draft=1,branch=0.5,target=10,node=0.25")
    assert model.time(shape(1, 0, 0)) == 10
    assert model.time(shape(1, 0, 4)) == 4 * 1 + 10 + 0.25 * 4
    assert model.time(shape(3, 2, 4)) == 3 * 1 + 3 * (1 + 0.5 * 2) + 10 + 0.25 * (2 + 12)
    fields = model.row_fields(shape(3, 2, 4))
    assert fields == {"time": 22.5, "tokens_per_time": 3 / 22.5, "speedup": 3 * 10 / 22.5}
    assert model.row_fields({**shape(3, 2, 4), "steady_state_float": 2.0})["speedup"] == 2 * 10 / 22.5
    assert time_model("draft=1,target=10").time(shape(4, 0, 2)) == 2 + 10


def test_times_of_a_file_are_linear_between_what_was_measured(tmp_path):
    file = tmp_path / "times.json"
    file.write_text('{"draft": {"1": 1, "3": 2}, "target": {"0": 10, "4": 11, "8": 15}}')
    model = time_model(str(file))
    assert model.time(shape(1, 0, 2)) == 2 + 10.5
    assert model.time(shape(2, 1, 2)) == 2 * 1 + 1.5 + 12
    assert model.time(shape(3, 2, 2)) == 3 * 1 + 2 + 15
    with pytest.raises(InvalidInput, match="draft times from 1 to 3 only; add one for 4 or use smaller shapes"):
        model.time(shape(4, 0, 2))
    with pytest.raises(InvalidInput, match="target times from 0 to 8 only; add one for 9 or use smaller shapes"):
        model.time(shape(3, 0, 3))


FILES = {
    "no JSON": "{",
    "a list": "[]",
    "another key": '{"draft": {"1": 1}, "target": {"0": 1}, "node": 1}',
    "no first draft": '{"draft": {"2": 1}, "target": {"0": 1}}',
    "no plain target": '{"draft": {"1": 1}, "target": {"1": 1}}',
    "plain target for nothing": '{"draft": {"1": 1}, "target": {"0": 0}}',
    "negative time": '{"draft": {"1": -1}, "target": {"0": 1}}',
    "not a number": '{"draft": {"1": NaN}, "target": {"0": 1}}',
    "endless": '{"draft": {"1": Infinity}, "target": {"0": 1}}',
    "too many digits": '{"draft": {"1": 1' + "0" * 400 + '}, "target": {"0": 1}}',
    "truth": '{"draft": {"1": true}, "target": {"0": 1}}',
    "text": '{"draft": {"1": "1"}, "target": {"0": 1}}',
    "key that is no number": '{"draft": {"one": 1}, "target": {"0": 1}}',
    "empty": '{"draft": {}, "target": {"0": 1}}',
    "list of times": '{"draft": [1], "target": {"0": 1}}',
    "too few shapes": '{"draft": {"1": 1}, "target": {"0": 1, "9": 2}}',
}
SHORT = [
    "1", "draft=1", "target=1", "draft=1,target=0", "draft=1,target=x", "draft=1,target=1,draft=2", "draft=1,targe=1",
]  # fmt: skip


@pytest.mark.parametrize("spec", [*FILES, *SHORT, "none.json", "draft=-1,target=1", "draft=1,,target=1"])
def test_a_wrong_model_of_time_is_refused_in_one_line_before_the_work(draftproof, spec):
    if spec in FILES:
        Path("times.json").write_text(FILES[spec])
    ran = draftproof("compare", "nss", "--cost", "times.json" if spec in FILES else spec)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.strip().splitlines()
    assert line.startswith("draftproof: cost ")


@pytest.mark.heavy
def test_the_best_shape_of_each_verifier_under_a_model_of_time(draftproof):
    given = ("compare", "nss", "naive", "--K", "1..2", "--L1", "0..1", "--L2", "1..3")
    model = ("--cost", "draft=1,branch=0.1,target=10,node=0.05")
    rows = draftproof(*given, *model, "--json", "-o", "rows.csv").json["rows"]
    for row in rows:
        time = row["L1"] + 1 + (row["L2"] - 1) * (1 + 0.1 * (row["K"] - 1)) + 10 + 0.05 * row["nodes"]
        assert row["time"] == pytest.approx(time, abs=1e-12)
        assert row["speedup"] == pytest.approx(10 * row["block_efficiency_float"] / time, abs=1e-12)
        assert row["tokens_per_time"] == pytest.approx(row["speedup"] / 10, abs=1e-12)
    best = {
        name: max((r for r in rows if r["verifier"] == name), key=lambda r: r["speedup"]) for name in ("nss", "naive")
    }
    text = draftproof(*given, *model).out
    assert "time T" in text
    lines = text.split("best shape of each verifier")[1].splitlines()
    shown = {name: next(line for line in lines if f" {name} " in line) for name in best}
    for name, row in best.items():
        assert row["shape"] in shown[name]
        assert f"{row['speedup']:.5f}" in shown[name]
    assert "best shape of each verifier" not in draftproof(*given).out
    assert Path("rows.csv").read_text().splitlines()[0].count("speedup,") == 1


def test_kept_rows_serve_any_model_of_time(draftproof):
    given = ("compare", "nss", "block", "--world", "family:dirichlet,vocab=2", "--resume", "rows.db", "--json")
    plain = draftproof(*given).json["rows"]
    timed = draftproof(*given, "--cost", "draft=1,target=10").json["rows"]
    times = dict.fromkeys(("time", "time_float", "speedup", "speedup_float", "tokens_per_time"))
    assert [row | times for row in timed] == plain  # seconds too: nothing was computed again
    kept = list(stored_rows("rows.db", ["law"]))
    assert {row["verifier"] for row in kept} == {"nss", "block"}
    assert not any("time" in row for row in kept)


def test_the_long_run_is_a_column_of_its_own(draftproof):
    given = ("compare", "naive", "block", "--world", "text:topics,vocab=2,target_order=2", "--L2", 2)
    ran = draftproof(*given, "--arithmetic", "rational", "--by", "long-run", "--resume", "rows.db", "--json")
    rows = ran.json["rows"]
    for row in rows:
        means = [root["block_efficiency_float"] for root in ran.json["roots"] if root["verifier"] == row["verifier"]]
        assert min(means) <= row["steady_state_float"] <= max(means)
        assert "/" in row["steady_state"]
    text = draftproof(*given, "--by", "long-run", "--cost", "draft=1,target=10").out
    assert "long run" in text
    assert f"{rows[0]['steady_state_float']:.5f}" in text
    plain = draftproof(*given, "--arithmetic", "rational", "--resume", "rows.db", "--json").json["rows"]
    assert not {row["strong_id"] for row in rows} & {row["strong_id"] for row in plain}
    assert plain[0]["steady_state"] is None


def test_verifiers_in_the_long_run_are_shares_of_its_optimum(draftproof):
    given = ("--world", "text:topics,vocab=2,target_order=1", "--L2", 2, "--by", "long-run", "--json")
    (one,) = draftproof("compare", "block", *given, "--K", 1, "--arithmetic", "rational").json["long_run"]
    assert one["share_float"] == pytest.approx(1, abs=1e-9)  # potentials are multiples of 2^-40
    rows = draftproof("compare", "optimum", "block", "naive", *given, "--K", 2).json["long_run"]
    assert [row["verifier"] for row in rows] == ["optimum", "block", "naive"]
    assert all(0 < row["share"] <= 1 + 1e-9 for row in rows)
    plain = draftproof("compare", "block", *given, "--K", 1, "--no-optimum").json["long_run"]
    assert (plain[0]["share"], plain[0]["optimum"]) == (None, None)


def test_more_rows_than_a_page_are_not_printed_but_the_best_of_each_are(draftproof, monkeypatch):
    given = ("compare", "nss", "block", "--world", "family:dirichlet,vocab=2", "--L2", "1..2", "-o", "rows.json")
    assert "best tree" not in draftproof(*given).out
    monkeypatch.setattr(views, "MOST_SHOWN", 3)
    ran = draftproof(*given)
    assert "4 rows are too many to show; -o FILE.csv or FILE.json has them all" in ran.out
    assert "best tree of each verifier" in ran.out
    assert len(json.loads(Path("rows.json").read_text())["rows"]) == 4
