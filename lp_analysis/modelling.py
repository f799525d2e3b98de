"""The modelling language of the reference programs (cvxpy)."""

from typing import Any

from draftproof.simulator.errors import InvalidInput


def modelling() -> Any:
    """The package cvxpy; raises `InvalidInput` where it is not installed."""
    try:
        import cvxpy  # noqa: PLC0415 - slow to import, and only the reference programs need it
    except ImportError:
        raise InvalidInput("the reference programs need cvxpy: pip install 'draftproof[reference]'") from None
    return cvxpy
