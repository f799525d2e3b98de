"""What tells a followed random number from a real one: answered as of a real one, or refused with its line.

Every row is a test that is true of real numbers. A verifier that is wrong where it is true is never lossless, and one
that is wrong where it is false is never refuted.
"""

import gc
from dataclasses import make_dataclass
from functools import partial

import pytest

from draftproof.simulator import CallableProcess, Delayed, assert_lossless
from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.symbolic.replay import last_common_line
from tests.modules import load

HEAD = """
import abc, array, bisect, collections, copy, ctypes, datetime, decimal, fractions, functools, json, math, numbers
import operator, os, pickle, random, secrets, statistics, struct, subprocess, sys, threading, time, types, uuid
import numpy as np

@functools.singledispatch
def kind(x):
    return "other"

@kind.register(float)
def _(x):
    return "float"

@functools.lru_cache
def cached(x):
    return x

def matched(x):
    match x:
        case float():
            return True
    return False

def tried(function, *others):
    try:
        function()
    except others or Exception:
        return False
    return True

class Bare:
    pass
"""
VERIFY = """
def verify(tokens, q, p):
    for i, token in enumerate(tokens):
        u = DRAW
        real = bool(TEST)
        if real == WRONG:
            u = u / 2
        if u * q[i][token] >= p[i][token]:
            excess = [max(a - b, 0) for a, b in zip(p[i], q[i])]
            return i, random.choices(range(len(excess)), weights=excess)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""

#: Tests of one float of Python, called u.
OF_FLOATS = (
    "isinstance(u, float)", "isinstance(u, (int, float))", "isinstance(u, numbers.Real)", "not isinstance(u, int)",
    "isinstance(u, numbers.Number)", "isinstance(u, float | int)", "issubclass(type(u), float)", "type(u) is float",
    "type(u) in (int, float)", "type(u) == float", "type(u).__name__ == 'float'", "u.__class__ is float",
    "u.__class__.__name__ == 'float'", "{float: 1}.get(type(u), 0)", "list(map(type, [u]))[0] is float",
    "type(u).__mro__[0] is float", "type(u) is type(0.5)", "not isinstance(u, type(None))", "matched(u)",
    "kind(u) == 'float'", "np.isscalar(u)", "np.issubdtype(type(u), np.floating)", "not hasattr(u, 'item')",
    "not hasattr(u, 'dtype')", "not hasattr(u, '__array__')", "hasattr(u, 'hex')", "hasattr(u, 'is_integer')",
    "hasattr(u, 'real')", "hasattr(u, 'as_integer_ratio')", "not hasattr(u, 'variable')", "not hasattr(u, 'shift')",
    "not hasattr(u, 'log')", "not hasattr(u, '__array_ufunc__')", "not hasattr(u, '__index__')",
    "getattr(u, 'imag', 1) == 0", "u.real == u", "u.imag == 0", "u.conjugate() == u", "not callable(u)",
    "not isinstance(u, collections.abc.Sized)", "isinstance(u, collections.abc.Hashable)", "'real' in dir(u)",
    "len(repr(u)) != 15", "not str(u).startswith('<')", "'random' not in format(u)", "f'{u}'[0] != '<'",
    "len(f'{u:.3f}') == 5", "'<' not in '%s' % u", "len('%.3f' % u) == 5", "len('{:.3f}'.format(u)) == 5",
    "float(str(u)) == u", "'<' not in f'{u!r}'", "tried(lambda: float(repr(u)))", "json.dumps(u)[0] != '<'",
    "tried(lambda: json.dumps(u))", "tried(lambda: json.dumps([u]), TypeError)", "tried(lambda: '%f' % u)",
    "tried(lambda: pickle.dumps(u))", "copy.deepcopy(u) == u", "copy.copy(u) == u", "tried(lambda: hash(u))",
    "hash(u) == hash(u)", "tried(lambda: {u: 1})", "u in {u}", "u in [u]", "cached(u) == u", "tried(lambda: set([u]))",
    "tried(lambda: struct.pack('d', u))", "tried(lambda: array.array('d', [u]))", "tried(lambda: ctypes.c_double(u))",
    "tried(lambda: u.hex())", "float.fromhex(float.hex(u)) == u", "tried(lambda: float.hex(u), TypeError)",
    "tried(lambda: float.__add__(u, 1.0))", "tried(lambda: float.__repr__(u))", "tried(lambda: u.as_integer_ratio())",
    "tried(lambda: decimal.Decimal(u))", "tried(lambda: fractions.Fraction(u))", "fractions.Fraction(u) == u",
    "tried(lambda: statistics.mean([u, u]))", "tried(lambda: statistics.fmean([u, u]))", "sum([u, u]) >= u",
    "tried(lambda: math.fsum([u, u]))", "math.floor(u) == 0", "math.ceil(u) == 1", "math.trunc(u) == 0",
    "int(u) == 0", "round(u) in (0, 1)", "divmod(u, 1)[0] == 0", "u == u", "not u != u", "not math.isnan(u)",
    "bool(u)", "(u and 1) == 1", "sorted([u, 2.0])[1] == 2", "bisect.bisect([0.0, 1.0], u) == 1",
    "np.searchsorted([0.0, 1.0], u) == 1", "np.allclose(u, u)", "not np.isnan(u)", "tried(lambda: 1 // u)",
    "tried(lambda: 1.0 % u)", "tried(lambda: divmod(1.0, u))", "tried(lambda: round(u, 2))", "not u.is_integer()",
    "tried(lambda: complex(u))", "tried(lambda: u + 1j)", "tried(lambda: datetime.timedelta(seconds=u))",
    "tried(lambda: math.sin(u))", "tried(lambda: pow(u, 2))", "tried(lambda: np.float64(u))",
    "tried(lambda: memoryview(array.array('d', [u])))", "tried(lambda: operator.add(u, 1))", "float(u) == u",
    "tried(lambda: time.sleep(u * 0))", "sys.getsizeof(u) == 24", "isinstance(np.asarray(u).item(), float)",
    "np.asarray(u).dtype == np.float64", "np.array([u]).dtype == np.float64", "np.array([u]).dtype.kind == 'f'",
    "np.result_type(u) == np.float64", "np.array([u]).dtype.name == 'float64'", "type(np.array([u])) is np.ndarray",
    "np.array([u]).__class__ is np.ndarray", "not isinstance(u, np.generic)", "not isinstance(u, np.floating)",
    "np.array([u]).tolist()[0].__class__ is float", "np.can_cast(np.array([u]).dtype, np.float64)",
    "np.array([u]).real[0] == u", "'<' not in str(np.array([u]))", "'<' not in f'{np.array([u])}'",
    "np.issubdtype(np.array([u]).dtype, np.floating)", "np.finfo(np.array([u]).dtype).bits == 64",
    "not hasattr(np.array([u]), 'fetches')", "tried(lambda: np.array([u]).tobytes())", "type(u)(0.5) == 0.5",
    "isinstance(abs(u - 0.25), float)", "type(u * 2) is float", "isinstance(max(u, 0.25), float)",
    "isinstance(-u, float)", "isinstance(u ** 2, float)", "isinstance(math.log(u), float)", "id(u) == id(u)",
)  # fmt: skip
#: Tests of one number that stood in an array, called u.
OF_ARRAYS = (
    "isinstance(u, np.float64)", "type(u) is np.float64", "isinstance(u, float)", "hasattr(u, 'item')",
    "isinstance(u, np.generic)", "isinstance(u.item(), float)", "type(u.item()) is float", "type(u) is not float",
    "isinstance(u * 2, np.float64)", "not isinstance(u.item() * 2, np.float64)", "u.dtype == np.float64",
    "isinstance(u.item(), float) and not isinstance(u.item(), np.generic)", "isinstance(u, np.generic)",
    "isinstance(u, np.floating)", "u.__class__ is np.float64", "hasattr(u, 'shape')", "u.ndim == 0",
    "isinstance(u + 1.0, np.floating)", "not hasattr(u.item(), 'dtype')", "isinstance(0.5 * u, np.generic)",
)  # fmt: skip
#: Tests of one number of torch, called u.
OF_TORCH = (
    "isinstance(u.item(), float)", "type(u.item()) is float", "type(u.tolist()) is float", "u.dtype == torch.float64",
    "isinstance(float(u), float)", "type(float(u)) is float", "u.cpu().numpy().dtype == np.float64",
    "torch.is_tensor(u)", "torch.is_floating_point(u)", "u.dtype in (torch.float32, torch.float64)",
    "isinstance(u, torch.Tensor)", "type(u) is torch.Tensor", "not torch.is_tensor(u.item())", "torch.allclose(u, u)",
    "isinstance(u.numpy().item(), float)", "len(repr(u)) != 28", "'<' not in str(u)", "'<' not in f'{u}'",
    "'<' not in f'{u.item()}'", "tried(lambda: f'{u.item():.3f}')", "len(f'{u.item():.3f}') == 5",
    "tried(lambda: json.dumps(u.item()))", "u.isfinite().all()", "not u.isnan().any()",
    "u.numpy().dtype.kind == 'f'", "u.detach().clone().dtype is torch.float64", "type(u.numpy()) is np.ndarray",
    "tried(lambda: pickle.dumps(u))", "tried(lambda: hash(u.item()))", "str(u.dtype) == 'torch.float64'",
)  # fmt: skip
DRAWS = {
    "random.random()": OF_FLOATS,
    "np.random.random(1)[0]": OF_ARRAYS,
    "torch.rand((), dtype=torch.float64)": OF_TORCH,
}
ROWS = [
    pytest.param(draw, test, id=f"{draw.partition('.')[0]}-{test}") for draw, tests in DRAWS.items() for test in tests
]


TARGET, DRAFT = (CallableProcess(2, lambda context, row=row: row) for row in (["1/4", "3/4"], ["3/4", "1/4"]))


def verdict(function):
    """ "lossless", "refuted", or the refusal."""
    try:
        assert_lossless(function, TARGET, DRAFT, Delayed(1, 0, 1), interface="chain")
    except AssertionError:
        return "refuted"
    except NotFollowed as refusal:
        return str(refusal)
    return "lossless"


def written(tmp_path, draw, test, wrong, head=HEAD):
    file = tmp_path / f"theirs_{wrong}.py"
    file.write_text(
        ("import torch\n" if "torch" in draw else "")
        + head
        + VERIFY.replace("DRAW", draw).replace("TEST", test).replace("WRONG", str(wrong))
    )
    return file


SOME = [
    row if place % 34 == 0 else pytest.param(*row.values, id=row.id, marks=pytest.mark.heavy)
    for place, row in enumerate(ROWS)
]


@pytest.mark.parametrize(("draw", "test"), SOME)
def test_what_is_wrong_with_real_numbers_is_never_lossless(tmp_path, draw, test):
    if "torch" in draw:
        pytest.importorskip("torch")
    found = verdict(load(written(tmp_path, draw, test, True), "verify"))
    assert found == "refuted" or "theirs_True.py:" in found, found
    found = verdict(load(written(tmp_path, draw, test, False), "verify"))
    assert found == "lossless" or "theirs_False.py:" in found, found


def test_a_method_that_dataclasses_wrote_is_no_line_of_the_function(tmp_path):
    one, two = (make_dataclass("Made", [(name, int, 0) for name in names]) for names in ("a", "ab"))
    file = tmp_path / "theirs.py"
    file.write_text("def run(make):\n    return make()\n")
    run = load(file, "run")
    assert last_common_line(partial(run, one), partial(run, two)) == "theirs.py:2"


def test_callbacks_of_the_garbage_collector_are_no_lines_of_the_function(tmp_path):
    (tmp_path / "theirs.py").write_text("def run(one):\n    made = [[i] for i in range(999)]\n    return one or made\n")
    (tmp_path / "other.py").write_text(
        "def called(phase, info):\n    if runs:\n        return\n    runs.append(phase)\n"
    )
    run, called = load(tmp_path / "theirs.py", "run"), load(tmp_path / "other.py", "called")
    called.__globals__["runs"] = runs = []
    before = gc.get_threshold()
    gc.callbacks.append(called)
    try:
        gc.set_threshold(1)
        assert last_common_line(partial(run, True), partial(run, False)) == "theirs.py:3"
        run(True)
        assert runs
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(called)
