"""Bring the generated table of the README up to date: `python -m experiments.readme`."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.catalogue import cards_markdown
from experiments.output import write_whole

README = Path(__file__).parents[1] / "README.md"


def with_table(text: str) -> str:
    """The README with its table of verifiers made anew from the cards."""
    pattern = r"(<!-- verifiers: generated -->\n).*?(<!-- verifiers: end -->)"
    return re.sub(pattern, lambda match: match[1] + cards_markdown() + match[2], text, flags=re.DOTALL)


if __name__ == "__main__":
    write_whole(README, with_table(README.read_text(encoding="utf-8")))
