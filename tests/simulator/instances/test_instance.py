"""Instance files: exact both ways, stable digests, and one clear line for every flaw."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import FAMILIES, Delayed, Instance, InvalidInput
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL

GOOD = {
    "vocab_size": 2,
    "depth": 1,
    "target": {"": ["1/3", "2/3"], "0": ["1/4", 0.75], "1": [0, 1]},
    "draft": {"": ["0.5", "1/2"]},
}
TEXT = """\
{
  "vocab_size": 2,
  "depth": 1,
  "target": {
    "": ["1/3", "2/3"],
    "0": ["1/4", "3/4"],
    "1": ["0", "1"]
  },
  "draft": {
    "": ["1/2", "1/2"]
  },
  "scheme": {"name": "delayed", "K": 2, "L1": 0, "L2": 1},
  "about": {"by": "hand"}
}
"""


def text_with(change: Callable[[dict[str, Any]], Any]) -> str:
    fields = json.loads(json.dumps(GOOD))
    change(fields)
    return json.dumps(fields)


def test_file_text_is_the_one_written_by_hand() -> None:
    instance = Instance.loads(TEXT)
    assert instance.dumps() == TEXT
    assert (instance.vocab_size, instance.depth) == (2, 1)
    assert instance.scheme == Delayed(2, 0, 1)
    assert instance.about == {"by": "hand"}


def test_fractions_decimals_and_whole_numbers_are_read_exactly() -> None:
    instance = Instance.loads(json.dumps(GOOD))
    assert instance.as_dict()["target"] == {"": ["1/3", "2/3"], "0": ["1/4", "3/4"], "1": ["0", "1"]}
    assert instance.target.arithmetic is RATIONAL
    tenths = Instance.loads(text_with(lambda f: f["draft"].update({"": [0.1, 0.9]})))
    assert tenths.as_dict()["draft"] == {"": ["1/10", "9/10"]}


@given(
    st.sampled_from(sorted(FAMILIES)),
    st.integers(2, 3),
    st.integers(0, 2),
    st.integers(0, 5),
    st.sampled_from([20, 97]),
)
def test_round_trip_is_exact(family: str, size: int, depth: int, seed: int, denominator: int) -> None:
    instance = FAMILIES[family].instance(size, depth, np.random.default_rng(seed), denominator)
    again = Instance.loads(instance.dumps())
    assert again.as_dict()["target"] == instance.as_dict()["target"]
    assert again.as_dict()["draft"] == instance.as_dict()["draft"]
    assert again.digest() == instance.digest()


def test_digest_depends_on_the_rows_alone_and_never_changes() -> None:
    assert Instance.loads(json.dumps(GOOD)).digest() == Instance.loads(TEXT).digest() == "1ab4071d462f3465"
    other = text_with(lambda f: f["draft"].update({"": ["1/4", "3/4"]}))
    assert Instance.loads(other).digest() != "1ab4071d462f3465"


def test_conversion_cuts_and_rounds_but_never_invents_rows() -> None:
    instance = FAMILIES["dirichlet"].instance(2, 2, np.random.default_rng(0), 20)
    cut = instance.converted(FLOAT64, 1)
    assert (cut.depth, cut.target.arithmetic, cut.about) == (1, FLOAT64, instance.about)
    assert cut.target.row((1,)).tolist() == [float(Fraction(text)) for text in instance.as_dict()["target"]["1"]]
    with pytest.raises(InvalidInput, match="the instance has rows for trees of depth 2, the scheme needs 3"):
        instance.converted(RATIONAL, 3)
