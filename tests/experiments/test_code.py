"""Digests of code: they change with everything that a result depends on, and with nothing else."""

from __future__ import annotations

import pytest

from experiments.shared import code
from experiments.shared.code import ROOT, code_digest, neighbours_digest


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A house of four files, one of which imports the next but one."""
    for name, text in {
        "simulator/__init__.py": "import simulator.c",
        "simulator/a.py": "def f():\n    from simulator.b import thing\n",
        "simulator/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import simulator.c\n",
        "simulator/c.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(code, "ROOT", tmp_path)
    return tmp_path


def digest():
    code._closure.cache_clear()
    code._imports.cache_clear()
    return code_digest(["simulator/a"])


@pytest.mark.parametrize(("file", "counts"), [("a", True), ("b", True), ("c", False), ("__init__", False)])
def test_a_digest_follows_imports_and_nothing_else(house, file, counts):
    before = digest()
    path = house / "simulator" / f"{file}.py"
    path.write_text(path.read_text() + "# changed\n")
    assert (digest() != before) is counts


def test_a_verifier_depends_on_its_helpers_and_not_on_the_others():
    code._closure.cache_clear()
    files = {str(file.relative_to(ROOT)) for file in code._closure("verifiers/block")}
    assert {"verifiers/block.py", "verifiers/_weights.py", "simulator/vectors.py"} <= files
    assert "verifiers/gbv.py" not in files


def test_neighbours_of_a_file_count(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import helper_of_mine")
    (tmp_path / "helper_of_mine.py").write_text("x = 1")
    alone = neighbours_digest(str(tmp_path / "mine.py"))
    monkeypatch.syspath_prepend(tmp_path)
    __import__("helper_of_mine")
    both = neighbours_digest(str(tmp_path / "mine.py"))
    (tmp_path / "helper_of_mine.py").write_text("x = 2")
    assert len({alone, both, neighbours_digest(str(tmp_path / "mine.py"))}) == 3
