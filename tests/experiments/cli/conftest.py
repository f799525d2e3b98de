"""An audit of a source, as the command makes it."""

import pytest

#: Drawing and the residual, before every source.
DRAW = """
import random

def draw(row):
    return random.choices(range(len(row)), weights=row)[0]

def rest(p, q):
    return [max(a - b, 0) for a, b in zip(p, q)]
"""


@pytest.fixture
def audit(draftproof, tmp_path):
    """`audit(source, name, *options)`: the command on a function of a file with that source."""

    def run(source, name, *options):
        file = tmp_path / "theirs.py"
        file.write_text(DRAW + source)
        return draftproof("audit", f"{file}:{name}", *options)

    return run
