"""Exact numbers that claims hold against one another, beside block efficiencies and certified bounds.

Each is a function of the instance, the draft scheme and the text behind `NAME:` in the ledger. Where a claim is about
several roots (strings), it is a tuple.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from draftproof.experiments.claims import branches, formulas, growth, long_run, lossy, noise, paths, strings
from draftproof.experiments.claims.runs import efficiency
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.vectors import minimum

Quantity = Callable[[Instance, DraftScheme, str], Any]


def formula(instance: Instance, scheme: DraftScheme, name: str) -> Any:
    """1 plus a closed form of `formulas` for the acceptance rate of one step, with as many drafts as the scheme has."""
    drafts = scheme.as_dict().get("K", 2)
    return 1 + as_python(getattr(formulas, name)(instance.target.row(()), instance.draft.row(()), drafts))


def times_block(instance: Instance, scheme: DraftScheme, more: str) -> Any:
    """1 plus `K + more` times what block verification accepts."""
    return 1 + (scheme.as_dict()["K"] + int(more)) * (efficiency("block", instance, scheme) - 1)


def mean_accuracies(instance: Instance, scheme: DraftScheme, contexts: str) -> Any:
    """1 plus the sum over depths of the products of acceptance rates, each a mean over contexts.

    contexts: `accepted`, those of drafts that were accepted so far; else those that the target writes.
    """
    total, product, masses = Fraction(1), Fraction(1), np.array([1], dtype=object)
    for p, q in zip(instance.target.tables, instance.draft.tables[: scheme.depth], strict=False):
        both = minimum(p, q)
        product *= Fraction(as_python((masses * both.sum(axis=1)).sum() / (masses.sum() or 1)))
        total, masses = total + product, (masses[:, None] * (both if contexts == "accepted" else p)).reshape(-1)
    return total


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        "formula": formula,
        "times_block": times_block,
        "L": lambda instance, scheme, _: scheme.depth,
        "L(L+1)/2": lambda instance, scheme, _: Fraction(scheme.depth * (scheme.depth + 1), 2),
        "mean_accuracies": mean_accuracies,
        "price": lossy.price,
        "beside_mixture": lossy.beside_mixture,
        "beyond_divergence": lossy.beyond_divergence,
        "estimate": paths.estimate,
        "hits": paths.hits,
        "over_budget": paths.over_budget,
        "kseq_tests": paths.kseq_tests,
        "slots": growth.slots,
        "drafted_mass": growth.drafted_mass,
        "largest_mass": growth.largest_mass,
        "accepted_of_tree": growth.accepted_of_tree,
        "different_trees": growth.different_trees,
        "outputs_differ": noise.outputs_differ,
        "long_run": long_run.tokens,
        "long_run_bound": long_run.at_most,
        "by_sets": branches.by_sets,
        "optima_equal": branches.optima_equal,
        "drafted_alike": branches.drafted_alike,
        "string_lossy": strings.lossy,
        "string_tokens": strings.tokens,
        "string_accepted": strings.accepted,
        "string_formula": strings.formula,
    }
)
