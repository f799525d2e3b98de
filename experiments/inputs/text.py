"""The texts that commands know by name: a committed table of counts, and the text of Python's documentation.

`topics` is the language reference that every Python carries, as of Python 3.11: the counts of its four-grams, in
`topics.npz`, made by `python -m draftproof.experiments.pages text` under that Python. `pydoc_data.topics` is the text
of the running Python, which differs between versions.
"""

from __future__ import annotations

from argparse import Namespace
from functools import cache
from pathlib import Path

from draftproof.simulator import files
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.grams import GramTable

#: The name under which `text:` finds the committed counts.
TOPICS = "topics"
#: The name under which `text:` finds the text of the running Python.
EMBEDDED = "pydoc_data.topics"
#: Texts that are no files.
BUILT_IN = (TOPICS, EMBEDDED)

TABLE = Path(__file__).with_name("topics.npz")
#: Hash of the table; a file with another hash is refused.
CHECKSUM = "e8546ee7ab46a9393303cb4c3ea0e00f45a1db08800ad0b9f9857b28b7c4a551"
#: The longest contexts that are counted, in symbols.
ORDER = 3


def read_text(name: str) -> str:
    """The text of a UTF-8 file, or the embedded one; it differs between Python versions, hence the hash in rows."""
    if name == TOPICS:
        raise InvalidInput(f"{TOPICS} is a table of counts, and a text is needed here; give a file or {EMBEDDED}")
    if name == EMBEDDED:
        from pydoc_data import topics

        return "\n".join(topics.topics[key] for key in sorted(topics.topics))
    try:
        return files.read_text(name, "text")
    except InvalidInput as error:
        raise InvalidInput(
            f"{error}; give a UTF-8 file, {EMBEDDED} for the text of Python's documentation, or for n-gram pairs "
            f"{TOPICS}, the counts that come along"
        ) from None


def text_label(name: str) -> str:
    """The name of a text in output."""
    return f"Python's documentation ({EMBEDDED})" if name == EMBEDDED else name


def read_counted(name: str) -> str | GramTable:
    """What n-gram models are estimated from: the committed counts for `topics`, else the text of this name."""
    return topics_table() if name == TOPICS else read_text(name)


@cache
def topics_table() -> GramTable:
    """The committed counts; raises `InvalidInput` for a damaged file."""
    return GramTable.load(TABLE, CHECKSUM)


def write(_: Namespace) -> int:
    """Count the embedded text, save the table and print its hash and checksum; returns 0."""
    table = GramTable.of(read_text(EMBEDDED), ORDER)
    table.save(TABLE)
    print(f"text {table.digest}, checksum {table.checksum}")
    return 0
