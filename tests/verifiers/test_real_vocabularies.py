"""At real vocabularies rows stay where they are: nothing of their size is moved to Python, nothing loops over them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import vectors
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Coin, DraftNode, Verdict
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.verifiers import make
from tests.benchmarks.trees import NAMES, drafted_tree, scheme_for, tensors

V = 100_000
#: Numbers that a block may move to Python, and lines that it may run there: less than half a row has.
MOST = V // 2
AT_ANY_SIZE = [name for name in NAMES if make(name).card.max_vocab is None]
BLOCKS = 3


def tree(name: str) -> DraftNode:
    return drafted_tree(V, scheme_for(make(name), full=False))


class Watched(np.ndarray[Any, Any]):
    """An array that counts what is taken out of it number by number; what is computed from it counts on."""

    moved = 0

    def _count(self) -> None:
        Watched.moved += self.size

    def tolist(self) -> Any:
        self._count()
        return super().tolist()

    def __iter__(self) -> Any:
        self._count()
        return super().__iter__()


@contextmanager
def lines() -> Iterator[list[int]]:
    """Counts the lines of Python that run, those of comprehensions and generators too."""
    count = [0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        count[0] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


class OnArrays:
    """A tree whose rows are watched."""

    def __init__(self, node: DraftNode) -> None:
        self._node = node
        self.context, self.children = node.context, node.children
        self.target = node.target.view(Watched)
        self.draft = None if node.draft is None else node.draft.view(Watched)
        self.laws = (self.draft,) * len(self.children)

    def child(self, token: int) -> DraftNode:
        return OnArrays(self._node.child(token))


def moved_from_arrays(verify: Callable[[DraftNode, Coin], Verdict], root: DraftNode) -> int:
    """Numbers moved or lines run for one block, whichever is more; of several blocks the most."""
    most = 0
    verify(root, SamplingCoin(np.random.default_rng(0)))  # what is imported at its first use does not count
    for seed in range(BLOCKS):
        Watched.moved = 0
        with lines() as count:
            verify(OnArrays(root), SamplingCoin(np.random.default_rng(seed)))
        most = max(most, Watched.moved, count[0])
    return most


def moved_from_tensors(verify: Callable[[DraftNode, Coin], Verdict], root: DraftNode) -> int:
    """The same for tensors, with a coin that draws where they are."""
    torch = pytest.importorskip("torch")
    from draftproof.experiments.models.loop.vectors import coin_for

    leaving = ("tolist", "numpy", "item", "cpu", "to", "__array__", "__iter__", "__float__", "__int__", "__bool__")

    class Counting(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        moved = 0

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function.__name__ in leaving and torch.is_tensor(args[0]):
                self.moved += args[0].numel()
            if function.__name__ in ("as_tensor", "tensor", "new_tensor"):  # a list that goes back
                self.moved += len(args[-1]) if isinstance(args[-1], (list, tuple)) else 0
            return function(*args, **(kwargs or {}))

    most, there = 0, tensors(root)
    verify(there, coin_for("torch", 0))
    for seed in range(BLOCKS):
        coin = coin_for("torch", seed)
        with Counting() as counting, lines() as count:
            verify(there, coin)
        most = max(most, counting.moved, count[0])
    return most


MOVED = {"numpy": moved_from_arrays, "torch": moved_from_tensors}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("kind", MOVED)
@pytest.mark.parametrize("name", AT_ANY_SIZE)
def test_a_block_moves_and_runs_far_less_than_a_row(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "HOST", "elsewhere")  # as if the tensors were on a device that numpy cannot read
    assert MOVED[kind](make(name).verify, tree(name)) <= MOST


def listing(root: DraftNode, coin: Coin) -> Verdict:
    """Makes a list of a row."""
    masses = root.target.tolist()
    return Verdict((), int(np.argmax(masses)))


def walking(root: DraftNode, coin: Coin) -> Verdict:
    """Walks along a row."""
    return Verdict((), max(range(len(root.target)), key=lambda token: float(root.target[token])))


@pytest.mark.parametrize("kind", MOVED)
@pytest.mark.parametrize("verify", [listing, walking])
def test_verifiers_that_move_or_walk_a_row_are_caught(verify: Callable[..., Verdict], kind: str) -> None:
    size = 5_000
    assert MOVED[kind](verify, drafted_tree(size, Delayed(1, 0, 1))) >= size
