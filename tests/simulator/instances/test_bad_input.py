"""Rows, files, families and texts that do not work are refused with their culprit, in one line."""

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import (
    FAMILIES,
    SCHEMES,
    CallableProcess,
    Instance,
    InvalidInput,
    MarkovProcess,
    TableProcess,
    TextPair,
    TooLarge,
)
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.instances.families import family_named

TEXT = "abracadabra"
NAN, INFINITY = float("nan"), float("inf")


def exact(*rows: Any) -> Any:
    return RATIONAL.vector(list(rows))


UNIFORM = exact(["1/2", "1/2"])
LEVEL = exact(["1/3", "2/3"], ["1/4", "3/4"])
FLOATS = np.full((1, 2), 0.5)
SUM = "not 1; write exact fractions such as '1/3' that sum to 1"
SIGN = "it must be at least 0"


def drawn(name: str, size: int = 3, depth: int = 2, denominator: int = 20, **parameters: Any) -> Instance:
    return FAMILIES[name].instance(size, depth, np.random.default_rng(0), denominator, **parameters)


def called(*row: Any) -> Any:
    return CallableProcess(2, lambda _: exact(*row), "model").row((1,))


def joined(target: Any, draft: Any) -> Instance:
    return Instance(TableProcess(target), TableProcess(draft))


DEEP = [exact(*[[1, 0]] * 2**depth) for depth in range(3)]
WRONG: list[tuple[Callable[..., Any], Any, str]] = [
    (TableProcess, ([], "draft"), "draft has no tables; give at least the row of the empty context"),
    (TableProcess, ([exact("1/2", "1/2")], "draft"), "draft: table 0 has shape (2,); it must be (1, V)"),
    (TableProcess, ([UNIFORM, UNIFORM], "draft"), "draft: table 1 has shape (1, 2); it must be (2, 2)"),
    (TableProcess, ([UNIFORM, FLOATS.repeat(2, 0)],), "table 1 mixes exact and float rows; use one arithmetic for all"),
    (TableProcess, ([exact(["1/2", "1/3"])], "draft"), f"draft row () sums to 5/6, {SUM}"),
    (TableProcess, ([UNIFORM, exact([1, 0], ["-1/2", "3/2"])],), f"row (1,) gives token 0 probability -1/2; {SIGN}"),
    (TableProcess, ([np.array([[NAN, 1.0]])], "draft"), f"draft row () gives token 0 probability nan; {SIGN}"),
    (TableProcess, ([np.array([[0.1, 0.2, 0.7 + 1e-6]])],), "sums to"),
    (TableProcess, ([[[Fraction(1, 2), 0.5]]],), "is not an exact number; write a fraction such as '1/3'"),
    (
        TableProcess([UNIFORM], "target").row, ((0, 1),),
        "target has no row for context (0, 1): its tables end at depth 0; "
        "use a shallower draft tree or give rows to depth 2",
    ),
    (MarkovProcess, (UNIFORM[0], (), "target"), "target: the table has shape (2,); it must be (V**m, V)"),
    (MarkovProcess, (UNIFORM, (0,)), "1 rows do not fit the root context (0,): order 1 at V = 2 needs 2 rows"),
    (MarkovProcess, (LEVEL, (2,), "target"), "target: root context (2,) must hold 1 tokens, each of 0..1"),
    (MarkovProcess, (exact([1, 0], ["1/2", "1/3"]), (0,), "target"), f"target row (1,) sums to 5/6, {SUM}"),
    (called, ("1/2", "1/4", "1/4"), "model row (1,) has shape (3,); it must be (2,)"),
    (joined, ([UNIFORM], [exact([1, 0, 0])]), "target has 2 tokens, draft has 3; they must share a vocabulary"),
    (joined, ([UNIFORM], [FLOATS]), "target and draft mix exact and float rows"),
    (joined, (DEEP, [UNIFORM]), "draft rows end at depth 0; a target of depth 2 needs draft rows to depth 1"),
    (drawn, ("dirichlet", 1), "family dirichlet needs a vocabulary of at least 2 tokens, not 1"),
    (partial(drawn, beta=1.0), ("dirichlet",), "family dirichlet has no parameter 'beta'; its parameters: alpha"),
    *(
        (partial(drawn, alpha=value), ("dirichlet",), f"dirichlet: alpha = {value} must be a finite number of at least")
        for value in (-1.0, INFINITY, NAN)
    ),
    (partial(drawn, alpha=0.0), ("dirichlet",), "family dirichlet: alpha = 0.0 must be positive"),
    (partial(drawn, draft=1e-320), ("temperature",), "logits that float64 cannot hold"),
    (partial(drawn, draft=0), ("temperature",), "family temperature: target = 1.0 and draft = 0 must be positive"),
    (
        drawn, ("dirichlet", 3, 14),
        "tables of depth 14 at V = 3 have more than 4,000,000 rational entries; "
        "the deepest that fit have depth 12, or use a smaller vocabulary",
    ),
    (family_named, ("zipf",), "unknown family 'zipf'; known: dirichlet, "),
    (TextPair, (TEXT, 6, 0, 0), "the text has 5 different symbols, too few for V = 6; choose a smaller vocabulary"),
    (TextPair, (TEXT, 2, 1, 2), "draft order 2 and target order 1: orders must satisfy 0 <= draft <= target"),
    (TextPair, (TEXT, 4, 11, 0), "order 11 at V = 4 means more than 4,000,000 numbers; lower one of them"),
    (TextPair, ("ab", 2, 2, 0), "the text has 2 symbols, too few for order 2"),
    (TextPair(TEXT, 3, 2, 0).root_of, ("a",), "root 'a' has 1 symbols; an order-2 target needs 2"),
    (Instance.load, (Path("none.json"),), "cannot read instance file none.json: No such file or directory"),
    (Instance.loads, ("{", "f.json"), "f.json is not JSON: Expecting property name enclosed in double quotes at"),
    (Instance.loads, ("[]", "f.json"), "an instance must be an object with vocab_size, depth, target and draft"),
    (Instance.loads, ('{"depth": 1, "depth": 2}', "f.json"), "f.json: the key 'depth' stands twice"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "arguments", "message"), WRONG)
def test_what_does_not_work_is_named(call: Callable[..., Any], arguments: Any, message: str) -> None:
    with pytest.raises((InvalidInput, TooLarge)) as caught:
        call(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


MOST = "mean more than 4,000,000 numbers; make it smaller"
WRITE = "write probabilities as '1/3', 0.25 or 1"
#: Fields of a file that take the place of right ones, None for a field that is left out, and what is said of them.
FLAWS: list[tuple[dict[str, Any], str]] = [
    ({"depth": None}, "the key 'depth' is missing"),
    ({"extra": 1}, "unknown key 'extra'; known: vocab_size, depth, target, draft, told, scheme, about, arithmetic"),
    ({"vocab_size": 0}, "vocab_size is 0; it must be a whole number of at least 1"),
    ({"depth": -1}, "depth is -1; it must be a whole number of at least 0"),
    ({"depth": 10**400}, f"vocab_size 2 and depth above 10^12 {MOST}"),
    ({"depth": 30}, f"vocab_size 2 and depth 30 {MOST}"),
    ({"about": "x"}, "about is 'x'; it must be an object"),
    ({"target": []}, "target must be an object from contexts such as '0,1' to rows"),
    ({"target 1": None}, "target has no row for context '1'; give 2 probabilities for it"),
    ({"draft ": None}, "draft has no row for context ''; give 2 probabilities for it"),
    ({"target 2": [0, 1]}, "target has a row for '2', which is no context of at most 1 tokens below 2"),
    ({"target 0": [1]}, "target row '0' is [1]; it must list 2 probabilities"),
    ({"target 0": [True, 0]}, f"target row '0' holds True; {WRITE}"),
    ({"target 0": ["a", 0]}, "target row '0': 'a' is not a number; write a fraction such as '1/3'"),
    ({"draft ": ["1/3", "1/3"]}, f"draft row () sums to 2/3, {SUM}"),
    ({"target 1": ["-1/2", "3/2"]}, f"target row (1,) gives token 0 probability -1/2; {SIGN}"),
    ({"scheme": {"name": "bushy"}}, f"unknown scheme {{'name': 'bushy'}}; known: {', '.join(SCHEMES)}"),
]


@pytest.mark.parametrize(("change", "message"), FLAWS, ids=str)
def test_a_flawed_file_is_named_with_its_culprit(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "vocab_size": 2, "depth": 1,
        "target": {"": ["1/3", "2/3"], "0": ["1/4", 0.75], "1": [0, 1]}, "draft": {"": ["0.5", "1/2"]},
    }  # fmt: skip
    ((key, value),) = change.items()
    side, rowed, context = key.partition(" ")
    place = fields[side] if rowed else fields
    place[context if rowed else key] = value
    if value is None:
        del place[context if rowed else key]
    with pytest.raises(InvalidInput) as caught:
        Instance.loads(json.dumps(fields), "file.json")
    assert str(caught.value) == f"file.json: {message}"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"cannot read instance file .*binary\.json: it is not text"):
        Instance.load(tmp_path / "binary.json")
