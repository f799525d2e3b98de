"""The tables of a mutation campaign name files and tests that exist."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def rooms():
    spec = importlib.util.spec_from_file_location("rooms", HERE / "rooms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", rooms().TESTS)
def test_every_source_of_the_table_exists_and_so_do_its_tests(path):
    assert (ROOT / path).exists()
    for test in rooms().tests_of(path):
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(), test


def test_every_room_is_in_the_table():
    for room in rooms().ROOMS:
        assert (ROOT / room).exists()
        assert rooms().tests_of(room)
