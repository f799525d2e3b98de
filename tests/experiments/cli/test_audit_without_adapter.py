"""`draftproof audit` on functions that need no adapter: read out of their file, with lambdas and a bare self."""

import pytest

SOURCE = """
import random
import a_package_of_nobody

class Verifier(a_package_of_nobody.Module):
    def residual(self, p, q):
        return [max(a - self.weight * b, 0) for a, b in zip(p, q)]

    def verify(self, tokens, q, p, transform):
        for i, token in enumerate(tokens):
            if random.random() * q[i][token] >= p[i][token]:
                row = self.residual(p[i], q[i])
                return i, random.choices(range(len(row)), weights=transform(row))[0]
        return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""


@pytest.fixture
def theirs(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(SOURCE)
    return f"{path}:Verifier.verify"


@pytest.mark.heavy
@pytest.mark.parametrize(("weight", "code"), [("1", 0), ("0", 1)])
def test_a_method_out_of_a_file_that_cannot_be_imported(draftproof, theirs, weight, code):
    options = ("--interface", "chain", "--argument", "transform=lambda row: row", "--argument", f"self.weight={weight}")
    ran = draftproof("audit", theirs, *options, "--cases", "context,zeros,three_tokens")
    assert ran.code == code
    assert "called as Verifier.verify(tokens, q, p, transform=lambda row: row), rows as python float64" in ran.out
    assert "was taken out of theirs.py by its source" in ran.out
    assert "self is bare: weight is given" in " ".join(ran.out.split())
    if code:
        assert "--argument 'transform=lambda row: row' --argument self.weight=0" in " ".join(ran.out.split())
        assert "hypothesis: the correction after a rejection is drawn from p" in ran.out


@pytest.mark.heavy
def test_what_is_not_given_is_one_line_with_the_way_out(draftproof, theirs):
    ran = draftproof("audit", theirs, "--interface", "chain", "--argument", "transform=lambda row: row")
    assert ran.code == 2
    assert "self.weight is not known" in ran.err
    assert "give self.weight=VALUE" in ran.err


ENGINE = """
import numpy as np

class Engine:
    def verify(self, tokens, q, p):
        for i, token in enumerate(tokens):
            if self.rng.random() * q[i, token] >= p[i, token]:
                row = np.maximum(p[i] - q[i], 0)
                return i, self.rng.choice(len(row), p=row / row.sum())
        return len(tokens), self.rng.choice(len(p[-1]), p=p[-1])
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("given", ["numpy.random.default_rng(3)", "np.random.RandomState(3)"])
def test_a_generator_among_the_arguments_is_followed(draftproof, tmp_path, given):
    path = tmp_path / "engine.py"
    path.write_text(ENGINE)
    options = ("--interface", "chain", "--library", "numpy", "--cases", "context")
    ran = draftproof("audit", f"{path}:Engine.verify", *options, "--argument", f"self.rng={given}")
    assert ran.code == 0, ran.err
