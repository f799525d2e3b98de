"""The same loop on a CUDA device; skipped, with its reason, where there is none."""

import numpy as np
import pytest
import torch

from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.measure.passes import measure_passes
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import plain_text, text_after

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; torch finds none here")

PROMPT = [1, 2, 3]


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(noise=0.02, device="cuda")


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["block", "specinfer", "traversal"])
def test_greedy_text_is_that_of_generate(pair, name, vectors):
    ids = torch.tensor([PROMPT], device="cuda")
    expected = pair.target.generate(ids, do_sample=False, max_new_tokens=200)[0, 3:].tolist()
    shape = Delayed(1, 0, 4) if name == "block" else Delayed(3, 1, 2)
    coin = coin_for(vectors, 0, "cuda")
    loop, way = Loop(pair, Sampling(0), vectors), (make(name), shape)
    assert list(text_after(loop, *way, PROMPT, coin, 200)) == expected
    assert list(plain_text(pair, PROMPT, Sampling(0), coin, 200)) == expected


def depths(pair, vectors):
    loop, way = Loop(pair, Sampling(), vectors), (make("traversal"), Delayed(3, 1, 2))
    blocks = many_blocks(loop, *way, PROMPT, 2000, coin_for(vectors, 0, pair.device))
    return np.array([block.depth for block in blocks])


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_blocks_bring_as_many_tokens_as_on_the_host(pair, random_pair, vectors):
    there, here = depths(pair, vectors), depths(random_pair(noise=0.02), "numpy")
    error = np.sqrt(there.var() / len(there) + here.var() / len(here))
    assert abs(there.mean() - here.mean()) < 4 * error  # by chance once in 16,000 sets of seeds


def test_seconds_wait_for_the_device(pair):
    loop, way = Loop(pair, Sampling()), (make("naive"), Delayed(1, 0, 2))
    text_after(loop, *way, PROMPT, coin_for("numpy", 0), 20)
    assert loop.watch.seconds["target"] > 0
    assert min(measure_passes(pair, pair.target, 40, (1, 8), 2).values()) > 0
