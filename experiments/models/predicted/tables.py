"""The exact tables of a pair after a root: what the simulator is given to predict what the loop will measure.

`V` is the vocabulary size, `L` the depth. Rows are computed by batched passes over all contexts of one length; the
pass over the root itself is done once and its cache is shared, where the model has an ordinary cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from draftproof.experiments.models.drafts.features import reads_features
from draftproof.experiments.models.pair.devices import libraries, within_memory
from draftproof.experiments.models.pair.pair import BATCH_ENTRIES, Pair
from draftproof.experiments.models.pair.positions import check_room
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MAX_TABLE_ENTRIES, TableProcess, check_table_size, table_entries


def pair_tables(pair: Pair, warp: Warp, root: Sequence[int], depth: int) -> tuple[TableProcess, TableProcess]:
    """Target tables for contexts of length 0..L and draft tables for 0..L-1 after the root, float64.

    root: the tokens of the text before the draft tree, at least one. depth: `L`; at 0 the row of each at the root.
    Rows sum to 1 to within 1e-15 or so. Raises `InvalidInput` for a bad root or depth and `TooLarge` for tables
    of more than `MAX_TABLE_ENTRIES` numbers.
    """
    if depth < 0:
        raise InvalidInput(f"depth {depth} is no depth of a draft tree; it must be at least 0")
    check_size(pair.vocab_size, depth)
    tables = []
    for which, deepest in (("target", depth), ("draft", max(depth - 1, 0))):
        rows = []
        for length in range(deepest + 1):
            contexts = np.indices((pair.vocab_size,) * length).reshape(length, pair.vocab_size**length).T
            rows.append(continued_rows(pair, which, warp, root, contexts))
        tables.append(TableProcess(rows, which))
    return tables[0], tables[1]


def root_case(pair: Pair, warp: Warp, root: Sequence[int], depth: int) -> Case:
    """The tables of `pair_tables` with the root as their name; raises likewise."""
    return Case(str(root), *pair_tables(pair, warp, root, depth))


def check_size(vocab_size: int, depth: int) -> None:
    """Raises `TooLarge` for tables that would take too many passes, with the depth that does not."""
    check_table_size(vocab_size, depth, FLOAT64)
    if table_entries(vocab_size, depth) > MAX_TABLE_ENTRIES:
        fits = max((each for each in range(depth) if table_entries(vocab_size, each) <= MAX_TABLE_ENTRIES), default=0)
        raise TooLarge(
            f"tables of depth {depth} at V = {vocab_size} hold {table_entries(vocab_size, depth):.3g} numbers, more "
            f"than {MAX_TABLE_ENTRIES:,}; the deepest that fit have depth {fits}, or keep only the most probable tokens"
        )


def continued_rows(pair: Pair, which: str, warp: Warp, root: Sequence[int], contexts: Any) -> Any:
    """The rows after `root + context`, a float64 array of shape `(n, V)`, each divided by its sum.

    contexts: tokens since the root, shape `(n, length)`; raises `InvalidInput` where the root is empty.
    """
    torch, _ = libraries()
    tokens = torch.as_tensor(np.ascontiguousarray(contexts), dtype=torch.long, device=pair.device)
    prefix = torch.as_tensor([list(root)], dtype=torch.long, device=pair.device)
    model = pair.model(which)
    check_room(model, which, len(root) + tokens.shape[1])
    several = tokens.shape[1] and len(root) and not reads_features(model)
    shared = _root_cache(pair, which, prefix) if several else None
    if shared is None:
        whole = torch.cat([prefix.expand(len(tokens), -1), tokens], dim=1)
        return _normalised(pair.rows(which, whole, warp, root=len(root)))
    config = model.config.get_text_config()
    width = pair.vocab_size + 2 * config.num_hidden_layers * config.hidden_size
    batch = max(1, BATCH_ENTRIES // ((len(root) + tokens.shape[1]) * width))
    parts = []
    with torch.no_grad(), within_memory(f"computing tables of the {which}", pair.device):
        for part in tokens.split(batch):
            cache = deepcopy(shared)
            cache.batch_repeat_interleave(len(part))
            parts.append(warp.rows(model(part, past_key_values=cache, use_cache=True).logits[:, -1]))
    return _normalised(torch.cat(parts))


def _root_cache(pair: Pair, which: str, prefix: Any) -> Any:
    """What the model remembers of the root; None where it has no ordinary cache."""
    torch, _ = libraries()
    from transformers import DynamicCache

    with torch.no_grad(), within_memory(f"reading the root with the {which}", pair.device):
        cache = pair.model(which)(prefix, use_cache=True).get("past_key_values")
    return cache if type(cache) is DynamicCache else None


def _normalised(rows: Any) -> Any:
    """Rows of a torch tensor as a float64 array, each divided by its sum."""
    array = rows.cpu().numpy().astype(np.float64)
    return array / array.sum(axis=1, keepdims=True)
