"""Which line a message names: the one that is at work, else that of the innermost frame of the function."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from draftproof.simulator.symbolic.where import caller, location, with_lines_from


def test_a_line_that_is_read_comes_before_that_of_the_frame():
    own = caller()
    assert own.startswith("test_where.py:")
    with with_lines_from(lambda: ("folder/theirs.py", 7)):
        assert (caller(), location()) == ("theirs.py:7", ("folder/theirs.py", 7))
        with with_lines_from(lambda: None):  # knows of no line: the one outside is asked
            assert caller() == "theirs.py:7"
        with with_lines_from(lambda: ("other.py", 9)):
            assert caller() == "other.py:9"
    with with_lines_from(lambda: None):
        assert caller().startswith("test_where.py:")
    assert caller().startswith("test_where.py:")
    assert caller() != own


@pytest.mark.parametrize("folder", ["site-packages", "side"])
def test_lines_of_a_library_are_never_named_wherever_it_is_installed(tmp_path, monkeypatch, folder):
    """`pip install --target` puts packages into any folder that is then on the path."""
    file = tmp_path / folder / "jaxlib" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text("def asks(function):\n    return function()\n")
    spec = spec_from_file_location("jaxlib", file)
    package = module_from_spec(spec)
    spec.loader.exec_module(package)
    assert package.asks(caller).startswith("__init__.py:")  # not loaded as that library, it is anybody's
    monkeypatch.setitem(sys.modules, "jaxlib", package)
    monkeypatch.setattr("draftproof.simulator.origins._audited", {})
    assert package.asks(caller).startswith("test_where.py:")
