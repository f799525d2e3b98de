"""A run on real numbers must also choose with the probabilities that it had with symbols."""

import pytest

from draftproof import InvalidVerifier, assert_lossless
from draftproof.simulator.symbolic import load

SOURCE = """
import random
import typing

def verify(tokens, q, p):
    for i, token in enumerate(tokens):
        u = random.random()
        row = [max(a - b, 0) for a, b in zip(p[i], q[i])] if {test} else p[i]
        if u * q[i][token] >= p[i][token]:
            return i, random.choices(range(len(row)), weights=row)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""
#: What is otherwise for a float than for a symbol.
TESTS = ["hasattr(u, '__index__')", "isinstance(u, typing.SupportsIndex)", "list(map(type, [u])) == [float]"]


@pytest.mark.parametrize("test", [*TESTS, *(f"not ({test})" for test in TESTS)])
def test_code_that_tells_symbols_from_floats_before_it_chooses_is_refused(tmp_path, test):
    path = tmp_path / "theirs.py"
    path.write_text(SOURCE.format(test=test))
    with pytest.raises(InvalidVerifier, match=r"something else with real random numbers .*\(theirs\.py:[78]\)"):
        assert_lossless(load(path, "verify"), interface="chain")
