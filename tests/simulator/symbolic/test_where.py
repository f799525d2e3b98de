"""Which line a message names: that of the innermost frame of the function, and never one of a library."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from draftproof.simulator.symbolic.where import caller


@pytest.mark.parametrize("folder", ["site-packages", "side"])
def test_lines_of_a_library_are_never_named_wherever_it_is_installed(tmp_path, monkeypatch, folder):
    """`pip install --target` puts packages into any folder that is then on the path."""
    file = tmp_path / folder / "triton" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text("def asks(function):\n    return function()\n")
    spec = spec_from_file_location("triton", file)
    package = module_from_spec(spec)
    spec.loader.exec_module(package)
    assert package.asks(caller).startswith("__init__.py:")  # not loaded as that library, it is anybody's
    monkeypatch.setitem(sys.modules, "triton", package)
    monkeypatch.setattr("draftproof.simulator.origins._audited", {})
    assert package.asks(caller).startswith("test_where.py:")
