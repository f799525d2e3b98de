"""Arrays of random numbers: what numpy does with them, and with random numbers that are its scalars."""

from draftproof.simulator.symbolic.arrays.array_functions import applied, attribute
from draftproof.simulator.symbolic.arrays.arrays import dispatched

__all__ = ["applied", "attribute", "dispatched"]
