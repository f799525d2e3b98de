"""One block of every verifier at real vocabularies, as a share of a pass of a target of a billion parameters.

The pass scores all nodes of the tree. Of the target one layer and the output matrix are made, with random weights, and
timed on this machine; the other layers are taken to cost the same. Single and half precision are both timed, and the
quicker one counts. Times are of processors and of one thread; that of the pass is divided by the threads that torch
would use, as if they shared it evenly, which can only make the share of verification look larger. Where no target can
be made, verifiers stand beside reading their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

import numpy as np

from draftproof.experiments.studies.speed.blocks import drafted_tree, read, tensors
from draftproof.experiments.studies.speed.measuring import Row, Sizes, in_turn, seconds_of
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import SCHEMES, Delayed, lossless_for
from draftproof.simulator.protocol import Coin, DraftNode, DraftScheme, Verifier
from draftproof.verifiers import STANDALONE, make

#: The shape of the target: that of a Llama with 1.2 billion parameters at V = 128,000.
LAYERS, WIDTH, INNER, HEADS, KEYS = 16, 2048, 8192, 32, 8
#: A verifier should take no more of the pass than this.
GOAL = 0.05
#: Blocks of which one time is the mean: other coins on the same tree.
BLOCKS = 6
#: What `max_vocab` of a card is about.
SECOND = 1.0
#: Left out: it takes pairs of drafts that are made for it, and its cost is that of `naive`.
OWN_PAIRS = "spechub"


def vocab_rows(sizes: Sizes) -> Iterator[Row]:
    """Every verifier that declares it, on rows of numpy and torch, on every device at hand."""
    has_target = bool(find_spec("torch") and find_spec("transformers"))
    for size in (50,) if sizes.quick else (32_000, 150_000):
        passes: dict[int, float] = {}
        for name in STANDALONE:
            limit = make(name).card.max_vocab
            if name == OWN_PAIRS or (limit is not None and limit < size):
                continue
            scheme = scheme_for(make(name), sizes)
            root = drafted_tree(size, scheme)
            nodes = count_nodes(root)
            if nodes not in passes and has_target:
                passes[nodes] = pass_seconds(size, nodes, sizes)
            tasks = {kind: partial(blocks, make(name), tree, kind) for kind, tree in kinds(root)}
            with one_thread():
                least = in_turn(tasks, sizes.budget / 2)
            for kind, seconds in least.items():
                problem = f"{name}, {kind}: V={size} {scheme}"
                if has_target:
                    against = f"pass of 1B for {nodes} nodes"
                    yield Row("vocab", problem, seconds / BLOCKS, against, passes[nodes], goal=GOAL)
                else:
                    reading = in_turn({"reading": partial(read, root)}, 0.0)["reading"]
                    yield Row("vocab", problem, seconds / BLOCKS, "reading its rows once", reading)
    yield from limit_rows(sizes)


def limit_rows(sizes: Sizes) -> Iterator[Row]:
    """Cards that set a limit, beside the largest vocabulary at which one call with four drafts takes under a second."""
    for name in STANDALONE:
        declared = make(name).card.max_vocab
        if declared is None:
            continue
        largest = size = 2
        while size <= (4 if sizes.quick else 2**17):
            root = drafted_tree(size, scheme_for(make(name), sizes))
            if seconds_of(partial(make(name).verify, root, coin_of("numpy", 0))) >= SECOND:
                break
            largest, size = size, size + max(size // 8, 1)
        problem = f"{name}: its card says"
        yield Row("vocab", problem, declared, "measured in one call", largest, 1.0, faster=True, unit="tokens")


def scheme_for(verifier: Verifier, sizes: Sizes) -> DraftScheme:
    """Four paths of four tokens, or, of schemes whose every node branches, four nodes with four children each."""
    known = lossless_for(verifier.card)
    if verifier.card.control or not known or "delayed" in known:
        return Delayed(2, 0, 2) if sizes.quick else Delayed(4, 0, 4)
    scheme: DraftScheme = SCHEMES[known[0]](K=2 if sizes.quick else 4, L1=0, L2=1 if sizes.quick else 2)
    return scheme


def kinds(root: DraftNode) -> Iterator[tuple[str, DraftNode]]:
    """The tree with rows of every kind at hand."""
    yield "numpy", root
    if find_spec("torch"):
        import torch

        yield "torch", tensors(root)
        if torch.cuda.is_available():
            yield "cuda", tensors(root, "cuda")


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch does not spread small work over threads that wait for each other."""
    if not find_spec("torch"):
        yield
        return
    import torch

    threads: int = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def blocks(verifier: Verifier, root: DraftNode, kind: str) -> None:
    """Some blocks on one tree, with coins of their own."""
    for seed in range(BLOCKS):
        verifier.verify(root, coin_of(kind, seed))


def coin_of(kind: str, seed: int) -> Coin:
    """A coin that draws where the rows are."""
    if kind == "numpy":
        return SamplingCoin(np.random.default_rng(seed))
    from draftproof.experiments.models.loop.vectors import coin_for

    return coin_for("torch", seed, "cpu" if kind == "torch" else kind)


def count_nodes(root: DraftNode) -> int:
    """The nodes of a tree, its root included: what the target scores in one pass."""
    return 1 + sum(count_nodes(root.child(token)) for token in set(root.children))


def pass_seconds(size: int, nodes: int, sizes: Sizes) -> float:
    """Seconds of a pass of the target over so many nodes."""
    return min(_pass(size, nodes, kind, sizes) for kind in ("float32", "bfloat16"))


def _pass(size: int, nodes: int, kind: str, sizes: Sizes) -> float:
    """One layer and the output matrix timed, and scaled."""
    import torch
    from transformers import LlamaConfig, LlamaModel

    width, inner = (64, 128) if sizes.quick else (WIDTH, INNER)
    config = LlamaConfig(
        vocab_size=2,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=KEYS,
        eos_token_id=None,
        bos_token_id=None,
    )
    dtype = getattr(torch, kind)
    layer = LlamaModel(config).to(dtype).eval()
    matrix = torch.full((size, width), 0.01, dtype=dtype)
    hidden = torch.full((1, nodes, width), 0.01, dtype=dtype)
    threads: int = torch.get_num_threads()
    with torch.inference_mode(), one_thread():
        tasks: dict[str, Callable[[], object]] = {
            "layer": lambda: layer(inputs_embeds=hidden, use_cache=False),
            "output": lambda: hidden @ matrix.T,
        }
        seconds_of(tasks["layer"]), seconds_of(tasks["output"])  # the first time memory is made ready
        least = in_turn(tasks, sizes.budget)
    return (LAYERS * least["layer"] + least["output"]) / threads
