"""One path: block verification needs the fewest blocks for every number of tokens, by the steps of theorem 11.

Texts are written until they have `n` tokens; `B(c)` is the mean number of blocks after the text `c`, 0 from `n` on.
"""

from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.processes import rationalise
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.lossless import block_law
from draftproof.verifiers import make
from tests.quick import quick

#: Vocabulary, depth of the trees, and how many tokens are written.
SIZES = [(2, 1, 4), (2, 2, 4), (2, 3, 3), (3, 1, 3), (3, 2, 2)]


class Texts:
    """Random rows after every text, some of them sparse, and the laws of blocks of one path that begin there."""

    def __init__(self, V, L, n, seed, name="block"):
        rng = np.random.default_rng(seed)
        alpha = (0.15, 0.5, 2.0)[seed % 3]
        self.V, self.L, self.n, self.name = V, L, n, name
        self.law, self.blocks = cache(self._law), cache(self._blocks)
        depths = range(n + L + 1)
        self.p, self.q = ([rationalise(rng.dirichlet([alpha] * V, size=V**d), 12) for d in depths] for _ in range(2))

    def below(self, tables, context):
        place, depth = self.place(context), len(context)
        return TableProcess([tables[depth + d][place * self.V**d :][: self.V**d] for d in range(self.L + 1)])

    def place(self, context):
        return int("".join(map(str, context)) or "0", self.V)

    def _law(self, context):
        rows = self.below(self.p, context), self.below(self.q, context)
        return block_law(make(self.name), *rows, Delayed(1, 0, self.L))

    def reach(self, context, more):
        return Fraction(str(self.law(context).reach[len(more)][self.place(more)]))

    def row(self, tables, context):
        return [Fraction(str(value)) for value in tables[len(context)][self.place(context)]]

    def _blocks(self, context):
        if len(context) >= self.n:
            return Fraction(0)
        total = Fraction(1)
        for d, masses in enumerate(self.law(context).correction):
            for more, row in zip(product(range(self.V), repeat=d), masses, strict=True):
                total += sum(Fraction(str(e)) * self.blocks((*context, *more, y)) for y, e in enumerate(row) if e)
        return total

    def saved(self, context):
        """The blocks that starting one token later saves, on average over that token."""
        later = sum(p * self.blocks((*context, y)) for y, p in enumerate(self.row(self.p, context)) if p)
        return self.blocks(context) - later

    def texts(self, longest):
        return [c for d in range(longest + 1) for c in product(range(self.V), repeat=d)]


@pytest.mark.parametrize("seed", quick(range(6), range(3)))
@pytest.mark.parametrize(("V", "L", "n"), SIZES, ids=str)
def test_starting_one_token_later_saves_at_most_one_block_and_no_verifier_needs_fewer(V, L, n, seed):
    texts = Texts(V, L, n, seed)
    assert texts.blocks(()) <= Texts(V, L, n, seed, "naive").blocks(())
    for c in texts.texts(n - 1):
        assert 0 <= texts.saved(c) <= 1
        below = [d for d in texts.texts(L) if d and len(c) + len(d) < n]
        assert texts.saved(c) == 1 - sum(texts.reach(c, d) * texts.saved((*c, *d)) for d in below)
        for y, q in enumerate(texts.row(texts.q, c)):
            for d in texts.texts(L - 1) if len(c) + 1 < n else ():
                assert texts.reach(c, (y, *d)) <= q * texts.reach((*c, y), d)


@pytest.mark.parametrize("seed", quick(range(8), range(2)))
def test_rejections_along_a_text_are_the_drops_of_the_minimum(seed):
    """The blocks are as long as the text: those that end by a rejection, given the text, are sum (1 - M'/M)."""
    V, n = 2, 4
    texts = Texts(V, n, n, seed)
    for text in product(range(V), repeat=n):
        rows = [(texts.row(texts.p, text[:k])[text[k]], texts.row(texts.q, text[:k])[text[k]]) for k in range(n)]
        if any(p == 0 for p, _ in rows):
            continue

        @cache
        def rejections(start, text=text, rows=rows):
            chance = Fraction(1)
            kept = [Fraction(1)]
            for k in range(start, n):
                chance *= rows[k][0]
                kept.append(texts.reach(text[:start], text[start : k + 1]) / chance)
            pairs = enumerate(pairwise(kept), start=start)
            return sum((before - after) * (1 + rejections(k + 1)) for k, (before, after) in pairs if before > after)

        product_, least, drops = Fraction(1), Fraction(1), Fraction(0)
        for p, q in rows:
            product_ *= q / p
            if product_ < least:
                drops += 1 - product_ / least
                least = product_
            if least == 0:
                break
        if least:  # after a zero the minimum starts anew
            assert rejections(0) == drops
