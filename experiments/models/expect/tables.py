"""The exact tables of p and q after a root.

`V` is the vocabulary size, `L` the depth. Rows are computed by batched passes over all contexts of one length. The pass
over the root is done once and its key-value cache is shared, where the model has an ordinary one.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.devices import check_fits, libraries, within_memory
from draftproof.experiments.models.pair.pair import BATCH_ENTRIES, Pair
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import tabulate, telling
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, TableProcess, check_table_size, table_entries


def pair_tables(pair: Pair, sampling: Sampling, root: Sequence[int], depth: int) -> tuple[TableProcess, TableProcess]:
    """Target tables for contexts of length 0..L and draft tables for 0..L-1 after the root, float64.

    The draft has the rows that verifiers are told with it, where `sampling` says so.
    root: the tokens of the text before the draft tree, at least one. depth: `L`; 0: only rows at the root.
    Rows sum to 1 up to about 1e-15. Raises `InvalidInput` for a bad root or depth and `TooLarge` for tables
    of more than `MAX_TABLE_ENTRIES` numbers.
    """
    if depth < 0:
        raise InvalidInput(f"depth {depth} is no depth of a draft tree; it must be at least 0")
    check_size(pair.vocab_size, depth)

    def table(which: str, deepest: int) -> TableProcess:
        own, rows = sampling.of(which), []
        row_wise = replace(own, memory=None)
        for length in range(deepest + 1):
            contexts = np.indices((pair.vocab_size,) * length).reshape(length, pair.vocab_size**length).T
            rows.append(continued_rows(pair, which, row_wise, root, contexts))
        return tabulate(own.remembered(TableProcess(rows, which), deepest), deepest, FLOAT64, which)

    target, draft = table("target", depth), table("draft", max(depth - 1, 0))
    return target, telling(draft, table("told", max(depth - 1, 0)) if sampling.tells_another_q else None)


def root_case(pair: Pair, sampling: Sampling, root: Sequence[int], depth: int, leaf_rows: bool = True) -> Case:
    """The tables of `pair_tables` with the root as their name; raises likewise.

    leaf_rows: without them the target's rows at the leaves are uniform; they only decide the correction there.
    """
    if leaf_rows or not depth:
        return Case(str(root), *pair_tables(pair, sampling, root, depth))
    size, (target, draft) = pair.vocab_size, pair_tables(pair, sampling, root, depth - 1)
    deepest = np.full((size**depth, size), 1 / size)
    if depth > 1:
        last = np.indices((size,) * (depth - 1)).reshape(depth - 1, -1).T
        draft = TableProcess([*draft.tables, continued_rows(pair, "draft", sampling, root, last)], "draft")
    return Case(str(root), TableProcess([*target.tables, deepest], "target"), draft)


def check_size(vocab_size: int, depth: int) -> None:
    """Raises `TooLarge` for tables that would be too large; the message names the largest depth that fits."""
    check_table_size(vocab_size, depth, FLOAT64)
    if table_entries(vocab_size, depth) > MAX_TABLE_ENTRIES:
        fits = max((less for less in range(depth) if table_entries(vocab_size, less) <= MAX_TABLE_ENTRIES), default=0)
        raise TooLarge(
            f"tables of depth {depth} at V = {vocab_size} hold {table_entries(vocab_size, depth):.3g} numbers, more "
            f"than {MAX_TABLE_ENTRIES:,}; the deepest that fit have depth {fits}; or keep fewer tokens, vocab=N"
        )


def continued_rows(pair: Pair, which: str, sampling: Sampling, root: Sequence[int], contexts: Any) -> Any:
    """The rows after `root + context`, a float64 array of shape `(n, V)`, each divided by its sum.

    contexts: tokens since the root, shape `(n, length)`; raises `InvalidInput` where the root is empty.
    """
    torch, _ = libraries()
    tokens = torch.as_tensor(np.ascontiguousarray(contexts), dtype=torch.long, device=pair.device)
    prefix = torch.as_tensor([list(root)], dtype=torch.long, device=pair.device)
    model = pair.model(which)
    check_fits(model, which, len(root) + tokens.shape[1])
    cached = tokens.shape[1] and len(root) and not pair.reads_features(which)
    shared = _root_cache(pair, which, prefix) if cached else None
    if shared is None:
        whole = torch.cat([prefix.expand(len(tokens), -1), tokens], dim=1)
        return _normalised(pair.rows(which, whole, sampling, root=len(root)))
    config = model.config.get_text_config()
    width = pair.vocab_size + 2 * config.num_hidden_layers * config.hidden_size
    batch = max(1, BATCH_ENTRIES // ((len(root) + tokens.shape[1]) * width))
    parts = []
    with torch.no_grad(), within_memory(f"computing tables of the {which}", pair.device):
        for part in tokens.split(batch):
            cache = deepcopy(shared)
            cache.batch_repeat_interleave(len(part))
            logits = model(part, past_key_values=cache, use_cache=True).logits[:, -1]
            texts = torch.cat([prefix.expand(len(part), -1), part], dim=1)
            parts.append(pair.sampled(which, logits, texts, sampling, len(root)))
    return _normalised(torch.cat(parts))


def _root_cache(pair: Pair, which: str, prefix: Any) -> Any:
    """The key-value cache of the model after the root; None where it has no ordinary one."""
    torch, _ = libraries()
    from transformers import DynamicCache

    with torch.no_grad(), within_memory(f"reading the root with the {which}", pair.device):
        cache = pair.model(which)(prefix, use_cache=True).get("past_key_values")
    return cache if type(cache) is DynamicCache else None


def _normalised(rows: Any) -> Any:
    """Rows of a torch tensor as a float64 array, each divided by its sum."""
    array = rows.cpu().numpy().astype(np.float64)
    return array / array.sum(axis=1, keepdims=True)
