"""Tables of the most probable tokens, for vocabularies whose full tables are too large, and bounds for all tokens.

At every context the `m` tokens with the largest `(p + q) / 2` are kept, in falling order, so token `i` is another token
of the vocabulary from context to context. The other tokens, the rest `R`, are merged into a few tokens, grouped by the
ratio of `q` to `p`. Two instances are made of the same rows:

`below` has four more tokens: `shared` with mass `sum min(p, q)` over `2 q >= p` in both models, `twice` with `2 q(G)`
in the target and `q(G)` in the draft for the tokens `G` with `2 q < p`, `surplus` and `excess` with the
remaining mass of the target and of the draft, which the other model does not have. After these four the models have
nothing in common: the target puts all mass on token 0, the draft on `excess`.
`above` has three more: the rest where `q >= p`, where `p > q >= p / 2`, and where `2 q < p`, each with its masses in
both models. After these three the models are equal: both put all mass on token 0.

Claim: for delayed trees, with `V(I)` the optimum over all lossless verifiers of an instance `I`,

    V(below) <= V(whole) <= V(above),

and every lossless verifier on `below` gives a lossless verifier on the whole vocabulary with the same block efficiency
(the verifier "behind the cut").

Proof, below. Label each drafted token `y` of `R` path by path: `twice` in `G`; elsewhere `shared` with probability
`min(p, q)(y) / q(y)`, else `excess`. A labelled path has the law of a path of `below`, and i.i.d. paths stay i.i.d.
Given the labels, a token `shared` has a law proportional to `min(p, q)`, one `twice` to `q` on `G`. Run the verifier
of `below` on the labelled tree. A node that it accepts is kept, or ends in one of these two (the target gives `excess`
no mass, and after the four tokens nothing is accepted): then accept the first drafted token with that label, which the
verifier has not seen, and let the target say what comes next. A correction `shared` or `twice` is drawn from the same
laws, `surplus` from `p` less `min(p, q)`, or less `2 q` on `G`. Given that a kept context is reached, `y` comes with
probability `min(p, q)(y) + (p - q)+(y)`, or `2 q(y) + (p - 2 q)(y)` on `G`, which is `p(y)`: lossless.
Proof, above. Map every token of `R` to its group and what follows it to token 0. The law of a tree of `above` is that
of the mapped tree of the whole, so a verifier of `above` may draw a tree of the whole given what it maps to, run any
lossless verifier on it and map what comes back. Let the accepted path go through `c`, or end there, with probability
`D(c)`, and end there with the correction `y` with `e(c, y)`. Sums over groups of `D(c) p(y) = D(c, y) + e(c, y)` are
the same equation for the groups, so that is lossless, and depths are not changed.

Where `R` has no mass the three instances are the same. Keeping more tokens never widens the interval, and on a tree of
one token it is a point. Numbers of a verifier on `below` are exact for that verifier behind the cut; the verifier with
all rows may accept more or fewer tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.experiments.models.expect.tables import check_size, continued_rows
from draftproof.experiments.models.pair.pair import BATCH_ENTRIES, Pair
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.tables import TableProcess

#: The number of tokens of `below` that stand for the tokens that are not kept.
REST = 4


@dataclass(frozen=True)
class Truncated:
    """Target tables to depth `L`, draft tables to `L - 1`, and the probability of leaving them.

    target, draft: `below`, `V = m + 4`. above: target and draft of `above`, `V = m + 3`.
    tokens: for each depth the numbers of the kept tokens in the whole vocabulary, after kept tokens, shape `(m**d, m)`.
    outside_target, outside_draft: by depth `1..L`, the probability that one of the first `d` tokens drawn from the
    model was not kept.
    """

    target: TableProcess
    draft: TableProcess
    above: tuple[TableProcess, TableProcess]
    tokens: tuple[Any, ...]
    outside_target: tuple[float, ...]
    outside_draft: tuple[float, ...]


def truncated_tables(pair: Pair, sampling: Sampling, root: Sequence[int], depth: int, kept: int) -> Truncated:
    """The tables of the `kept` most probable tokens at each context of at most `depth` tokens after the root, float64.

    Raises `InvalidInput` for a depth below 1 or a number of tokens that the vocabulary does not have, and `TooLarge`.
    """
    if depth < 1 or not 1 <= kept < pair.vocab_size:
        raise InvalidInput(
            f"{kept} kept tokens to depth {depth}: keep 1 to {pair.vocab_size - 1} tokens, to a depth of at least 1"
        )
    check_size(kept + REST, depth)
    batch = max(1, BATCH_ENTRIES // pair.vocab_size)
    return cut_tables(lambda which, some: continued_rows(pair, which, sampling, root, some), depth, kept, batch)


def cut_tables(rows: Callable[[str, Any], Any], depth: int, kept: int, batch: int = 1024) -> Truncated:
    """The tables of any two processes, in the arithmetic of their rows.

    rows: computes the rows, shape `(n, V)`, of "target" or "draft" at up to `batch` contexts, shape `(n, length)`.
    kept: at most `V`.
    """
    parts, tokens = [], []
    contexts = np.zeros((1, 0), dtype=np.int64)
    for length in range(depth + 1):
        batches = np.split(contexts, range(batch, len(contexts), batch))
        cut_batches = [_level(rows, portion, kept) for portion in batches]
        parts.append(np.concatenate([cut for cut, _ in cut_batches], axis=1))
        tokens.append(np.concatenate([chosen for _, chosen in cut_batches]))
        if length < depth:
            contexts = np.column_stack([np.repeat(contexts, kept, axis=0), tokens[-1].reshape(-1)])
    below = _placed(parts, kept, REST, 0), _placed(parts, kept, REST, 1)
    above = _placed(parts, kept, REST - 1, 0), _placed(parts, kept, REST - 1, 1)
    return Truncated(
        TableProcess(below[0], "target"),
        TableProcess(below[1][:-1], "draft"),
        (TableProcess(above[0], "target"), TableProcess(above[1][:-1], "draft")),
        tuple(tokens),
        _outside([part[0].astype(np.float64) for part in parts[:-1]], kept),
        _outside([part[1].astype(np.float64) for part in parts[:-1]], kept),
    )


def _level(rows: Callable[[str, Any], Any], contexts: Any, kept: int) -> tuple[Any, Any]:
    """The cut rows of both models at contexts of one length, and the numbers of the kept tokens.

    Cut rows have shape `(2, n, m + 6)`: the masses of the kept tokens, then for each group of the rest the mass of its
    common token (`shared` or `twice`) and the remaining mass of the model.
    """
    p, q = (rows(which, contexts) for which in ("target", "draft"))
    ranked = np.argsort(-(p + q), axis=1, kind="stable")
    p, q = (np.take_along_axis(rows_of_model, ranked, axis=1) for rows_of_model in (p, q))
    groups = q >= p, (q < p) & (2 * q >= p), 2 * q < p
    common = np.minimum(p, q)
    target = _parts(p, np.where(groups[2], 2 * q, common), groups, kept)
    draft = _parts(q, common, groups, kept)
    return np.stack([target, draft]), ranked[:, :kept]


def _parts(own: Any, core: Any, groups: Sequence[Any], kept: int) -> Any:
    """The kept entries of one model's rows; then for each group of the rest its mass in `core` and what remains."""
    # Each is summed separately: 1 minus the others would lose digits, or be negative.
    masses = [(part * group)[:, kept:].sum(axis=1) for group in groups for part in (core, own - core)]
    return np.column_stack([own[:, :kept], *masses])


def _placed(parts: Sequence[Any], kept: int, rest: int, which: int) -> list[Any]:
    """Tables of one model over the kept tokens and `rest` more, with the rows after the latter."""
    size, tables, places = kept + rest, [], np.zeros(1, dtype=np.int64)
    for length, part in enumerate(parts):
        rows = _merged(part, kept, rest)[which]
        table = np.zeros((size**length, size), dtype=rows.dtype) + rows[0, 0] * 0
        draft_below = rest == REST and which == 1  # after a token of the rest, where nothing must be accepted
        table[:, size - 1 if draft_below else 0] += 1
        table[places] = rows / rows.sum(axis=1, keepdims=True)
        tables.append(table)
        places = (places[:, None] * size + np.arange(kept)).reshape(-1)
    return tables


def _merged(part: Any, kept: int, rest: int) -> Any:
    """The rows of one instance, shape `(2, n, m + rest)`: of `below` where `rest` is `REST`, else of `above`."""
    cores = [part[..., kept + 2 * group] for group in range(3)]
    beyond = [part[..., kept + 2 * group + 1] for group in range(3)]
    if rest == REST:
        masses = [cores[0] + cores[1], cores[2], beyond[1] + beyond[2], beyond[0]]
    else:
        masses = [core + more for core, more in zip(cores, beyond, strict=True)]
    return np.concatenate([part[..., :kept], np.stack(masses, axis=-1)], axis=-1)


def _outside(rows: Sequence[Any], kept: int) -> tuple[float, ...]:
    """By depth, the probability that one of the first tokens is not kept."""
    alive, lost, by_depth = np.ones(1), 0.0, []
    for part in rows:
        lost += float((alive * part[:, kept:].sum(axis=1)).sum())
        alive = (alive[:, None] * part[:, :kept]).reshape(-1)
        by_depth.append(lost)
    return tuple(by_depth)
