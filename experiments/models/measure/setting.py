"""The setting that all measurements of a pair share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.devices import model_versions
from draftproof.experiments.models.pair.pair import Pair, pair_digest
from draftproof.experiments.models.pair.roots import Roots
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context


@dataclass(frozen=True)
class Setting:
    """What all measurements share. root_set: the root contexts with their origin; digest: hash of both models."""

    pair: Pair
    sampling: Sampling
    root_set: Roots
    digest: str
    seed: int = 0
    vectors: str = "numpy"

    @property
    def roots(self) -> tuple[Context, ...]:
        return self.root_set.contexts

    @cached_property
    def contexts(self) -> Contexts:
        """Both models after the roots, with all that was computed of them."""
        return Contexts(self.pair, self.sampling, self.roots)

    @property
    def fields(self) -> dict[str, Any]:
        """Everything that determines the results, as plain data."""
        return {
            "pair": self.digest,
            "text_hash": self.pair.text_digest,
            "V": self.pair.vocab_size,
            "warp": self.sampling.as_dict(),  # the name is part of the key of a row, which seeds depend on
            "roots": [list(root) for root in self.roots],
            "dtype": str(self.pair.dtype).removeprefix("torch."),
            "device": device_name(self.pair.device),
            "threads": torch.get_num_threads(),
            "vectors": self.vectors,
            "seed": self.seed,
            "versions": model_versions(),
        }

    def coin(self, seed: int) -> Coin:
        return coin_for(self.vectors, seed, self.pair.device)

    def key(self, **fields: Any) -> str:
        """Hash of these fields and the shared ones, which together define a row."""
        return strong_id({**self.fields, **fields})


def seed_of(key: str) -> int:
    """A seed from the key of a row, so that no two rows share random numbers."""
    return int(key[:15], 16)


def setting(
    pair: Pair, sampling: Sampling, roots: Roots | Sequence[Context], seed: int, vectors: str = "numpy"
) -> Setting:
    """A setting with the hash of the pair; raises `InvalidInput` where there is no root."""
    root_set = roots if isinstance(roots, Roots) else Roots(tuple(tuple(root) for root in roots), "roots")
    if not root_set.contexts:
        raise InvalidInput("no root context is given; roots takes at least 1")
    return Setting(pair, sampling, root_set, pair_digest(pair), seed, vectors)


def device_name(device: Any) -> str:
    """The kind of machine that ran it: `cpu`, or the name of the accelerator."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device.type)
