"""Bring READMEs and pages of docs up to date: `python -m draftproof.experiments.pages.readme [COMPARISON.md]`.

Every `console` block is filled with what its command prints, and the table of the main job is taken from the file that
`draftproof compare --markdown` wrote, if one is given.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from draftproof.experiments.pages.reference import page
from draftproof.experiments.shared.output import write_whole

README = Path(__file__).resolve().parents[2] / "README.md"
PAGE = README.parent / "verifiers" / "README.md"
#: The pages whose code runs and whose commands print what stands there.
PAGES = (
    README,
    *(
        README.parent / f"{room}/README.md"
        for room in ("experiments/.", "experiments/models/policies", "experiments/models", "simulator/.")
    ),
    *sorted((README.parent / "docs").rglob("*.md")),
)
TRANSCRIPT = re.compile(r"^```console\n\$ draftproof (.*?)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def with_table(text: str, name: str, table: str) -> str:
    """The text with what stands between the two marks of this name replaced."""
    pattern = rf"(<!-- {name}: generated -->\n).*?(<!-- {name}: end -->)"
    return re.sub(pattern, lambda match: match[1] + table + match[2], text, flags=re.DOTALL)


def transcript(command: str) -> str:
    """What a command prints to stdout, run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-c", "from draftproof.experiments.cli import main; main()", *shlex.split(command)]
        ran = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    return "\n".join(line.rstrip() for line in ran.stdout.splitlines()).rstrip() + "\n"


def refresh(text: str, comparison: str | None) -> str:
    """The page as it should be."""
    if comparison is not None:
        text = with_table(text, "comparison", comparison)
    return TRANSCRIPT.sub(lambda match: f"```console\n$ draftproof {match[1]}\n{transcript(match[1])}```", text)


if __name__ == "__main__":
    given = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else None
    write_whole(PAGE, page())
    for readme in PAGES:
        write_whole(readme, refresh(readme.read_text(encoding="utf-8"), given))
