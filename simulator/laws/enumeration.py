"""The enumerating engine, the ground truth: every draft tree and every coin, with exact weights."""

from __future__ import annotations

from collections.abc import Callable, Container, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_of
from draftproof.simulator.changes import Watch
from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.errors import DraftproofError, Fails, InvalidVerifier, NoFunction, cut
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.origins import is_foreign, is_library
from draftproof.simulator.protocol import (
    AttachedTree,
    Coin,
    Context,
    DraftNode,
    DraftScheme,
    Progress,
    TokenProcess,
    Verdict,
    Verifier,
)
from draftproof.simulator.raised import short_repr, user_lines, user_places
from draftproof.simulator.tables import TableProcess, check_table_size, context_index
from draftproof.simulator.user_code import NodeView, UserCoin, raising_unsupported_operations, user_law, user_rows

#: Runs of one draft tree after which its enumeration tells of progress.
RUNS_A_STEP = 16
#: Runs on one draft tree that `assert_function` compares.
MOST_COMPARED_RUNS = 200
#: Accepted context, correction token and probability of each run on one tree, in the order of the enumeration.
Runs: TypeAlias = list[tuple[Context, int, Any]]
TWO_LAWS = (
    "verify gave two laws on one draft tree: it must be a function of the tree and the coin, "
    "without state or other randomness"
)


def enumerate_law(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    progress: Progress | None = None,
    note: Callable[[Verdict, Any], None] | None = None,
) -> BlockLaw:
    """The exact block law of any verifier on any scheme.

    target, draft: tables in one arithmetic, down to depth `L` and `L - 1`; the verifier sees copies of them.
    progress: called with 1 after each draft tree; on a tree of more than `RUNS_A_STEP` runs with parts of it. note:
    called with the verdict of every run and its probability on its tree.
    Raises `InvalidVerifier` when `verify` gives the coin numbers that are no probabilities, accepts a node outside the
    tree, returns a token outside the vocabulary, or is not a function of tree and coin; `TooLarge` for a law that would
    not fit in memory.
    """
    arithmetic, size = target.arithmetic, target.vocab_size
    check_table_size(size, scheme.depth, arithmetic)
    correction = [arithmetic.zeros(size**depth, size) for depth in range(scheme.depth + 1)]
    shown, library, watch = (target.copied(), draft.copied()), is_library(verifier), Watch.of(verifier)
    for tree, weight in drawn_trees(scheme, draft, arithmetic):
        root = tree.root(*shown)
        coin, run = EnumeratingCoin(arithmetic), guarded(verifier, root, library, watch)
        told = _Parts(progress, coin) if progress else None
        with failing_on(verifier, target, draft, scheme):
            masses = _masses(told.after(run) if told else run, tree, root, arithmetic, coin, note)
        for (accepted, token), mass in masses.items():
            correction[len(accepted)][context_index(accepted, size), token] += weight * mass
        if told:
            told.end()
    return BlockLaw(correction, arithmetic)


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


class _Parts:
    """Tells of the parts of one draft tree that are enumerated, 1 in all."""

    def __init__(self, progress: Progress, coin: EnumeratingCoin) -> None:
        self._progress, self._coin = progress, coin
        self._runs, self._untold, self._left = 0, 0.0, 1.0

    def after(self, run: Callable[[Coin], Verdict]) -> Callable[[Coin], Verdict]:
        """The runs, which are counted."""

        def counted(coin: Coin) -> Verdict:
            verdict = run(coin)
            self._runs, self._untold = self._runs + 1, self._untold + self._coin.share
            if self._runs % RUNS_A_STEP == 0 and self._untold < self._left:
                self._progress(self._untold)
                self._left, self._untold = self._left - self._untold, 0.0
            return verdict

        return counted

    def end(self) -> None:
        """The tree is done."""
        self._progress(1 if self._left == 1 else self._left)


def verdicts(
    verifier: Verifier,
    tree: AttachedTree,
    target: TokenProcess,
    draft: TokenProcess,
    arithmetic: Arithmetic,
    coin: EnumeratingCoin | None = None,
    watch: Watch | None = None,
) -> dict[tuple[Context, int], Any]:
    """The exact law of the verdict on one tree: probability by (accepted context, correction token).

    coin: see `outcomes`. watch: of the runs of this verifier on several trees.
    """
    root = tree.root(target, draft)
    return _masses(guarded(verifier, root, watch=watch), tree, root, arithmetic, coin)


def _masses(
    run: Callable[[Coin], Verdict],
    tree: AttachedTree,
    root: DraftNode,
    arithmetic: Arithmetic,
    coin: EnumeratingCoin | None = None,
    note: Callable[[Verdict, Any], None] | None = None,
) -> dict[tuple[Context, int], Any]:
    masses: dict[tuple[Context, int], Any] = {}
    for verdict, mass in outcomes(run, arithmetic, coin):
        if note:
            note(verdict, mass)
        block = (verdict.accepted, verdict.correction)
        if isinstance(verdict.correction, (int, np.integer)) and block in masses:
            masses[block] += mass
        else:
            assert_verdict(verdict, tree, len(root.target))
            masses[tuple(map(int, verdict.accepted)), int(verdict.correction)] = mass
    return masses


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


def assert_verdict(verdict: Verdict, tree: Container[Context], vocab_size: int) -> None:
    """Raise `InvalidVerifier` unless the accepted node is in the tree and the correction is a token."""
    if verdict.accepted not in tree:
        raise Fails(f"accepted {short_repr(verdict.accepted)}, which is no node of the draft tree")
    if not (isinstance(verdict.correction, (int, np.integer)) and 0 <= verdict.correction < vocab_size):
        raise Fails(f"correction {short_repr(verdict.correction)} is no token; tokens are 0..{vocab_size - 1}")


def assert_function(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    generator: np.random.Generator,
    samples: int = 12,
    most: int | None = MOST_COMPARED_RUNS,
    again: bool = True,
) -> list[Runs]:
    """Raise `InvalidVerifier` unless `verify` gives the same law on the same tree again, in any order.

    Detects state and randomness beside the coin on sampled draft trees. First comes one run on each tree with recorded
    random answers: state that the first run on a tree sets, and no later run changes, shows only against that run. Then
    each tree is enumerated twice in a row, then all trees, where there are several, in reverse order, then the first
    runs are repeated with the same answers. most: runs of an enumeration, None for all. again: whether enumerations are
    repeated; if not, the caller compares them. Returns the runs of each tree.
    """
    coin, watch = _SupportCoin(generator), Watch.of(verifier)
    trees = [scheme.draw(draft, coin) for _ in range(samples)]

    def visit(tree: AttachedTree) -> Runs:
        runs = outcomes(guarded(verifier, tree.root(target, draft), watch=watch), target.arithmetic)
        return [(run.accepted, run.correction, mass) for run, mass in islice(runs, most)]

    def once(seed: int) -> tuple[Context, int, float]:
        answers = _SupportCoin(np.random.default_rng(seed))
        verdict = guarded(verifier, trees[seed].root(target, draft), watch=watch)(answers)
        return verdict.accepted, verdict.correction, answers.ways

    first_runs = list(map(once, range(samples)))
    with failing_on(verifier, target, draft, scheme):
        pairs = [(runs, visit(tree) if again else runs) for tree, runs in zip(trees, map(visit, trees), strict=True)]
    backwards = [visit(tree) for tree in reversed(trees)][::-1] if samples > 1 else [second for _, second in pairs]
    same = all(first == second == third for (first, second), third in zip(pairs, backwards, strict=True))
    if not same or first_runs != list(map(once, range(samples))):
        raise NoFunction(TWO_LAWS)
    return [runs for runs, _ in pairs]


@dataclass(frozen=True)
class EnumerationSize:
    """How much work an enumeration is: draft trees (exact) and runs of the verifier per tree (sampled).

    tried: runs that were made for the estimate.
    """

    trees: int
    runs_per_tree: float
    tried: int = field(default=0, compare=False)

    @property
    def runs(self) -> float:
        """Expected number of runs of the verifier."""
        return float(self.trees) * self.runs_per_tree if self.trees.bit_length() < 1000 else float("inf")


def estimate_size(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    generator: np.random.Generator,
    samples: int = 12,
    cap: int = 500,
    trees: int | None = None,
) -> EnumerationSize:
    """The size of an enumeration, from the runs on `samples` draft trees. trees: how many there are, if that is known.

    On a tree of more than `cap` runs their number is estimated from `cap` random runs: the product of the numbers of
    possible answers at each question has the number of all runs as its mean (Knuth 1975).
    """
    coin, watch = _SupportCoin(generator), Watch.of(verifier)
    runs, tried = 0.0, 0
    for _ in range(samples):
        run = guarded(verifier, scheme.draw(draft, coin).root(target, draft), watch=watch)
        with failing_on(verifier, target, draft, scheme):
            counted = sum(1 for _ in islice(outcomes(run, target.arithmetic), cap + 1))
        estimated = sum(_ways(run, generator) for _ in range(cap)) / cap if counted > cap else 0.0
        runs += max(counted, estimated)
        tried += counted + (cap if counted > cap else 0)
    return EnumerationSize(scheme.count(draft) if trees is None else trees, runs / samples, tried)


def _ways(run: Callable[[Coin], Verdict], generator: np.random.Generator) -> float:
    """In one run with random answers, the product of the numbers of answers that were possible."""
    coin = _SupportCoin(generator)
    run(coin)
    return coin.ways


class _SupportCoin:
    """Chooses uniformly among the possible answers. ways: the product of their numbers."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self.ways = 1.0

    def flip(self, probability: Any) -> bool:
        if not 0 < probability < 1:
            return bool(probability >= 1)
        self.ways *= 2
        return bool(self._generator.random() < 1 / 2)

    def choose(self, weights: Any) -> int:
        possible = [i for i, weight in enumerate(weights) if weight > 0] or [0]  # an enumeration refuses it
        self.ways *= len(possible)
        return int(self._generator.choice(possible))
