"""Functions that sort rows get an instance with many tokens; imported modules are followed as the file is."""

import sys

import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.function import assert_function_lossless
from draftproof.simulator.symbolic import load

RULES = """
def accept(u, ratio):
    return float(u) < ratio
"""
SOURCE = """
import random
import numpy as np
from NEIGHBOUR import accept

def pick(weights):
    level, total = random.random() * sum(weights), 0
    for place, weight in enumerate(weights):
        total += weight
        if level < total:
            return place
    return place

def verify(tokens, q, p):
    for i, token in enumerate(tokens):
        if accept(random.random(), min(1, p[i][token] / q[i][token])):
            continue
        residual = np.maximum(np.array(p[i]) - q[i], 0)
        order = ORDER
        return [*tokens[:i], int(order[pick(residual[order].tolist())])]
    return [*tokens, pick(p[len(tokens)])]
"""


@pytest.fixture(name="written")
def _written(tmp_path):
    name = f"rules_of_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(RULES)

    def write(order):
        file = tmp_path / "theirs.py"
        file.write_text(SOURCE.replace("ORDER", order).replace("NEIGHBOUR", name))
        return load(file, "verify")

    yield write
    sys.modules.pop(name, None)


@pytest.mark.heavy
def test_a_function_that_cuts_a_row_is_refuted_where_there_are_many_tokens(written):
    cut = written("np.argsort(-residual)[:2]")
    assert_function_lossless(cut, cases=["three_tokens", "short"], interface="chain")  # too few tokens to show it
    with pytest.raises(AssertionError, match="seven tokens"):
        assert_function_lossless(cut, interface="chain")
    assert_function_lossless(written("np.argsort(-residual)"), interface="chain")


def test_only_functions_that_sort_get_that_case(written):
    def names(order):
        audited = make_audit(written(order), "chain").audited
        return [case.name for case in default_cases(audited.interface, sorts=audited.sorts)]

    assert "many_tokens" in names("np.argsort(-residual)")
    assert "many_tokens" not in names("np.arange(len(residual))")


def test_a_module_that_the_file_imports_is_followed_and_unchanged_outside(written):
    function = written("np.arange(len(residual))")
    assert function.__globals__["accept"](0.25, 0.5) is True
    assert_function_lossless(function, cases=["three_tokens"], interface="chain")
