"""Limits of the audit, of the machine and of an interpreter are no fault of the function under test."""

import random
import sys
from types import ModuleType

import numpy as np
import pytest

from draftproof.simulator.audit.failures import FunctionFailed, function_errors
from draftproof.simulator.symbolic import NotFollowed


def test_a_maximum_over_a_wide_block_is_followed(law, q):
    def run():
        block = np.array([random.random()] + [0.0] * 1999)
        return bool(np.max(np.maximum(block, np.zeros(2000))) < 0.75)

    assert law(run) == {True: q(3, 4), False: q(1, 4)}


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
