"""Rows of policies in a comparison: a policy chooses the shape of each block, a static action has one for all.

The value of a policy is the mean over the roots (the contexts after which blocks start), computed from the rows of the
comparison. It is exact where those rows are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from draftproof.experiments.cli.compare.planning import Place, Plan
from draftproof.experiments.cli.compare.roots import AT_ROOTS, Choice, RootTable, best_static
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import UserPolicy, is_function, user_policy
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, from_file
from draftproof.experiments.inputs.world_grammar import models_request
from draftproof.experiments.inputs.worlds import TextWorld
from draftproof.experiments.result import number_of
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import named_errors, remark
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.policies.policy import Action, known_at

#: The policy that `model train --kind selector` makes, and the default ranges of shapes.
SELECTOR = "selector"
RANGES = {"K": "1..4", "L1": "0..2", "L2": "0..2"}
#: Without times of passes every block takes one unit of time: drafting takes none, a target pass 1 for any tree.
UNIT_TIME = TimeModel({1: 0.0, 2: 0.0}, {0: 1.0, 1: 1.0}, open_ended=True)


@dataclass(frozen=True)
class PolicyRequest:
    """The policies to value. place: whose roots; folder: of its pair of models, with selectors."""

    specs: Sequence[str]
    place: Place
    folder: str | None
    verifiers: Sequence[NamedVerifier]
    schemes: Sequence[Delayed]
    arithmetic: str
    costs: TimeModel | None

    @property
    def times(self) -> TimeModel:
        """The given times, or one unit for every block, in the arithmetic of the rows."""
        times = self.costs or UNIT_TIME
        return times.exact() if arithmetic_named(self.arithmetic).exact else times


def split(subjects: Any) -> tuple[Any, list[str]]:
    """The verifiers among the subjects of a comparison, None where there are none, and the policies, each once."""
    listed = list(subjects) if isinstance(subjects, (list, tuple)) else [subjects]
    policies = [subject for subject in listed if isinstance(subject, str) and is_policy(subject)]
    verifiers = [subject for subject in listed if subject not in policies]
    return (verifiers or None) if policies else subjects, list(dict.fromkeys(policies))


def is_policy(spec: str) -> bool:
    """Whether a text names a policy rather than a verifier: by name, or as a function in a file."""
    name, _, file = spec.partition(":")
    return spec in AT_ROOTS or (name == SELECTOR and (file != "" or spec == name)) or is_function(spec)


def wanted_policies(specs: Sequence[str], plan: Plan, costs: TimeModel | None) -> PolicyRequest | None:
    """What policies are asked for, None for nothing; raises `InvalidInput`, before the work, for unknown ones."""
    if not specs:
        return None
    place, folder, verifiers = plan.places[0], None, plan.verifiers
    world = place.world
    if world.kind == "models" and place.text is not None:
        folder = models_request(place.text).folder
    if world.kind not in ("text", "models"):
        raise InvalidInput(
            f"the policy {specs[0]} needs the roots of a text or of models: give a world such as text:topics or "
            f"models:FOLDER in place of {world}"
        )
    delayed = [scheme for scheme in plan.schemes if isinstance(scheme, Delayed)]
    if others := [scheme for scheme in plan.schemes if scheme not in delayed]:
        raise InvalidInput(f"the policy {specs[0]} chooses among delayed trees, not {others[0]}; leave out the scheme")
    lossless = [
        item
        for item in verifiers
        if "delayed" in lossless_for(item.verifier.card) and not isinstance(item.verifier, Planned)
    ]
    if not lossless:
        raise InvalidInput(
            f"{verifiers[0].label} is not declared lossless on delayed trees, so its tokens per time do not count; "
            f"leave out the policy {specs[0]} or choose another verifier"
        )
    if left := [item.label for item in verifiers if item not in lossless]:
        remark(f"policies need verifiers that are declared lossless on delayed trees; left out: {', '.join(left)}")
    for spec in specs:
        if spec.partition(":")[0] == SELECTOR and isinstance(world, TextWorld):
            raise InvalidInput(f"policy {spec} belongs to a pair of models; give the world models:FOLDER")
        if spec == SELECTOR and folder is None:
            raise InvalidInput(
                "policy selector is read from the folder of a pair: name it as models:FOLDER, or give selector:FILE"
            )
    return PolicyRequest(specs, place, folder, lossless, delayed, plan.settings.arithmetic, costs)


def policy_rows(request: PolicyRequest, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a policy and verifier; rows: those of the shapes."""
    by_shape = {(row["verifier"], row["K"], row["L1"], row["L2"]): row for row in rows}
    result = []
    for named in request.verifiers:
        shapes = [by_shape.get((named.label, s.K, s.L1, s.L2)) for s in request.schemes]
        if any(row is None for row in shapes):  # refused on some tree, which a message has said
            remark(f"{named.label} has no row for some shape, so no policy is valued for it")
            continue
        shape_rows = [row for row in shapes if row is not None]
        times = [request.times.time(scheme.as_dict()) for scheme in request.schemes]
        tokens = [[number_of(root["block_efficiency"]) for root in row["roots"]] for row in shape_rows]
        weights = [_weight(root["weight"], tokens) for root in shape_rows[0]["roots"]]
        table = RootTable(weights, tokens, times)
        for spec in request.specs:
            with named_errors(f"{named.label}, policy {spec}"):
                choice = _chosen(spec, request, named, table)
            if choice is not None:
                result.append(_row(request, spec, named, table, choice, shape_rows))
    if not result:
        if SELECTOR not in request.specs:
            raise InvalidInput(f"{request.verifiers[0].label} has no row for each shape; choose another verifier")
        raise InvalidInput(
            f"{request.folder} has no selector for {request.verifiers[0].label}; make one: "
            f"draftproof model train --kind selector {request.verifiers[0].label} --world models:{request.folder}"
        )
    return sorted(result, key=lambda row: request.specs.index(row["policy"]))


def _chosen(spec: str, request: PolicyRequest, named: NamedVerifier, table: RootTable) -> Choice | None:
    """The action at every root; None for a verifier without a selector."""
    if spec in AT_ROOTS:
        return AT_ROOTS[spec](table)
    if from_file(spec) and isinstance(request.place.world, TextWorld):
        return _own_choices(user_policy(spec), request, named)
    from draftproof.experiments.models.pair.pair import pair_digest
    from draftproof.experiments.models.selector.features import block_starts, hidden_widths
    from draftproof.experiments.models.selector.file import Use, load_selector, selector_path

    world: Any = request.place.world
    pair, sampling, schemes = world.pair, world.samplings, request.schemes
    if from_file(spec):
        policy, actions = user_policy(spec), [Action(scheme, named.verifier) for scheme in schemes]
        starts = block_starts(pair, world.contexts, sampling, request.costs or UNIT_TIME)
        return [policy.position(start.known, actions) for start in starts]
    path = selector_path(str(request.folder), named.label) if spec == SELECTOR else Path(spec.partition(":")[2])
    if spec == SELECTOR and not path.exists():
        remark(
            f"no selector {path}; make one: "
            f"draftproof model train --kind selector {named.label} --world models:{request.folder}"
        )
        return None
    remark(f"{path} was trained on the first 80 % of its text; model train prints its gain on the rest")
    use = Use(named.label, pair_digest(pair), pair.vocab_size, hidden_widths(pair), sampling)
    selector = load_selector(path, use, schemes)
    starts = block_starts(pair, world.contexts, sampling, selector.times)
    return [schemes.index(selector.actions[selector.network.chosen(start, sampling)]) for start in starts]


def _own_choices(policy: UserPolicy, request: PolicyRequest, named: NamedVerifier) -> Choice:
    """The choices of a user-defined policy at the roots of a text; the rows before the roots are not known there."""
    arithmetic, depth = arithmetic_named(request.arithmetic), max(scheme.depth for scheme in request.schemes)
    actions = [Action(scheme, named.verifier) for scheme in request.schemes]
    roots = [root.converted(arithmetic, depth) for root in request.place.world.cases(depth, arithmetic)]
    return [policy.position(known_at(root.target, root.draft), actions) for root in roots]


def _row(
    request: PolicyRequest,
    spec: str,
    named: NamedVerifier,
    table: RootTable,
    choice: Choice,
    shape_rows: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The mixture of the rows of the chosen shapes, root by root."""
    parts = [shape_rows[action]["roots"][root] for root, action in enumerate(choice)]
    mean = sum(w * number_of(part["block_efficiency"]) for w, part in zip(table.weights, parts, strict=True))
    shares: dict[str, float] = {}
    for weight, action in zip(table.weights, choice, strict=True):
        shape = shape_name(request.schemes[action])
        shares[shape] = shares.get(shape, 0.0) + float(weight)
    rate, timed = table.rate(choice), {}
    if request.costs:
        one_token_time = request.times.time({"K": 1, "L1": 0, "L2": 0})
        timed = {"time": float(table.time(choice)), "speedup": float(rate * one_token_time)}
    return {
        "policy": spec,
        "verifier": named.label,
        "used": len(shares),
        "actions": dict(sorted(shares.items(), key=lambda item: -item[1])),
        **number_fields("block_efficiency", mean),
        **number_fields("tokens_per_time", rate if request.costs else None),
        **timed,
        "over_static": float(rate / table.rate(best_static(table)) - 1),
        "regret": float(1 - rate / table.rate(AT_ROOTS["greedy"](table))),  # greedy: the best choice that there is
    }


def _weight(value: Any, tokens: Sequence[Sequence[Any]]) -> Any:
    """The weight of a root, exact where the block efficiencies are."""
    return number_of(value) if isinstance(tokens[0][0], Fraction) else float(number_of(value))
