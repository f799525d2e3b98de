"""A pytest marker for verifiers: the test returns a function, and the marker says how it is called.

In `conftest.py`: `pytest_plugins = ["draftproof.simulator.audit.pytest_plugin"]`. Then

    @pytest.mark.lossless(interface="chain")
    def test_my_verifier():
        return my_function

fails, with the deviation and a hypothesis about the bug, unless the function is lossless. The arguments are those of
`draftproof.simulator.assert_lossless`; `pytest -m lossless` runs these tests only.
"""

from typing import Any

from draftproof.simulator.audit.assertion import assert_lossless


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
    __tracebackhide__ = True
    assert_lossless(function, *marker.args, **marker.kwargs)
    return True
