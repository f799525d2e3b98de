"""The enumeration of user code: errors get its lines and the instance, and state and other randomness are refused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_of
from draftproof.simulator.changes import Watch
from draftproof.simulator.coins import EnumeratingCoin
from draftproof.simulator.errors import DraftproofError, Fails, InvalidVerifier, cut, short_repr
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.laws.enumeration import enumerate_law, law_on_tree
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.origins import is_foreign, is_library
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import (
    AttachedTree,
    Card,
    Coin,
    Context,
    DraftNode,
    DraftScheme,
    TokenProcess,
    Verdict,
    Verifier,
)
from draftproof.simulator.raised import user_lines, user_places
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.user_code import NodeView, UserCoin, raising_unsupported_operations, user_law, user_rows

#: Runs of one draft tree after which its enumeration tells of progress.
RUNS_A_STEP = 16


def guarded_law(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    progress: Progress | None = None,
    note: Callable[[Verdict, Any], None] | None = None,
) -> BlockLaw:
    """`enumerate_law` of a verifier and a scheme that may be user code; the verifier sees copies of the tables.

    progress: called with 1 after each draft tree; on a tree of more than `RUNS_A_STEP` runs with parts of its mass.
    note: called with the verdict of every run and its probability on its tree.
    Raises `InvalidVerifier` also where `verify` is not a function of tree and coin.
    """
    runs = _Runs(verifier, progress, note)
    with failing_on(verifier, target, draft, scheme):
        trees = drawn_trees(scheme, draft, target.arithmetic)
        law = enumerate_law(runs, _copied(target), _copied(draft), scheme, trees)
    runs.end()
    return law


def _copied(process: TableProcess) -> TableProcess:
    """The same process in copied tables, for user-defined code that may write into them."""
    made = copy(process)
    made.tables = [table.copy() for table in process.tables]
    for table in made.tables:
        table.setflags(write=False)
    made._rows = {}
    made.told = _copied(made.told) if isinstance(made.told, TableProcess) else made.told
    return made


class _Runs:
    """A verifier whose runs are guarded, tree after tree, and told of."""

    def __init__(
        self, verifier: Verifier, progress: Progress | None, note: Callable[[Verdict, Any], None] | None
    ) -> None:
        self._verifier, self._progress, self._note = verifier, progress, note
        self._library, self._watch = is_library(verifier), Watch.of(verifier)
        self._root: DraftNode | None = None

    @property
    def card(self) -> Card:
        return self._verifier.card

    def verify(self, root: DraftNode, coin: Any) -> Verdict:
        """One run, under an `EnumeratingCoin`."""
        if root is not self._root:
            self.end()
            self._root, self._run = root, guarded(self._verifier, root, self._library, self._watch)
            self._runs, self._untold, self._left = 0, 0.0, 1.0
        verdict = self._run(coin)
        if self._note:
            self._note(verdict, coin.weight)
        if self._progress:
            self._runs, self._untold = self._runs + 1, self._untold + float(coin.weight)
            if self._runs % RUNS_A_STEP == 0 and self._untold < self._left:
                self._progress(self._untold)
                self._left, self._untold = self._left - self._untold, 0.0
        return verdict

    def end(self) -> None:
        """A tree is done."""
        if self._root is not None and self._progress:
            self._progress(1 if self._left == 1 else self._left)


@contextmanager
def failing_on(verifier: Verifier, target: TableProcess, draft: TableProcess, scheme: DraftScheme) -> Iterator[None]:
    """Within it a failure of the verifier gets the instance."""
    try:
        yield
    except Fails as error:
        what, code = error.what, getattr(verifier.verify, "__code__", None)
        if error.__cause__ is None and isinstance(code, CodeType) and is_foreign(code):  # it returned what is wrong
            what += f" ({Path(code.co_filename).name} line {code.co_firstlineno}, {code.co_name})"
        instance = Instance(target, draft, scheme, {"fails": verifier.card.name})
        rows = ", ".join(
            f"{name} = ({', '.join(map(str, process.row(()).tolist()))})"
            for name, process in (("p", target), ("q", draft))
        )
        raise Fails(what, instance, f"{what}; on {scheme} with {cut(rows)} at the root") from error


def verdicts(
    verifier: Verifier,
    tree: AttachedTree,
    target: TokenProcess,
    draft: TokenProcess,
    arithmetic: Arithmetic,
    coin: EnumeratingCoin | None = None,
    watch: Watch | None = None,
) -> dict[tuple[Context, int], Any]:
    """`law_on_tree` of a verifier that may be user code. watch: of the runs of this verifier on several trees."""
    root = tree.root(target, draft)
    return law_on_tree(guarded(verifier, root, watch=watch), tree, len(root.target), arithmetic, coin)


def guarded(
    verifier: Verifier, root: DraftNode, library: bool | None = None, watch: Watch | None = None
) -> Callable[[Coin], Verdict]:
    """`verify` on one tree, as a function of the coin; an error of user code becomes `InvalidVerifier` with its lines.

    A user-defined verifier gets new nodes and copied rows for every run, in an exact run with `Exact` numbers.
    library: the result of `is_library` for the verifier, where that is known. watch: of its runs on several trees.
    """
    verify: Callable[[Coin], Verdict]
    if is_library(verifier) if library is None else library:
        verify = partial(verifier.verify, root)
    else:
        verify = _user_run(verifier, root, watch or Watch.of(verifier))

    def run(coin: Coin) -> Verdict:
        try:
            verdict = verify(coin)
        except Fails as error:
            lines = user_places(error)
            raise Fails(f"{error} ({lines})" if lines else str(error)) from error
        except DraftproofError:
            raise
        except (Exception, SystemExit) as error:  # sys.exit(0) would end the process with a success
            raise InvalidVerifier(f"verify raised {user_lines(error)}") from error
        if not (isinstance(verdict, Verdict) and isinstance(verdict.accepted, tuple)):
            if isinstance(verdict, Coroutine):
                verdict.close()  # else Python warns that it was never awaited
            raise InvalidVerifier(
                f"verify returned {short_repr(verdict)}; it must be a Verdict(accepted, correction), accepted a tuple"
            )
        if not all(isinstance(token, (int, np.integer)) for token in verdict.accepted):
            raise InvalidVerifier(f"accepted {short_repr(verdict.accepted)}, which is no node of the draft tree")
        return verdict

    return run


def _user_run(verifier: Verifier, root: DraftNode, watch: Watch | None) -> Callable[[Coin], Verdict]:
    """`verify` of user code on one tree."""
    exact, rows = arithmetic_of(root.target).exact, user_rows()
    unsupported = raising_unsupported_operations if exact else nullcontext

    def run(coin: Coin) -> Verdict:
        with unsupported():
            return verifier.verify(NodeView(root, rows, user_law), UserCoin(coin) if exact else coin)

    return run if watch is None else partial(watch.run, run)
