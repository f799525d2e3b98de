"""From what commands work on to worlds in which decoding goes on for ever."""

from __future__ import annotations

from typing import Any

from draftproof.experiments.inputs.sampled import tempered
from draftproof.experiments.inputs.sources import FamilyProblem, FileProblem, Problem, TextProblem
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, arithmetic_of
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import MarkovProcess, rationalise
from draftproof.simulator.policies.markov_pair import MarkovPair

#: States up to which one more token is told, for the rows at the previous token.
MOST_STATES = 1_024


def world_of(problem: Problem, arithmetic: Arithmetic) -> MarkovPair:
    """The world of a problem, in this arithmetic: the chains of a text; rows after one token, or of a file, as a chain.

    A member of a family becomes a chain of order 1, an instance file of depth `d` one of order `d - 1`: the rows after
    the longest contexts that both processes have. Where states are few they tell the rows at the previous token, too.
    """
    if isinstance(problem, TextProblem):
        context = problem.pair.frequent_roots(1)[0][0]
        target, draft = problem.pair.processes(context)
    elif not isinstance(problem, (FileProblem, FamilyProblem)):
        models = "; draftproof compare --policy values policies at the roots of models" * (problem.flag == "--pair")
        raise InvalidInput(
            f"{problem} has no states that come again; use --text or --family in place of {problem.flag}{models}"
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


def at_temperature(process: MarkovProcess, temperature: float, denominator: int = 2**16) -> MarkovProcess:
    """The process with its rows taken to the power `1/temperature`, as multiples of one over `denominator`."""
    if temperature == 1:
        return process
    floats = tempered(FLOAT64.vector(process.states), temperature)
    return MarkovProcess(rationalise(floats, denominator, arithmetic_of(process.states)), process.root, process.name)
