"""Every verifier on every scheme that its card claims, in batches of 1 or 8: law, greedy text, rows and caches."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import STANDALONE, make
from tests.experiments.models.drawn import CASES, PROMPTS, Watched, claims
from tests.experiments.models.laws import LEVEL, ROOT, agrees, law_of_texts, many_texts
from tests.quick import quick

PAIRS = [(scheme, verifier) for scheme in CASES for verifier in claims(CASES[scheme][0])]
NAMES = [f"{scheme}, {verifier}" for scheme, verifier in PAIRS]
BATCHES = (1, 8)
#: Each pair in one of the sizes of batches, by turns.
IN_TURN = [(*pair, BATCHES[turn % 2]) for turn, pair in enumerate(PAIRS)]
#: float64 passes of other shapes sum in another order: some hundred roundings of 2^-53, of numbers up to 20.
TOLERANCE = 1e-10
WARM = Sampling(1.3)
#: Runs of a law, tokens of a greedy text and blocks of a cache, in batches of 1 and of 8.
RUNS, TOKENS, STEPS = {1: 120, 8: 400}, 10, {1: 8, 8: 5}
#: As many laws as there are pairs, which shall be wrong by chance once in a thousand times in all.
STRICT = LEVEL * 50 / len(PAIRS)


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=3, dtype=torch.float64, noise=0.05)


@pytest.fixture(scope="module")
def law(pair: Any) -> dict[tuple[int, ...], float]:
    return law_of_texts(pair, 2, WARM)


@pytest.fixture(scope="module")
def greedy_texts(pair: Any) -> list[list[int]]:
    write = pair.target.generate
    return [write(torch.tensor([each]), do_sample=False, max_new_tokens=TOKENS)[0].tolist() for each in PROMPTS]


def test_the_pairs_are_all_that_cards_claim(capsys: pytest.CaptureFixture[str]) -> None:
    claimed = {(scheme.name, name) for scheme, _ in CASES.values() for name in claims(scheme)}
    assert {name for _, name in claimed} >= {name for name in STANDALONE if lossless_for(make(name).card)}
    assert len(PAIRS) > 100
    with capsys.disabled():
        print(f"\n{len(PAIRS)} pairs of verifier and scheme, {len(CASES)} schemes, in batches of 1 or 8: ", end="")


@pytest.mark.one_in(240, first=1)
@pytest.mark.parametrize(("scheme", "verifier", "batch"), IN_TURN, ids=NAMES)
def test_first_tokens_have_the_law_of_the_target(pair: Any, law: Any, scheme: str, verifier: str, batch: int) -> None:
    loop, way = Loop(pair, WARM), (make(verifier), CASES[scheme][0])
    texts = many_texts(loop, *way, ROOT, RUNS[batch], 2, coin_for("numpy", batch), batch)
    assert agrees(Counter(tuple(text) for text in texts.tolist()), law, STRICT)


@pytest.mark.one_in(60, first=3)
@pytest.mark.parametrize(("scheme", "verifier", "batch"), IN_TURN, ids=NAMES)
def test_greedy_texts_are_those_of_generate(
    pair: Any, greedy_texts: list[list[int]], scheme: str, verifier: str, batch: int
) -> None:
    seen = Watched(pair, CASES[scheme][0], verifier, PROMPTS[-batch:], Sampling(0)).run(TOKENS)
    for text, expected in zip(seen.texts, greedy_texts[-batch:], strict=True):
        assert text[: len(expected)] == expected


@pytest.mark.one_in(80, first=5)
@pytest.mark.parametrize(("scheme", "verifier", "batch"), IN_TURN, ids=NAMES)
def test_rows_and_caches_are_those_of_separate_passes(pair: Any, scheme: str, verifier: str, batch: int) -> None:
    seen = Watched(pair, CASES[scheme][0], verifier, PROMPTS[-batch:], Sampling()).run(STEPS[batch])
    assert seen.rows_off() <= TOLERANCE
    assert seen.caches_off() <= TOLERANCE


@pytest.mark.heavy
@pytest.mark.parametrize("batch", quick(BATCHES, [8]))
def test_the_law_of_a_lossy_verifier_is_noticed_in_either_batch(random_pair: Callable[..., Any], batch: int) -> None:
    """With as many runs as the larger batch has: fewer find larger faults alone."""
    far = random_pair(vocab=3, dtype=torch.float64, noise=0.3)
    loop, way = Loop(far, WARM), (make("naive_from_target"), CASES["delayed"][0])
    texts = many_texts(loop, *way, ROOT, RUNS[8], 2, coin_for("numpy", batch), batch)
    assert not agrees(Counter(tuple(text) for text in texts.tolist()), law_of_texts(far, 2, WARM), STRICT)
