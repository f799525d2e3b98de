"""Contexts of a text from which trees are drafted, and the hash of the pair that drafts them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from draftproof.experiments.models.pair.devices import libraries
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Context

#: Tokens of a root context.
CONTEXT = 16
#: What a configuration says of where it comes from, and not of what is computed; the precision is that of the weights.
_ORIGIN = ("_name_or_path", "transformers_version", "dtype")


def roots_of(tokens: Sequence[int], count: int, length: int = CONTEXT) -> list[Context]:
    """`count` contexts of so many tokens, evenly spaced over a text; raises `InvalidInput` where it is too short."""
    if len(tokens) < count * length:
        raise InvalidInput(f"{len(tokens)} tokens of held-out text give no {count} roots of {length}; ask for fewer")
    spacing = len(tokens) // count
    return [tuple(int(token) for token in tokens[place * spacing :][:length]) for place in range(count)]


def pair_digest(pair: Pair) -> str:
    """Hash of both models, 16 hexadecimal digits: of their configurations and of every number of their weights."""
    return _digest(pair, ROLES)


def target_digest(pair: Pair) -> str:
    """As `pair_digest`, of the target alone."""
    return _digest(pair, ("target",))


def _digest(pair: Pair, roles: Sequence[str]) -> str:
    torch, _ = libraries()
    found = hashlib.sha256()
    for which in roles:
        model = pair.model(which)
        settings = {name: value for name, value in model.config.to_dict().items() if name not in _ORIGIN}
        described = json.dumps(settings, sort_keys=True, default=str)
        found.update(f"{which} {type(model).__name__} {described}".encode())
        for name, values in model.state_dict().items():
            found.update(f"{which} {name} {tuple(values.shape)} {values.dtype}".encode())
            found.update(values.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8).numpy())
    return found.hexdigest()[:16]
