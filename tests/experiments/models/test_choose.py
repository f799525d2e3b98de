"""`draftproof choose`: exact expectations, bounds that leave out, intervals, and one line for what cannot be chosen."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from draftproof.experiments.grid.store import Store, stored_rows
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.setting import Setting, setting
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.measure import choose
from draftproof.experiments.models.measure.choose import Candidate, by_speed, planned, split, with_expectations
from draftproof.experiments.models.measure.halving import (
    BLOCKS,
    CALLS_TIMED,
    PilotRun,
    PlainPilotRun,
    VerifierBatch,
    run_pilots,
)
from draftproof.experiments.models.measure.writers import ignored_generation_settings
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator import Delayed
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make

NAIVE, ONE = find_verifier("naive"), Delayed(1, 0, 1)
CONTEXTS = [(0, 1, 2, 3), (3, 1, 0)]


@pytest.fixture
def models(tiny_folder: Path, tmp_path: Path) -> tuple[object, ...]:
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    where = ("--device", "cpu", "--text", tmp_path / "text.txt")
    return ("--target", tiny_folder / "target", "--draft", tiny_folder / "draft", *where)


@pytest.fixture
def where(tiny_pair: Pair) -> Setting:
    return setting(tiny_pair, Sampling(), CONTEXTS, 0)


@pytest.mark.heavy
def test_a_pair_gets_an_answer_over_all_kinds_of_schemes(
    draftproof: Callable[..., Any], models: tuple[object, ...]
) -> None:
    few = ("--roots", 2, "--tokens", 6, "--rounds", 2, "--K", "1..2", "--L2", 2)
    more = ("--scheme", "dyspec:nodes=3", "--scheme", "sequoia:nodes=3,depth=2")
    files = ("--json", "c.json", "--plot", "c.png", "--csv", "c.csv")
    ran = draftproof("choose", "traversal", "naive", "sequoia", "nss", *models, *few, *more, *files)
    assert ran.code == 0
    found = json.loads(Path("c.json").read_text())
    rows = [*found["rows"], *found["left_out"]]
    claims = {name: set(lossless_for(make(name).card)) for name in ("traversal", "naive", "sequoia", "nss")}
    schemes = {"delayed": 2, "dyspec": 1, "sequoia": 1}
    assert len(rows) == sum(count for name in claims for kind, count in schemes.items() if kind in claims[name])
    assert all(row["scheme"]["name"] in claims[row["verifier"]] for row in rows)
    assert all(1 <= row["draft_passes"] <= 3 for row in rows if row["scheme"]["name"] == "dyspec")  # one to a token
    assert all(row["draft_passes"] == 2 for row in rows if row["scheme"]["name"] != "dyspec")
    for row in rows:
        assert 1 <= row["expected_block_efficiency"] <= row["most_block_efficiency"] + 1e-9
    assert {row["expected_from"] for row in rows if row["scheme"]["name"] == "delayed"} == {"exact"}
    assert "expected: after 8 contexts" in ran.out
    assert found["rows"][0]["all_rounds"]
    assert all(row["speedup_low"] <= row["speedup"] <= row["speedup_high"] for row in found["rows"])
    assert found["rows"][0]["of_first"] == 1
    assert not found["rows"][0]["distinguishable"]
    with Path("c.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [float(row["speedup"]) for row in table] == [row["speedup"] for row in found["rows"]]
    assert find_scheme(table[0]["scheme"]).as_dict() == found["rows"][0]["scheme"]
    assert [each["way"] for each in found["plain"]] == [
        "generate",
        "assisted generation",
        "plain generation in the loop",
    ]
    assert found["plain"][0]["speedup"] == 1
    assert "baseline: generate of transformers: the same prompts, temperature 1, cache on, 6 tokens a text" in ran.out
    assert ran.out.rstrip().splitlines()[-2] == found["paste"]
    assert found["paste"].startswith("target.generate(**inputs, ")
    assert "planned from acceptances on the tables" in ran.out
    assert found["recommendation"] in ran.out
    assert found["confirmed"]["rounds"] == 2
    if found["recommendation"].startswith(found["rows"][0]["verifier"]):
        assert f"{found['confirmed']['speedup']:.2f} times" in found["recommendation"]
    assert "after 2 roots of" in ran.out
    assert found["estimated_seconds"] > 0
    assert "candidates: " in ran.err  # what it will take is said before
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_measured_is_kept_and_not_measured_again(
    draftproof: Callable[..., Any], models: tuple[object, ...]
) -> None:
    asked = ("choose", "naive", "block", *models, "--roots", 2, "--tokens", 4, "--K", 1, "--L2", "1..2")
    kept = ("--resume", "kept.db", "--json", "c.json")
    assert draftproof(*asked, *kept, "--rounds", 2).code == 0
    first = json.loads(Path("c.json").read_text())
    assert list(first["target_passes"]) == ["1", "2", "3"]  # a root alone, and with one or two drafted tokens
    for row in first["rows"]:
        assert row["break_even"] == pytest.approx(row["block_efficiency"] / row["speedup"])
    assert first["plain"][0]["first"] == first["rows"][0]["speedup"]
    again = draftproof(*asked, *kept, "--rounds", 2)
    found = json.loads(Path("c.json").read_text())
    assert {**found, "announced": 0, "estimated_seconds": 0, "seconds": 0} == {
        **first, "announced": 0, "estimated_seconds": 0, "seconds": 0
    }  # fmt: skip
    assert found["announced"] == []  # nothing was left to do
    assert "a first text" not in again.err
    more = draftproof(*asked, *kept, "--rounds", 3)
    assert json.loads(Path("c.json").read_text())["rounds"] == 3
    assert "a first text" not in more.err
    kinds = [row["kind"] for row in stored_rows("kept.db")]
    # two and then three of the candidates; two and then three of the chosen one, of which one is kept if it is the same
    assert [kinds.count(kind) for kind in ("expected", "pilots")] == [1, 1]
    assert kinds.count("round") in (2 + 2 + 1 + 2, 2 + 2 + 1 + 3)


@pytest.mark.heavy
def test_without_time_less_is_done_and_that_is_said(where: Setting) -> None:
    schemes, store = [Delayed(1, 0, 1), Delayed(1, 0, 2), Delayed(2, 0, 1)], Store(None)
    search = choose.Search(where, [NAIVE], schemes, choose.Amount(2, 4, 5, seconds=1e-3), store=store)
    with ignored_generation_settings(where):
        chosen = search.chosen()
    assert len(chosen.measured) == 1
    assert chosen.rounds.count == 2
    assert [note.split(", ")[0] for note in search.notes] == [
        "for want of time only the first 1 schemes were tried",
        "for want of time there were 2 pilot texts of each scheme",
        "for want of time there were 2 rounds",
        "for want of time the best was confirmed in 1 of 5 rounds",
    ]
    enough = choose.Search(where, [NAIVE], schemes, choose.Amount(2, 4, 2, seconds=1e6), store=store)
    with ignored_generation_settings(where):
        tried = enough.chosen()
    assert len(tried.measured) + len(tried.left_out) == 3  # bounds by the clock leave some out
    assert tried.rounds.count == 2
    assert enough.notes == []


def test_a_long_stage_corrects_what_was_announced_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now, ticks = [0.0], list[int]()
    monkeypatch.setattr(choose, "perf_counter", lambda: now[0])
    forecast = choose.Forecast(started=0.0)
    forecast.update(100.0, "2 candidates")
    told = forecast.progress(ticks.append, 10, 40.0, 60.0, "expectations")
    now[0] = 1.0
    told(1)  # 10 s of 10 parts: what was expected of the stage is not less for its quick parts
    now[0] = 100.0
    told(1)
    assert forecast.said == [(0.0, 100.0), (100.0, 560.0)]  # 50 s a part, 8 to come, and 60 s after them
    now[0] = 101.0
    told(7)
    assert ticks == [1, 1, 7]
    assert len(forecast.said) == 2  # not so soon again
    now[0] = 104.0
    told(0)
    assert forecast.said[-1] == (104.0, pytest.approx(104 + 104 / 9 + 60, abs=0.1))
    assert (
        "2 of at most 10 expectations: about 8 min to go, about 9 min in all (not about 2 min)"
        in capsys.readouterr().err
    )


def test_what_is_not_lossless_is_not_chosen(draftproof: Callable[..., Any], models: tuple[object, ...]) -> None:
    small = (*models, "--roots", 1, "--K", 1, "--L2", 1)
    ran = draftproof("choose", "block", "naive_from_target", "ensemble", *small)
    assert ran.code == 2
    assert "naive_from_target, ensemble: declared lossless on no drafts; choose among" in ran.err
    assert "a first text" not in ran.err  # before any work
    source = "from draftproof.verifiers.controls import naive_from_target as it\nclass Mine(it.NaiveFromTarget): pass\n"
    Path("mine.py").write_text(source, encoding="utf-8")
    own = draftproof("choose", "mine.py:Mine", *small)
    assert own.code == 2
    assert "not lossless on delayed(K=1, L1=0, L2=1)" in own.err


def test_a_verifier_without_a_scheme_of_its_card_is_one_line(
    draftproof: Callable[..., Any], models: tuple[object, ...]
) -> None:
    ran = draftproof("choose", "spechub", *models, "--roots", 1, "--K", 2, "--L2", 1)
    assert ran.code == 2
    assert "spechub: none of them takes any of the trees (2, 0, 1, stratified(" in ran.err


@pytest.mark.heavy
def test_stratified_branches_are_candidates_of_verifiers_that_are_lossless_on_them(
    draftproof: Callable[..., Any], models: tuple[object, ...]
) -> None:
    few = (*models, "--roots", 1, "--tokens", 4, "--rounds", 2, "--K", "1..2", "--L2", 1, "--json", "c.json")
    assert draftproof("choose", "specinfer", "spectr", *few).code == 0
    found = json.loads(Path("c.json").read_text())
    tried = sorted((row["verifier"], row["scheme"]["name"]) for row in [*found["rows"], *found["left_out"]])
    assert tried == [("specinfer", "delayed")] * 2 + [("specinfer", "stratified")] + [("spectr", "delayed")] * 2


def test_a_path_is_one_candidate_wherever_it_could_branch(where: Setting) -> None:
    given = [Delayed(1, 1, 1), Delayed(1, 0, 2), Delayed(2, 1, 1), Delayed(1, 0, 1)]
    assert planned(given, where)[0] == [given[0], given[2], given[3]]


def test_who_takes_over_a_second_by_its_card_is_left_out() -> None:
    slow = NamedVerifier("slow", SimpleNamespace(card=replace(NAIVE.verifier.card, max_vocab=20)))  # type: ignore[arg-type]
    assert by_speed([NAIVE, slow], 20) == ([NAIVE, slow], [])
    assert by_speed([NAIVE, slow], 21) == ([NAIVE], [slow])
    with pytest.raises(InvalidInput, match="slow: a call takes more than a second at V = 21"):
        by_speed([slow], 21)


def test_a_pilot_run_times_all_verifiers_on_the_same_trees(where: Setting) -> None:
    made = PilotRun(where, Delayed(2, 0, 2), [find_verifier(name) for name in ("naive", "block")])
    plain = PlainPilotRun(where)
    ticks: list[int] = []
    run_pilots([made, plain], 4, ticks.append)
    assert sum(ticks) == 8
    assert len(made._blocks) == 1 + 2  # at first both kinds, then by turns
    assert max(map(len, made._batch.seconds.values())) == 2 * BLOCKS
    assert [each.label for each in made.verifiers] == ["naive", "block"]  # not by what they take: rows are kept by it
    made._batch.sort(0.0)
    made._batch.verifiers.reverse()
    assert [each.label for each in made.verifiers] == ["naive", "block"]
    assert made.draft_passes == 2
    assert plain.rate > 0
    for named in made.verifiers:
        assert 0 < made.quick(named) <= max(made._blocks) + 1
        assert 0 < min(made._blocks[1:]) <= made.shared < made.block(named)


def test_the_quickest_leads_who_takes_long_rests_and_who_cannot_is_out(where: Setting) -> None:
    now = [0.0]  # goes on by what a verifier takes

    def slowed(name: str, seconds: float) -> Any:
        named = find_verifier(name)
        verify = named.verifier.verify

        class Slow:
            card = named.verifier.card

            def verify(self, root: Any, coin: Any) -> Any:
                now[0] += seconds
                return verify(root, coin)

        return replace(named, verifier=Slow())

    combinations = [slowed("block", 3.0), slowed("naive", 1.0), slowed("spechub", 0.5)]
    batch = VerifierBatch(combinations, Stopwatch("cpu", clock=lambda: now[0]))
    loop = Loop(where.pair, batch, Delayed(2, 0, 2), where.warp)
    state, coin = loop.start(CONTEXTS[0], 100), coin_for("numpy", 0)
    for _ in range(CALLS_TIMED):
        _, state = loop.step(state, coin)
    assert [each.label for each in batch.verifiers] == ["block", "naive"]  # spechub takes two drafts alone
    assert batch.seconds == {"block": [3.0] * CALLS_TIMED, "naive": [1.0] * CALLS_TIMED, "spechub": []}
    batch.sort(2.0)
    assert [each.label for each in batch.verifiers] == ["naive", "block"]
    loop.step(state, coin)
    assert len(batch.seconds["block"]) == CALLS_TIMED
    assert len(batch.seconds["naive"]) == CALLS_TIMED + 1
    assert batch.mean("block") == batch.quick("block") == 3.0


def candidate(
    mean: float | None, block: float = 1.0, cap: float = 10.0, verifying: float = 0.0, error: float = 0.0
) -> Candidate:
    given = None if mean is None else AlongText(mean, error, error, mean + 2 * error)
    return Candidate(
        NAIVE, Delayed(1, 0, int(10 * block)), cap, given, block + verifying, block + verifying, block, 1.0
    )


class Known:
    """Block efficiencies by scheme, and who was asked about."""

    def __init__(self, mean: float) -> None:
        self.mean, self.asked = mean, list[Delayed]()

    def of(self, combinations: Any, progress: Any = None) -> list[AlongText]:
        self.asked += [scheme for _, scheme in combinations]
        return [AlongText(self.mean, 0.0, 0.0, self.mean) for _ in combinations]


def test_what_could_not_be_the_fastest_is_not_even_computed() -> None:
    quick, slow = candidate(None, 1.0, 4.0), candidate(None, 1.1, 4.0, verifying=5.0)
    open_, known = candidate(None, 1.2, 4.0, verifying=0.4), Known(2.0)
    assert [each.short for each in (quick, slow, open_)] == [True, False, False]
    found = with_expectations([slow, quick, open_], known)  # type: ignore[arg-type]
    # the quick one brings 2 a second; 4 / 6.1 are hopeless, 4 / 1.6 are not
    assert known.asked == [quick.scheme, open_.scheme]
    assert {each.scheme for each in found if each.expected is None} == {slow.scheme}
    worth, left_out = split(found)
    assert [each.scheme for each in worth] == [quick.scheme]
    assert {each.scheme for each in left_out} == {slow.scheme, open_.scheme}  # the latter brings 2 / 1.6 after all


def test_an_estimate_counts_with_its_upper_end() -> None:
    assert candidate(2.0, error=0.5).best_case == 3.0
    assert candidate(None, cap=4.0).best_case == 4.0
    worth, left_out = split([candidate(3.0), candidate(2.0, error=0.45), candidate(2.0)])
    assert [each.expected.error for each in worth if each.expected] == [0.0, 0.45]
    assert len(left_out) == 1


def test_the_estimate_counts_texts_and_turns() -> None:
    two = [candidate(None, 1.0, 3.5), candidate(None, 1.2, 3.5)]
    assert choose.pilot_seconds(two) == pytest.approx(8 * (4 + 8) * 2.2)
    usual = 1 + choose.TYPICAL_SHARE * 2.5
    assert usual == 3
    texts = (3 * 1.0 + 3 * 1.2) / 2 + 0.5  # three blocks of three tokens, their seconds, and what is around them
    plain, amount = {"generate": 7.0, "loop": 5.0}, choose.Amount(4, 9, 5)
    assert choose.rounds_seconds(two, plain, amount, 0.5) == pytest.approx(5 * 4 * (2 * texts + 7 + 5 + texts + 7))
    assert choose.near([two[0], candidate(None, 9.0, 3.5)]) == [two[0]]
