"""`draftproof bound`: the optimum over all lossless verifiers, root by root, with certificates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from draftproof.experiments.grid.bounds import Bound, Goal, bound_root, expected_seconds
from draftproof.experiments.shared.output import number_fields, write_whole
from draftproof.experiments.shared.progress import bar, duration, remark
from draftproof.lp_analysis import certificate, check_file, cut_bound, dumps
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.protocol import DraftScheme


def bound_all(roots: Sequence[Case], scheme: Delayed, goal: Goal) -> list[Bound]:
    """The bounds at all roots, with a bar; Ctrl-C ends it with those that are done."""
    paths = context_count(roots[0].target.vocab_size, scheme.depth)
    remark(
        f"{len(roots)} program{'s' if len(roots) > 1 else ''} over {paths:,.0f} paths, "
        f"{duration(expected_seconds(roots[0].target.vocab_size, scheme) * len(roots))}"
        + (f", at most {goal.seconds:g} s each" if goal.seconds else "")
    )
    bounds: list[Bound] = []
    with bar("bounds", 10 * len(roots)) as tick:
        try:
            for root in roots:
                bounds.append(bound_root(root, scheme, goal, tick))
        except KeyboardInterrupt:
            remark(f"interrupted after {len(bounds)} of {len(roots)} roots")
    return bounds


def certificate_names(path: str, roots: Sequence[Case]) -> list[str]:
    """One file a root: `path` itself for a single root, numbered before the suffix for several.

    Where roots stand for finer rows, as many more: `-above` is what bounds those from above.
    """
    target, count = Path(path), len(roots)
    ends = ["", "-above"] if roots[0].above else [""]
    numbers = [""] if count == 1 else [f"-{number}" for number in range(1, count + 1)]
    names = [str(target.with_name(f"{target.stem}{end}{number}{target.suffix}")) for end in ends for number in numbers]
    return [path, *names[1:]] if count == 1 else names


def save_certificates(bounds: Sequence[Bound], scheme: Delayed, names: Sequence[str]) -> Sequence[str]:
    """Write the certificate of every root, and of what bounds it from above where that is another; the files written.

    names: of all roots, after them those of the others.
    """
    done = [(bound.root, bound.found, name) for bound, name in zip(bounds, names, strict=False)]
    others = names[len(names) // 2 :]
    done += [
        (bound.root.above, bound.above, name)
        for bound, name in zip(bounds, others, strict=False)
        if bound.above and bound.root.above
    ]
    for case, found, name in done:
        instance = case.rows(scheme.depth)
        write_whole(name, dumps(certificate(instance.target, instance.draft, found)))
    return [name for _, _, name in done]


def listed_fields(roots: Sequence[Case], scheme: DraftScheme) -> dict[str, Any]:
    """The optimum of any scheme, averaged over the roots, by its listed trees; raises `TooLarge` for too many."""
    values = []
    with bar("bounds", len(roots)) as tick:
        for root in roots:
            values.append(cut_bound(root.target, root.draft, scheme).value)
            tick(1)
    mean = sum(float(root.weight) * value for root, value in zip(roots, values, strict=True))
    numbers: dict[str, Any] = {}
    for name in ("optimum", "lower", "upper"):
        numbers |= number_fields(name, mean)
    by_root = [
        {"root": root.name, **number_fields("weight", root.weight), **number_fields("upper", value)}
        for root, value in zip(roots, values, strict=True)
    ]
    how = {"certificate": None, "method": "cuts, float64"}
    return {"scheme": scheme.as_dict(), **numbers, **number_fields("gap", 0.0), **how, "roots": by_root}


def verified(path: str, instance: Instance | None) -> dict[str, Any]:
    """What checking a certificate file gives, as fields. instance: what it should be about, if given."""
    try:
        lower, upper = check_file(path, instance)
    except InvalidInput as error:
        return {"certificate": path, "valid": False, "reason": str(error)}
    stated = parse_json(read_text(path, "certificate"), "certificate")
    meant = None if instance is None or instance.scheme is None else instance.scheme.as_dict()
    return {
        "certificate": path,
        "valid": True,
        "scheme": stated["instance"]["scheme"],
        "instance_scheme": meant,
        "vocab_size": stated["instance"]["vocab_size"],
        "digest": stated["digest"],
        **number_fields("lower", lower),
        **number_fields("upper", upper),
        **number_fields("gap", upper - lower),
    }
