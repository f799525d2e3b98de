"""The tables of a mutation campaign name files and tests that exist."""

from pathlib import Path

from tests.modules import module_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


ROOMS = module_of(HERE / "rooms.py")


def test_every_source_of_the_table_exists_and_so_do_its_tests():
    for path in ROOMS.TESTS:
        assert (ROOT / path).exists(), path
        for test in ROOMS.tests_of(path):
            file, _, name = test.partition("::")
            assert f"def {name}" in (ROOT / file).read_text(), test


def test_every_room_is_in_the_table():
    for room in ROOMS.ROOMS:
        assert (ROOT / room).exists()
        assert ROOMS.tests_of(room)
