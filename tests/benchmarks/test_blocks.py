"""One block at real vocabularies, as a share of a pass of a target of a billion parameters over the tree.

Of the target one layer and the output matrix are made, with random weights, and timed here; the other layers are taken
to cost the same. Single and half precision are both timed, and the quicker one counts. Times are of processors and of
one thread; that of the pass is divided by the processors, as if they shared it evenly, which can only make the share of
verification look larger.
"""

from collections.abc import Iterator
from functools import cache, partial
from importlib.util import find_spec
from itertools import product

import pytest

from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.laws.structured.arrays import keep_freed_memory
from draftproof.simulator.protocol import DraftNode, DraftScheme
from draftproof.verifiers import STANDALONE, make
from tests.benchmarks.conftest import least
from tests.benchmarks.trees import NAMES, coin_of, drafted_tree, nodes_of, scheme_for, tensors

#: The shape of the target: that of a Llama with 1.2 billion parameters at V = 128,000.
LAYERS, WIDTH, INNER, HEADS, KEYS = 16, 2048, 8192, 32, 8
SIZES = (32_000, 150_000)
#: Blocks of which one time is the mean: other coins on the same tree.
BLOCKS = 6
#: Where trees are compared: so many, and coins on each.
TREES, COINS = 16, 3
HAS_TARGET = bool(find_spec("torch") and find_spec("transformers"))
KINDS = ("numpy", "torch", "cuda")


@pytest.fixture(autouse=True)
def _same_state() -> Iterator[None]:
    """All have the same state of the allocator, and torch does not spread small work over threads that wait."""
    keep_freed_memory()
    if not find_spec("torch"):
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def read(root: DraftNode) -> float:
    """The sum of every row."""
    return sum(float(row.sum()) for node in nodes_of(root) for row in (node.target, node.draft) if row is not None)


def of_kind(root: DraftNode, kind: str) -> DraftNode:
    """The tree with rows of this kind; skips where it is not at hand."""
    if kind == "numpy":
        return root
    torch = pytest.importorskip("torch")
    if kind == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA here")
    return tensors(root, "cpu" if kind == "torch" else kind)


@cache
def pass_seconds(size: int, nodes: int, full: bool) -> float:
    """Seconds of a pass of the target over so many nodes."""
    import os

    import torch
    from transformers import LlamaConfig, LlamaModel

    width, inner = (WIDTH, INNER) if full else (64, 128)
    config = LlamaConfig(
        vocab_size=2, hidden_size=width, intermediate_size=inner, num_hidden_layers=1, num_attention_heads=HEADS,
        num_key_value_heads=KEYS, eos_token_id=None, bos_token_id=None,
    )  # fmt: skip
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        layer = LlamaModel(config).to(dtype).eval()
        matrix = torch.full((size, width), 0.01, dtype=dtype)
        hidden = torch.full((1, nodes, width), 0.01, dtype=dtype)
        with torch.inference_mode():
            tasks = (partial(layer, inputs_embeds=hidden, use_cache=False), lambda h=hidden, m=matrix: h @ m.T)
            for task in tasks:
                task()  # the first time memory is made ready
            times = [least(task, 2.0 if full else 0.0) for task in tasks]
        found.append((LAYERS * times[0] + times[1]) / len(os.sched_getaffinity(0)))
    return min(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_a_block_as_a_share_of_a_pass(timed, full, name, size, kind):
    verifier, size = make(name), size if full else 50
    if verifier.card.max_vocab is not None and verifier.card.max_vocab < size:
        pytest.skip("its card declares a smaller vocabulary")
    root = drafted_tree(size, scheme_for(verifier, full))
    tree = of_kind(root, kind)

    def blocks() -> None:
        for seed in range(BLOCKS):
            verifier.verify(tree, coin_of(kind, seed))

    nodes = len(nodes_of(root))
    if HAS_TARGET:
        against, seconds = f"{BLOCKS} passes of 1B for {nodes} nodes", BLOCKS * pass_seconds(size, nodes, full)
        timed(blocks, against, seconds, goal="<= 5 %")
    else:
        timed(blocks, "reading its rows once", partial(read, root))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["layer_transport", "traversal", "specinfer", "block"])
def test_a_block_beside_reading_its_rows(timed, full, name, size, kind):
    root = of_kind(drafted_tree(size if full else 50, Delayed(4, 0, 5) if full else Delayed(2, 0, 2)), kind)
    coin = coin_of(kind, 2)
    timed(lambda: make(name).verify(root, coin), "reading its rows once", partial(read, root))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["layer_transport", "optimal_transport", "traversal", "specinfer", "block_tree"])
def test_a_block_of_stratified_branches_beside_one_of_iid_branches(timed, full, name, size, kind):
    """Means over many trees, as they are rejected at other depths."""
    shape = (4, 0, 4) if full else (2, 0, 2)

    def trees(scheme: DraftScheme) -> list[DraftNode]:
        return [of_kind(drafted_tree(size if full else 50, scheme, seed), kind) for seed in range(TREES if full else 2)]

    def blocks(roots: list[DraftNode]) -> None:
        for root, seed in product(roots, range(COINS)):
            make(name).verify(root, coin_of(kind, seed))

    stratified, iid = (partial(blocks, trees(of(*shape))) for of in (Stratified, Delayed))
    timed(stratified, "i.i.d. branches", iid, goal="<= 1.3")


@pytest.mark.parametrize("name", [name for name in STANDALONE if make(name).card.max_vocab is not None])
def test_the_largest_vocabulary_of_a_card_takes_about_a_second(timed, full, name):
    size = make(name).card.max_vocab or 0
    root = drafted_tree(size if full else 4, scheme_for(make(name), full))
    timed(lambda: make(name).verify(root, coin_of("numpy")), "a second", 1.0, rounds=1)
