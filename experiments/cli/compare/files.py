"""The files that `compare` writes beside its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from draftproof.experiments.cli.compare.tables import as_csv, as_latex, as_markdown
from draftproof.experiments.grid.figures import delay_figure
from draftproof.experiments.shared.output import write_whole
from draftproof.simulator.files import printable

_TEXTS = {"--csv": as_csv, "--latex": as_latex, "--markdown": as_markdown}


def write_files(rows: Sequence[dict[str, Any]], caption: str, outputs: Mapping[str, str | None]) -> Iterator[str]:
    """Write every file that was asked for, by flag; yields a line for what a person may want to know."""
    for flag, path in outputs.items():
        if path is None:
            continue
        if flag in _TEXTS:
            write_whole(path, _TEXTS[flag](rows))
        elif picture := delay_figure(rows, caption):
            write_whole(path, picture)
            yield f"picture: {printable(path)}"
        else:
            reason = "there is no delayed tree, or no verifier that is neither control nor refuted"
            yield f"{printable(path)} was not drawn: {reason}"
