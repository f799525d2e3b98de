"""Cases: a pair of processes with a name, its exact rows, and what stands for it in the hash of a row."""

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import MarkovProcess


def made(depth=3, seed=0):
    rows = FAMILIES["dirichlet"].instance(2, depth, np.random.default_rng(seed))
    return Case("seed 0", rows.target, rows.draft)


def test_a_case_has_the_rows_of_its_scheme():
    case = made()
    assert case.on(Delayed(2, 0, 2)).instance.as_dict() == case.rows(2).as_dict()
    assert case.rows(2).depth == 2
    with pytest.raises(InvalidInput, match="case 'seed 0' is meant for no draft scheme"):
        case.instance  # noqa: B018 - asking is the test


def test_identity_is_the_rows_not_the_objects():
    assert made().identity(2, "source") == made().identity(2, "elsewhere")
    assert made().identity(2, "source") != made(seed=1).identity(2, "source")
    assert made(12).identity(12, "source") == ["source", "seed 0", "1"]  # too many rows for a hash


def test_converted_tables_are_cut_and_markov_processes_stay_such():
    floats = made().converted(FLOAT64, 2)
    assert (floats.target.depth, floats.target.arithmetic) == (2, FLOAT64)
    chain = MarkovProcess([["1/2", "1/2"], ["1/4", "3/4"]], (0,))
    again = Case("chain", chain, chain).converted(FLOAT64, 2)
    assert isinstance(again.target, MarkovProcess)
    assert again.target.arithmetic is FLOAT64
