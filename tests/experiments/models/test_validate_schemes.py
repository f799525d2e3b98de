"""The validation of a pair on draft schemes of every kind."""

from dataclasses import replace
from typing import Any

import pytest

from draftproof.experiments.grid.store import Store
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import planned_scheme
from draftproof.experiments.models.loop.setting import setting
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.validate import run
from draftproof.experiments.models.validate.cells import Effort
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.drafts import DySpec, Eagle2, Sequoia, SpecHub, lossless_for
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.test_validate import validation_of

OTHERS = (DySpec(2), Eagle2(2, 2, 3), SpecHub(1), Sequoia(2, 2))
PLAYERS = ("nss", "traversal", "spechub", "sequoia")


@pytest.fixture(scope="module")
def contexts(tiny_pair: Pair) -> Contexts:
    return run.contexts_of(validation_of(tiny_pair))


@pytest.mark.heavy
def test_a_verifier_that_runs_in_place_of_another_is_found_on_other_schemes(
    tiny_pair: Pair, contexts: Contexts
) -> None:
    validation = validation_of(tiny_pair, names=("traversal", "nss"), traversal="naive")
    validation = replace(validation, schemes=OTHERS[:2], effort=Effort(blocks=3000))
    rows = run.cell_rows(validation, contexts, Store(None))
    failed = run.table_fields(rows)["failed"]
    assert failed == [{"verifier": "traversal (runs naive)", "shape": "dyspec(nodes=2)"}]


def test_deep_trees_are_sampled_beside_shallow_ones_from_tables(tiny_pair: Pair) -> None:
    validation = validation_of(tiny_pair, names=("nss",))
    validation = replace(validation, schemes=(Delayed(1, 0, 1), DySpec(8)), effort=Effort(blocks=60))
    assert validation.depth == 1
    contexts = run.contexts_of(validation)
    rows = run.cell_rows(validation, contexts, Store(None))
    assert [row["prediction"] for row in rows] == ["exact", "60 sampled trees"]
    assert all(abs(row["z"]) < 4 for row in rows)


def test_a_plan_for_large_vocabularies_is_made_on_the_most_probable_tokens(random_pair: Any) -> None:
    made = setting(random_pair(vocab=300), Sampling(), [(1, 2, 3)], seed=0)
    contexts = Contexts(made.pair, made.sampling, made.roots)
    scheme, said = planned_scheme(Sequoia(3, 2), contexts)
    assert isinstance(scheme, Sequoia)
    assert sum(scheme.tree) == 3
    assert said.endswith("planned from acceptances on tables of the 35 most probable tokens of 1 roots")
    given = Sequoia(3, 2, (2, 1, 0, 0))
    assert planned_scheme(given, contexts) == (given, "")
    with pytest.raises(InvalidInput, match="no tree can be planned"):
        planned_scheme(Sequoia(30, 30), contexts)


def test_verifiers_that_claim_nothing_here_are_refused(tiny_pair: Pair) -> None:
    with pytest.raises(InvalidInput, match=r"the cards of specinfer claim none of eagle2"):
        replace(validation_of(tiny_pair, names=("specinfer",)), schemes=OTHERS[1:2])


@pytest.mark.heavy
def test_many_pairs_of_scheme_and_verifier_are_as_predicted(tiny_pair: Pair) -> None:
    names = (*PLAYERS, "rejection_without_replacement", "block")
    validation = validation_of(tiny_pair, roots=4, names=names)
    validation = replace(validation, schemes=OTHERS, effort=Effort())
    contexts = run.contexts_of(validation)
    validation, _ = run.with_plans(validation, contexts)
    table = run.table_fields(run.cell_rows(validation, contexts, Store(None)))
    claimed = [scheme for name in names for scheme in OTHERS if scheme.name in lossless_for(make(name).card)]
    assert table["cells"] == len(claimed) > 10
    assert table["passed"]
