"""Lines and files of Python by room, at one commit or several side by side.

python tests/size.py [COMMIT ..]      the working tree where none is named
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Beginnings of paths, the first that fits counts.
ROOMS: Mapping[str, tuple[str, ...]] = {
    "simulator/symbolic, audit": ("simulator/symbolic/", "simulator/audit/"),
    "simulator/theorems": ("simulator/theorems/",),
    "simulator: policies, batches, relay, strings": (
        "simulator/policies/",
        "simulator/batches/",
        "simulator/relay.py",
        "simulator/strings/",
    ),
    "simulator: the rest": ("simulator/",),
    "verifiers": ("verifiers/",),
    "lp_analysis": ("lp_analysis/",),
    "experiments/models": ("experiments/models/",),
    "experiments: the rest": ("experiments/",),
    "draftproof (face)": ("draftproof/",),
    "tests": ("tests/",),
}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def counted(commit: str | None) -> Iterator[tuple[str, int]]:
    """Every file of Python, with its lines; links are left out."""
    if commit is None:
        for name in git("ls-files", "*.py").splitlines():
            if (ROOT / name).is_file():
                yield name, len((ROOT / name).read_bytes().splitlines())
        return
    for name in git("ls-tree", "-r", "--name-only", commit).splitlines():
        if name.endswith(".py"):
            yield name, len(git("show", f"{commit}:{name}").splitlines())


def sizes(commit: str | None) -> dict[str, tuple[int, int]]:
    """Lines and files of each room, and of all source."""
    found = dict.fromkeys([*ROOMS, "all source"], (0, 0))
    for name, lines in counted(commit):
        room = next((room for room, starts in ROOMS.items() if name.startswith(starts)), "other")
        for key in (room, *(["all source"] if room != "tests" else [])):
            before = found.get(key, (0, 0))
            found[key] = before[0] + lines, before[1] + 1
    return found


def main(commits: Sequence[str]) -> None:
    columns = {commit or "now": sizes(commit) for commit in (commits or [None])}
    rooms = list(dict.fromkeys(room for column in columns.values() for room in column))
    print(f"{'':46}" + "".join(f"{name[:12]:>18}" for name in columns))
    for room in rooms:
        cells = (column.get(room, (0, 0)) for column in columns.values())
        print(f"{room:46}" + "".join(f"{lines:8,} in {files:3} f." for lines, files in cells))


if __name__ == "__main__":
    main(sys.argv[1:])
