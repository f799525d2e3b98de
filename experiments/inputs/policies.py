"""Policies from files, the delayed trees that policies choose from, and the Markov pair of a source of instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from draftproof.experiments.inputs.sources import FamilyProblem, FileProblem, Problem, TextProblem
from draftproof.experiments.inputs.verifiers import loaded, parse_range
from draftproof.simulator.arithmetic import RATIONAL, Arithmetic
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.policies.markov_pair import MarkovPair
from draftproof.simulator.policies.policy import Action, Known, Policy


@dataclass(frozen=True)
class UserPolicy:
    """A policy from a file: `function(known, actions)` returns one of the actions."""

    name: str
    function: Callable[[Known, Sequence[Action]], Action]

    def bound(self, actions: Sequence[Action]) -> Policy:
        """The policy that chooses from these actions."""

        def policy(known: Known) -> Action:
            return self.function(known, actions)

        policy.__name__ = self.name
        return policy


def user_policy(spec: str) -> UserPolicy:
    """The policy `FILE.py:NAME`; raises `InvalidInput` for anything else."""
    function, parameters = loaded(spec, "policy")
    if parameters or not callable(function) or isinstance(function, type):
        raise InvalidInput(f"{spec} is no policy; give a function of what is known and the list of actions")
    return UserPolicy(spec, function)


def shapes_of(K: str, L1: str, L2: str, most: int | None = None) -> list[Delayed]:
    """`shapes` of ranges as text, such as 2 or 1..4; raises `InvalidInput` naming the flag."""
    return shapes({name: parse_range(text, f"--{name}") for name, text in (("K", K), ("L1", L1), ("L2", L2))}, most)


def shapes(ranges: Mapping[str, Sequence[int]], most: int | None) -> list[Delayed]:
    """The delayed trees of the ranges with at most `most` tokens, each once; see `distinct`."""
    sizes = product(ranges["K"], ranges["L1"], ranges["L2"])
    schemes = [Delayed(K, L1, L2) for K, L1, L2 in sizes if K == 1 or L2]
    small = distinct([scheme for scheme in schemes if most is None or scheme.nodes <= most])
    if not small:
        raise InvalidInput("there is no shape of so few tokens; raise --max-nodes or take K = 1")
    return small


def distinct(schemes: Iterable[Delayed]) -> list[Delayed]:
    """Each tree once: schemes of a single path of the same length are one tree, whatever their L1."""
    trees: dict[tuple[int, int, int], Delayed] = {}
    for scheme in schemes:
        trees.setdefault((1, 0, scheme.depth) if scheme.K == 1 else (scheme.K, scheme.L1, scheme.L2), scheme)
    return list(trees.values())


#: The most states of a Markov pair whose states include one token more, for rows at the previous token.
MOST_STATES = 1_024


def markov_pair_of(problem: Problem, arithmetic: Arithmetic) -> MarkovPair:
    """The Markov pair of a source of instances, in this arithmetic.

    A text gives its n-gram chains. A member of a family becomes a chain of order 1, an instance file of depth `d` one
    of order `d - 1`: its rows after the longest contexts that both processes have. Where there are few states, each
    also includes the token before.
    """
    if isinstance(problem, TextProblem):
        case = problem.roots(1, RATIONAL)[0]
        if not (isinstance(case.target, MarkovProcess) and isinstance(case.draft, MarkovProcess)):
            raise InvalidInput(f"{problem}: rows that depend on the whole text have no recurring states")
        target, draft = case.target, case.draft
    elif not isinstance(problem, (FileProblem, FamilyProblem)):
        raise InvalidInput(f"{problem} has no recurring states; use --text or --family in place of {problem.flag}")
    else:
        depth = max(problem.instance.depth, 1) if isinstance(problem, FileProblem) else 2
        case = problem.roots(depth, RATIONAL)[0]
        sides = (("target", case.target), ("draft", case.draft))
        target, draft = (_chain(side, name, depth - 1) for name, side in sides)
    pair = target.converted(arithmetic, "target"), draft.converted(arithmetic, "draft")
    longest = max(target.order, draft.order)
    return MarkovPair.of(*pair, previous=target.vocab_size ** (longest + 1) <= MOST_STATES)


def _chain(process: Any, name: str, order: int) -> MarkovProcess:
    return MarkovProcess(process.tables[order], (0,) * order, name)
