"""How many blocks a text takes: the number of a verifier, and the fewest of any lossless one.

The trees of a block are half as deep as those of the case, as the later blocks need the rows below. A text has `n`
tokens; `B(c)` is the mean number of blocks after its first tokens `c`.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from draftproof.experiments.claims.runs import fractions, verifier
from draftproof.lp_analysis import optimum
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftScheme
from draftproof.simulator.tables import TableProcess, context_index
from draftproof.simulator.verdicts.lossless import block_law


def needed(instance: Instance, scheme: DraftScheme, spec: str) -> Fraction:
    """`B(())` of a verifier: from the longest texts up, a block and those after it."""
    shape, length = _halved(scheme), scheme.depth + 1 - _halved(scheme).depth
    after: dict[Context, Fraction] = {}
    for text in _texts(instance, length):
        law = block_law(verifier(spec), *_below(instance, text, shape), shape)
        after[text] = Fraction(1)
        for depth, masses in enumerate(law.correction):
            accepted = product(range(instance.vocab_size), repeat=depth)
            for tokens, row in zip(accepted, masses, strict=True):
                ends = ((*text, *tokens, y) for y in range(instance.vocab_size))
                pairs = zip(fractions(row), ends, strict=True)
                after[text] += sum((mass * after.get(end, Fraction(0)) for mass, end in pairs), Fraction(0))
    return after[()]


def fewest(instance: Instance, scheme: DraftScheme, _: str) -> Fraction:
    """The least `B(())` of all lossless verifiers that start afresh at each block, up to the gap of the optimum.

    With `s(c) = B(c) - sum_y p(y|c) B(c,y)`, what starting one token later saves, `B(c)` is
    `1 + sum_y p(y|c) B(c,y) - sum_d D(d) s(c,d)` over the nodes below the root: an optimum with weights `s`.
    """
    shape, length = _halved(scheme), scheme.depth + 1 - _halved(scheme).depth
    after: dict[Context, Fraction] = {}
    saved: dict[Context, Fraction] = {}
    for text in _texts(instance, length):
        nodes = [product(range(instance.vocab_size), repeat=depth) for depth in range(shape.depth + 1)]
        weights = [[saved.get((*text, *node), Fraction(0)) for node in level] for level in nodes]
        saved[text] = 1 - optimum(*_below(instance, text, shape), shape, weights=weights).upper
        row = fractions(instance.target.row(text))
        later = (p * after.get((*text, y), Fraction(0)) for y, p in enumerate(row))
        after[text] = saved[text] + sum(later, Fraction(0))
    return after[()]


def _halved(scheme: DraftScheme) -> Delayed:
    assert isinstance(scheme, Delayed)
    return Delayed(scheme.K, scheme.L1 // 2, (scheme.depth + 1) // 2 - scheme.L1 // 2)


def _texts(instance: Instance, length: int) -> Iterator[Context]:
    """All texts of fewer tokens, the longest first."""
    for depth in reversed(range(length)):
        yield from product(range(instance.vocab_size), repeat=depth)


def _below(instance: Instance, text: Context, scheme: Delayed) -> tuple[TableProcess, TableProcess]:
    """The rows of both after a text, for trees of the scheme."""
    size, place, made = instance.vocab_size, context_index(text, instance.vocab_size), []
    for process, deepest in ((instance.target, scheme.depth), (instance.draft, max(scheme.depth - 1, 0))):
        levels = enumerate(process.tables[len(text) : len(text) + deepest + 1])
        made.append(TableProcess([table[place * size**d :][: size**d] for d, table in levels]))
    return made[0], made[1]
