"""Measures of the bias of a block other than its total variation, from its law, in the arithmetic of the law.

`V` tokens, trees of depth `L`. The output of a block is its tokens, continued by the target; `O(c)` is the mass of the
outputs that begin with `c`. `direct_bound` has the most tokens of any verifier at a budget of such a measure.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import log
from typing import Any

from draftproof.lp_analysis.nodes import NodeValues, children, efficiency, prefix_masses
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.residual import positive_part

Measured = Fraction | float


def outputs(law: BlockLaw, target: Sequence[Any]) -> NodeValues:
    """`O(c)` for the depths 0 to `L + 1`. target: tables of the depths 0 to `L`, `target[d]` of shape `(V**d, V)`."""
    masses, ended = [law.reach[0]], law.reach[0] * 0
    for depth, corrections in enumerate(law.correction):
        ended = children(ended, target[depth]) + corrections.reshape(-1)
        masses.append(ended + law.reach[depth + 1] if depth + 1 < len(law.reach) else ended)
    return masses


def first_tokens(law: BlockLaw, target: Sequence[Any], n: int) -> Measured:
    """The total variation of the first `n` tokens, 1 to `L + 1`; raises `InvalidInput` for another `n`."""
    if not 1 <= n <= len(law.correction):
        raise InvalidInput(f"n = {n}: a block has a bias in its first 1 to {len(law.correction)} tokens")
    return _python(positive_part(outputs(law, target)[n] - prefix_masses(target, n)[n]).sum())


def block_variation(law: BlockLaw, target: Sequence[Any]) -> Measured:
    """The total variation of the first `L + 1` tokens: the bias of `frontier`."""
    return first_tokens(law, target, len(law.correction))


def token_variation(law: BlockLaw, target: Sequence[Any]) -> Measured:
    """The largest total variation of one token from the target's row, over the contexts that the output comes to."""
    masses, worst = outputs(law, target), law.reach[0][0] * 0
    for depth, table in enumerate(target[: len(law.correction)]):
        mass = masses[depth]
        excess = positive_part(masses[depth + 1].reshape(table.shape) - mass[:, None] * table).sum(axis=1)
        for whole, part in zip(mass.tolist(), excess.tolist(), strict=True):
            worst = part / whole if whole > 0 and part / whole > worst else worst
    return _python(worst)


def relative_entropy(law: BlockLaw, target: Sequence[Any]) -> float:
    """The Kullback-Leibler divergence of the first `L + 1` tokens from the target's, in nats; may be infinite."""
    length, total = len(law.correction), 0.0
    pairs = zip(outputs(law, target)[length].tolist(), prefix_masses(target, length)[length].tolist(), strict=True)
    for own, wanted in pairs:
        if own > 0:
            if not wanted > 0:
                return float("inf")
            total += float(own) * log(float(own / wanted))
    return max(total, 0.0)  # rounding may leave less than nothing


def variation_per_token(law: BlockLaw, target: Sequence[Any]) -> Measured:
    """The total variation of a block over its tokens `E[tau + 1]`: what `N` tokens cost is about `N` times that."""
    return block_variation(law, target) / _python(efficiency(law.reach))


def entropy_per_token(law: BlockLaw, target: Sequence[Any]) -> float:
    """The divergence of a block over its tokens `E[tau + 1]`, in nats. Those of blocks add up, so this is its rate."""
    return relative_entropy(law, target) / float(_python(efficiency(law.reach)))


#: By the names that `direct_bound` takes.
MEASURES: Mapping[str, Callable[[BlockLaw, Sequence[Any]], Measured]] = {
    "block": block_variation,
    "token": token_variation,
    "per_token": variation_per_token,
    "entropy_per_token": entropy_per_token,
}


def measure(name: str, law: BlockLaw, target: Sequence[Any]) -> Measured:
    """A measure by its name: one of `MEASURES`, or `first:N`. Raises `InvalidInput` for other names."""
    head, _, number = name.partition(":")
    if head == "first" and number.isdecimal():
        return first_tokens(law, target, int(number))
    if name not in MEASURES:
        raise InvalidInput(f"measure {name!r} is not known; known: {', '.join(MEASURES)}, first:N")
    return MEASURES[name](law, target)


def _python(value: Any) -> Measured:
    return as_python(value)
