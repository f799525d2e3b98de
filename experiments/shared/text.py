"""The embedded text: the language reference that every Python carries."""

from __future__ import annotations

from pathlib import Path

from simulator.errors import InvalidInput

#: The name under which `--text` finds the embedded text.
EMBEDDED = "pydoc_data.topics"


def read_text(name: str) -> str:
    """The text of a UTF-8 file, or the embedded one; it differs between Python versions, hence the hash in rows."""
    if name == EMBEDDED:
        from pydoc_data import topics

        return "\n".join(topics.topics[key] for key in sorted(topics.topics))
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"cannot read text {name}: {error.strerror}; give a UTF-8 file, or {EMBEDDED} for the embedded text"
        ) from None
    except UnicodeDecodeError:
        raise InvalidInput(f"text {name} is not UTF-8; convert it first") from None
