"""Symbolic randomness: every random number of somebody else's function, followed exactly.

A random number stays a symbol until the code decides something with it; then the coin is asked with the exact
probability of the answer. Nothing is ever sampled: what cannot be followed exactly is refused, with its line.
"""

from simulator.intercept.call import intercepted
from simulator.intercept.events import BoundaryEvent, Reuse
from simulator.intercept.loading import load
from simulator.intercept.result import concrete
from simulator.intercept.session import Session

__all__ = ["BoundaryEvent", "Reuse", "Session", "concrete", "intercepted", "load"]
