"""Worlds of the map of trees that come from a trained pair: its own rows, taken to a temperature."""

import numpy as np
import pytest

from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.pair import opened
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.studies.map_instances import TEMPERATURES, trained_instances
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

SIZE = 8  # of the small pair


@pytest.fixture
def corpus(monkeypatch, tiny_pair, tiny_recipe):
    """The text of the small pair, which is a part of the embedded one."""
    monkeypatch.setattr(opened, "load_wanted", lambda wanted: opened.Opened(tiny_pair, tiny_recipe.corpus))
    return tiny_recipe.corpus


def test_rows_are_those_of_the_models_at_the_temperature(corpus, tiny_folder, tiny_pair):
    instances = list(trained_instances(str(tiny_folder), SIZE, 2, 2))
    assert [(case.value, case.temperature) for case in instances] == [(n, t) for n in (0, 1) for t in TEMPERATURES]
    assert len({str(case.about) for case in instances}) == len(instances)
    roots = roots_of(tiny_pair.encode(corpus.held_out), 2)
    for case in instances:
        found = case.instance().converted(FLOAT64, 2)
        target, draft = pair_tables(tiny_pair, Sampling(case.temperature), roots[int(case.value)], 2)
        for mine, theirs in zip(found.target.tables, target.tables, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-4)  # multiples of 2^-16, and float32 logits
        np.testing.assert_allclose(found.draft.tables[1], draft.tables[1], atol=1e-4)


def test_a_pair_of_another_size_is_one_line(corpus, tiny_folder):
    with pytest.raises(InvalidInput, match="has 8 tokens, the instances of the map 3; draftproof train --vocab 3"):
        list(trained_instances(str(tiny_folder), 3, 2, 1))
