"""Certificates: an instance, a scheme, both bounds and their proof, in a file that is checked without a solver.

File format (JSON): `instance` (rows and draft scheme, as in instance files), `digest` (hash of the rows), `prices`
(for depths `1..L`, one number a node), `weights` and `limits` of nodes where there are any (for depths `0..L`),
`plan` (`weights`, `orders`), and `lower`, `upper`, `gap`. Orders rank the paths below each trunk; those of schemes
whose trees are listed rank all contexts that can be leaves, numbered with the deepest first. A frontier has `points`
instead: `bias`, `lower`, `upper`, `price`, `shortfalls` (one a path), `plan`, `reach` and `corrections` (one a node, by
depth). A long run has the rows of the `target` and the `draft` in every state, the last `order` tokens, its `scheme` of
some `depth`, the `potentials` of the states and for each of them one of `blocks`: `prices`, `plan` and `limits` where
there are any. All numbers are exact, as text. `checker` recomputes
everything from the rows.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

from draftproof.lp_analysis.checker import check_frontier
from draftproof.lp_analysis.frontier_points import FrontierPoint
from draftproof.lp_analysis.nodes import reach, worth
from draftproof.lp_analysis.orders import Plan, mixed_law
from draftproof.lp_analysis.potentials import LongRun
from draftproof.lp_analysis.prices import price_bound
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solve import Optimum
from draftproof.simulator.arithmetic import RATIONAL, as_python, to_fmpq
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.exact import ProcessLike, exact_instance
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

FORMAT, FRONTIER_FORMAT = "draftproof bound 1", "draftproof frontier 1"
LONG_RUN_FORMAT = "draftproof long run 1"
#: The longest text of a probability that the reader of instance files accepts.
LONGEST_TEXT = 4000


def certificate(target: ProcessLike, draft: ProcessLike, bounds: Optimum) -> dict[str, Any]:
    """The certificate of an optimum as plain data; the target needs rows to depth `L`.

    Raises `InvalidInput` if the bounds are about another instance, and for user-defined schemes.
    """
    plan = bounds.plan
    _assert_named(plan.scheme)
    rows = _exact_rows(target, draft, plan.scheme.depth)
    problem = BoundProblem.of(rows.target, rows.draft, plan.scheme, bounds.weights)
    limits = None if bounds.limits is None else [RATIONAL.vector(values) for values in bounds.limits]
    lower = worth(reach(mixed_law(plan, problem), problem.target, limits), problem.weights)
    prices = [RATIONAL.vector(values) for values in bounds.prices]
    upper = price_bound(prices, problem)
    if (lower, upper) != (to_fmpq(bounds.lower), to_fmpq(bounds.upper)):
        raise InvalidInput(
            f"bounds near {float(bounds.lower)} and {float(bounds.upper)} belong to another instance; "
            f"this one gives {float(as_python(lower))} and {float(as_python(upper))}"
        )
    return {
        "format": FORMAT,
        "instance": Instance(rows.target, rows.draft, plan.scheme).as_dict(),
        "digest": rows.digest(),
        "prices": [_texts(values) for values in prices[1:]],
        **_attained(bounds),
        **dict(zip(("lower", "upper", "gap"), _texts([lower, upper, upper - lower]), strict=True)),
    }


def _assert_named(scheme: DraftScheme) -> None:
    """Raise `InvalidInput` for a scheme that no file can hold."""
    if isinstance(scheme, UserScheme):
        raise InvalidInput(f"a certificate holds its scheme, and {scheme} is defined elsewhere; its bounds stand alone")


def _attained(bounds: Optimum) -> dict[str, Any]:
    """The plan of a lower bound, with the weights and the limits, where there are any."""
    given = {"weights": bounds.weights, "limits": bounds.limits}
    more = {key: [_texts(own) for own in levels] for key, levels in given.items() if levels is not None}
    return {"plan": _plan(bounds.plan), **more}


def frontier_certificate(
    target: ProcessLike, draft: ProcessLike, scheme: DraftScheme, points: Sequence[FrontierPoint]
) -> dict[str, Any]:
    """The certificate of points of a frontier as plain data; the target needs rows to depth `L`.

    Raises `InvalidInput` if the points are about another instance, and for user-defined schemes.
    """
    _assert_named(scheme)
    rows = _exact_rows(target, draft, scheme.depth)
    fields = {
        "format": FRONTIER_FORMAT,
        "instance": Instance(rows.target, rows.draft, scheme).as_dict(),
        "digest": rows.digest(),
        "points": [_point(point) for point in points],
    }
    check_frontier(fields)
    return fields


def long_run_certificate(bounds: LongRun) -> dict[str, Any]:
    """The certificate of a long run as plain data. Raises `InvalidInput` for user-defined schemes."""
    _assert_named(bounds.scheme)
    blocks = []
    for optimum in bounds.optima:
        proof = _attained(optimum)
        proof.pop("weights")  # they follow from the potentials
        blocks.append({"prices": [_texts(level) for level in optimum.prices[1:]], **proof})
    source = bounds.source
    return {
        "format": LONG_RUN_FORMAT,
        "order": source.order,
        "depth": bounds.scheme.depth,
        "target": [_texts(row) for row in source.target],
        "draft": [_texts(row) for row in source.draft],
        "scheme": bounds.scheme.as_dict(),
        "potentials": _texts(bounds.potentials),
        "blocks": blocks,
        **dict(zip(("lower", "upper", "gap"), _texts([bounds.lower, bounds.upper, bounds.gap]), strict=True)),
    }


def _point(point: FrontierPoint) -> dict[str, Any]:
    proof = point.verified_by
    numbers = dict(zip(("bias", "lower", "upper", "price"), _texts(point.to_dict().values()), strict=True))
    return {
        **numbers,
        "shortfalls": _texts(proof.shortfalls),
        "plan": _plan(proof.plan),
        "reach": [_texts(level) for level in proof.reach],
        "corrections": [_texts(level) for level in proof.corrections],
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {"weights": _texts(plan.weights), "orders": [[list(part) for part in order] for order in plan.orders]}


def _exact_rows(target: ProcessLike, draft: ProcessLike, depth: int) -> Instance:
    """The rows for trees of this depth; raises `InvalidInput` for rows that the reader of files would refuse."""
    rows = exact_instance(target, draft, depth)
    for name, process in (("target", rows.target), ("draft", rows.draft)):
        for value in chain.from_iterable(table.flat for table in process.tables):
            if len(str(value)) > LONGEST_TEXT:
                raise InvalidInput(
                    f"{name} rows hold a fraction of {len(str(value)):,} characters; instance files take at most "
                    f"{LONGEST_TEXT:,}: round the rows with draftproof.simulator.rationalise"
                )
    return rows


def _texts(values: Any) -> list[str]:
    """Fractions as text; flint, unlike Python, does not limit the digits of whole numbers."""
    return [str(to_fmpq(value)) for value in values]


def dumps(fields: dict[str, Any]) -> str:
    """The text of a certificate file, one line a key."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
