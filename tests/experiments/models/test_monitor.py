"""The monitor: its ratios have mean 1 where the loop is lossless, exactly; it finds what is not."""

from collections.abc import Callable
from contextlib import suppress
from math import log
from typing import Any

import numpy as np
import pytest
import torch

from draftproof import Delayed, InvalidInput, Monitor, TableProcess, block_law, generate_with
from draftproof.experiments.models.loop.generation import Piece, ending, pieces
from draftproof.experiments.models.loop.loop import Block, Loop
from draftproof.experiments.models.loop.sequential import POWERS, SHIFTS, guaranteed_draft_rows, log_ratios
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator.drafts import DySpec, Stratified
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.laws import ROOT, SIZE
from tests.quick import by_turns

LAWS = len(SHIFTS) + len(POWERS)
P, Q = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])


def test_ratios_at_a_token_of_the_target_have_mean_one() -> None:
    means = sum(P[token] * np.exp(log_ratios(P, Q, token)) for token in range(SIZE))
    assert means == pytest.approx(np.ones(LAWS), abs=1e-12)  # rounding of sums of three
    assert log_ratios(P, P, 1)[: len(SHIFTS)] == pytest.approx(np.zeros(len(SHIFTS)), abs=1e-12)


def expected(name: str, scheme: Delayed) -> Any:
    """The exact mean of the product of ratios of one block, by law."""
    draw = np.random.default_rng(4).dirichlet
    tables = [[draw(np.ones(SIZE), SIZE**depth) for depth in range(scheme.depth + 1)] for _ in "pq"]
    target, draft = (TableProcess(table) for table in tables)
    means = np.zeros(LAWS)
    for (accepted, correction), mass in block_law(name, target, draft, scheme, "float64").as_dict().items():
        tokens = (*accepted, correction)[: guaranteed_draft_rows(scheme)]
        contexts = [tokens[:depth] for depth in range(len(tokens))]
        logs = [log_ratios(target.row(c), draft.row(c), token) for c, token in zip(contexts, tokens, strict=True)]
        means += mass * np.exp(sum(logs))
    return means


@pytest.mark.parametrize("scheme", [Delayed(1, 0, 2), Delayed(2, 1, 1)], ids=str)
@pytest.mark.parametrize("name", by_turns(["naive", "block", "traversal", "gbv", "specinfer", "layer_transport"]))
def test_ratios_of_a_block_have_mean_one_wherever_it_ends(name: str, scheme: Delayed) -> None:
    assert expected(name, scheme) == pytest.approx(np.ones(LAWS), abs=1e-12)  # rounding of a few dozen sums


@pytest.mark.parametrize("name", ["naive_from_target", "ensemble:w=1/2"])
def test_ratios_of_blocks_of_a_lossy_verifier_do_not(name: str) -> None:
    assert expected(name, Delayed(1, 0, 2)).max() > 1.01


def test_false_alarms_are_as_rare_as_the_level_says() -> None:
    generator, alarms = np.random.default_rng(0), 0
    for _ in range(100):
        monitor = Monitor(0.2)
        for token in generator.choice(SIZE, 60, p=P):
            monitor.observe(P, Q, token)
        alarms += monitor.refuted
    assert 0 < alarms <= 100 * 0.2 + 3 * (100 * 0.2 * 0.8) ** 0.5


@pytest.mark.parametrize("leaning", [0.2, 0.4])
def test_an_alarm_takes_about_as_many_tokens_as_stated(leaning: float) -> None:
    law, generator, taken = P + leaning * (Q - P), np.random.default_rng(0), []
    for _ in range(15):
        monitor = Monitor()
        while not monitor.refuted:
            monitor.observe(P, Q, int(generator.choice(SIZE, p=law)))
        taken.append(monitor.tokens)
    stated = (np.log(1000) + 4.4) / (law * np.log(law / P)).sum()  # the page of models says so
    assert 0.5 < np.median(taken) / stated < 1.5


def watched(pair: Any, verifier: Any, scheme: Any, length: int, monitor: Monitor, seed: int = 0) -> Monitor:
    """Eight texts of this length."""
    loop = Loop(pair, verifier, scheme, Sampling(), keep_rows=True)
    coin = coin_for("numpy", seed)
    told = monitor.watching(loop, [coin])
    for piece in pieces(loop, [ROOT] * 8, coin, length, ending(length)):
        told(piece)
    return monitor


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=SIZE, noise=0.3)


@pytest.mark.parametrize("scheme", [Delayed(2, 0, 2), DySpec(3)], ids=str)
def test_a_lossless_loop_raises_no_alarm(pair: Any, scheme: Any) -> None:
    monitor = watched(pair, make("traversal"), scheme, 80, Monitor(1e-3))
    assert not monitor.refuted
    assert monitor.tokens > 200
    assert str(monitor).startswith("no sign of a loss: e-process 10^")


def test_a_lossy_loop_is_found_early_and_late(pair: Any) -> None:
    lossy = make("naive_from_target")
    early = watched(pair, lossy, Delayed(1, 0, 2), 100, Monitor(1e-3))
    assert early.refuted
    assert str(early).startswith("NOT lossless")
    late = watched(pair, make("naive"), Delayed(1, 0, 2), 60, Monitor(1e-3))
    assert not late.refuted
    before = late.tokens
    assert watched(pair, lossy, Delayed(1, 0, 2), 150, late, 1).refuted
    assert late.tokens > before
    assert late.largest >= -log(1e-3)


def test_memory_does_not_grow_with_the_length_of_texts(pair: Any) -> None:
    def kept(length: int) -> dict[str, int]:
        monitor = watched(pair, make("naive"), Delayed(1, 0, 2), length, Monitor())
        return {name: len(value) if isinstance(value, set) else np.size(value) for name, value in vars(monitor).items()}

    assert kept(10) == kept(60)


def test_a_token_that_the_target_never_gives_is_the_end() -> None:
    monitor, never = Monitor(), np.array([1.0, 0.0, 0.0])
    for token in (0, 1, 0):
        monitor.observe(never, Q, token)
    assert monitor.refuted
    assert monitor.tokens == 3
    assert not np.isnan(monitor.log_value)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_generate_is_watched(pair: Any, vectors: str) -> None:
    def write(verifier: str, monitor: Monitor) -> Monitor:
        ours = generate_with(verifier, Delayed(1, 0, 2), seed=1, vectors=vectors, monitor=monitor, lossy=True)
        ids = torch.tensor([ROOT] * 8)
        asked = {"do_sample": True, "max_new_tokens": 40, "assistant_model": pair.draft, "custom_generate": ours}
        pair.target.generate(ids, attention_mask=torch.ones_like(ids), **asked)
        return monitor

    assert write("ensemble:w=1/2", Monitor()).refuted
    honest = write("naive", Monitor())
    assert not honest.refuted
    assert honest.tokens > 150


def written(
    pair: Any, monitor: Monitor, seed: Any, vectors: str = "numpy", sampling: bool = True, texts: int = 2
) -> None:
    ids = torch.tensor([ROOT] * texts)
    ours = generate_with("naive", Delayed(1, 0, 2), seed=seed, vectors=vectors, monitor=monitor)
    asked = {"do_sample": sampling, "max_new_tokens": 4, "assistant_model": pair.draft, "custom_generate": ours}
    pair.target.generate(ids, attention_mask=torch.ones_like(ids), **asked)


AGAIN = r"its random numbers came before and are no new evidence; give a seed that was not used, or None and call torch"


def test_random_numbers_that_come_again_are_refused(pair: Any) -> None:
    monitor = Monitor()
    written(pair, monitor, 1)
    before = monitor.tokens
    for seed, text in ((1, 0), (2, 0), (0, 1), ([5, 5], 1)):
        with pytest.raises(InvalidInput, match=f"^text {text}: {AGAIN}"):
            written(pair, monitor, seed)
    assert monitor.tokens == before
    written(pair, monitor, [9, 7])
    written(pair, monitor, 9, sampling=False)  # draws nothing
    assert monitor.tokens > before
    written(pair, monitor, [8, 5])
    with pytest.raises(InvalidInput, match=AGAIN):
        written(pair, monitor, 8)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
@pytest.mark.parametrize("texts", [1, 3])
def test_the_same_torch_seed_before_another_call_is_refused(pair: Any, vectors: str, texts: int) -> None:
    with torch.random.fork_rng(devices=[]):
        monitor = Monitor()
        for seed in (3, 4):
            torch.manual_seed(seed)
            written(pair, monitor, None, vectors, texts=texts)
        written(pair, monitor, None, vectors, texts=texts)  # goes on where the last one ended
        before = monitor.tokens
        for seed in (4, 3):
            torch.manual_seed(seed)
            with pytest.raises(InvalidInput, match=f"^text 0: {AGAIN}") as refused:
                written(pair, monitor, None, vectors, texts=texts)
            assert "\n" not in str(refused.value)
        assert monitor.tokens == before


def test_the_same_seed_again_and_again_is_no_alarm_about_a_lossless_loop(pair: Any) -> None:
    monitor = Monitor()
    with torch.random.fork_rng(devices=[]):
        for _ in range(60):
            torch.manual_seed(11)
            with suppress(InvalidInput):
                written(pair, monitor, None)
    assert 0 < monitor.tokens <= 8
    assert not monitor.refuted


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_a_generator_may_go_on_and_may_not_begin_again(pair: Any, vectors: str) -> None:
    monitor = Monitor()
    loop = Loop(pair, make("naive"), Delayed(1, 0, 2), Sampling(), vectors, keep_rows=True)
    coin = coin_for(vectors, 5)
    for _ in range(3):
        told = monitor.watching(loop, [coin])
        for piece in pieces(loop, [ROOT], coin, 3, ending(3)):
            told(piece)
    with pytest.raises(InvalidInput, match=AGAIN):
        monitor.watching(loop, [coin_for(vectors, 5)])
    told = monitor.watching(loop, [coin_for(vectors, 6)])
    monitor.watching(loop, [coin_for(vectors, 6)])  # nothing was written with the one before
    with pytest.raises(InvalidInput, match="object has no generator of numpy or torch"):
        monitor.watching(loop, [object()])


def test_a_text_that_comes_again_wins_again_without_any_fault() -> None:
    token = int(np.argmax(Q / P))
    monitor = Monitor(1e-3)
    for _ in range(200):
        monitor.observe(P, Q, token)
    assert monitor.refuted


def test_what_cannot_be_watched_is_one_clear_line(pair: Any) -> None:
    with pytest.raises(InvalidInput, match=r"level 1\.5 must lie between 0 and 1"):
        Monitor(1.5)
    with pytest.raises(InvalidInput, match="keep_rows=True"):
        Monitor().watching(Loop(pair, make("nss"), DySpec(2), Sampling()), ())
    told = Monitor().watching(Loop(pair, make("nss"), DySpec(2), Sampling(), keep_rows=True), ())
    with pytest.raises(InvalidInput, match="the draft's row is missing where a block begins"):
        told(Piece(0, (1,), Block((), 1, rows=((P, None),)), False))
    schemes = Delayed(2, 1, 2), Stratified(2, 0, 2), DySpec(4), Delayed(1, 0, 0)
    assert [guaranteed_draft_rows(scheme) for scheme in schemes] == [3, 2, 1, 0]
