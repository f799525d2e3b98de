"""What policies work on: policies of a file, the shapes to choose from, and the Markov pair of a source."""

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
class Own:
    """A policy of one's own: `function(known, actions)` returns one of the actions."""

    name: str
    function: Callable[[Known, Sequence[Action]], Action]

    def bound(self, actions: Sequence[Action]) -> Policy:
        """The policy with these actions."""

        def policy(known: Known) -> Action:
            return self.function(known, actions)

        policy.__name__ = self.name
        return policy


def own_policy(spec: str) -> Own:
    """The policy `FILE.py:NAME`; raises `InvalidInput` for what is none."""
    function, parameters = loaded(spec, "policy")
    if parameters or not callable(function) or isinstance(function, type):
        raise InvalidInput(f"{spec} is no policy; give a function of what is known and the list of actions")
    return Own(spec, function)


def shapes_of(K: str, L1: str, L2: str, most: int | None = None) -> list[Delayed]:
    """`shapes` of ranges as text, such as 2 or 1..4; raises `InvalidInput` naming the flag."""
    return shapes({name: parse_range(text, f"--{name}") for name, text in (("K", K), ("L1", L1), ("L2", L2))}, most)


def shapes(ranges: Mapping[str, Sequence[int]], most: int | None) -> list[Delayed]:
    """The delayed trees of the ranges with at most so many tokens; one path once, whatever part of it is the trunk."""
    sizes = product(ranges["K"], ranges["L1"], ranges["L2"])
    schemes = [Delayed(K, L1, L2) for K, L1, L2 in sizes if K == 1 or L2]
    found = distinct([scheme for scheme in schemes if most is None or scheme.nodes <= most])
    if not found:
        raise InvalidInput("there is no shape of so few tokens; raise --max-nodes or take K = 1")
    return found


def distinct(schemes: Iterable[Delayed]) -> list[Delayed]:
    """Each tree once: of one path, whatever part of it is the trunk, the first."""
    found: dict[tuple[int, int, int], Delayed] = {}
    for scheme in schemes:
        found.setdefault((1, 0, scheme.depth) if scheme.K == 1 else (scheme.K, scheme.L1, scheme.L2), scheme)
    return list(found.values())


#: States up to which one more token is told, for the rows at the previous token.
MOST_STATES = 1_024


def world_of(problem: Problem, arithmetic: Arithmetic) -> MarkovPair:
    """The world of a problem, in this arithmetic: the chains of a text; rows after one token, or of a file, as a chain.

    A member of a family becomes a chain of order 1, an instance file of depth `d` one of order `d - 1`: the rows after
    the longest contexts that both processes have. Where states are few they tell the rows at the previous token, too.
    """
    if isinstance(problem, TextProblem):
        case = problem.roots(1, RATIONAL)[0]
        if not (isinstance(case.target, MarkovProcess) and isinstance(case.draft, MarkovProcess)):
            raise InvalidInput(f"{problem}: rows that depend on the whole text have no states that come again")
        target, draft = case.target, case.draft
    elif not isinstance(problem, (FileProblem, FamilyProblem)):
        raise InvalidInput(
            f"{problem} has no states that come again; use --text or --family in place of {problem.flag}"
        )
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
