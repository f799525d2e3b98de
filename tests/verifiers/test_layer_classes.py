"""Layers over classes of tokens: lossless, the same by structure, and sums of their tokens."""

from itertools import product

import numpy as np
import pytest

from draftproof.simulator import Delayed, TableProcess, block_law, check
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import make
from draftproof.verifiers._classes import by_classes
from draftproof.verifiers._layers import Scored
from draftproof.verifiers.layer_transport import LayerTransport
from tests.quick import quick

SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2))
#: Sums of a few products of numbers of at most 1, and the error of the integral.
ROUNDING = 1e-11


class TokensAlone(LayerTransport):
    """A weight for every token at any vocabulary size."""

    most_tokens = 1000


class InClasses(LayerTransport):
    """Classes of tokens at any vocabulary size."""

    most_tokens = 0


@pytest.mark.heavy
def test_classes_of_tokens_are_lossless_in_rationals():
    for shape in SHAPES[:2]:
        for instance in case_instances((shape[0], Delayed(*shape[1:])), 2):
            found = check(InClasses(), instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate")
            assert found.max_deviation == 0


@pytest.mark.parametrize("shape", quick(SHAPES, ()), ids=str)
def test_classes_of_tokens_have_the_structure_that_runs(shape: tuple[int, ...]) -> None:
    """Another one than that of tokens: a proof by structure is about what runs at that vocabulary."""
    scheme, differ = Delayed(*shape[1:]), 0
    for instance in case_instances((shape[0], scheme), 2):
        enumerated, structured = (
            block_law(InClasses(), instance.target, instance.draft, scheme, engine=engine)
            for engine in ("enumerate", "structured")
        )
        for ours, theirs in zip(enumerated.correction, structured.correction, strict=True):
            assert (ours == theirs).all()
        by_tokens = block_law(make("layer_transport"), instance.target, instance.draft, scheme)
        pairs = zip(by_tokens.correction, structured.correction, strict=True)
        differ += any((ours != theirs).any() for ours, theirs in pairs)
    assert differ


def test_a_long_vocabulary_goes_by_classes_in_its_structure() -> None:
    """Two ratios in one class: a target of 1.95 times the draft mass gets no more than one of 1.55 times."""
    size, k = 35, 2
    ratios = np.where(np.arange(size) % 5 == 0, 1.55, np.where(np.arange(size) % 5 == 1, 1.95, 0.5))
    q = np.full(size, 1 / size)
    p = q * ratios / (q * ratios).sum()
    target, draft = TableProcess([p[None], np.tile(p, (size, 1))]), TableProcess([q[None]])

    def passed(verifier: LayerTransport) -> float:
        """The mean of what passes, over all pairs of drafts; pairs of one kind pass alike."""
        total, known = 0.0, {}
        for first, second in product(range(size), repeat=k):
            kind = first % 5, second % 5, first == second
            if kind not in known:
                root = DraftTree.from_paths((), [(first,), (second,)]).root(target, draft)
                known[kind] = sum(map(float, verifier.step([Scored(root, 1.0)]).scores.values()))
            total += known[kind] / size**k
        return total

    structured = block_law(make("layer_transport"), target, draft, Delayed(k, 0, 1), "float64")
    by_classes = passed(make("layer_transport"))
    assert structured.block_efficiency == pytest.approx(1 + by_classes, abs=ROUNDING)
    assert passed(TokensAlone()) > by_classes + 1e-5


@pytest.mark.parametrize("kind", ["float64", "float32", "torch", "torch half"])
def test_classes_are_ordered_by_ratio_and_hold_the_sums_of_their_tokens(kind):
    generator = np.random.default_rng(0)
    p, q = (generator.dirichlet(np.full(5000, 0.1)) for _ in range(2))
    if kind.startswith("torch"):
        torch = pytest.importorskip("torch")
        rows = [torch.tensor(row, dtype=torch.float16 if kind.endswith("half") else torch.float64) for row in (p, q)]
        p, q = (row.double().numpy() for row in rows)
    else:
        rows = [row.astype(kind) for row in (p, q)]
        p, q = (row.astype(np.float64) for row in rows)
    node = by_classes(*rows)
    place, drafted = np.asarray(node.place), q > 0
    by_ratio = np.argsort(p[drafted] / q[drafted], kind="stable")
    assert (np.diff(place[drafted][by_ratio]) >= 0).all()
    for j in range(len(node.p)):
        assert node.p[j] == pytest.approx(p[place == j].sum(), abs=ROUNDING)
        assert node.q[j] == pytest.approx(q[place == j].sum(), abs=ROUNDING)
