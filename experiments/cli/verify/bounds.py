"""Checks of the certificates of `bound`: both bounds are recomputed in rationals, without a solver."""

from collections.abc import Callable, Mapping
from typing import Any

from draftproof.experiments.grid.bounds import between
from draftproof.experiments.shared.output import number_fields
from draftproof.lp_analysis import check_certificate, check_frontier
from draftproof.lp_analysis.certificates import FORMAT, FRONTIER_FORMAT, LONG_RUN_FORMAT
from draftproof.lp_analysis.checker import check_long_run
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance

HOW = "recomputed in rationals without a solver"


def check_bound(fields: dict[str, Any], instance: Instance | None) -> dict[str, Any]:
    """Whether a bound holds, as fields for JSON and lines. instance: the one that it should be about, if given."""
    try:
        lower, upper = check_certificate(fields, instance)
    except InvalidInput as error:
        return {"valid": False, "reason": str(error), "lines": []}
    scheme, size, digest = fields["instance"]["scheme"], fields["instance"]["vocab_size"], fields["digest"]
    intended = None if instance is None or instance.scheme is None else instance.scheme.as_dict()
    numbers = between(lower, upper)
    lines = [HOW, f"{shape_text(scheme)}, V = {size}, rows {digest}"]
    if intended not in (None, scheme):
        lines.append(f"the instance has the scheme {shape_text(intended)}; about that scheme this proves nothing")
    lines.append(
        f"some lossless verifier has block efficiency {numbers['lower_float']:.9f}, "
        f"none has more than {numbers['upper_float']:.9f}"
    )
    lines.append(f"gap {gap_text(numbers['gap_float'])}")
    about = {"scheme": scheme, "instance_scheme": intended, "vocab_size": size, "digest": digest}
    return {"valid": True, **about, **numbers, "lines": lines}


def check_curve(fields: dict[str, Any], instance: Instance | None) -> dict[str, Any]:
    """Whether the points of a frontier hold, as fields for JSON and lines; see `check_bound`."""
    try:
        points = check_frontier(fields, instance)
    except InvalidInput as error:
        return {"valid": False, "reason": str(error), "lines": []}
    lines = [
        f"bias {float(bias):g}: some verifier has {float(lower):.9f} tokens a block, none more than {float(upper):.9f}"
        for bias, lower, upper in points
    ]
    rows = [
        {**number_fields("bias", bias), **number_fields("lower", lower), **number_fields("upper", upper)}
        for bias, lower, upper in points
    ]
    return {"valid": True, "points": rows, "lines": [HOW, *lines]}


def check_run(fields: dict[str, Any], instance: Instance | None) -> dict[str, Any]:
    """Whether the bounds of a long run hold, as fields for JSON and lines."""
    if instance is not None:
        raise InvalidInput("a long run is about the rows in its file, after every state; leave the instance out")
    try:
        lower, upper = check_long_run(fields)
    except InvalidInput as error:
        return {"valid": False, "reason": str(error), "lines": []}
    size, states = len(fields["target"][0]), len(fields["target"])
    numbers = between(lower, upper)
    lines = [
        HOW,
        f"{shape_text(fields['scheme'])}, V = {size}, {states} states",
        f"some lossless verifier has {numbers['lower_float']:.9f} tokens a block in the long run, none has more than "
        f"{numbers['upper_float']:.9f}",
        f"gap {gap_text(numbers['gap_float'])}",
    ]
    about = {"scheme": fields["scheme"], "vocab_size": size, "states": states}
    return {"valid": True, **about, **numbers, "lines": lines}


#: The check of each format.
KINDS: dict[str, Callable[[dict[str, Any], Instance | None], dict[str, Any]]] = {
    FORMAT: check_bound,
    FRONTIER_FORMAT: check_curve,
    LONG_RUN_FORMAT: check_run,
}


def shape_text(scheme: Mapping[str, Any]) -> str:
    """A scheme in words: delayed trees by their numbers, those of a file by their name."""
    if "file" in scheme:
        return str(scheme["name"])
    numbers = ", ".join(f"{key} = {value}" for key, value in scheme.items() if key != "name")
    return numbers if scheme["name"] == "delayed" else f"{scheme['name']} ({numbers})"


def gap_text(value: float) -> str:
    """A gap in two digits."""
    return f"{value:.1e}" if value else "0"
