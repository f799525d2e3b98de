"""Writes what is generated: `python -m draftproof.experiments.pages WHAT..`, see `--help`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

#: What is generated, each by the function `write` of its module.
WRITERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "transcripts": ("what commands print, in README files and docs", "pages.transcripts"),
        "tutorial": ("outputs of the tutorial", "pages.tutorial"),
        "claims": ("the page of claims and the instances that refute", "pages.claims"),
        "theorems": ("the page of theorems, in hours", "pages.theorems"),
        "gallery": ("the page of the gallery, and its record with --outcomes", "gallery.page"),
        "text": ("counts of the embedded text, in its version of Python; prints its hash and checksum", "inputs.text"),
    }
)


def main(words: Sequence[str] | None = None) -> int:
    """Write what is named; returns the exit code."""
    parser = argparse.ArgumentParser("python -m draftproof.experiments.pages", description="Writes what is generated.")
    known = "; ".join(f"{name}: {text}" for name, (text, _) in WRITERS.items())
    parser.add_argument("what", nargs="+", choices=WRITERS, help=known)
    parser.add_argument("--store", help="store of claims or theorems, so that a stopped run can be resumed")
    parser.add_argument("--comparison", help="what `compare -o FILE.md` wrote in the main job, for transcripts")
    parser.add_argument("--outcomes", help="JSON of `draftproof audit --gallery`, to be recorded in the gallery")
    given = parser.parse_args(words)
    return max(int(import_module(f"draftproof.experiments.{WRITERS[name][1]}").write(given)) for name in given.what)


if __name__ == "__main__":
    sys.exit(main())
