"""Several requests in one call: each must be lossless by itself, and their blocks must be independent.

The requests are made from one instance, so that a witness for a batch is one instance: every second request has its
tokens renamed in reverse order, and paths shorter by one token unless the scheme gives the lengths by request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, as_python
from draftproof.simulator.audit.instances import remade
from draftproof.simulator.audit.ragged import ByRequest
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import assert_verdict
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import AttachedTree, Coin, Context, DraftNode, DraftScheme, Verdict
from draftproof.simulator.tables import TableProcess, context_index

#: The block of every request: accepted context and correction token.
Blocks = tuple[tuple[Context, int], ...]
#: Gives the verdicts of one call for the roots of its requests.
VerifyAll = Callable[[tuple[DraftNode, ...], Coin], Sequence[Verdict]]


def mirrored(instance: Instance) -> Instance:
    """The instance with token `t` renamed to `V - 1 - t`."""
    return remade(instance, lambda tables: [np.ascontiguousarray(table[::-1, ::-1]) for table in tables])


def requests_of(instance: Instance, scheme: DraftScheme, count: int) -> list[tuple[Instance, DraftScheme]]:
    """The requests of a batch: instances with their schemes; see the module."""
    shorter = scheme
    if isinstance(scheme, Delayed) and scheme.depth > 1:
        shorter = replace(scheme, L2=scheme.L2 - 1) if scheme.L2 > 1 or scheme.K == 1 else scheme
    rows = instance, mirrored(instance)
    own = [scheme.of(n) if isinstance(scheme, ByRequest) else (scheme, shorter)[n % 2] for n in range(count)]
    return [(rows[number % 2], shape) for number, shape in enumerate(own)]


def drawn_roots(requests: Sequence[tuple[Instance, DraftScheme]], coin: Coin) -> list[DraftNode]:
    """The root of a drawn tree of each request."""
    return [scheme.draw(own.draft, coin).root(own.target, own.draft) for own, scheme in requests]


@dataclass(frozen=True)
class BatchLaw:
    """The joint law of the blocks of all requests, and the law of each request by itself."""

    joint: dict[Blocks, Any]
    rows: list[BlockLaw]

    def dependence(self, targets: Sequence[TableProcess]) -> Any:
        """Total variation between the joint law of the requests' outputs and the product of their own laws.

        The output of a request is its first `L + 1` tokens, short blocks continued by the target.
        """
        arithmetic = self.rows[0].arithmetic
        shape = [len(_continued((), None, law, target)) for law, target in zip(self.rows, targets, strict=True)]
        together = arithmetic.zeros(*shape)
        for blocks, mass in self.joint.items():
            parts = [
                _continued(*block, law, target) for block, law, target in zip(blocks, self.rows, targets, strict=True)
            ]
            together = together + mass * reduce(np.multiply.outer, parts)
        axes = range(together.ndim)
        alone = [together.sum(axis=tuple(axis for axis in axes if axis != own)) for own in axes]
        return as_python(abs(together - reduce(np.multiply.outer, alone)).sum() / 2)


def _continued(accepted: Context, correction: int | None, law: BlockLaw, target: TableProcess) -> Any:
    """The law of the first `L + 1` tokens that begin with this block, flat; None stands for a block yet to begin."""
    prefix = accepted if correction is None else (*accepted, correction)
    masses = law.arithmetic.zeros(target.vocab_size ** len(prefix))
    masses[context_index(prefix, target.vocab_size)] += law.arithmetic.number(1)
    for depth in range(len(prefix), law.depth + 1):
        masses = (masses.reshape(-1, 1) * target.tables[depth]).reshape(-1)
    return masses


def batch_law(
    verify_all: VerifyAll,
    requests: Sequence[tuple[Instance, DraftScheme]],
    arithmetic: Arithmetic,
    progress: Progress | None = None,
) -> BatchLaw:
    """The exact law of a batch: every combination of trees, every sequence of coin answers.

    requests: instances in that arithmetic with their schemes. progress: called with 1 after each combination of trees.
    Raises `InvalidVerifier` for a block outside its tree.
    """
    joint: dict[Blocks, Any] = {}

    def draw(coin: Coin) -> list[AttachedTree]:
        return [scheme.draw(instance.draft, coin) for instance, scheme in requests]

    for trees, weight in outcomes(draw, arithmetic):
        pairs = list(zip(trees, requests, strict=True))
        roots = tuple(tree.root(instance.target, instance.draft) for tree, (instance, _) in pairs)
        for verdicts, mass in outcomes(partial(verify_all, roots), arithmetic):
            for verdict, (tree, (instance, _)) in zip(verdicts, pairs, strict=True):
                assert_verdict(verdict, tree, instance.vocab_size)
            blocks = tuple((verdict.accepted, verdict.correction) for verdict in verdicts)
            joint[blocks] = joint.get(blocks, arithmetic.number(0)) + weight * mass
        if progress:
            progress(1)
    return BatchLaw(joint, [_alone(joint, row, *request, arithmetic) for row, request in enumerate(requests)])


def _alone(
    joint: dict[Blocks, Any], row: int, instance: Instance, scheme: DraftScheme, arithmetic: Arithmetic
) -> BlockLaw:
    size = instance.vocab_size
    correction = [arithmetic.zeros(size**depth, size) for depth in range(scheme.depth + 1)]
    for blocks, mass in joint.items():
        accepted, token = blocks[row]
        correction[len(accepted)][context_index(accepted, size), token] += mass
    return BlockLaw(correction, arithmetic)
