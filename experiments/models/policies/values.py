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
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.optimal import best_static, policy_iteration
from draftproof.simulator.policies.policy import Action, ByState, Policy
from draftproof.simulator.policies.several import SeveralBlocks, several_blocks
from draftproof.simulator.policies.value import Value, value
from draftproof.simulator.protocol import DraftScheme, Progress


def tables_of(
    world: MarkovPair, named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], times: TimeModel, tick: Progress
) -> Tables:
    """What each verifier does on each shape; raises `InvalidInput` for one that does not claim to be lossless there."""
    actions = []
    for each, scheme in product(named, schemes):
        card = each.verifier.card
        if scheme.name not in lossless_for(card):
            raise InvalidInput(
                f"{each.label} does not claim to be lossless on {scheme}, so its tokens per time do not count; "
                "leave it out"
            )
        actions.append(Action(scheme, each.verifier))
    model = times.exact() if world.arithmetic.exact else times
    return world.tables(actions, lambda action: model.time(action.scheme.as_dict()), tick)


@dataclass(frozen=True)
class Judged:
    """A policy in a world. found: None for one that is refuted. held_out: the rate where no state was seen in fitting.

    checked: its first blocks.
    """

    name: str
    found: Value | None
    choice: Any
    held_out: float | None = None
    checked: SeveralBlocks | None = None


def judged(tables: Tables, policies: Sequence[Baseline | UserPolicy], overhead: float, blocks: int) -> list[Judged]:
    """Every policy, valued exactly. overhead: time a block for all that look at anything. blocks: that are checked.

    A policy of one's own that takes other actions than those given cannot be valued; it is checked first.
    """
    X = state_scalars(tables.pair) if any(isinstance(each, Baseline) and each.learner for each in policies) else None
    return [_judged(tables, each, X, overhead, blocks) for each in policies]


def _judged(tables: Tables, policy: Baseline | UserPolicy, X: Any, overhead: float, blocks: int) -> Judged:
    world = tables.pair
    spent = 0 if policy.name == "static" else Fraction(repr(overhead))
    if isinstance(policy, UserPolicy):
        checked = first_blocks(world, policy.bound(tables.actions), blocks)
        if checked is not None and not checked.lossless:
            return Judged(policy.name, None, (), None, checked)
        choice = world.choices(policy.bound(tables.actions), tables.actions)
        return Judged(policy.name, value(tables, choice, policy.name, spent), choice, None, checked)
    choice, unseen = choices(policy, tables, X)
    held_out = None if unseen is None else float(value(tables, unseen, policy.name, spent).rate)
    table = ByState(tables.actions, tuple(map(int, choice)), world.vocab_size, world.window, policy.name)
    checked = first_blocks(world, table, blocks)
    return Judged(policy.name, value(tables, choice, policy.name, spent), choice, held_out, checked)


def first_blocks(world: MarkovPair, policy: Policy, blocks: int) -> SeveralBlocks | None:
    """The first blocks from the world's first state, exactly in its arithmetic; None where none are asked for."""
    if blocks == 0:
        return None
    target, draft = world.processes(0)
    before = (0,) * (world.window - world.order)
    return several_blocks(policy, target, draft, blocks, world.arithmetic.name, start=before)


def row(name: str, tables: Tables, each: Judged, static: Any, best: Any) -> dict[str, Any]:
    """A policy as programs read it: rates, what it gains over the best static action and loses to the best policy."""
    found, checked = each.found, each.checked
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
    """The share of the blocks that each action takes, the largest first."""
    shares: dict[str, float] = {}
    for state, position in enumerate(choice):
        action = str(tables.actions[position])
        shares[action] = shares.get(action, 0.0) + float(found.starts[state])
    return {action: share for action, share in sorted(shares.items(), key=lambda item: -item[1]) if share > 0}


def valued_rows(
    name: str, tables: Tables, policies: Sequence[Baseline | UserPolicy], overhead: float = 0.0, blocks: int = 0
) -> list[dict[str, Any]]:
    """One row a policy."""
    static, best = value(tables, best_static(tables)).rate, value(tables, policy_iteration(tables).choice).rate
    return [row(name, tables, each, static, best) for each in judged(tables, policies, overhead, blocks)]
