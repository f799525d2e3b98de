"""Checks of the certificates of `bound`: both bounds are recomputed in rationals, without a solver."""

from collections.abc import Callable
from typing import Any

from draftproof.experiments.grid.bounds import between
from draftproof.experiments.shared.output import number_fields
from draftproof.lp_analysis import check_certificate, check_frontier
from draftproof.lp_analysis.certificates import FORMAT, FRONTIER_FORMAT, LONG_RUN_FORMAT
from draftproof.lp_analysis.checker import check_long_run
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.instances.instance import Instance

HOW = "recomputed in rationals without a solver"


def check_bound(fields: dict[str, Any], instance: Instance | None) -> dict[str, Any]:
    """What a bound says, and notes; raises `InvalidInput` where it does not hold. instance: that it must be about."""
    lower, upper = check_certificate(fields, instance)
    scheme = scheme_from_dict(fields["instance"]["scheme"])
    notes = [HOW, "some lossless verifier has the block efficiency attained, none has more than at most"]
    if instance is not None and instance.scheme not in (None, scheme):
        notes.append(f"the instance has the scheme {instance.scheme}; about that scheme this proves nothing")
    about = {"scheme": str(scheme), "vocab_size": fields["instance"]["vocab_size"], "digest": fields["digest"]}
    return {**about, **between(lower, upper), "notes": notes}


def check_curve(fields: dict[str, Any], instance: Instance | None) -> dict[str, Any]:
    """What the points of a frontier say; see `check_bound`."""
    points = check_frontier(fields, instance)
    notes = [
        f"bias {float(bias):g}: some verifier has {float(lower):.9f} tokens a block, none more than {float(upper):.9f}"
        for bias, lower, upper in points
    ]
    rows = [
        {**number_fields("bias", bias), **number_fields("lower", lower), **number_fields("upper", upper)}
        for bias, lower, upper in points
    ]
    return {"points": rows, "notes": [HOW, *notes]}


def check_run(fields: dict[str, Any], instance: Instance | None) -> dict[str, Any]:
    """What the bounds of a long run say, which are about the rows in their file; see `check_bound`."""
    lower, upper = check_long_run(fields)
    about = {"scheme": str(scheme_from_dict(fields["scheme"])), "vocab_size": len(fields["target"][0])}
    notes = [HOW, "tokens a block in the long run: some lossless verifier has those attained, none more than at most"]
    return {**about, "states": len(fields["target"]), **between(lower, upper), "notes": notes}


#: The check of each format.
KINDS: dict[str, Callable[[dict[str, Any], Instance | None], dict[str, Any]]] = {
    FORMAT: check_bound,
    FRONTIER_FORMAT: check_curve,
    LONG_RUN_FORMAT: check_run,
}
