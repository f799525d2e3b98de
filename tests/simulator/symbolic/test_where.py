"""Which line a message names: the one that is at work, else that of the innermost frame of the function."""

from __future__ import annotations

from simulator.symbolic.where import caller, place, reading


def test_a_line_that_is_read_comes_before_that_of_the_frame():
    own = caller()
    assert own.startswith("test_where.py:")
    with reading(lambda: ("folder/theirs.py", 7)):
        assert (caller(), place()) == ("theirs.py:7", ("folder/theirs.py", 7))
        with reading(lambda: None):  # knows of no line: the one outside is asked
            assert caller() == "theirs.py:7"
        with reading(lambda: ("other.py", 9)):
            assert caller() == "other.py:9"
    with reading(lambda: None):
        assert caller().startswith("test_where.py:")
    assert caller().startswith("test_where.py:")
    assert caller() != own
