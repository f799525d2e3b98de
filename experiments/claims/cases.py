"""The instances and schemes that claims are tested on; those of `for_deep` only in the long form (`--deep`)."""

from draftproof.experiments.claims.claim import Cases
from draftproof.simulator.drafts import (
    Adaptive,
    AdaptiveDropping,
    Delayed,
    DySpec,
    DySpecPruned,
    Topology,
    WithoutReplacement,
)
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.cases import CASES

ONE_STEP = Cases(
    tuple((size, Delayed(K, 0, 1)) for size, K in ((2, 2), (2, 3), (3, 2), (3, 3), (2, 4))),
    for_deep=((4, Delayed(3, 0, 1)), (3, Delayed(4, 0, 1))),
)
PATHS = Cases(
    ((2, Delayed(1, 0, 3)), (3, Delayed(1, 0, 2))), count=8, for_deep=((2, Delayed(1, 0, 5)), (4, Delayed(1, 0, 3)))
)
TREES = Cases(CASES["delayed"], for_deep=((2, Delayed(3, 1, 2)), (3, Delayed(2, 0, 3))))
#: Trees of several branches that are small enough to list all sets of their paths.
SMALL = Cases(((2, Delayed(2, 0, 2)), (2, Delayed(3, 0, 2)), (2, Delayed(2, 1, 1))), count=3)
#: Enough random instances to find counterexamples to refuted claims.
SEARCHED = Cases(CASES["delayed"], count=24)
#: Trees without replacement, and trees of a fixed topology.
OTHER_TREES = Cases(CASES["without_replacement"] + CASES["topology"], for_deep=((2, Topology((2, 2, 2, 0, 0, 0, 0))),))
NO_REPLACEMENT = Cases(
    ((2, WithoutReplacement(2, 0, 2)), (3, WithoutReplacement(2, 1, 1)), (3, WithoutReplacement(3, 0, 1))),
    count=10,
    for_deep=((3, WithoutReplacement(3, 0, 2)), (4, WithoutReplacement(2, 0, 2))),
)
#: Token-level verification has a higher block efficiency than traversal on about one in fifty of these; shrinking such
#: an instance takes long.
NO_REPLACEMENT_WIDE = Cases(((4, WithoutReplacement(2, 0, 2)),), count=50)
DYSPEC = Cases(((2, DySpec(3)), (2, DySpec(4)), (3, DySpec(3))), for_deep=((3, DySpec(5)), (4, DySpec(3))))
PRUNED = Cases(((2, DySpecPruned(2)), (3, DySpecPruned(2))))
STOPPING = Cases(((2, Adaptive()), (3, Adaptive(1, 0, 2))), for_deep=((3, Adaptive(1, 1, 2)),))
DROPPING = Cases(((2, AdaptiveDropping()), (3, AdaptiveDropping(1, 0, 2))))
TOP_K = Cases(CASES["top_k"])


def full_support(instance: Instance, _: DraftScheme) -> bool:
    """Whether p and q are nowhere 0."""
    return all((table > 0).all() for process in (instance.target, instance.draft) for table in process.tables)
