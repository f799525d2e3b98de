"""`rvs` of the distributions in `scipy.stats`: they draw from the recorded global generator of numpy. Needs scipy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.knowledge.session import current
from draftproof.simulator.symbolic.random.numpy_random import GLOBAL_STATE, RecordingGenerator, RecordingState
from draftproof.simulator.symbolic.where import refusal

#: The modules of scipy with distributions that draw.
MODULES = ("scipy.stats._distn_infrastructure", "scipy.stats._multivariate")
_USUAL: Any = getattr(np.random.mtrand, "_rand")  # noqa: B009


def _recorded(self: Any, given: Any) -> Any:
    """The generator for one call: the given one, or that of the distribution, if it is a recorded one."""
    state = getattr(self, "_random_state", None) if given is None or given is np.random else given
    if state is None or state is _USUAL:
        return GLOBAL_STATE
    if not isinstance(state, (RecordingState, RecordingGenerator, int, np.integer)):
        raise refusal(
            "a distribution of scipy.stats draws from a generator that was made before the call",
            "give random_state= with a seed or a generator made in the function",
        )
    return state


def _rvs(original: Any) -> Any:
    def rvs(self: Any, *arguments: Any, **options: Any) -> Any:
        if current() is None:
            return original(self, *arguments, **options)
        options["random_state"] = _recorded(self, options.get("random_state"))
        return original(self, *arguments, **options)

    return rvs


def _random_state(original: Any) -> Any:
    def choose(self: Any, random_state: Any) -> Any:
        return original(self, random_state if current() is None else _recorded(self, random_state))

    return choose


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for scipy's distributions."""
    one, several = (sys.modules[name] for name in MODULES)
    generic, joint = one.rv_generic, several.multi_rv_generic
    return [
        (generic, "rvs", _rvs(generic.rvs)),
        (joint, "_get_random_state", _random_state(joint._get_random_state)),
    ]
