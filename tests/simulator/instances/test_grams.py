"""A table of counts gives the models of the text it was counted in, for every vocabulary and every shorter order."""

import pytest

from draftproof.simulator import InvalidInput, TextPair
from draftproof.simulator.instances.grams import GramTable

TEXT = "abracadabra, said the abbot"


def test_models_and_roots_are_those_of_the_text() -> None:
    for size, order in ((2, 3), (4, 3), (5, 2), (8, 0)):
        ours, theirs = (TextPair(text, size, order, 0) for text in (GramTable.of(TEXT, 3), TEXT))
        assert ours.model(order).tolist() == theirs.model(order).tolist()
        assert ours.frequent_roots() == theirs.frequent_roots()
        assert (ours.alphabet, ours.digest) == (theirs.alphabet, theirs.digest)
        assert ours.root_of("abba") == theirs.root_of("abba")


def test_every_part_is_in_the_checksum(tmp_path) -> None:
    table = GramTable.of(TEXT, 2)
    parts = {name: getattr(table, name) for name in ("symbols", "grams", "times", "ending", "digest")}
    changed = {
        "symbols": table.symbols[::-1],
        "grams": table.grams[::-1],
        "times": table.times + 1,
        "ending": table.ending[::-1],
        "digest": "0" * 16,
    }
    for name, value in changed.items():
        other = GramTable(**{**parts, name: value})
        assert other.checksum != table.checksum
        other.save(tmp_path / "b.npz")
        with pytest.raises(InvalidInput, match="has another checksum than it should"):
            GramTable.load(tmp_path / "b.npz", table.checksum)


@pytest.mark.parametrize("spoil", [lambda data: data[:200], lambda data: b"not a table", lambda data: b""])
def test_a_damaged_file_is_named(tmp_path, spoil) -> None:
    table = GramTable.of(TEXT, 2)
    table.save(tmp_path / "a.npz")
    (tmp_path / "a.npz").write_bytes(spoil((tmp_path / "a.npz").read_bytes()))
    with pytest.raises(InvalidInput, match="cannot read the table of counts"):
        GramTable.load(tmp_path / "a.npz", table.checksum)


def test_longer_contexts_than_were_counted_are_refused() -> None:
    table = GramTable.of(TEXT, 2)
    with pytest.raises(InvalidInput, match="order 3: the table of counts goes to order 2; lower it, or give the text"):
        TextPair(table, 3, 3, 1)
