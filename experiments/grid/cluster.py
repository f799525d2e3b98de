"""A grid on a Dask cluster: workers compute the tasks, and this process stores their rows."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from draftproof.experiments.grid.run import Executor
from draftproof.experiments.grid.store import Row
from draftproof.experiments.shared.code import add_used, with_used_files
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.errors import InvalidInput

T = TypeVar("T")
#: Tasks that are underway for each thread of the cluster: enough that none waits for this process.
TASKS_A_THREAD = 3
#: Workers that may be lost over one task before it is given up.
MOST_LOST_WORKERS = 10
#: Seconds within which a scheduler answers, and between two looks for its workers.
CONNECT_SECONDS, POLL_SECONDS = 20, 0.5


@dataclass(frozen=True)
class Cluster(Executor[T]):
    """Sends tasks to the scheduler at an address; raises `InvalidInput` where there is none.

    Tasks of a lost worker are computed by another one, and a slow task delays no other.
    """

    address: str = ""

    def __post_init__(self) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InvalidInput("--dask needs dask and distributed; install draftproof with the extra dask") from None

    def rows(self, tasks: Iterator[T], processes: int) -> Iterator[Row | list[Row]]:
        import distributed

        try:
            client: Any = distributed.Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InvalidInput(
                f"no scheduler answers at {self.address}: {error}; start one with dask scheduler"
            ) from None
        try:
            yield from self._computed(client, tasks)
        except distributed.KilledWorker as error:
            raise InvalidInput(f"workers were lost again and again: {error}; rows so far are kept") from None
        finally:
            client.close()

    def _computed(self, client: Any, tasks: Iterator[T]) -> Iterator[Row | list[Row]]:
        import distributed

        done: Any = distributed.as_completed(loop=client.loop)
        shared = client.submit(tuple, self.shared, pure=False)  # sent once, and again where its worker is lost
        underway = 0
        for task in tasks:
            work = (_compute, self.compute, task, shared)
            done.add(client.submit(with_used_files, *work, pure=False, retries=MOST_LOST_WORKERS))
            underway += 1
            while underway >= TASKS_A_THREAD * _threads(client):
                yield _result(next(done))
                underway -= 1
        while underway:
            yield _result(next(done))
            underway -= 1


def _compute(compute: Callable[..., Row | list[Row]], task: Any, shared: tuple[Any, ...]) -> Row | list[Row]:
    return compute(task, *shared)


def _result(future: Any) -> Row | list[Row]:
    rows, files = future.result()
    future.release()
    add_used(files)
    return rows  # type: ignore[no-any-return]


def _threads(client: Any) -> int:
    """Threads of all workers now; waits for the first one."""
    announced = False
    while not (count := sum(client.nthreads().values())):
        if not announced:
            remark("the cluster has no workers yet; waiting for one")
            announced = True
        time.sleep(POLL_SECONDS)
    return int(count)
