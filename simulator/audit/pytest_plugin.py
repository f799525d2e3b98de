"""The pytest plugin for verifiers; it is installed with draftproof, and `conftest.py` needs no line for it.

A marked test returns a function, and the marker says how it is called:

    @pytest.mark.lossless(interface="chain")
    def test_my_verifier():
        return my_function

A verifier decorated with `draftproof.simulator.audit.lossless(interface="chain")` is a test wherever a test file has
its name. The arguments are those of `draftproof.simulator.assert_lossless`; `pytest -m lossless` runs these tests only.

A test fails, with the first imbalance and a hypothesis about the bug, where the function is refuted. Where it cannot be
judged, since it is not followed exactly or keeps state, the test is skipped with the reason, or fails with
`--lossless-strict`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from draftproof.simulator.audit.function import DECORATED, assert_lossless
from draftproof.simulator.audit.verdict import NOT_JUDGED

_STRICT = "--lossless-strict"


def pytest_addoption(parser: Any) -> None:
    """Add the option that makes refusals fail."""
    group = parser.getgroup("draftproof")
    group.addoption(_STRICT, action="store_true", help="fail where a function cannot be judged, in place of a skip")


def pytest_configure(config: Any) -> None:
    """Register the marker, so that `--strict-markers` knows it."""
    config.addinivalue_line("markers", "lossless(interface, ...): the function that the test returns must be lossless")


def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """Call a marked test and judge what it returns; None leaves a test without the marker to pytest."""
    marker = pyfuncitem.get_closest_marker("lossless")
    if marker is None:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    function = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    if not callable(function):
        raise TypeError(f"{pyfuncitem.name} is marked lossless and returned {function!r}; return the function to audit")
    _judge(pyfuncitem.config, function, marker.args, marker.kwargs)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    """A test of a decorated verifier; None for everything else."""
    options = _decorated(obj)
    if options is None:
        return None
    item = _Verifier.from_parent(collector, name=name)
    item.verifier, item.options = obj, options
    item.add_marker("lossless")
    return item


class _Verifier(pytest.Item):
    verifier: Callable[..., Any]
    options: Mapping[str, Any]

    def runtest(self) -> None:
        _judge(self.config, self.verifier, (), self.options)

    def reportinfo(self) -> tuple[Any, None, str]:
        return self.path, None, self.name


def _decorated(value: Any) -> Mapping[str, Any] | None:
    """The options of a decorated verifier; an object that makes up every attribute, such as a mock, is none."""
    try:
        options = vars(value).get(DECORATED)
    except TypeError:
        return None
    return options if isinstance(options, dict) else None


def _judge(config: Any, function: Callable[..., Any], arguments: Any, options: Mapping[str, Any]) -> None:
    __tracebackhide__ = True
    try:
        assert_lossless(function, *arguments, **options)
        return
    except AssertionError as error:
        message, judged = str(error), True
    except NOT_JUDGED as error:
        message, judged = f"not judged: {error}", False
    # outside of the handlers: pytest also shows an error that is being handled
    if judged or config.getoption(_STRICT):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
