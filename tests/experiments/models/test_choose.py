"""`draftproof model choose`: halving in a limit of seconds, intervals over roots, one line for what is refused."""

import csv
import json
from dataclasses import replace
from math import exp, log
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from draftproof.experiments.grid.store import Store, stored_rows
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.experiments.models.measure import choose
from draftproof.experiments.models.measure.choice import generate_call, recommendation
from draftproof.experiments.models.measure.choose import Amount, Forecast, Search, by_speed, planned, stages
from draftproof.experiments.models.measure.rounds import Interval, Text, Turn, beside, speed_up
from draftproof.experiments.models.measure.setting import setting
from draftproof.experiments.models.measure.writers import (
    ASSISTED,
    GENERATE,
    missing_assisted,
    timed_text,
)
from draftproof.experiments.models.pair.devices import generation_settings
from draftproof.experiments.models.pair.head import new_head
from draftproof.simulator import Delayed
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make

SCHEMES = ("delayed:K=1..2,L1=0,L2=2", "dyspec:nodes=3", "sequoia:nodes=3,depth=2")
NAIVE, ONE = find_verifier("naive"), Delayed(1, 0, 1)
CONTEXTS = [(0, 1, 2, 3), (3, 1, 0), (1, 2), (2, 2, 0)]


@pytest.fixture
def where(tiny_pair):
    return setting(tiny_pair, Sampling(), CONTEXTS, 0)


@pytest.mark.heavy
def test_a_pair_gets_an_answer_over_all_kinds_of_schemes(draftproof, models):
    few = ("--world", f"{models},roots=4", "--tokens", 6, "--rounds", 2)
    more = [part for each in SCHEMES for part in ("--scheme", each)]
    files = ("-o", "c.json", "--plot", "c.png", "-o", "c.csv")
    ran = draftproof("model", "choose", "traversal", "naive", "sequoia", "nss", *few, *more, *files)
    assert ran.code == 0
    found = json.loads(Path("c.json").read_text())
    rows, [about] = found["rows"], found["about"]
    claims = {name: set(lossless_for(make(name).card)) for name in ("traversal", "naive", "sequoia", "nss")}
    schemes = {"delayed": 2, "dyspec": 1, "sequoia": 1}
    assert len(rows) == sum(count for name in claims for kind, count in schemes.items() if kind in claims[name])
    assert all(row["scheme"]["name"] in claims[row["verifier"]] for row in rows)
    for row in rows:
        low, high = row["speedup_interval"]
        assert low <= row["speedup"] <= high
    assert [row["texts"] for row in rows if row["last_stage"]] == [8] * 4
    exact = [row["expected_block_efficiency"] for row in rows if row["last_stage"]]
    assert all(1 < each < 4 for each in exact if each)
    assert any(exact)
    assert rows[0]["of_first"] == 1
    assert not rows[0]["distinguishable"]
    with Path("c.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [float(row["speedup"]) for row in table] == [row["speedup"] for row in rows]
    assert find_scheme(table[0]["spec"]).as_dict() == rows[0]["scheme"]
    assert "baseline: generate of transformers: the same prompts, temperature 1, cache on, 6 tokens a text" in ran.out
    assert ran.out.rstrip().splitlines()[-1] == about["paste"]
    assert "planned from acceptances on the tables" in ran.out
    assert about["recommendation"] in ran.out
    assert f"{about['confirmed']['speedup']:.2f} times" in about["recommendation"]
    assert "after 4 roots of" in ran.out
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.heavy
def test_texts_that_are_kept_are_not_written_again(draftproof, models, monkeypatch):
    few = ["--tokens", "4", "--K", "1", "--L2", "1..2"]
    asked = ("model", "choose", "naive", "block", "--world", f"{models},roots=2", *few)
    kept = ("--resume", "kept.db", "-o", "c.json")
    assert draftproof(*asked, *kept, "--rounds", 2).code == 0
    first = json.loads(Path("c.json").read_text())
    assert list(first["about"][0]["target_passes"]) == ["1", "2", "3"]  # a root with up to two drafted tokens
    before = list(stored_rows("kept.db"))
    assert len(before) == 4 * (4 + 1) + 4  # with assisted generation; the best writes as many once more
    assert draftproof(*asked, *kept, "--rounds", 2).code == 0
    again = json.loads(Path("c.json").read_text())
    timed = dict.fromkeys(("seconds", "target_passes"))
    assert again["about"][0] | timed == first["about"][0] | timed
    for row, before_it in zip(again["rows"], first["rows"], strict=True):
        assert row == before_it
    assert draftproof(*asked, *kept, "--rounds", 3).code == 0
    assert [row["texts"] for row in json.loads(Path("c.json").read_text())["rows"]] == [6] * 4
    assert [row for row in stored_rows("kept.db") if row in before] == before


class Clock:
    """Simulated texts: a token of `generate` takes `plain` seconds, one of candidate `n` by its `pace`.

    started: the seconds that passed before the search. slower: by how many times everything slows down in the middle.
    """

    def __init__(self, plain, pace, started=8.0, slower=1.0):
        self.now, self.plain, self.pace, self.slower = started, plain, pace, slower
        self.draw = np.random.default_rng(0)

    def text(self, setting, way, tokens, seed, root):
        speed = {GENERATE: 1.0, ASSISTED: 0.5}[way] if isinstance(way, str) else self.pace(way[1].L2)
        seconds = tokens * self.plain / speed * exp(0.1 * self.draw.standard_normal())
        seconds *= self.slower if self.now > 25 else 1.0
        self.now += seconds
        return Turn(tokens, tokens, seconds)


class Told(Forecast):
    """first: the first total that was told."""

    first = None

    def update(self, seconds, about):
        super().update(seconds, about)
        self.first = self.first or self.total


def searched(where, clock, candidates, limit, monkeypatch):
    monkeypatch.setattr(choose, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(choose, "timed_text", clock.text)
    forecast = Told(limit, 0.0, begun=clock.now)
    ways = [ASSISTED, *((NAIVE, Delayed(1, 0, number + 1)) for number in range(candidates))]
    search = Search(where, ways, Amount(4, 32, 20, limit), forecast, Store(None), "wall")
    return search, search.run()


@pytest.mark.one_in(12, first=1)
@pytest.mark.parametrize("plain", [0.0005, 0.005, 0.02])
@pytest.mark.parametrize("candidates", [2, 12, 300])
@pytest.mark.parametrize("slower", [1.0, 3.0])
def test_choose_keeps_to_its_seconds_and_measures_what_fits(where, plain, candidates, slower, monkeypatch):
    clock = Clock(plain, lambda length: 0.5 + length / candidates, slower=slower)
    search, confirmed = searched(where, clock, candidates, 60.0, monkeypatch)
    assert clock.now <= (60.0 if slower == 1 else 66.0)
    assert clock.now / 3 <= search.forecast.first <= 3 * clock.now
    tried = sum(bool(texts) for texts in search.texts.values()) - 1
    assert tried == candidates or (candidates == 300 and tried > 10)
    assert len(confirmed) >= 2
    assert all(search.texts[way] for way in search.last)
    if tried < candidates:
        assert f"for want of time only {tried} of {candidates} candidates were tried" in search.notes
    if plain < 0.001 and candidates < 300:
        assert search.notes == []
        assert len(confirmed) == len(search.texts[search.best]) == 80


def test_the_fastest_is_found_and_its_speed_is_right(where, monkeypatch):
    clock = Clock(0.001, lambda length: 0.5 + length / 40)
    search, confirmed = searched(where, clock, 40, None, monkeypatch)
    best = search.ways.index(search.best)
    assert best in (38, 39, 40)
    wanted = 0.5 + best / 40
    found = speed_up(confirmed)
    assert found.low <= wanted <= found.high
    assert found.high / found.low < 1.2
    assert recommendation(search, confirmed).startswith(f"naive on {search.best[1]}: 1.")
    assert "generate_with(" in generate_call(search, confirmed)


def test_nothing_gained_is_said_and_assisted_generation_may_win(where, monkeypatch):
    search, confirmed = searched(where, Clock(0.001, lambda length: 0.7), 2, None, monkeypatch)
    assert recommendation(search, confirmed).startswith("no speculation: the best, naive on")
    assert "not distinguishable" not in recommendation(search, confirmed)
    assert generate_call(search, confirmed).startswith("target.generate(**inputs, do_sample=True, temperature=1.0")
    search, confirmed = searched(where, Clock(0.001, lambda length: 0.2), 2, None, monkeypatch)
    assert "the best, assisted generation of transformers, has 0.5" in recommendation(search, confirmed)


def test_stages_cost_alike_and_the_last_write_all():
    assert list(stages(3, 40)) == [(3, 40)]
    assert list(stages(12, 40)) == [(12, 13), (6, 26), (4, 40)]
    assert next(stages(250, 40)) == (250, 1)


def test_a_forecast_is_told_once_and_goes_on(capsys):
    made = Forecast(limit=1000.0)
    made.update(100.0, "at first")
    assert "at first: about 2 min to go" in capsys.readouterr().err
    made.update(300.0, "later")
    assert capsys.readouterr().err == ""
    assert made.to_go() == "about 5 min to go"
    assert not made.late(0.5)
    assert made.late(0.5, more=501.0)
    assert not Forecast().late(0.0, more=1e9)


def texts_of(speeds, roots=4, tokens=40):
    """Texts so many times as fast as those of `generate`, root after root."""
    return [
        Text(number % roots, Turn(tokens, 10, 1.0 / speed), Turn(tokens, tokens, 1.0))
        for number, speed in enumerate(speeds)
    ]


def test_speeds_are_ratios_root_by_root_and_interruptions_do_not_count():
    assert speed_up(texts_of([2.0] * 8)) == pytest.approx((2, 2, 2))
    assert speed_up(texts_of([2.0] * 11 + [0.01])) == pytest.approx((2, 2, 2))
    spread = speed_up(texts_of([1.0, 4.0, 1.0, 4.0] * 3))
    half = 3.18244631 * log(4) / 2 * (4 / 3) ** 0.5 / 2  # Student's quantile for four roots
    assert spread == pytest.approx((2, 2 * exp(-half), 2 * exp(half)))
    few = speed_up(texts_of([1.0, 4.0] * 6, roots=2))  # text by text, for these two roots
    assert few.high < spread.high
    assert speed_up(texts_of([2.0]))[1:] == (0, np.inf)
    assert beside(texts_of([2.0, 3.0, 4.0, 6.0, 9.0]), texts_of([1.0, 1.5, 2.0, 3.0])) == pytest.approx((2, 2, 2))


def test_the_interval_holds_the_speed_as_often_as_it_says():
    draw, held = np.random.default_rng(0), 0
    for _ in range(300):
        roots = 0.2 * draw.standard_normal(8)  # prompts on which the candidate is faster or slower
        logs = np.tile(roots, 3) + 0.1 * draw.standard_normal(24)
        found = speed_up(texts_of(list(1.5 * np.exp(logs)), roots=8))
        held += found.low <= 1.5 <= found.high
    assert 0.91 <= held / 300 <= 0.99


def test_the_interval_of_a_ratio_is_of_paired_rounds():
    assert Interval.of_ratio([20.0, 40.0], [10.0, 20.0]) == pytest.approx((2, 2, 2))
    half = 12.7062047 * np.std([1, 3], ddof=1) / np.sqrt(2)  # Student's quantile for two rounds
    expected = np.exp([2, 2 - half, 2 + half])
    assert Interval.of_ratio([np.exp(1), np.exp(3)], [1.0, 1.0]) == pytest.approx(tuple(expected))


def test_every_way_writes_as_many_tokens_as_asked_for_whatever_the_model_stops_at(random_pair):
    pair = random_pair()
    pair.target.generation_config.eos_token_id = list(range(8))  # so that `generate` would stop at once
    where = setting(pair, Sampling(), [(1, 2, 3)], 0)
    with generation_settings(where.pair.target):
        assert missing_assisted(where) is None
        for way in (GENERATE, ASSISTED, (NAIVE, Delayed(1, 0, 4))):
            assert timed_text(where, way, 9, 0, 0).tokens >= 9
    assert pair.target.generation_config.eos_token_id == list(range(8))


def test_a_draft_that_reads_features_is_timed_in_generate_and_has_no_assisted_generation(random_pair):
    pair = random_pair()
    where = setting(
        replace(pair, draft=new_head(pair.target, 0).eval().requires_grad_(False)), Sampling(), [(1, 2, 3)], 0
    )
    with generation_settings(where.pair.target):
        assert str(missing_assisted(where)).startswith("assisted generation of transformers is not measured")
        assert timed_text(where, (NAIVE, Delayed(2, 0, 2)), 6, 0, 0).tokens >= 6


def test_what_is_not_lossless_is_not_chosen(draftproof, models):
    small = ("--world", f"{models},roots=1", "--K", 1, "--L2", 1)
    ran = draftproof("model", "choose", "block", "naive_from_target", "ensemble", *small)
    assert ran.code == 2
    assert "naive_from_target, ensemble: declared lossless on no drafts; choose among" in ran.err
    source = "from draftproof.verifiers.controls import naive_from_target as it\nclass Mine(it.NaiveFromTarget): pass\n"
    Path("mine.py").write_text(source, encoding="utf-8")
    own = draftproof("model", "choose", "mine.py:Mine", *small)
    assert own.code == 2
    assert (
        "mine.py:Mine: REFUTED on delayed(K=1, L1=0, L2=1); choose among verifiers that keep the target's distribution"
        in own.err
    )


def test_a_verifier_without_a_scheme_of_its_card_is_one_line(draftproof, models):
    ran = draftproof("model", "choose", "spechub", "--world", f"{models},roots=1", "--K", 2, "--L2", 1)
    assert ran.code == 2
    assert "spechub: none of them takes any of the trees (2, 0, 1" in ran.err


def test_a_path_is_one_candidate_wherever_it_could_branch(where):
    given = [Delayed(1, 1, 1), Delayed(1, 0, 2), Delayed(2, 1, 1), Delayed(1, 0, 1)]
    assert planned(given, where)[0] == [given[0], given[2], given[3]]


def test_who_takes_over_a_second_by_its_card_is_left_out():
    slow = NamedVerifier("slow", SimpleNamespace(card=replace(NAIVE.verifier.card, max_vocab=20)))
    assert by_speed([NAIVE, slow], 20) == ([NAIVE, slow], [])
    assert by_speed([NAIVE, slow], 21) == ([NAIVE], [slow])
    with pytest.raises(InvalidInput, match="slow: a call takes more than a second at V = 21"):
        by_speed([slow], 21)
