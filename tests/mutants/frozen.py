"""A fixed sample of mutants, some of every room: which the tests kill, before and after the source is redrawn.

    python tests/mutants/frozen.py draw [COUNT]      writes `frozen.json` anew: so many of each room, without outcomes
    python tests/mutants/frozen.py run [ROOM ..]     runs those without an outcome, and keeps it
    python tests/mutants/frozen.py again [ROOM ..]   runs the killed ones again; exit 1 if a kill is lost

Mutants come from cosmic-ray's operators; each runs in a forked process on a copy of the repository. A mutant is known
by its changed lines, not by its place: one whose lines stand elsewhere now is run there, against the tests of that
room, and one whose lines are gone is named.
"""

import importlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from places import Mutant, mutants_of
from rooms import ROOMS, tests_of
from running import HEAVY, ROOT, copied, sources, tried

FROZEN = Path(__file__).with_name("frozen.json")
#: Mutants of one room, where no number is given.
SIZE = 10
KILLED = ("killed", "timeout")


def drawn(room: str, size: int) -> Iterator[dict[str, Any]]:
    """A seeded sample of a room: places drawn evenly, then one change of each."""
    draw = random.Random(f"frozen {room}")
    places = [(path, place) for path in sources(room) for place in sorted({m.place for m in changes(path)})]
    for path, place in sorted(draw.sample(places, min(size, len(places)))):
        mutant = draw.choice([each for each in changes(path) if each.place == place])
        yield {"room": room, "path": path, "before": mutant.before, "after": mutant.after}


@cache
def changes(path: str) -> list[Mutant]:
    return mutants_of(ROOT, path)


@cache
def text_of(path: str) -> str:
    """The lines of a file as mutants quote them."""
    return " ".join(line.strip() for line in (ROOT / path).read_text(encoding="utf-8").splitlines())


def found(row: dict[str, Any]) -> Mutant | None:
    """The mutant of a row in the source as it is: in its file, else in the one file that has these lines."""
    paths = [row["path"]] if (ROOT / row["path"]).exists() else []
    for others in (paths, [path for room in ROOMS for path in sources(room) if row["before"] in text_of(path)]):
        same = [
            each
            for path in others
            for each in changes(path)
            if (each.before, each.after) == (row["before"], row["after"])
        ]
        if same and len({each.path for each in same}) == 1:
            return same[0]
    return None


def outcomes(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each row with what became of its mutant, "gone" if there is none."""
    for name in (*HEAVY, "torch"):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        limits: dict[tuple[str, ...], int] = {}
        for number, row in enumerate(rows, 1):
            started, mutant = time.perf_counter(), found(row)
            outcome = "gone" if mutant is None else tried(folder, mutant, tests_of(mutant.path), limits)
            seconds = time.perf_counter() - started
            print(f"{number}/{len(rows)} {outcome:8} {seconds:5.1f} s  {row['path']}: {row['after']}", file=sys.stderr)
            yield row, outcome


def write(rows: Sequence[dict[str, Any]]) -> None:
    FROZEN.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def table(rows: Sequence[dict[str, Any]], key: str) -> None:
    for room in ROOMS:
        counts = Counter(row.get(key, "not run") for row in rows if row["room"] == room)
        print(f"{room}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))


def main(arguments: Sequence[str]) -> int:
    what, *rooms = arguments or ["help"]
    if what == "draw":
        size = int(rooms[0]) if rooms else SIZE
        write([row for room in ROOMS for row in drawn(room, size)])
        return 0
    rows = json.loads(FROZEN.read_text(encoding="utf-8"))
    mine = [row for row in rows if not rooms or row["room"] in rooms]
    if what == "run":
        for row, outcome in outcomes([row for row in mine if "outcome" not in row]):
            row["outcome"] = outcome
            write(rows)
        table(mine, "outcome")
        return 0
    if what == "again":
        lost = []
        for row, outcome in outcomes([row for row in mine if row.get("outcome") in KILLED]):
            row["now"] = outcome
            if outcome not in (*KILLED, "gone"):
                lost.append(row)
        table([row for row in mine if "now" in row], "now")
        for row in (each for each in mine if each.get("now") == "gone"):
            print(f"gone: {row['path']}: {row['before']}")
        for row in lost:
            print(f"lost: {row['path']}\n  - {row['before']}\n  + {row['after']}")
        return int(bool(lost))
    sys.stderr.write(str(__doc__))
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
