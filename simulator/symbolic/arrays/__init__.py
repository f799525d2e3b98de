"""Arrays of random numbers: what numpy does with them, registered with the numbers when this package is imported."""

from draftproof.simulator.symbolic.arrays import array_functions as _registered  # noqa: F401
