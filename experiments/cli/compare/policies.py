"""Rows of policies in a comparison: a policy chooses the shape of each block, a static action has one for all.

On texts the value of a policy is that of the steady state, each block starting where the last one ended; on models it
is the mean over the roots (the contexts after which blocks start), computed from the rows of the comparison. It is
exact where those rows are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from draftproof.experiments.grid.groups import mean_by_group
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import distinct, markov_pair_of, user_policy
from draftproof.experiments.inputs.sources import Problem, TextProblem
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, from_file
from draftproof.experiments.models.policies.baselines import BASELINES
from draftproof.experiments.models.policies.roots import AT_ROOTS, Choice, RootTable, best_static
from draftproof.experiments.models.policies.values import tables_of, valued_rows
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme

#: The policy that `train-selector` makes, and the default ranges of shapes.
SELECTOR = "selector"
RANGES = {"K": "1..4", "L1": "0..2", "L2": "0..2"}
#: Without times of passes every block takes one unit of time.
UNIT_TIME = TimeModel({1: 0.0, 2: 0.0}, {0: 1.0, 1: 1.0}, open_ended=True)


@dataclass(frozen=True)
class PolicyRequest:
    """The policies to value. folder: of the pair of models, with its selectors."""

    specs: tuple[str, ...]
    problem: Problem
    folder: str | None
    verifiers: tuple[NamedVerifier, ...]
    schemes: tuple[Delayed, ...]
    arithmetic: str
    costs: TimeModel | None

    @property
    def times(self) -> TimeModel:
        """The times in the arithmetic of the rows."""
        return self.time_model.exact() if arithmetic_named(self.arithmetic).exact else self.time_model

    @property
    def time_model(self) -> TimeModel:
        """The given times, or one unit for every block."""
        return self.costs or UNIT_TIME

    @property
    def long_run(self) -> bool:
        """Whether policies are valued in the steady state."""
        return isinstance(self.problem, TextProblem)


def wanted_policies(
    specs: Sequence[str] | None,
    problem: Problem,
    folder: str | None,
    named: Sequence[NamedVerifier],
    schemes: Sequence[DraftScheme],
    arithmetic: str,
    costs: TimeModel | None,
) -> PolicyRequest | None:
    """What `--policy` asks for, None for nothing; raises `InvalidInput`, before the work, for unknown ones."""
    if not specs:
        return None
    if not isinstance(problem, TextProblem) and problem.flag != "--pair":
        raise InvalidInput(
            f"--policy needs sequences of blocks, or roots of models: add --text FILE or --pair FOLDER in "
            f"place of {problem.flag}, or use draftproof policies"
        )
    delayed = [scheme for scheme in schemes if isinstance(scheme, Delayed)]
    if len(delayed) < len(schemes):
        other = next(scheme for scheme in schemes if not isinstance(scheme, Delayed))
        raise InvalidInput(f"--policy chooses among delayed trees, not {other}; leave out --scheme")
    lossless = [item for item in named if _is_declared_lossless(item)]
    if not lossless:
        raise InvalidInput(
            f"{named[0].label} is not declared lossless on delayed trees, so its tokens per time do not count; "
            "leave out --policy or choose another verifier"
        )
    if left := [item.label for item in named if item not in lossless]:
        remark(f"policies need verifiers that are declared lossless on delayed trees; left out: {', '.join(left)}")
    request = PolicyRequest(
        tuple(dict.fromkeys(specs)), problem, folder, tuple(lossless), tuple(distinct(delayed)), arithmetic, costs
    )
    for spec in request.specs:
        _check(spec, request)
    return request


def _is_declared_lossless(named: NamedVerifier) -> bool:
    return "delayed" in lossless_for(named.verifier.card) and not isinstance(named.verifier, Planned)


def _check(spec: str, request: PolicyRequest) -> None:
    if from_file(spec):
        user_policy(spec)
        return
    if spec.endswith(".json") and not request.long_run:
        return
    known = BASELINES if request.long_run else {**AT_ROOTS, SELECTOR: None}
    if spec == SELECTOR and request.long_run:
        raise InvalidInput("--policy selector belongs to a pair of models; add --pair FOLDER")
    if spec == SELECTOR and request.folder is None:
        raise InvalidInput(
            "--policy selector is read from the folder of a pair; name it with --pair, or give its JSON file"
        )
    if spec not in known:
        where = "texts" if request.long_run else "roots of models"
        raise InvalidInput(f"unknown policy {spec!r}; on {where}: {', '.join(known)}, or FILE.py:NAME for your own")
    if request.long_run and BASELINES[spec].learner and arithmetic_named(request.arithmetic).exact:
        raise InvalidInput(f"policy {spec} is fitted in floats; use --arithmetic float64")


def policy_rows(request: PolicyRequest, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a policy and verifier; rows: those of the shapes at the roots of models."""
    result = _long_run(request) if request.long_run else _at_roots(request, rows)
    order = list(request.specs)
    return sorted(result, key=lambda row: order.index(row["policy"]))


def _long_run(request: PolicyRequest) -> list[dict[str, Any]]:
    """Rows on texts: exact values of the states where blocks start."""
    numbers = arithmetic_named(request.arithmetic)
    pair = markov_pair_of(request.problem, numbers)
    policies = [user_policy(spec) if from_file(spec) else BASELINES[spec] for spec in request.specs]
    remark(f"policies: {pair.histories:,} states of {pair.order} tokens, {len(request.schemes)} shapes")
    result = []
    with bar("tables of policies", len(request.verifiers) * len(request.schemes)) as tick:
        for named in request.verifiers:
            with named_errors(f"{named.label}, --policy"):
                tables = tables_of(pair, [named], request.schemes, request.time_model, tick)
                shapes = {
                    str(action): _shape(scheme) for action, scheme in zip(tables.actions, request.schemes, strict=True)
                }
                for row in valued_rows(named.label, tables, policies):
                    shares = {shapes[action]: share for action, share in row["actions"].items()}
                    tokens, time = (row[key] for key in ("block_efficiency", "time"))
                    result.append(
                        {
                            **_fields(request, row["policy"], named, shares, row["tokens_per_time"], time),
                            **number_fields("steady_state", _number(tokens)),
                            "over_static": row["over_static"],
                            "regret": row["regret"],
                            "held_out_regret": row["held_out_regret"],
                        }
                    )
    return result


def _at_roots(request: PolicyRequest, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    by_shape = {(row["verifier"], row["K"], row["L1"], row["L2"]): row for row in rows}
    result = []
    for named in request.verifiers:
        shapes = [by_shape.get((named.label, s.K, s.L1, s.L2)) for s in request.schemes]
        if any(row is None for row in shapes):  # refused on some tree, which a message has said
            remark(f"{named.label} has no row for some shape, so no policy is valued for it")
            continue
        shape_rows = [row for row in shapes if row is not None]
        times = [request.times.time(scheme.as_dict()) for scheme in request.schemes]
        tokens = [[_number(root["block_efficiency"]) for root in row["roots"]] for row in shape_rows]
        weights = [_weight(root["weight"], tokens) for root in shape_rows[0]["roots"]]
        table = RootTable(weights, tokens, times)
        for spec in request.specs:
            with named_errors(f"{named.label}, --policy {spec}"):
                choice = _chosen(spec, request, named, table)
            if choice is not None:
                result.append(_row_at_roots(request, spec, named, table, choice, shape_rows))
    if not result:
        if SELECTOR not in request.specs:
            raise InvalidInput(f"{request.verifiers[0].label} has no row for each shape; choose another verifier")
        raise InvalidInput(
            f"{request.folder} has no selector for {request.verifiers[0].label}; make one: "
            f"draftproof train-selector {request.verifiers[0].label} --pair {request.folder}"
        )
    return result


def _chosen(spec: str, request: PolicyRequest, named: NamedVerifier, table: RootTable) -> Choice | None:
    """The action at every root; None for a verifier without a selector."""
    if spec in AT_ROOTS:
        return AT_ROOTS[spec](table)
    from draftproof.experiments.models.selector import deciding
    from draftproof.experiments.models.selector.saved import selector_path

    problem: Any = request.problem
    setting = (problem.pair, problem.warp, problem.contexts, request.schemes)
    if from_file(spec):
        return deciding.own_choices(user_policy(spec), named, *setting, request.costs)
    path = selector_path(str(request.folder), named.label) if spec == SELECTOR else Path(spec)
    if spec == SELECTOR and not path.exists():
        remark(f"no selector {path}; make one: draftproof train-selector {named.label} --pair {request.folder}")
        return None
    remark(f"{path} was trained on the first 80 % of its text; train-selector prints its gain on the rest")
    choices: Sequence[int] = deciding.selector_choices(path, named.label, *setting)
    return choices


def _row_at_roots(
    request: PolicyRequest,
    spec: str,
    named: NamedVerifier,
    table: RootTable,
    choice: Choice,
    shape_rows: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The mixture of the rows of the chosen shapes, root by root."""
    parts = [shape_rows[action]["roots"][root] for root, action in enumerate(choice)]
    means = [_number(part["block_efficiency"]) for part in parts]
    weights = table.weights
    mean = sum(w * m for w, m in zip(weights, means, strict=True))
    squares = [_number(part["variance"]) + m * m for part, m in zip(parts, means, strict=True)]
    variance = sum(w * s for w, s in zip(weights, squares, strict=True)) - mean * mean
    deepest = max(len(part["depth_distribution"]) for part in parts)
    masses = [part["depth_distribution"] + [0.0] * (deepest - len(part["depth_distribution"])) for part in parts]
    shares: dict[str, float] = {}
    for weight, action in zip(weights, choice, strict=True):
        shape = _shape(request.schemes[action])
        shares[shape] = shares.get(shape, 0.0) + float(weight)
    rate, best = table.rate(choice), table.rate(AT_ROOTS["greedy"](table))
    deviation = max((_number(part["max_deviation"]) for part in parts), key=float)
    groups = getattr(request.problem, "groups", ())  # of prompts
    times = [float(table.times[action]) for action in choice]
    return {
        **_fields(request, spec, named, shares, rate, table.time(choice)),
        **({"groups": mean_by_group(groups, list(map(float, means)), times)} if groups else {}),
        **number_fields("block_efficiency", mean),
        **number_fields("variance", variance),
        "depth_distribution": [
            sum(float(w) * m for w, m in zip(weights, depth_masses, strict=True))
            for depth_masses in zip(*masses, strict=True)
        ],
        "lossless": all(part["lossless"] for part in parts),
        **number_fields("max_deviation", deviation),
        "over_static": float(rate / table.rate(best_static(table)) - 1),
        "regret": float(1 - rate / best),
        "held_out_regret": None,
    }


def _fields(
    request: PolicyRequest, spec: str, named: NamedVerifier, shares: dict[str, float], rate: Any, time: Any
) -> dict[str, Any]:
    """The fields of every row of a policy; those of the law of one block stay empty."""
    one_token_time = request.times.time({"K": 1, "L1": 0, "L2": 0})
    ordered = dict(sorted(shares.items(), key=lambda item: -item[1]))
    timed = {"time": float(_number(time)), "speedup": float(_number(rate) * one_token_time)} if request.costs else {}
    return {
        "kind": "policy",
        "policy": spec,
        "verifier": named.label,
        "shape": spec,
        "control": False,
        "lossless": None,
        "arithmetic": request.arithmetic,
        "over": "the long run" if request.long_run else "the roots",
        "used": len(ordered),
        "actions": ordered,
        **number_fields("block_efficiency", None),
        **number_fields("variance", None),
        **number_fields("max_deviation", None),
        **number_fields("tokens_per_time", _number(rate) if request.costs else None),
        "depth_distribution": [],
        **timed,
    }


def _number(value: Any) -> Any:
    """A number of a row: an exact one is text there."""
    return Fraction(value) if isinstance(value, str) else value


def _weight(value: Any, tokens: Sequence[Sequence[Any]]) -> Any:
    """The weight of a root, exact where the block efficiencies are."""
    return _number(value) if isinstance(tokens[0][0], Fraction) else float(_number(value))


def _shape(scheme: Delayed) -> str:
    return f"{scheme.K}, {scheme.L1}, {scheme.L2}"
