"""The study of drafts for one target: its grid, and that its tables and picture are functions of the rows."""

import tomllib

import pytest

from draftproof.experiments.grid.report.section import lines_of
from draftproof.experiments.inputs.schemes import find_scheme, scheme_spec
from draftproof.experiments.studies import drafters, drafters_views
from draftproof.experiments.studies.drafters_views import BRANCHES, PATH, TREE, Drafter


def test_the_grid_has_every_draft_at_every_temperature_on_the_schemes_that_the_tables_tell():
    grid = tomllib.loads((drafters.HERE / "grid.toml").read_text())
    drafts = [world.get("draft") for world in grid["worlds"]]
    assert len(set(drafts)) == len(drafts) == 10
    assert {None, "eagle", "griffin", "eagle3", "specblock"} <= {*drafts}
    assert {tuple(world["sampling"]) for world in grid["worlds"]} == {
        ("temperature=0", "temperature=0.6", "temperature=1")
    }
    shapes = [",".join(f"{key}={value}" for key, value in scheme.items()) for scheme in grid["schemes"]]
    named = [scheme.get("scheme", f"delayed:{shape}") for scheme, shape in zip(grid["schemes"], shapes, strict=True)]
    assert [scheme_spec(find_scheme(spec)) for spec in named] == [PATH, BRANCHES, TREE]


def test_tables_and_picture_have_a_line_for_every_draft():
    def made(name, temperature, accepted):
        depths = [
            {"depth": depth, "distance_float": 0.5, "accepted_float": accepted, "reached_float": accepted**depth}
            for depth in (1, 2)
        ]
        rows = {(PATH, "naive"): {"block_efficiency_float": 1 + accepted}}
        return Drafter(name, temperature, rows, {BRANCHES: 2.5}, depths, 2, {"naive": 10.0})

    found = [made("eagle", 1.0, 0.75), made("lookup", 1.0, 0.5), made("eagle", 0.0, 1.0)]
    text = "\n".join(line for section in drafters_views.sections(found) for line in lines_of(section))
    assert "| 1 | eagle | 0.7500 | 0.7500 |" in text
    assert "| 1 | lookup | 2 | 1.5000 |  |  | 2.5000 |  | 10 |" in text
    assert text.index("| 0 | eagle | 1.0000") < text.index("| 1 | eagle | 0.7500")
    assert drafters_views.figure(found).startswith(b"\x89PNG")
    assert drafters_views.fields(found[2])["depths"][1]["accepted"] == 1.0


@pytest.mark.heavy
def test_a_small_grid_is_computed_and_written(study, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from draftproof.experiments.inputs.text import EMBEDDED
    from draftproof.experiments.models.pair.corpus import read_corpus
    from draftproof.experiments.models.pair.devices import choose_device
    from draftproof.experiments.models.pair.folder import make_pair
    from draftproof.experiments.models.pair.training import choose_recipe

    monkeypatch.chdir(tmp_path)
    make_pair(choose_recipe(read_corpus(EMBEDDED), "letters", 3, 0, 2, None), "pair", choose_device("cpu"))
    grid = (drafters.HERE / "grid.toml").read_text().partition("[[worlds]]")[0]
    worlds = [
        f'[[worlds]]\npair = "pair"\nroots = 1\nsampling = "temperature=1"\n{more}\n'
        for more in ("", 'draft = "lookup"')
    ]
    (tmp_path / "grid.toml").write_text(grid + "\n".join(worlds))
    monkeypatch.setattr(drafters, "HERE", tmp_path)
    monkeypatch.setattr(drafters, "ROUNDS", 1)
    code, streams = study(
        drafters.main, "--jobs", "1", "--timed", "--plot", "a.png", "--markdown", "a.md", "--json", "-"
    )
    assert code == 0, streams
    assert (tmp_path / "a.png").exists()
    assert "tokens/s, generate" in (tmp_path / "a.md").read_text()
