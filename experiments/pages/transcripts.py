"""What commands print, on the first page and the pages of docs: every `console` block is filled with it."""

import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from argparse import Namespace
from pathlib import Path

from draftproof.experiments.shared.output import write_whole

README = Path(__file__).resolve().parents[2] / "README.md"
#: The pages whose examples are run and whose outputs of commands are compared.
PAGES = (README, *sorted((README.parent / "docs").rglob("*.md")))
#: A command, whose lines may go on after a backslash, and what it prints.
TRANSCRIPT = re.compile(r"^```console\n\$ draftproof ((?:.*\\\n)*.*)\n((?s:.*?))^```", re.MULTILINE)
#: Most characters in a line of a page; longer ones of what commands say are broken.
WIDTH = 88


def with_table(text: str, name: str, table: str) -> str:
    """The text with a new table between the two marks of this name."""
    pattern = rf"(<!-- {name}: generated -->\n).*?(<!-- {name}: end -->)"
    return re.sub(pattern, lambda match: match[1] + table + match[2], text, flags=re.DOTALL)


def words_of(command: str) -> list[str]:
    """The arguments of a command as a page shows it."""
    return shlex.split(command.replace("\\\n", " "))


def broken(command: str) -> str:
    """A command on lines of at most `WIDTH` where its words allow it; an option stays with its value."""
    lines: list[str] = []
    for part in re.findall(r"--?[\w-]+(?: [^- ]\S*)?|\S+", command):
        if lines and len(lines[-1]) + len(part) < WIDTH - 2:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return " \\\n  ".join(lines)


def fitted(printed: str) -> str:
    """What a command prints as a page shows it: no spaces at the ends of lines, and texts broken at `WIDTH`.

    A text beside a name, as in `  verdict   LOSSLESS`, goes on below itself; lines of tables stay as they are.
    """
    lines: list[tuple[str, int]] = []
    for line in map(str.rstrip, printed.splitlines()):
        indent = len(line) - len(line.lstrip())
        if indent and lines and indent == lines[-1][1]:
            lines[-1] = f"{lines[-1][0]} {line.lstrip()}", indent
        else:
            beside = re.match(r"  \S+(?: \S+)* {2,}", line)
            lines.append((line, len(beside[0]) if beside else 0))
    return "\n".join(
        line
        if re.search("[┃│━─]", line)
        else textwrap.fill(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
        for line, indent in lines
    )


def transcript(command: str) -> str:
    """What a command prints to stdout, run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-c", "from draftproof.experiments.cli import main; main()", *words_of(command)]
        ran = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    return fitted(ran.stdout).rstrip() + "\n"


def refresh(text: str, comparison: str | None) -> str:
    """The page with current outputs. comparison: what `compare -o FILE.md` wrote in the main job."""
    if comparison is not None:
        lines = [line for line in comparison.splitlines() if line.startswith("|")]
        text = with_table(text, "comparison", "\n".join(lines) + "\n")
    return TRANSCRIPT.sub(lambda match: f"```console\n$ draftproof {match[1]}\n{transcript(match[1])}```", text)


def write(given: Namespace) -> int:
    """Refresh the pages; returns 0. given: `comparison`, a file."""
    table = Path(given.comparison).read_text(encoding="utf-8") if given.comparison else None
    for page in PAGES:
        write_whole(page, refresh(page.read_text(encoding="utf-8"), table))
    return 0
