"""Limits of the audit, of the machine and of an interpreter are no fault of the function under test."""

import random
import sys
from types import ModuleType

import numpy as np
import pytest

from draftproof.simulator.audit import make_audit
from draftproof.simulator.audit.failures import FunctionFailed, function_errors
from draftproof.simulator.audit.instances import default_cases
from draftproof.simulator.audit.interfaces import interface_named
from draftproof.simulator.symbolic import NotFollowed, load
from draftproof.simulator.symbolic.numbers.forms import Extreme

LANES = """
import random
import numpy as np

def verify(tokens, q, p, lanes=2000, bias=BIAS):
    for i, token in enumerate(tokens):
        block = np.zeros(lanes)
        u = np.max(np.maximum(np.array([random.random()] + [0.0] * (lanes - 1)), block))
        if u * q[i][token] >= p[i][token] + bias:
            excess = [max(a - b, 0) for a, b in zip(p[i], q[i])]
            return i, random.choices(range(len(excess)), weights=excess)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""


@pytest.mark.parametrize("bias", ["0", "0.1"])
def test_a_maximum_over_a_wide_block_is_followed(tmp_path, bias):
    file = tmp_path / "lanes.py"
    file.write_text(LANES.replace("BIAS", bias))
    [case] = default_cases(interface_named("chain"), None, ["short"])
    audit = make_audit(load(file, "verify"), "chain", keywords={"lanes": 400})
    assert audit.judge(case.instance, case.scheme).lossless is (bias == "0")


@pytest.mark.heavy
def test_a_running_extreme_does_not_nest(law, q):
    def run():
        largest = np.maximum(random.random(), random.random())
        for i in range(8192):
            largest = np.maximum(largest, 0.5 * (i % 2))
        assert isinstance(largest, Extreme)
        assert len(largest.members) == 3
        return bool(largest < 0.75)

    assert law(run) == {True: q(9, 16), False: q(7, 16)}


@pytest.mark.parametrize("nan_first", [True, False])
def test_a_maximum_with_nan_and_another_constant_is_nan(law, nan_first):
    def run():
        constants = [np.nan, 0.5] if nan_first else [0.5, np.nan]
        return bool(np.isnan(np.maximum(np.maximum(random.random(), constants[0]), constants[1])))

    assert law(run) == {True: 1}


@pytest.mark.heavy
def test_alternating_extremes_that_nest_too_deeply_are_refused_even_if_the_error_is_caught(law):
    def run():
        number, other = random.random(), random.random()
        for _ in range(3000):
            number = np.minimum(np.maximum(number, other), random.random())
        try:
            return bool(number < 0.5)
        except RecursionError:
            return False

    with pytest.raises(NotFollowed, match="nested too deeply"):
        law(run)


def _endless(depth):
    return _endless(depth + 1)


def _deep(depth):
    return depth if depth == 0 else _deep(depth - 1)


def _caught(function):
    with pytest.raises((NotFollowed, FunctionFailed)) as caught, function_errors({}, ""):
        function()
    return caught.type


def _of_memory():
    raise MemoryError


def test_recursion_of_the_function_alone_is_its_fault_and_has_the_whole_stack():
    assert _caught(lambda: _endless(0)) is FunctionFailed
    limit = sys.getrecursionlimit()
    with function_errors({}, ""):
        assert _deep(limit - 20) == 0
    assert sys.getrecursionlimit() == limit


def test_limits_that_are_not_the_functions_are_refused():
    def deepened(value):
        return np.vectorize(deepened, otypes=[float])(value)

    assert _caught(lambda: deepened(1.0)) is NotFollowed
    assert _caught(_of_memory) is NotFollowed


def test_an_error_inside_tritons_interpreter_is_refused_and_one_of_the_kernel_is_not(monkeypatch, tmp_path):
    file = tmp_path / "triton" / "__init__.py"
    triton = ModuleType("triton")
    triton.__file__ = str(file)
    exec(compile("def dot():\n    raise NotImplementedError('dot')\n", str(file), "exec"), triton.__dict__)
    monkeypatch.setitem(sys.modules, "triton", triton)

    def wrapped():  # as the interpreter wraps errors of kernels
        try:
            triton.dot()
        except NotImplementedError as error:
            raise RuntimeError("InterpreterError") from error

    assert _caught(triton.dot) is NotFollowed
    assert _caught(wrapped) is NotFollowed
    assert _caught(lambda: 1 // 0) is FunctionFailed
