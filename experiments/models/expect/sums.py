"""Expected tokens a block by exact sums over contexts, for any vocabulary where few rows are needed.

The rows after the leaves of a tree decide only the correction. So `P(tau >= d)` for `d <= L` needs the rows of both
models only at the contexts of fewer than `L` tokens that the draft can reach: one row for `L = 1`, and a batch of `V`
more for `L = 2`. This works for verifiers whose state at a context does not depend on the siblings there (`summable`):

- verifiers that go from the top down: the state is the number of paths through a context (`TopDown.child_law`);
- verifiers of one path: the state is the weight of the context. A sound verifier accepts something at or below a
  context with that probability, given that the path goes there, so `P(tau >= d)` is the mean weight at depth `d`;
- layer verifiers on trees that branch only at the last depth: the last term is the mean score of all children there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.experiments.models.expect.tables import continued_rows
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.structured.declared import structure_of
from draftproof.simulator.laws.structured.top_down import advance, child_law_of, last_step_of
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Context, DraftScheme, Verifier
from draftproof.simulator.structures import Layered, LeafToRoot, OnePath, TopDown
from draftproof.simulator.vectors import minimum, token_by_token

#: The most contexts of one depth; each takes a row of both models, computed in batches.
MOST_CONTEXTS = 4096


class RootRows:
    """The rows of both models at the contexts that the draft can reach after a root, each computed once.

    read: computes the rows, shape `(n, V)`, of "target" or "draft" at `n` contexts, shape `(n, length)`. entries: the
    most numbers of one model at one depth; `level` raises `TooLarge` beyond.
    """

    def __init__(self, read: Callable[[str, Any], Any], vocab_size: int, entries: int) -> None:
        self._read, self._size, self._entries = read, vocab_size, entries
        #: By depth the places and tokens that contexts come from, the contexts, and their rows of both models.
        self._levels: list[tuple[tuple[Any, Any], Any, tuple[Any, Any]]] = []

    @classmethod
    def of(cls, pair: Pair, sampling: Sampling, root: Context, entries: int) -> RootRows:
        return cls(
            lambda which, contexts: continued_rows(pair, which, sampling, root, contexts), pair.vocab_size, entries
        )

    def level(self, depth: int) -> tuple[Any, Any]:
        """`p` and `q` at the contexts of this depth, each of shape `(n, V)`."""
        while len(self._levels) <= depth:
            places, tokens = np.nonzero(self._levels[-1][2][1] > 0) if self._levels else ((), ())
            count = len(places) if self._levels else 1
            if count > MOST_CONTEXTS or count * self._size > self._entries:
                raise TooLarge(
                    f"{count:,} contexts: rows of more than {MOST_CONTEXTS:,} or of more than {self._entries:,} numbers"
                )
            contexts = np.zeros((1, 0), dtype=np.int64)
            if self._levels:
                contexts = np.column_stack([self._levels[-1][1][places], tokens])
            rows = self._read("target", contexts), self._read("draft", contexts)
            self._levels.append(((places, tokens), contexts, rows))
        return self._levels[depth][2]

    def below(self, depth: int, masses: Any) -> Any:
        """Masses of next tokens after contexts of this depth, shape `(n, V)`, as masses of the contexts one deeper."""
        self.level(depth + 1)
        return masses[self._levels[depth + 1][0]]


def summable(verifier: Verifier, scheme: DraftScheme) -> bool:
    """Whether `reaches` can evaluate the verifier on the scheme; never a user-defined one, as nothing is proved."""
    if type(scheme) is not Delayed or not scheme.depth or not is_library(verifier):
        return False
    structure = structure_of(verifier, scheme)
    if isinstance(structure, TopDown):
        return structure.child_law is not None
    one = scheme.K == 1
    return scheme.name in lossless_for(
        verifier.card
    ) and (  # weights are probabilities only where the verifier is sound
        isinstance(structure, OnePath)
        or (isinstance(structure, LeafToRoot) and one)
        or (isinstance(structure, Layered) and (one or scheme.L2 == 1))
    )


def reaches(verifier: Verifier, scheme: Delayed, rows: RootRows) -> list[float]:
    """`P(tau >= d)` for `d = 0..L` of a `summable` verifier, in float64.

    Raises `TooLarge` for too many rows, and `UnsupportedTree` where the verifier does.
    """
    structure = structure_of(verifier, scheme)
    if isinstance(structure, TopDown):
        return _top_down_reaches(structure, verifier, scheme, rows)
    if isinstance(structure, OnePath) and structure.only is not None:
        structure.only(scheme)
    return _weighted_reaches(structure, scheme, rows)


def _top_down_reaches(structure: TopDown, verifier: Verifier, scheme: Delayed, rows: RootRows) -> list[float]:
    law, last_step = child_law_of(structure, verifier.card), last_step_of(structure, verifier.card)
    masses: dict[int, Any] = {1: np.ones(1)}
    reached = [1.0]
    for depth in range(scheme.depth):
        if depth == scheme.L1:
            masses = {1 if verifier.card.single_path else scheme.K: sum(masses.values())}
        p, q = map(token_by_token, rows.level(depth))
        if depth == scheme.depth - 1:
            reached.append(float(last_step(p, q, {k: mass[:, None] for k, mass in masses.items()})[1].sum()))
        else:
            steps = advance(law, p, q, masses)[1:]
            reached.append(float(steps.sum()))
            masses = {k: rows.below(depth, part) for k, part in enumerate(steps, 1)}
    return reached


def _weighted_reaches(structure: Any, scheme: Delayed, rows: RootRows) -> list[float]:
    mass = weight = np.ones((1, 1))
    selection = structure.selection if isinstance(structure, OnePath) else None
    state: Sequence[Any] = selection.root(mass) if selection else ()
    reached = [1.0]
    for depth in range(scheme.depth):
        p, q = rows.level(depth)
        paths = scheme.K if depth >= scheme.L1 else 1
        if isinstance(structure, Layered) and paths > 1:  # the last depth, see `summable`
            some = (weight > 0)[:, 0]
            scores, target, draft = (part[some][:, None] for part in (weight, p, q))
            reached.append(float((mass[some] * structure.step(scores, target, draft, (paths,))[0].sum(-1)).sum()))
            break
        law, state = selection.step(state, p, q, paths) if selection else (q, ())
        weights = (
            _one_branch(weight, p, q) if isinstance(structure, Layered) else structure.child_weights(weight, p, law)
        )
        reached.append(float((mass * law * weights)[law > 0].sum()))
        if depth < scheme.depth - 1:
            mass, weight, *state = (
                rows.below(depth, part)[:, None] for part in np.broadcast_arrays(mass * law, weights, *state)
            )
    return reached


def _one_branch(score: Any, p: Any, q: Any) -> Any:
    """The score of a child without siblings, see `Layered`."""
    return minimum(score * p, q) / (q + (q <= 0))
