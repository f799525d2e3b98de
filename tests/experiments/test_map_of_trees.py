"""The map of trees: what its rows hold, that it resumes, that winners and figures are functions of the rows."""

import json
from pathlib import Path

import pytest

from draftproof.experiments.grid import run as running
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.studies import map_of_trees, map_points, map_schemes, map_views
from draftproof.experiments.studies.map_instances import MapInstance, distance
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import lossless_for
from draftproof.verifiers import REGISTRY

PAGE = Path(str(map_of_trees.__file__)).with_name("trees.md")


def test_instances_are_different_and_have_every_budget():
    every = list(map_of_trees.instances(2))
    assert len({map_of_trees.identity(case) for case in every}) == len(every)
    budgets = {nodes for case in every for nodes, _ in map_of_trees.budgets_of(case)}
    assert budgets == {4, 8, 16}


def test_no_pair_is_above_the_optimum_of_its_scheme_nor_a_tree_above_the_best_with_the_target_known():
    for case in (MapInstance("n-gram", 1, 1.0, 0, 2, 4), MapInstance("tempered", 3.0, 0.5, 1, 3, 2)):
        row = map_of_trees.compute(case)
        attained = {made["scheme"]: made for made in row["schemes"]}
        assert {made["kind"] for made in row["schemes"]} == set(map_schemes.KINDS)
        for made in row["schemes"]:
            scheme = find_scheme(made["scheme"])
            assert (scheme.nodes, made["kind"]) == (made["nodes"], map_schemes.Candidate(scheme, 1).kind)
            assert made["lower"] <= made["upper"] <= made["lower"] + map_schemes.GAP
            assert made["mean_passes"] <= made["passes"] + 1e-9
            for verifier, value in made["pairs"].items():
                assert scheme.name in lossless_for(REGISTRY[verifier].card)
                assert 1 <= value <= made["upper"] + 1e-9  # rounding of sums over trees
                if made["kind"] == "deterministic":
                    assert value == made["upper"]
        for known in row["known"]:
            assert known["set by target"] >= known["set by draft"] - 1e-12
            planned = [made for name, made in attained.items() if name.startswith("sequoia")]
            for made in planned:
                if made["nodes"] <= known["nodes"] and made["passes"] <= known["passes"]:
                    assert known["topology"] >= made["pairs"]["sequoia"] - 1e-12


def test_the_distance_is_zero_where_the_draft_is_the_target_and_grows_with_the_noise():
    instances = [MapInstance("perturbed", value, 1.0, 0, 3, 2) for value in (0.0, 0.5, 2.0)]
    found = [distance(case.instance().converted(FLOAT64, 2), 2) for case in instances]
    assert found[0] == 0
    assert found[1] < found[2]


def test_a_second_run_computes_nothing_and_says_the_same(monkeypatch, study, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "pooled_results", lambda jobs, work, calls, *_: (work(*call) for call in calls))
    files = ("--plot", "m.png", "--markdown", "m.md")
    code, first = study(map_of_trees.main, "--quick", "--resume", "rows", "--json", "a.json", *files)
    again, second = study(map_of_trees.main, "--quick", "--resume", "rows", "--json", "b.json")
    assert (code, again) == (0, 0)
    assert "0 instances (4 more are kept" in second.err
    assert json.loads(Path("a.json").read_text())["points"] == json.loads(Path("b.json").read_text())["points"]
    assert Path("m.png").read_bytes().startswith(b"\x89PNG")
    rows = list(Store("rows").values())
    assert Path("m.md").read_text().endswith(map_views.claims(rows))
    assert first.out.splitlines()[0] == second.out.splitlines()[0]


def made(scheme, kind, optimum, passes=2, **pairs):
    return {
        **{"scheme": scheme, "kind": kind, "nodes": 4, "passes": passes, "mean_passes": float(passes), "drawn": 0},
        **{"lower": optimum, "upper": optimum, "pairs": pairs, "errors": {}},
    }


def row(distance, fixed, random, late=9.0):
    schemes = [
        made("eagle2:beam=4", "deterministic", fixed, nss=fixed),
        made("delayed:K=2,L1=0,L2=2", "independent", random, traversal=random - 0.25),
        made("delayed:K=1,L1=0,L2=2", "independent", random - 0.5, passes=1, traversal=random - 0.5),
        made("dyspec:nodes=4", "without replacement", late, passes=4, traversal=late),
    ]
    known = {"nodes": 4, "passes": 2, "set by target": 3.0, "set by draft": fixed}
    place = {"kind": "perturbed", "value": distance, "temperature": 1.0, "seed": 0, "vocab_size": 3}
    return {**place, "distance": distance, "schemes": schemes, "known": [known], "seconds": 60.0}


def test_winners_are_those_that_fit_the_budget():
    found = map_points.points([row(0.5, 2.0, 2.5), row(0.1, 2.0, 1.5)])
    near, far = map_points.at(found, (4, 2, 3))
    assert [point["best"] for point in (near, far)] == ["eagle2", "delayed"]
    assert far["best pair"] == "delayed traversal"
    assert far["fastest"] == {"0.02": "delayed", "0.1": "delayed", "0.3": "chain"}
    assert near["fastest"]["0.3"] == "eagle2"
    assert [point["winner"] for point in (near, far)] == ["deterministic", "independent"]
    assert map_points.points([row(0.5, 2.0, 2.0)])[0]["winner"] == "several"
    chain = row(0.5, 2.0, 2.0) | {"schemes": [made("topology:tree=1-1-0", "without replacement", 2.5, traversal=2.5)]}
    chain["schemes"] += row(0.5, 2.0, 2.5)["schemes"]
    assert map_points.points([chain])[0]["winner"] == map_points.points([chain])[0]["winning pair"] == "chain"
    assert map_points.advantage(far) == pytest.approx(0.25)
    assert map_points.gain(far, "eagle2") == pytest.approx(2.0 / 2.25 - 1)
    assert map_points.gain(far, "dyspec") is None
    assert map_points.crossings([near, far]) == (0.1, 0.5)
    assert dict(map_points.gains_from_target([far]))["set"] == [0.5]


def test_figures_in_words_are_counted_from_the_rows():
    said = dict(
        line[2:].split(": ", 1) for line in map_views.claims([row(0.5, 2.0, 2.5), row(0.1, 2.0, 1.5)]).splitlines()
    )
    assert said["instances"] == "2, points 2, in 2 minutes"
    assert said["N = 4, 2 passes, V = 3, largest optimum"] == "`deterministic` 1, `independent` 1"
    assert said["N = 4, 2 passes, V = 3, price of not knowing p, set"] == "mean +50.0 %, +50.0 to +50.0 %"
    line = "no deterministic scheme ahead below distance 0.100, no random one beyond 0.500"
    assert said["N = 4, 2 passes, V = 3, line at temperature 1"] == line


def test_the_page_shows_the_picture_and_lists_what_is_counted():
    text = PAGE.read_text(encoding="utf-8")
    assert (PAGE.parent / "../figures/map.png").resolve().is_file()
    assert "](../figures/map.png)" in text
    assert "python -m draftproof.experiments.studies.map_of_trees" in text
    labels = {line[2:].split(": ", 1)[0] for line in text.splitlines() if line.startswith("- N = ")}
    assert len(labels) >= 6
    for label in ("largest optimum", "best pair", "random over deterministic", "`eagle2` over the best delayed tree"):
        assert sum(each.endswith(label) for each in labels) == sum(map(len, map_of_trees.BUDGETS.values()))
