"""Values that papers print or others computed for their implementations, each with its source; ours are exact."""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest
from flint import fmpq

from draftproof import block_law
from draftproof.simulator import CallableProcess, Delayed, DraftTree, Instance, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.tables import context_index
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import make


def fractions(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


def by_depth(*rows: list[Fraction]) -> CallableProcess:
    """The same row after all contexts of a length; the last one from there on."""
    return CallableProcess(len(rows[0]), lambda context: rows[min(len(context), len(rows) - 1)])


def markov(first: list[Fraction], *rows: list[Fraction]) -> CallableProcess:
    return CallableProcess(len(first), lambda context: rows[context[-1]] if context else first)


def blocks(verifier: str, target: Any, draft: Any, path: tuple[int, ...]) -> list[Any]:
    """For each depth the law of the block on one drafted path: masses by correction token."""
    rows = Instance.of(target, draft, len(path), RATIONAL)
    masses = verdicts(make(verifier), DraftTree.from_paths((), [path]), rows.target, rows.draft, RATIONAL)
    depths = range(len(path) + 1)
    return [[as_python(masses.get((path[:d], x), fmpq(0))) for x in range(target.vocab_size)] for d in depths]


@pytest.mark.parametrize(("name", "accepted"), [("naive", Fraction(10, 9)), ("block", Fraction(11, 9))])
def test_motivating_example_of_block_verification(name: str, accepted: Fraction) -> None:
    """[sun2024block], motivating example: token and block verification."""
    rows = by_depth(fractions("1/3", "2/3")), by_depth(fractions("2/3", "1/3"))
    found = check(make(name), *rows, Delayed(1, 0, 2), engine="enumerate")
    assert found.lossless
    assert found.block_efficiency == accepted + 1


NOTES = by_depth(fractions("1/5", "3/10", "1/2"), fractions("1/10", "2/5", "1/2"))
NOTES_DRAFT = by_depth(fractions("1/2", "1/4", "1/4"), fractions("9/10", "1/20", "1/20"))


def test_notes_of_vllm_on_block_verification() -> None:
    """The design notes of vLLM: the draft AA of its example with three tokens."""
    block, naive = (blocks(name, NOTES, NOTES_DRAFT, (0, 0)) for name in ("block", "naive"))
    assert [sum(masses) for masses in block] == fractions("2/3", "13/45", "2/45")
    assert [mass / sum(block[1]) for mass in block[1]] == fractions("0", "11/26", "15/26")
    assert [mass / sum(naive[1]) for mass in naive[1]] == fractions("0", "7/16", "9/16")


def test_the_residual_of_the_test_of_sglang() -> None:
    """SGLang's test of block verification: the draft (0, 2)."""
    target = by_depth(fractions("1/4", "1/2", "1/4"), fractions("3/5", "3/10", "1/10"))
    draft = by_depth(fractions("1/2", "1/4", "1/4"), fractions("1/10", "1/10", "4/5"))
    masses = blocks("block", target, draft, (0, 2))[1]
    assert [mass / sum(masses) for mass in masses] == fractions("4/5", "1/5", "0")
    assert sum(blocks("block", target, draft, (0,))[1]) == Fraction(1, 2)  # where this draft is the last one


@pytest.mark.parametrize(
    ("verifier", "length", "expected"),
    [("naive", 2, "2.07"), ("naive", 5, "2.413479"), ("block", 2, "2.16"), ("block", 5, "2.855651")],
)
def test_the_markov_pair_of_the_test_of_sglang(verifier: str, length: int, expected: str) -> None:
    """SGLang's test of the number of tokens, printed with six digits."""
    target = markov(fractions(".4", ".6"), fractions(".25", ".75"), fractions(".65", ".35"))
    draft = markov(fractions(".7", ".3"), fractions(".7", ".3"), fractions(".15", ".85"))
    law = block_law(verifier, target, draft, Delayed(1, 0, length))
    assert round(float(law.block_efficiency), 6) == float(expected)


def test_block_accepts_the_smallest_of_all_products_of_a_prefix_and_a_rest() -> None:
    """`P(tau >= d)`: the sum over `x_1..x_d` of the least `Q(x_1..x_k) P(rest)`, as notes on block verification say."""
    for instance in case_instances((2, Delayed(1, 0, 3)), 6):
        law = block_law("block", instance.target, instance.draft, Delayed(1, 0, 3))
        for depth in range(4):
            least = [
                min(
                    prod((instance.draft.row(x[:i])[x[i]] for i in range(k)), start=fmpq(1))
                    * prod((instance.target.row(x[:i])[x[i]] for i in range(k, depth)), start=fmpq(1))
                    for k in range(depth + 1)
                )
                for x in product(range(2), repeat=depth)
            ]
            assert [law.reach[depth][context_index(x, 2)] for x in product(range(2), repeat=depth)] == least


def test_opt_tree_has_the_depth_that_its_nodes_have() -> None:
    """A published value for 45 nodes on a draft of two tokens; tables of depth 45 would not fit."""
    target, draft = by_depth(fractions(".99", ".01")), by_depth(fractions(".51", ".49"))
    law = block_law("nss", target, draft, "opt_tree:nodes=45")
    assert (law.depth, law.block_efficiency - 1) == (5, Fraction(9999786239, 2000000000))
