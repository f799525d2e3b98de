"""Instance files: exact both ways, stable digests, and one clear line for every flaw."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import FAMILIES, SCHEMES, Delayed, Instance, InvalidInput, TableProcess
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


def test_about_comes_back_as_it_was() -> None:
    about = {"family": "dirichlet", "alpha": 1.5, "denominator": 20, "words": ["é", None, True]}
    rows = Instance.loads(TEXT)
    instance = Instance(rows.target, rows.draft, about=about)
    assert Instance.loads(instance.dumps()).about == about
    assert Instance.loads(instance.dumps()).dumps() == instance.dumps()


def test_save_and_load_go_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    Instance.loads(TEXT).save(path)
    assert path.read_text(encoding="utf-8") == TEXT
    assert Instance.load(path).dumps() == TEXT


def test_digest_depends_on_the_rows_alone_and_never_changes() -> None:
    assert Instance.loads(json.dumps(GOOD)).digest() == Instance.loads(TEXT).digest() == "1ab4071d462f3465"
    other = text_with(lambda f: f["draft"].update({"": ["1/4", "3/4"]}))
    assert Instance.loads(other).digest() != "1ab4071d462f3465"


def test_draft_rows_at_full_depth_may_be_given_and_are_dropped() -> None:
    given_too = text_with(lambda f: f["draft"].update({"0": [0, 1], "1": [1, 0]}))
    assert Instance.loads(given_too).digest() == Instance.loads(TEXT).digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("depth"), "the key 'depth' is missing"),
        (
            lambda f: f.update(extra=1),
            "unknown key 'extra'; known: vocab_size, depth, target, draft, told, scheme, about, arithmetic",
        ),
        (lambda f: f.update(vocab_size=0), "vocab_size is 0; it must be a whole number of at least 1"),
        (lambda f: f.update(vocab_size=True), "vocab_size is True; it must be a whole number of at least 1"),
        (lambda f: f.update(vocab_size=2.0), "vocab_size is '2.0'; it must be a whole number of at least 1"),
        (lambda f: f.update(depth=-1), "depth is -1; it must be a whole number of at least 0"),
        (lambda f: f.update(depth="1"), "depth is '1'; it must be a whole number of at least 0"),
        (
            lambda f: f.update(depth=10**400),
            "vocab_size 2 and depth above 10^12 mean more than 4,000,000 numbers; make it smaller",
        ),
        (
            lambda f: f.update(vocab_size=10**400),
            "vocab_size above 10^12 and depth 1 mean more than 4,000,000 numbers; make it smaller",
        ),
        (lambda f: f.update(depth=30), "vocab_size 2 and depth 30 mean more than 4,000,000 numbers; make it smaller"),
        (lambda f: f.update(about="x"), "about is 'x'; it must be an object"),
        (lambda f: f.update(target=[]), "target must be an object from contexts such as '0,1' to rows"),
        (lambda f: f["target"].pop("1"), "target has no row for context '1'; give 2 probabilities for it"),
        (lambda f: f["draft"].pop(""), "draft has no row for context ''; give 2 probabilities for it"),
        (
            lambda f: f["target"].update({"2": [0, 1]}),
            "target has a row for '2', which is no context of at most 1 tokens below 2",
        ),
        (
            lambda f: f["draft"].update({"0,1": [0, 1]}),
            "draft has a row for '0,1', which is no context of at most 1 tokens below 2",
        ),
        (lambda f: f["target"].update({"0": [1]}), "target row '0' is [1]; it must list 2 probabilities"),
        (lambda f: f["target"].update({"0": "ab"}), "target row '0' is 'ab'; it must list 2 probabilities"),
        (
            lambda f: f["target"].update({"0": [True, 0]}),
            "target row '0' holds True; write probabilities as '1/3', 0.25 or 1",
        ),
        (
            lambda f: f["target"].update({"0": [float("nan"), 0]}),
            "target row '0' holds nan; write probabilities as '1/3', 0.25 or 1",
        ),
        (
            lambda f: f["target"].update({"0": ["a", 0]}),
            "target row '0': 'a' is not a number; write a fraction such as '1/3'",
        ),
        (
            lambda f: f["draft"].update({"": ["1/3", "1/3"]}),
            "draft row () sums to 2/3, not 1; write exact fractions such as '1/3' that sum to 1",
        ),
        (
            lambda f: f["target"].update({"1": ["-1/2", "3/2"]}),
            "target row (1,) gives token 0 probability -1/2; it must be at least 0",
        ),
        (
            lambda f: f.update(scheme={"name": "bushy"}),
            f"unknown scheme {{'name': 'bushy'}}; known: {', '.join(SCHEMES)}",
        ),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)
def test_flawed_instance_is_refused_with_its_source_and_culprit(change: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Instance.loads(text_with(change), "file.json")
    assert str(caught.value) == f"file.json: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "file.json is not JSON: Expecting property name enclosed in double quotes at line 1"),
        ("[]", "file.json: an instance must be an object with vocab_size, depth, target and draft"),
        ('{"depth": 1, "depth": 2}', "file.json: the key 'depth' stands twice"),
        (TEXT.replace('"1":', '"0":'), "file.json: the key '0' stands twice"),
    ],
    ids=["syntax", "list", "twice", "context twice"],
)
def test_text_that_is_no_instance_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Instance.loads(text, "file.json")
    assert str(caught.value) == message


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read instance file .*none\.json: No such file or directory"):
        Instance.load(tmp_path / "none.json")
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"cannot read instance file .*binary\.json: it is not text"):
        Instance.load(binary)


def test_processes_that_do_not_fit_each_other_are_refused() -> None:
    two, three = (TableProcess([RATIONAL.vector([[1] + [0] * (size - 1)])]) for size in (2, 3))
    with pytest.raises(InvalidInput, match="target has 2 tokens, draft has 3; they must share a vocabulary"):
        Instance(two, three)
    with pytest.raises(InvalidInput, match="target and draft mix exact and float rows"):
        Instance(two, TableProcess([np.array([[0.5, 0.5]])]))
    deep = TableProcess([RATIONAL.vector([[1, 0]] * 2**depth) for depth in range(3)])
    with pytest.raises(
        InvalidInput, match="draft rows end at depth 0; a target of depth 2 needs draft rows to depth 1"
    ):
        Instance(deep, two)


def test_conversion_cuts_and_rounds_but_never_invents_rows() -> None:
    instance = FAMILIES["dirichlet"].instance(2, 2, np.random.default_rng(0), 20)
    cut = instance.converted(FLOAT64, 1)
    assert (cut.depth, cut.target.arithmetic, cut.about) == (1, FLOAT64, instance.about)
    assert cut.target.row((1,)).tolist() == [float(Fraction(text)) for text in instance.as_dict()["target"]["1"]]
    with pytest.raises(InvalidInput, match="the instance has rows for trees of depth 2, the scheme needs 3"):
        instance.converted(RATIONAL, 3)
