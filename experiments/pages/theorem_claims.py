"""What the page of theorems claims: verifiers that are lossless, lossy, or related to one another, at shapes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from draftproof.experiments.cli.prove.work import Request
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.shared.code import code_digest
from draftproof.simulator.drafts import Adaptive, Delayed, Greedy, TopK, Topology, WithoutReplacement
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS

#: Modules that every theorem rests on, and those with free numbers, as paths from the root.
PROVER, FREE = (
    ("simulator/theorems/proof/theorem", "simulator/theorems/proof/relations"),
    "experiments/cli/prove/free",
)
#: Draft trees of the largest shape.
MOST = 1_000

PATH, LONG = Delayed(1, 0, 2), Delayed(1, 0, 3)
PAIR, DEEP, TRUNK, TRIPLE = Delayed(2, 0, 1), Delayed(2, 0, 2), Delayed(2, 1, 1), Delayed(3, 0, 2)


@dataclass(frozen=True)
class Claim:
    """One theorem to be tried: `verifier` is lossless, or stands in `kind` to `other`."""

    verifier: str
    vocab_size: int
    scheme: DraftScheme
    free: tuple[str, ...] = ()
    zeros: bool = False
    kind: str = ""
    other: str = ""

    def fields(self) -> dict[str, Any]:
        """Everything that defines it."""
        return {
            "verifier": self.verifier,
            "vocab_size": self.vocab_size,
            "scheme": self.scheme.as_dict(),
            "free": list(self.free),
            "zeros": self.zeros,
            "kind": self.kind,
            "other": self.other,
        }

    def request(self) -> Request:
        """What is asked."""
        return Request(find_verifier(self.verifier), self.vocab_size, self.scheme, self.zeros, self.free, MOST)

    @cached_property
    def code(self) -> str:
        """A digest of all the code that the answer rests on."""
        room = [*PROVER, *([FREE] if self.free else [])]
        modules = [type(find_verifier(spec).verifier).__module__ for spec in (self.verifier, self.other) if spec]
        digests = (code_digest([*room, module.replace(".", "/")]) for module in modules)
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:8]

    @property
    def strong_id(self) -> str:
        """What its row is known by."""
        return strong_id({**self.fields(), "code": self.code})


#: Verifiers that are lossy, each on a shape where that shows.
LOSSY: tuple[tuple[str, DraftScheme], ...] = (
    ("naive_from_target", Delayed(1, 0, 1)),
    ("relaxed", Delayed(1, 0, 1)),
    ("typical", Delayed(1, 0, 1)),
    ("threshold", Delayed(2, 0, 1)),
    ("block_by_weights", Delayed(1, 0, 2)),
    ("hsd_uncapped", Delayed(1, 0, 2)),
    ("traversal_insertion_order", Delayed(3, 0, 2)),
)
SINGLE = ("naive", "block", "tree_monte_carlo")
SEVERAL = ("nss", "naive_tree", "specinfer", "traversal", "gbv")
#: Verifiers on schemes other than delayed trees.
OTHER_SCHEMES: tuple[tuple[str, DraftScheme], ...] = (
    *((name, WithoutReplacement(2, 0, 2)) for name in ("nss", "naive", "naive_tree", "traversal")),
    ("rejection_without_replacement", WithoutReplacement(2, 0, 2)),
    ("nss", TopK(2, 0, 1)),
    ("greedy_multi_draft", Greedy(2, 0, 1)),
    ("traversal", Topology((2, 1, 0, 0))),
    ("block", Adaptive(1, 0, 2)),
)
RELATIONS = (
    (EQUALS, "tree_monte_carlo", "block", PATH),
    (EQUALS, "traversal", "block", PATH),
    (EQUALS, "gbv", "block", PATH),
    (EQUALS, "specinfer", "naive", PATH),
    (EQUALS, "naive_tree", "naive", PATH),
    (DOMINATES, "block", "naive", PATH),
    (DOMINATES, "block", "naive", LONG),
    (DOMINATES, "naive_tree", "naive", DEEP),
    (DOMINATES, "traversal", "block", DEEP),
    (DOMINATES, "traversal", "naive_tree", DEEP),
    (DOMINATES, "traversal", "specinfer", DEEP),
    (DOMINATES, "specinfer", "naive_tree", PAIR),
    (DOMINATES, "gbv", "block", PAIR),
)


def claims() -> Iterator[Claim]:
    """All theorems of the page, small shapes first."""
    yield from small_claims()
    for name, scheme in LOSSY:
        yield Claim(name, 2, scheme)
    yield Claim("relaxed:w=1", 2, PATH)
    yield Claim("relaxed", 2, Delayed(1, 0, 1), ("w",))
    yield Claim("typical:epsilon=1,delta=2", 2, PATH, ("solver",))
    yield Claim("typical:epsilon=1,delta=3", 3, PAIR, ("solver",))
    for kind, one, other, scheme in RELATIONS:
        yield Claim(one, 2, scheme, kind=kind, other=other)
    yield from large_claims()


def small_claims() -> Iterator[Claim]:
    """Lossless at two tokens."""
    for name in (*SINGLE, *SEVERAL):
        yield Claim(name, 2, PATH)
    for scheme in (PAIR, TRUNK, DEEP):
        for name in SEVERAL:
            yield Claim(name, 2, scheme)
    for name in ("khisti", "spectr", "path_transport", "layer_transport"):
        yield Claim(name, 2, PAIR, ("solver",))
    yield Claim("layer_transport", 2, PAIR, ("weights",))
    yield Claim("layer_transport", 2, TRUNK, ("solver",))
    yield Claim("layer_without_replacement", 2, WithoutReplacement(2, 0, 1), ("solver",))
    yield Claim("layer_greedy", 2, Greedy(2, 0, 1), ("solver",))
    for scheme in (PAIR, TRUNK):
        yield Claim("mixed_order", 2, scheme, ("a",))
    for name, other in OTHER_SCHEMES:
        yield Claim(name, 2, other)
    for name in SINGLE:
        yield Claim(name, 2, PATH, zeros=True)
    for name in ("traversal", "specinfer"):
        yield Claim(name, 2, PAIR, zeros=True)


def large_claims() -> Iterator[Claim]:
    """What takes longer: three tokens, three paths, long paths, free numbers in deep trees."""
    for name in SEVERAL:
        yield Claim(name, 3, PAIR)
    for name in ("khisti", "spectr"):
        yield Claim(name, 3, PAIR, ("solver",))
    for name in ("nss", "naive_tree"):
        yield Claim(name, 3, PAIR, zeros=True)
    yield Claim("khisti", 2, DEEP, ("solver",))
    yield Claim("rejection_without_replacement", 3, WithoutReplacement(2, 0, 1))
    yield Claim("block", 2, LONG)
    for name in ("nss", "naive_tree", "specinfer", "traversal"):
        yield Claim(name, 2, TRIPLE)
    for name in ("spectr", "path_transport"):
        yield Claim(name, 2, DEEP, ("solver",))
    yield Claim("naive", 3, PATH)
    yield Claim("block", 3, PATH)
    yield Claim("tree_monte_carlo", 2, LONG)
    yield Claim("mixed_order", 2, DEEP)
    yield Claim("mixed_order", 3, PAIR, ("a",))
    yield Claim("tree_monte_carlo", 2, LONG, kind=EQUALS, other="block")
    yield Claim("block", 3, PATH, kind=DOMINATES, other="naive")
    yield Claim("traversal", 3, PAIR, kind=DOMINATES, other="specinfer")
    for name in ("nss", "naive_tree", "specinfer"):
        yield Claim(name, 3, DEEP)
    yield Claim("layer_greedy", 3, Greedy(2, 0, 1), ("solver",))
    yield Claim("layer_without_replacement", 2, WithoutReplacement(2, 0, 2), ("solver",))
    yield Claim("mixed_order", 2, DEEP, ("a",))
    yield Claim("traversal", 3, DEEP)
    yield Claim("layer_transport", 3, PAIR, ("solver",))
    yield Claim("layer_transport", 2, DEEP, ("solver",))
