"""Writes what is generated: `python -m draftproof.experiments.pages WHAT..`, see `--help`."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from draftproof.experiments.shared.output import write_whole


def _verifiers(_: argparse.Namespace) -> int:
    from draftproof.experiments.pages import verifiers

    write_whole(verifiers.PAGE, verifiers.page())
    return 0


def _transcripts(given: argparse.Namespace) -> int:
    from draftproof.experiments.pages import transcripts

    table = Path(given.comparison).read_text(encoding="utf-8") if given.comparison else None
    for page in transcripts.PAGES:
        write_whole(page, transcripts.refresh(page.read_text(encoding="utf-8"), table))
    return 0


def _tutorial(_: argparse.Namespace) -> int:
    from draftproof.experiments.pages import tutorial

    notebook = json.loads(tutorial.NOTEBOOK.read_text(encoding="utf-8"))
    write_whole(tutorial.NOTEBOOK, tutorial.written(tutorial.executed(notebook)))
    return 0


def _claims(given: argparse.Namespace) -> int:
    from draftproof.experiments.pages import claims

    return claims.write(given.store)


def _theorems(given: argparse.Namespace) -> int:
    from draftproof.experiments.pages import theorems

    theorems.write(given.store or "theorems.db")
    return 0


def _gallery(given: argparse.Namespace) -> int:
    from draftproof.experiments.gallery import measuring, page

    if given.outcomes:
        measuring.record(Path(given.outcomes))
    write_whole(page.PAGE, page.page(measuring.measured()))
    return 0


def _text(_: argparse.Namespace) -> int:
    from draftproof.experiments.inputs.text import EMBEDDED, ORDER, TABLE, read_text
    from draftproof.simulator.instances.grams import GramTable

    table = GramTable.of(read_text(EMBEDDED), ORDER)
    table.save(TABLE)
    print(f"text {table.digest}, checksum {table.checksum}")
    return 0


#: What is generated: what it is, and what writes it.
WRITERS: Mapping[str, tuple[str, Callable[[argparse.Namespace], int]]] = MappingProxyType(
    {
        "verifiers": ("the page of verifiers", _verifiers),
        "transcripts": ("what commands print, in README files and docs", _transcripts),
        "tutorial": ("outputs of the tutorial", _tutorial),
        "claims": ("the page of claims and the instances that refute", _claims),
        "theorems": ("the page of theorems, in hours", _theorems),
        "gallery": ("the page of the gallery, and its record with --outcomes", _gallery),
        "text": ("counts of the embedded text, in its version of Python; prints its hash and checksum", _text),
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
    return max(WRITERS[name][1](given) for name in given.what)


if __name__ == "__main__":
    sys.exit(main())
