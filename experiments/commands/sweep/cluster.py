"""A sweep on a Dask cluster: the same groups, computed by workers elsewhere, kept here as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from draftproof.experiments.commands.sweep.store import Row
from draftproof.experiments.commands.sweep.work import Compute, Group, compute
from draftproof.experiments.shared.code import add_used, with_files
from draftproof.experiments.shared.pool import PERIOD
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.errors import InvalidInput

#: Groups that are underway for each thread of the cluster: enough that none waits for this process.
AHEAD = 3
#: Workers that may be lost over one group before it is given up.
LOSSES = 10
#: Seconds within which a scheduler answers.
PATIENCE = 20


def on_cluster(address: str) -> Compute:
    """Groups sent to the scheduler at this address; raises `InvalidInput` where there is none.

    What a lost worker had is computed by another, and a slow group holds none of the rest.
    """
    try:
        import distributed
    except ImportError:
        raise InvalidInput("--dask needs dask and distributed; install draftproof with the extra dask") from None

    def computed(groups: Iterator[Group | None]) -> Iterator[list[Row]]:
        try:
            client: Any = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InvalidInput(f"no scheduler answers at {address}: {error}; start one with dask scheduler") from None
        try:
            yield from _computed(client, groups)
        except distributed.KilledWorker as error:
            raise InvalidInput(f"workers were lost again and again: {error}; rows so far are kept") from None
        finally:
            client.close()

    return computed


def _computed(client: Any, groups: Iterator[Group | None]) -> Iterator[list[Row]]:
    import distributed

    done: Any = distributed.as_completed(loop=client.loop)
    underway = 0
    for group in groups:
        if group is not None:
            done.add(client.submit(with_files, compute, group, key=f"sweep-{group.name}", pure=False, retries=LOSSES))
            underway += 1
        elif not underway:
            time.sleep(PERIOD)
        while underway and (group is None or underway >= AHEAD * _threads(client)):
            future = next(done)
            underway -= 1
            yield _result(future)
            if group is None:
                break
    while underway:
        yield _result(next(done))
        underway -= 1


def _result(future: Any) -> list[Row]:
    rows, files = future.result()
    future.release()
    add_used(files)
    return list(rows)


def _threads(client: Any) -> int:
    """Threads of all workers now; waits for the first one."""
    told = False
    while not (count := sum(client.nthreads().values())):
        if not told:
            remark("the cluster has no workers yet; waiting for one")
            told = True
        time.sleep(PERIOD)
    return int(count)
