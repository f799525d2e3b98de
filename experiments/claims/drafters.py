"""Claims about what drafts: heads on the target's features, and drafters that give several rows in one pass.

What a trained head does `draftproof depths --draft eagle` prints; here are laws that need no training.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from typing import Any

from draftproof.experiments.claims.claim import Cases, Claim, Exact, Figures, Measured, Open, Variant
from draftproof.experiments.claims.measures import LONG, ROOTS, accepted, listed, roots
from draftproof.experiments.claims.statements import Attains
from draftproof.simulator.drafts import Delayed, SpecBlock
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.protocol import Context, Source, TokenProcess

#: Blocks of one to three levels.
GROWN = Cases(
    ((2, SpecBlock(2, 2, 4)), (3, SpecBlock(2, 1, 4)), (3, SpecBlock(1, 2, 3, Fraction(1, 4)))),
    for_deep=((2, SpecBlock(3, 1, 6)), (4, SpecBlock(2, 1, 5))),
)
DRAWN = Cases(((2, Delayed(2, 0, 2)), (3, Delayed(2, 0, 1))))


def claims() -> Iterator[Claim]:
    """All of them."""
    yield Exact(
        "specblock-naive-sampling-best", Source("shi2026specblock", "verification of its trees"),
        "On the trees of SpecBlock, which are functions of the draft's rows, no lossless verifier brings more than "
        "naive sampling.",
        Attains("nss"), GROWN, Variant("nor on branches that are drawn", Attains("nss"), DRAWN),
    )  # fmt: skip
    yield Measured(
        "places-of-a-block", Source("draftproof", "drafters of several places"),
        "Even if a drafter of two places a pass has the target's own law, it is accepted less often at the second "
        "place of a block, which does not see the token before it, and always at the first.",
        partial(places_of_a_block, 2), Variant("also of one place a pass", partial(places_of_a_block, 1)),
    )  # fmt: skip
    yield Open(
        "eagle3-acceptance-stays", Source("li2025eagle3", "acceptance by depth"),
        "The acceptance of EAGLE's head falls with depth, since it reads features that it predicted; that of EAGLE-3, "
        "trained on its own outputs, hardly does.",
        why="It needs the paper's heads, trained on many more tokens.",
    )  # fmt: skip
    yield Open(
        "griffin-aligned-training", Source("hu2025griffin", "token-aligned training"),
        "Training where the tokens that a head read are among its own likeliest ones makes acceptance fall less with "
        "depth.",
        why="It needs the paper's heads.",
    )  # fmt: skip


def places_of_a_block(places: int, times: int) -> Figures:
    """Acceptance by depth of the target's own marginals within blocks, and of an order-1 draft, exact."""
    chosen = roots(ROOTS * times)
    ideal = accepted([replace(each, draft=in_blocks(each.target, places, LONG)) for each in chosen])
    shown = max(ideal[places - 1 :: places]) < min(ideal[::places]) == 1
    text = f"accepted at depths 1, 2, ..: {listed(ideal)}; of an order-1 draft {listed(accepted(chosen))}"
    return Figures(shown, text, len(chosen), ("text topics",))


def in_blocks(process: TokenProcess, places: int, depth: int) -> TableProcess:
    """The rows of a process, given the tokens before a block of so many depths only; tables to `depth`."""
    size, tables = process.vocab_size, []
    for length in range(depth):
        place, rows = length % places, []
        for start in product(range(size), repeat=length - place):
            within = product(range(size), repeat=place)
            row = sum(_mass(process, start, path) * process.row((*start, *path)) for path in within)
            rows += [row] * size**place
        tables.append(rows)
    return TableProcess(tables, "blocks")


def _mass(process: TokenProcess, start: Context, path: Context) -> Any:
    """The probability that a text goes on with the path."""
    return prod(process.row((*start, *path[:depth]))[token] for depth, token in enumerate(path))
