"""The flags of the command line, added to what the library advises in words of its own."""

from __future__ import annotations

import re

#: What an error of the library advises, and the flag that does it.
FLAGS = {
    r"allow more memory": "--max-memory",
    r"allow more runs": "--max-runs",
    r"other cases can be chosen": "--cases",
    r"the denominator of the grid": "--exhaustive",
    r"allow larger files": "draftproof --max-input MIB ..",
    r"use arithmetic float64": "--arithmetic float64",
    r"use backend (torch or )?numpy": "--backend",
    r"choose a (smaller )?vocabulary( of \d+ or more)?": "--vocab",
    r"leave out the batch": "--batch",
    r"use coins symbols": "--coins symbols",
    r"use the interface coins": "--interface coins",
    r"rows for (python|numpy)": "--library",
}


def with_flags(message: str) -> str:
    """The message of a library error, with the flag in brackets after each advice that one follows."""
    for words, flag in FLAGS.items():
        message = re.sub(words, rf"\g<0> ({flag})", message)
    return message
