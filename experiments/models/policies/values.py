"""Policies of a Markov pair, each valued exactly with every verifier, as rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import UserPolicy
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.policies.baselines import Baseline, choices
from draftproof.experiments.models.policies.fitted import state_scalars
from draftproof.experiments.shared.output import number_fields
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.optimal import best_static, policy_iteration
from draftproof.simulator.policies.policy import Action, ByState, Policy
from draftproof.simulator.policies.several import SeveralBlocks, several_blocks
from draftproof.simulator.policies.value import Value, value
from draftproof.simulator.protocol import DraftScheme, Progress


def actions_of(named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme]) -> list[Action]:
    """Every verifier on every scheme on which it declares that it is lossless; delayed trees must be among them.

    Raises `InvalidInput` for a verifier that does not declare it for delayed trees.
    """
    actions = []
    for each, scheme in product(named, schemes):
        if scheme.name in lossless_for(each.verifier.card):
            actions.append(Action(scheme, each.verifier))
        elif isinstance(scheme, Delayed):
            raise InvalidInput(
                f"{each.label} does not claim to be lossless on {scheme}, so its tokens per time do not count; "
                "leave it out"
            )
    return actions


def tables_of(
    world: MarkovPair, named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], times: TimeModel, tick: Progress
) -> Tables:
    """The tables of `actions_of`."""
    actions = actions_of(named, schemes)
    model = times.exact() if world.arithmetic.exact else times
    return world.tables(actions, lambda action: model.time(action.scheme.as_dict()), tick)


@dataclass(frozen=True)
class ValuedPolicy:
    """A policy and its exact value on a Markov pair.

    value: None for a policy that is not lossless. held_out: the rate where each state's action comes from a fit without
    the state. checked: the exact check of its first blocks.
    """

    name: str
    value: Value | None
    choice: Any
    held_out: float | None = None
    checked: SeveralBlocks | None = None


def valued_policies(
    tables: Tables, policies: Sequence[Baseline | UserPolicy], overhead: float, blocks: int
) -> list[ValuedPolicy]:
    """Every policy with its exact value.

    overhead: time a block of choosing, for all policies but the static one. blocks: how many first blocks are checked.
    A user-defined policy is checked before it is valued, since one that is not lossless has no value.
    """
    X = state_scalars(tables.pair) if any(isinstance(each, Baseline) and each.learner for each in policies) else None
    return [_valued_policy(tables, each, X, overhead, blocks) for each in policies]


def _valued_policy(tables: Tables, policy: Baseline | UserPolicy, X: Any, overhead: float, blocks: int) -> ValuedPolicy:
    world = tables.pair
    spent = 0 if policy.name == "static" else Fraction(repr(overhead))
    if isinstance(policy, UserPolicy):
        checked = first_blocks(world, policy.bound(tables.actions), blocks)
        if checked is not None and not checked.lossless:
            return ValuedPolicy(policy.name, None, (), None, checked)
        choice = world.choices(policy.bound(tables.actions), tables.actions)
        return ValuedPolicy(policy.name, value(tables, choice, policy.name, spent), choice, None, checked)
    choice, unseen = choices(policy, tables, X)
    held_out = None if unseen is None else float(value(tables, unseen, policy.name, spent).rate)
    table = ByState(tables.actions, tuple(map(int, choice)), world.vocab_size, world.window, policy.name)
    checked = first_blocks(world, table, blocks)
    return ValuedPolicy(policy.name, value(tables, choice, policy.name, spent), choice, held_out, checked)


def first_blocks(world: MarkovPair, policy: Policy, blocks: int) -> SeveralBlocks | None:
    """The exact law of the first blocks from the first state of the pair; None for `blocks` = 0."""
    if blocks == 0:
        return None
    target, draft = world.processes(0)
    before = (0,) * (world.window - world.order)
    return several_blocks(policy, target, draft, blocks, world.arithmetic.name, start=before)


def row(name: str, tables: Tables, each: ValuedPolicy, static: Any, best: Any) -> dict[str, Any]:
    """A policy as a row: rates, gain over the best static action, regret against the best policy."""
    found, checked = each.value, each.checked
    return {
        "verifier": name,
        "policy": each.name,
        **number_fields("tokens_per_time", None if found is None else found.rate),
        **number_fields("block_efficiency", None if found is None else found.tokens),
        **number_fields("time", None if found is None else found.time),
        "over_static": None if found is None else float(found.rate / static - 1),
        "regret": None if found is None else float(1 - found.rate / best),
        "held_out": each.held_out,
        "held_out_regret": None if each.held_out is None else 1 - each.held_out / float(best),
        "used": None if found is None else found.used,
        "actions": None if found is None else _shares(tables, each.choice, found),
        "blocks_checked": None if checked is None else checked.blocks,
        "lossless": None if checked is None else checked.lossless,
        "violation": None if checked is None or checked.violation is None else str(checked.violation),
    }


def _shares(tables: Tables, choice: Any, found: Value) -> dict[str, float]:
    """The share of blocks with each action, the largest first."""
    shares: dict[str, float] = {}
    for state, position in enumerate(choice):
        action = str(tables.actions[position])
        shares[action] = shares.get(action, 0.0) + float(found.starts[state])
    return {action: share for action, share in sorted(shares.items(), key=lambda item: -item[1]) if share > 0}


def valued_rows(
    name: str, tables: Tables, policies: Sequence[Baseline | UserPolicy], overhead: float = 0.0, blocks: int = 0
) -> list[dict[str, Any]]:
    """One row for every policy."""
    static, best = value(tables, best_static(tables)).rate, value(tables, policy_iteration(tables).choice).rate
    return [row(name, tables, each, static, best) for each in valued_policies(tables, policies, overhead, blocks)]
