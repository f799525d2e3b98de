"""Predictions of `validate` on pairs that differ in depth and in how texts begin: within three standard errors."""

from collections.abc import Callable

import pytest

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.pair.opened import Opened
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.validate import run
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.test_stopwatch import CORPUS, NAMES, pair_named

SCHEMES = (Delayed(1, 0, 2), Delayed(3, 0, 2), Delayed(2, 1, 1))


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_within_three_standard_errors(
    name: str, tiny_pair: Pair, random_pair: Callable[..., Pair]
) -> None:
    pair = pair_named(name, tiny_pair, random_pair)
    opened = Opened(pair, CORPUS, None, None)
    named = [find_verifier(each) for each in ("naive", "specinfer", "traversal")]
    amount = run.Amount(roots=4, blocks=4000)
    validation = run.make_validation(opened, named, {}, SCHEMES, Sampling(), amount, 0, "numpy")
    assert all(root[: len(pair.begins)] == pair.begins for root in validation.setting.roots)
    assert bool(pair.begins) == (name == "beginning")
    tables = run.tables_of(validation)
    rows = run.cell_rows(validation, tables, Store(None))
    table = run.table_fields(rows)
    print(f"{name}: {len(rows)} cells, largest |z| {table['largest_z']:.2f}, {table['largest_error']:.4f} at most")
    assert len(rows) == len(named) * len(SCHEMES)
    assert table["passed"]
    assert table["largest_z"] <= 3
    assert 0 < table["largest_error"] < 0.03
