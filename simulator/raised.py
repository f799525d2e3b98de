"""What somebody else's code raised, told with the lines of theirs that led there."""

from __future__ import annotations

import traceback
from pathlib import Path

#: Lines of the traceback that are told, the innermost ones.
LINES = 3


def own_lines(error: BaseException) -> str:
    """`ValueError: bad row (mine.py line 7, in verify: `x = 1 / 0`)`, without the frame that called them."""
    frames = traceback.extract_tb(error.__traceback__)
    told = [
        f"{Path(frame.filename).name} line {frame.lineno}, in {frame.name}"
        + (f": `{frame.line}`" if frame.line else "")
        for frame in frames[1:][-LINES:]
    ]
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{reason} ({'; '.join(told)})" if told else reason
