"""Contexts of a text from which trees are drafted, and the hash of the pair that drafts them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from experiments.models.pair.devices import libraries
from experiments.models.pair.pair import ROLES, Pair
from simulator.errors import InvalidInput
from simulator.protocol import Context

#: Tokens of a root context.
CONTEXT = 16
#: Of each parameter so many numbers, evenly spaced, go into the hash of a pair.
_PROBED = 4096


def roots_of(tokens: Sequence[int], count: int, length: int = CONTEXT) -> list[Context]:
    """`count` contexts of so many tokens, evenly spaced over a text; raises `InvalidInput` where it is too short."""
    if len(tokens) < count * length:
        raise InvalidInput(f"{len(tokens)} tokens of held-out text give no {count} roots of {length}; ask for fewer")
    spacing = len(tokens) // count
    return [tuple(int(token) for token in tokens[place * spacing :][:length]) for place in range(count)]


def pair_digest(pair: Pair) -> str:
    """Hash of both models, 16 hexadecimal digits: of each parameter its shape and evenly spaced numbers."""
    return _digest(pair, ROLES)


def target_digest(pair: Pair) -> str:
    """As `pair_digest`, of the target alone."""
    return _digest(pair, ("target",))


def _digest(pair: Pair, roles: Sequence[str]) -> str:
    found = hashlib.sha256()
    for which in roles:
        for name, values in pair.model(which).state_dict().items():
            flat = values.flatten()
            probed = flat[:: max(1, len(flat) // _PROBED)].to("cpu", libraries()[0].float64)
            found.update(f"{which} {name} {tuple(values.shape)}".encode() + probed.numpy().tobytes())
    return found.hexdigest()[:16]
