"""Tables of a pair: the rows of single passes, and what truncated tables leave out."""

from itertools import product

import numpy as np
import pytest

from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.expect.truncated import truncated_tables
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.tables import context_at

ROOT = [0, 3, 1, 2, 5]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, 4), Sampling(top_p=0.8), Sampling(0)])
def test_tables_hold_the_rows_of_single_passes(exact_pair, sampling):
    target, draft = pair_tables(exact_pair, sampling, ROOT, 3)
    assert (target.depth, draft.depth, target.vocab_size) == (3, 2, 8)
    for which, process in (("target", target), ("draft", draft)):
        for depth, table in enumerate(process.tables):
            assert abs(table.sum(axis=1) - 1).max() < 1e-15
            for index in {0, 8**depth // 3, 8**depth - 1}:
                context = context_at(index, depth, 8)
                alone = exact_pair.rows(which, [[*ROOT, *context]], sampling)[0].numpy()
                # The cache of the root and the batch change the order of sums, nothing else.
                assert abs(process.row(context) - alone).max() < 1e-12


@pytest.mark.parametrize(
    ("root", "depth", "error", "words"),
    [
        ([], 2, InvalidInput, "at least one token"),
        (ROOT, -1, InvalidInput, "depth -1 is no depth"),
        (ROOT, 7, TooLarge, r"hold 1\.68e\+07 numbers, more than 4,000,000; the deepest that fit have depth 6"),
        (ROOT, 900, TooLarge, "the deepest that fit have depth"),
    ],
)
def test_tables_that_cannot_be_are_refused(tiny_pair, root, depth, error, words):
    with pytest.raises(error, match=words):
        pair_tables(tiny_pair, Sampling(), root, depth)


def test_truncated_tables_keep_the_most_probable_tokens_and_account_for_the_rest(exact_pair):
    target, draft = pair_tables(exact_pair, Sampling(), ROOT, 3)
    cut = truncated_tables(exact_pair, Sampling(), ROOT, 3, 3)
    assert (cut.target.vocab_size, cut.target.depth, cut.draft.depth) == (7, 3, 2)
    assert [(each.vocab_size, each.depth) for each in cut.above] == [(6, 3), (6, 2)]
    for context in product(range(7), repeat=2):
        row, drafted = cut.target.row(context), cut.draft.row(context)
        if max(context) > 2:
            assert (row.tolist(), drafted.tolist()) == ([1, *[0] * 6], [*[0] * 6, 1])
            if max(context) < 6:
                assert cut.above[0].row(context).tolist() == cut.above[1].row(context).tolist() == [1, *[0] * 5]
            continue
        first, second = context
        whole = (int(cut.tokens[0][0, first]), int(cut.tokens[1][first, second]))
        p, q = target.row(whole), draft.row(whole)
        kept = np.argsort(-(p + q), kind="stable")[:3]
        assert cut.tokens[2][3 * first + second].tolist() == kept.tolist()
        rest = [token for token in range(8) if token not in kept]
        far = [token for token in rest if 2 * q[token] < p[token]]
        shared = np.minimum(p, q)[[token for token in rest if token not in far]].sum()
        twice = q[far].sum()
        tolerance = {"abs": 1e-12}  # passes in other batches
        assert row == pytest.approx([*p[kept], shared, 2 * twice, p[rest].sum() - shared - 2 * twice, 0], **tolerance)
        assert drafted == pytest.approx([*q[kept], shared, twice, 0, q[rest].sum() - shared - twice], **tolerance)
        ahead = [token for token in rest if q[token] >= p[token]]
        groups = ahead, [token for token in rest if token not in [*ahead, *far]], far
        for each, above in zip((p, q), cut.above, strict=True):
            assert above.row(context) == pytest.approx(
                [*each[kept], *(each[group].sum() for group in groups)], **tolerance
            )


def test_mass_outside_truncated_tables_is_what_full_tables_give(exact_pair):
    target, draft = pair_tables(exact_pair, Sampling(), ROOT, 2)
    cut = truncated_tables(exact_pair, Sampling(), ROOT, 2, 5)
    for process, outside in ((target, cut.outside_target), (draft, cut.outside_draft)):
        first = cut.tokens[0][0]
        inside = process.row(())[first]
        both = sum(
            process.row(())[token] * process.row((int(token),))[cut.tokens[1][place]].sum()
            for place, token in enumerate(first)
        )
        assert outside == pytest.approx((1 - inside.sum(), 1 - both), abs=1e-12)  # passes in other batches
    whole = truncated_tables(exact_pair, Sampling(top_k=4), ROOT, 2, 7)
    assert whole.outside_target == (0, 0)


@pytest.mark.parametrize(("depth", "kept"), [(0, 3), (2, 0), (2, 8)])
def test_truncations_that_cannot_be_are_refused(tiny_pair, depth, kept):
    with pytest.raises(InvalidInput, match="keep 1 to 7 tokens, to a depth of at least 1"):
        truncated_tables(tiny_pair, Sampling(), ROOT, depth, kept)
    with pytest.raises(TooLarge, match="hold"):
        truncated_tables(tiny_pair, Sampling(), ROOT, 8, 3)
