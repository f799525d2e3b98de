"""The committed counts are those of the text that they name, and serve every command without that text."""

import sys

import numpy as np
import pytest

from draftproof.experiments.inputs.text import (
    CHECKSUM,
    EMBEDDED,
    ORDER,
    TABLE,
    TOPICS,
    read_counted,
    read_text,
    topics_table,
)
from draftproof.simulator import InvalidInput, TextPair
from draftproof.simulator.instances.grams import GramTable, text_digest

#: Hash of the language reference of Python 3.11.
SOURCE = "2a95af4ac93f5b71"


def test_the_table_names_the_text_it_was_counted_in():
    table = read_counted(TOPICS)
    assert table.digest == SOURCE
    assert (table.length, len(table.symbols), table.max_order) == (465_048, 103, ORDER)
    assert TABLE.stat().st_size < 200_000


@pytest.mark.heavy
def test_the_table_is_the_one_the_text_gives():
    text = read_text(EMBEDDED)
    if text_digest(text) != SOURCE:
        version = ".".join(map(str, sys.version_info[:3]))
        pytest.skip(f"the text of Python {version} is not the one that was counted")
    assert GramTable.of(text, ORDER).checksum == CHECKSUM
    for size, order in ((2, 3), (3, 3), (4, 3), (8, 3), (27, 3), (4, 2), (103, 1)):
        ours, theirs = TextPair(topics_table(), size, order, min(1, order)), TextPair(text, size, order, min(1, order))
        assert all(np.array_equal(a, b) for a, b in zip(ours.counts, theirs.counts, strict=True))
        assert ours.frequent_roots() == theirs.frequent_roots()
        if size < 27:
            assert ours.model(order).tolist() == theirs.model(order).tolist()


def test_training_needs_a_text_and_says_so():
    with pytest.raises(InvalidInput, match="topics is a table of counts, and a text is needed here"):
        read_text(TOPICS)


def test_commands_need_no_text_for_it(draftproof, monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data", None)
    given = ("--K", 2, "--L2", 1, "--arithmetic", "rational", "--no-optimum", "--json")
    found = draftproof("compare", "naive", "traversal", "--world", f"text:{TOPICS},vocab=4", *given).json
    assert [f"{row['block_efficiency_float']:.4f}" for row in found["rows"]] == ["1.9506", "1.9197"]
    assert SOURCE in str(found["rows"][0])


def test_longer_orders_than_were_counted_are_refused(draftproof):
    ran = draftproof("check", "block", "--world", f"text:{TOPICS},target_order=4")
    assert ran.code == 2
    assert "order 4: the table of counts goes to order 3; lower it, or give the text itself" in ran.err
