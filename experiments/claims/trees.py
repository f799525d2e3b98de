"""The claims about trees: traversal verification, DySpec, Sequoia, OPT-Tree."""

from collections.abc import Iterator
from functools import partial

from draftproof.experiments.claims import growth, headlines, measures
from draftproof.experiments.claims.cases import (
    DYSPEC,
    NO_REPLACEMENT,
    NO_REPLACEMENT_WIDE,
    OTHER_TREES,
    PATHS,
    PRUNED,
    SEARCHED,
    TREES,
)
from draftproof.experiments.claims.claim import Cases, Claim, Exact, Measured, Variant
from draftproof.experiments.claims.statements import Attains, Efficiency, Every, Holds, Lossless, Run, same_scheme
from draftproof.simulator.drafts import Delayed, DySpec, OptTree, Sequoia, Topology
from draftproof.simulator.protocol import DraftScheme, Source

FIXED = Cases(((2, OptTree(3)), (3, OptTree(3))), for_deep=((2, OptTree(4)), (4, OptTree(3))))
PLANNED = Cases(
    tuple((size, Sequoia(nodes, depth, (1,) * depth + (0,))) for size, nodes, depth in ((2, 4, 3), (3, 5, 2)))
)
GROWN = Cases(((2, DySpec(2)), (2, DySpec(3)), (3, DySpec(2))), for_deep=((3, DySpec(3)),))
SLOTS = Cases(((2, DySpec(3)), (2, DySpec(5))), count=30)
TWO = Cases(((2, DySpec(2)), (3, DySpec(2))), count=12)
FAILING = Cases(((2, Delayed(3, 0, 2)),), count=40)


def claims() -> Iterator[Claim]:
    """All claims of these papers."""
    yield from _traversal()
    yield from _dyspec()
    yield from _speed_ups()
    yield from _planned()


def _traversal() -> Iterator[Claim]:
    key = "weng2025traversal"
    yield Exact(
        "traversal-lossless", Source(key, "losslessness on any tree"),
        "Traversal verification is lossless on trees of i.i.d. paths and of children without replacement.",
        Lossless("traversal"),
        Cases((*TREES.shapes, *OTHER_TREES.shapes), for_deep=TREES.for_deep + OTHER_TREES.for_deep),
        Variant("also if leaves are visited in the order of insertion", Lossless("traversal_insertion_order"), FAILING),
    )  # fmt: skip
    yield Exact(
        "traversal-optimal-on-a-chain", Source(key, "optimality on a chain"),
        "On a chain no lossless verifier brings more than traversal.", Attains("traversal"), PATHS,
        Variant("nor on trees", Attains("traversal"), Cases(SEARCHED.shapes[:2], count=4)),
    )  # fmt: skip
    token, layered = ("naive_tree", "rejection_without_replacement"), "layer_without_replacement"
    yield Exact(
        "traversal-at-least-token-level", Source(key, "against token-level verification"),
        "On trees of children without replacement traversal never brings less than token-level verification.",
        Every(tuple(Efficiency(Run(name), "<=", Run("traversal")) for name in token)), NO_REPLACEMENT_WIDE,
        Variant("nor does layer_without_replacement", Efficiency(Run(layered), "<=", Run("traversal")), NO_REPLACEMENT),
        true_variant=Variant(
            "naive_tree does not bring more",
            Efficiency(Run(token[0]), "<=", Run("traversal")), NO_REPLACEMENT,
        ),
        note="No theorem of the paper; token-level: naive_tree and rejection_without_replacement.", keep_unshrunk=True,
    )  # fmt: skip
    yield Measured(
        "traversal-gain-grows", Source(key, "gain by depth"),
        "The deeper the tree, the more traversal gains over token-level verification.",
        partial(measures.traversal_by_depth, True),
        Variant("the less", partial(measures.traversal_by_depth, False)),
    )  # fmt: skip
    yield Measured(
        "traversal-gain-by-temperature", Source(key, "gain by temperature"),
        "The higher the temperature, the more traversal gains over token-level verification, on chains, binary trees "
        "and EAGLE's sparse tree.",
        partial(headlines.traversal_by_temperature, True, tuple(headlines.SHAPES)),
        Variant("the less, on a chain", partial(headlines.traversal_by_temperature, False, ("chain of 5",))),
        note="Token-level: rejection_without_replacement, on the same sampled trees of children without replacement.",
    )  # fmt: skip
    yield Measured(
        "traversal-gain-2-to-6-percent", Source(key, "experiments, average acceptance length"),
        "Traversal brings 2.2 to 5.7 % more than token-level verification, on chains, binary trees and EAGLE's sparse "
        "tree.",
        partial(headlines.traversal_in_range, 0.022, 0.057, 1.0, tuple(headlines.SHAPES)),
        Variant(
            "on a chain at temperature 0.2, too",
            partial(headlines.traversal_in_range, 0.022, 0.057, 0.2, ("chain of 5",)),
        ),
        note="At temperature 1, up to two standard errors; at lower temperatures some of these trees gain less "
        "(traversal-gain-by-temperature). The paper's models and prompts are not here.",
    )  # fmt: skip


def _dyspec() -> Iterator[Claim]:
    key, rule = "xiong2024dyspec", "rejection_without_replacement"
    yield Exact(
        "dyspec-lossless", Source(key, "verification"),
        "DySpec's rule is lossless on trees that grow slot by slot.", Lossless(rule), DYSPEC,
        Variant("also if the least probable leaf is dropped afterwards", Lossless(rule), PRUNED),
    )  # fmt: skip
    yield Exact(
        "dyspec-traversal-lossless", Source("draftproof", "traversal on DySpec's trees"),
        "Traversal verification is lossless on trees that grow slot by slot.", Lossless("traversal"), DYSPEC,
        Variant("also if the least probable leaf is dropped afterwards", Lossless("traversal"), PRUNED),
    )  # fmt: skip
    yield Exact(
        "dyspec-traversal-at-least", Source("draftproof", "traversal on DySpec's trees"),
        "On trees that grow slot by slot traversal never brings less than DySpec's rule.",
        Efficiency(Run(rule), "<=", Run("traversal")), SLOTS,
        Variant("nor does the paper's rule", Efficiency(Run("traversal"), "<=", Run(rule))),
        true_variant=Variant("it never brings less than naive", Efficiency(Run("naive"), "<=", Run("traversal"))),
    )  # fmt: skip
    yield Exact(
        "dyspec-greedy-optimal", Source(key, "appendix D"),
        "If a draft is accepted with its draft probability, filling the slot of the largest value first maximises the "
        "expected sum of the values filled.",
        Holds(partial(growth.greedy_growth, True)), GROWN,
        Variant("so does the smallest first", Holds(partial(growth.greedy_growth, False))),
        note="Against every way to choose slots, which may look at all tokens drawn before.",
    )  # fmt: skip
    grown = Run(rule, same_scheme)
    yield Exact(
        "dyspec-beats-fixed-trees", Source(key, "comparison with fixed trees"),
        "No fixed tree of as many tokens brings more than the one that grows slot by slot, under the same rule.",
        Every(tuple(Efficiency(Run(rule, fixed), "<=", grown) for fixed in (_chain, _star))), TWO,
        Variant("nor does a fixed tree under traversal", Efficiency(Run("traversal", _chain), "<=", grown)),
        true_variant=Variant(
            "it brings no less than its first token alone",
            Efficiency(Run(rule, _single), "<=", grown),
        ),
    )  # fmt: skip
    yield Measured(
        "dyspec-acceptance-follows-draft", Source(key, "the assumption behind the tree"),
        "The more probable a token is to the draft, the more often it is accepted.",
        partial(measures.draft_confidence, 1),
        Variant("the less often", partial(measures.draft_confidence, -1)),
    )  # fmt: skip


def _speed_ups() -> Iterator[Claim]:
    key = "xiong2024dyspec"
    yield Measured(
        "dyspec-low-temperature", Source(key, "abstract, 9.1 times the throughput and 9.4 times less latency"),
        "Speed-ups of 9.1 and 9.4 at a low temperature are possible with trees that grow slot by slot.",
        partial(headlines.dyspec_speed_up, (9.1, 9.4), (0.2,), (8, 16, 32)),
        Variant("with eight drafted tokens", partial(headlines.dyspec_speed_up, (9.1, 9.4), (0.2,), (8,))),
        note="Any verifier needs nine accepted tokens for either. Throughput and latency of one request are the same "
        "number; what the paper's machines measured is not here.",
    )  # fmt: skip
    yield Measured(
        "dyspec-high-temperature", Source(key, "abstract, 6.21 times the throughput"),
        "A speed-up of 6.21 at a high temperature is possible with trees that grow slot by slot.",
        partial(headlines.dyspec_speed_up, (6.21,), (0.6, 1.0), (8, 16, 32, 64)),
        Variant("with eight drafted tokens", partial(headlines.dyspec_speed_up, (6.21,), (0.6, 1.0), (8,))),
        note="At one of these temperatures; what the paper's machines measured is not here.",
    )  # fmt: skip


def _chain(scheme: DraftScheme) -> DraftScheme:
    return Topology((*(1,) * scheme.nodes, 0))


def _star(scheme: DraftScheme) -> DraftScheme:
    return Topology((scheme.nodes, *(0,) * scheme.nodes))


def _single(_: DraftScheme) -> DraftScheme:
    return Topology((1, 0))


def _planned() -> Iterator[Claim]:
    yield Exact(
        "sequoia-plan-best", Source("chen2024sequoia", "dynamic program"),
        "The recurrence finds the tree that accepts most, if its acceptance vector holds at every node.",
        Holds(partial(growth.sequoia_plan, True)), PLANNED,
        Variant("a single path accepts most", Holds(partial(growth.sequoia_plan, False))),
    )  # fmt: skip
    yield Exact(
        "opt-tree-largest-sum", Source("wang2024opt", "theorem on the greedy search"),
        "OPT-Tree has the largest sum of draft probabilities of all trees of at most its size.",
        Holds(partial(growth.largest_sum, True)), FIXED,
        Variant("of target probabilities, too", Holds(partial(growth.largest_sum, False))),
    )  # fmt: skip
    yield Exact(
        "fixed-tree-efficiency", Source("wang2024opt", "expected acceptance length"),
        "On a tree without coins naive sampling brings 1 + sum p(c) over its nodes.",
        Holds(partial(growth.fixed_tree_efficiency, True)), FIXED,
        Variant("1 + sum q(c), what the draft expects", Holds(partial(growth.fixed_tree_efficiency, False))),
    )  # fmt: skip
