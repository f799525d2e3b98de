"""The enumerating engine, the ground truth: every draft tree and every coin, with exact weights."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.errors import Fails, short_repr
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import AttachedTree, Coin, Context, DraftScheme, Verdict, Verifier
from draftproof.simulator.tables import TableProcess, check_table_size, context_index


def enumerate_law(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    trees: Iterable[tuple[AttachedTree, Any]] | None = None,
) -> BlockLaw:
    """The exact block law of any verifier on any scheme; `draftproof.simulator.laws.guarded` watches user code, too.

    target, draft: tables in one arithmetic, down to depth `L` and `L - 1`. trees: every outcome of `scheme.draw` with
    its probability, where something else draws them.
    Raises `InvalidVerifier` when `verify` gives the coin numbers that are no probabilities, accepts a node outside the
    tree, returns a token outside the vocabulary, or asks the coin otherwise when it is run again; `TooLarge` for a law
    that would not fit in memory.
    """
    arithmetic, size = target.arithmetic, target.vocab_size
    check_table_size(size, scheme.depth, arithmetic)
    correction = [arithmetic.zeros(size**depth, size) for depth in range(scheme.depth + 1)]
    for tree, weight in trees or outcomes(partial(scheme.draw, draft), arithmetic):
        run = partial(verifier.verify, tree.root(target, draft))
        for (accepted, token), mass in law_on_tree(run, tree, size, arithmetic).items():
            correction[len(accepted)][context_index(accepted, size), token] += weight * mass
    return BlockLaw(correction, arithmetic)


def law_on_tree(
    run: Callable[[Coin], Verdict],
    tree: Container[Context],
    vocab_size: int,
    arithmetic: Arithmetic,
    coin: EnumeratingCoin | None = None,
) -> dict[tuple[Context, int], Any]:
    """The exact law of the verdict on one tree: probability by (accepted context, correction token).

    run: `verify` on the tree. coin: see `outcomes`.
    """
    masses: dict[tuple[Context, int], Any] = {}
    for verdict, mass in outcomes(run, arithmetic, coin):
        block = (verdict.accepted, verdict.correction)
        if isinstance(verdict.correction, (int, np.integer)) and block in masses:  # a float 1.0 would be the key 1
            masses[block] += mass
        else:
            assert_verdict(verdict, tree, vocab_size)
            masses[tuple(map(int, verdict.accepted)), int(verdict.correction)] = mass
    return masses


def assert_verdict(verdict: Verdict, tree: Container[Context], vocab_size: int) -> None:
    """Raise `InvalidVerifier` unless the accepted node is in the tree and the correction is a token."""
    if verdict.accepted not in tree:
        raise Fails(f"accepted {short_repr(verdict.accepted)}, which is no node of the draft tree")
    if not (isinstance(verdict.correction, (int, np.integer)) and 0 <= verdict.correction < vocab_size):
        raise Fails(f"correction {short_repr(verdict.correction)} is no token; tokens are 0..{vocab_size - 1}")
