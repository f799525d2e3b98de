"""Symbolic execution of randomised code: every random number that an audited function draws is a symbol.

When the code compares a symbol, the coin is asked with the exact probability of the answer, so that all runs can be
enumerated. Nothing is sampled. An operation without an exact rule is refused with its line.
"""

from draftproof.simulator.symbolic.call import intercepted
from draftproof.simulator.symbolic.decide.region import AS_IT_IS, BoundaryEvent, Reuse, Settings
from draftproof.simulator.symbolic.decide.session import Session
from draftproof.simulator.symbolic.loading.locating import LocatedFunction, function_in_module, locate_function
from draftproof.simulator.symbolic.result import concrete
from draftproof.simulator.symbolic.sources.arguments import ArgumentCoins
from draftproof.simulator.symbolic.where import NotFollowed

__all__ = [
    "AS_IT_IS",
    "ArgumentCoins",
    "BoundaryEvent",
    "LocatedFunction",
    "NotFollowed",
    "Reuse",
    "Session",
    "Settings",
    "concrete",
    "function_in_module",
    "intercepted",
    "locate_function",
]
