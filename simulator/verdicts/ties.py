"""Whether a float64 result depends on rounding: a verifier that ranks tokens by `p/q` is discontinuous at ties.

Where some tokens nearly tie, the target is perturbed slightly in two directions, so that they rank one way and then the
other. If the distribution of accepted depths changes by more than the rows, rounding may have decided it. Tokens with
equal rows, and tokens with `p = q`, tie in floats whenever they tie in rationals, so they are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.protocol import TokenProcess
from draftproof.simulator.tables import TableProcess

#: Quotients nearly tie where their relative difference is at most this.
NEAR = 2.0**-32
#: Quotients of float rows with at most this relative difference may be equal in rationals.
ROUNDED = 2.0**-48
#: Rows that are sorted in one call.
_CHUNK = 2**16

#: Probabilities of the accepted depths.
Depths: TypeAlias = list[Fraction | float]


def rounding_decides(
    tau_law: Depths,
    depths: Callable[[TokenProcess], Depths],
    target: TokenProcess,
    draft: TokenProcess,
    ties_tested: bool,
) -> bool:
    """Whether the distribution of accepted depths depends on how rounding ranks nearly tied tokens.

    target, draft: both Markov, or both tables, in float64. tau_law: the distribution of the accepted depth on them;
    depths: computes it for another target. ties_tested: whether the verifier is known to rank tokens whose quotients
    tie in rationals the same way in float64.
    """
    ties = [differ for rows in _rows(target, draft) if (differ := _some_differ(*rows)) is not None]
    if not ties or (ties_tested and not any(ties)):
        return False
    step = 2 * (NEAR if any(ties) else ROUNDED)
    laws = tau_law, depths(_moved(target, step)), depths(_moved(target, -step))
    # Without a jump the distribution changes about as much as the rows, at every depth by at most some ten times.
    allowed = FLOAT64.tolerance + 10 * len(tau_law) ** 2 * target.vocab_size * step
    return any(max(masses) - min(masses) > allowed for masses in zip(*laws, strict=True))


def _moved(target: TokenProcess, step: float) -> TokenProcess:
    """The target with more mass on later tokens, on earlier ones for a negative step."""
    factors = 1 + step * np.arange(target.vocab_size)
    if isinstance(target, MarkovProcess):
        return MarkovProcess(_scaled(target.states, factors), target.root, target.name)
    assert isinstance(target, TableProcess)
    return TableProcess([_scaled(table, factors) for table in target.tables], target.name)


def _scaled(table: Any, factors: Any) -> Any:
    scaled = table * factors
    return scaled / scaled.sum(axis=1, keepdims=True)


def _rows(target: TokenProcess, draft: TokenProcess) -> Iterator[tuple[Any, Any, Any]]:
    """Rows of target and draft, shape `(n, V)`, and the exact rows of both, or None where there are none."""
    if isinstance(target, MarkovProcess) and isinstance(draft, MarkovProcess):
        states = np.arange(target.vocab_size ** max(target.order, draft.order))
        p, q = (process.states[states % len(process.states)] for process in (target, draft))
        known = [process.exact for process in (target, draft)]
        yield p, q, None if known[0] is None or known[1] is None else [rows[states % len(rows)] for rows in known]
        return
    assert isinstance(target, TableProcess)
    assert isinstance(draft, TableProcess)
    for depth, (p, q) in enumerate(zip(target.tables, draft.tables, strict=False)):
        exact = None if target.exact is None or draft.exact is None else (target.exact[depth], draft.exact[depth])
        for start in range(0, len(p), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield p[part], q[part], exact and [rows[part] for rows in exact]


def _some_differ(p: Any, q: Any, exact: Any) -> bool | None:
    """Whether some nearly tied quotients are different numbers; None where no quotients nearly tie."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where((p > 0) & (q > 0), p / q, np.nan)
    order = ratio.argsort(axis=1)
    ranked = np.take_along_axis(ratio, order, axis=1)
    gaps = ranked[:, 1:] - ranked[:, :-1]
    rows, places = np.nonzero(gaps <= NEAR * ranked[:, 1:])
    one, other = (rows, order[rows, places]), (rows, order[rows, places + 1])
    alike = (p[one] == p[other]) & (q[one] == q[other]) | (p[one] == q[one]) & (p[other] == q[other])
    if alike.all():
        return None
    if exact is None:
        return bool((gaps[rows, places] > ROUNDED * ranked[rows, places])[~alike].any())
    one, other = ((rows[~alike], tokens[~alike]) for rows, tokens in (one, other))
    return bool((exact[0][one] * exact[1][other] != exact[0][other] * exact[1][one]).any())
