"""Drafts that forget what they drafted: rows given the root and the last few drafted tokens only.

Block-parallel drafters (Medusa heads, diffusion drafters) predict all tokens of a block in one pass. The row of the
token at depth `t` is then `q_t` given the root, whatever was drafted before it: with a memory of 0 tokens a path is
drawn from a product. `V` is the vocabulary size, `L` the depth of the tables.
"""

from __future__ import annotations

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import TokenProcess
from draftproof.simulator.tables import TableProcess


def remembering(process: TokenProcess, memory: int, depth: int, name: str = "draft") -> TableProcess:
    """The rows of a process given the root, the depth and the last `memory` tokens before it, to depth `depth`.

    A row is the mean of the process's own rows after the contexts `c` that end in these tokens, each weighted with
    `q(c)`, the probability that the process itself draws `c` from the root on. So with a memory of 0 it is the marginal
    law of the token at its depth; up to `memory` tokens after the root it is the process's own row. The last
    `memory + 1` tokens before each depth have the law that they have under the process. Where the process never draws
    the last tokens, their row is never asked for; it is one of its own.

    Raises `TooLarge` as `tabulate`.
    """
    tables = tabulate(process, depth, arithmetic_of(process.row(())), name).tables
    size, masses, made = tables[0].shape[1], tables[0][:, 0] * 0 + 1, []
    for length, table in enumerate(tables):
        kept = size ** min(memory, length)
        joint = masses[:, np.newaxis] * table
        endings = masses.reshape(-1, kept).sum(axis=0)
        drawn = endings > 0
        rows = table.reshape(-1, kept, size)[0].copy()
        rows[drawn] = joint.reshape(-1, kept, size).sum(axis=0)[drawn] / endings[drawn, np.newaxis]
        made.append(np.tile(rows, (len(table) // kept, 1)))
        masses = joint.reshape(-1)
    return TableProcess(made, name)
