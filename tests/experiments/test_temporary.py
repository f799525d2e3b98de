"""What killed runs leave beside their files goes with the next run; what another run is writing now stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.temporary import temporary

WRITER = (
    "import sys, time; from pathlib import Path; from draftproof.experiments.shared.temporary import temporary\n"
    "with temporary(Path(sys.argv[1]), 'rows.json', folder=sys.argv[2] == 'folder') as new:\n"
    "    print(new, flush=True); time.sleep(60)"
)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path, kind):
    (tmp_path / ".rows.json.swp").write_text("an editor's")
    (tmp_path / ".rows.csv.abcdefgh.part").write_text("of another file")
    command = [sys.executable, "-c", WRITER, str(tmp_path), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        left = Path(process.stdout.readline().strip())
        write_whole(tmp_path / "rows.json", "new")
        assert left.exists()  # it is being written
        process.kill()
        process.wait()
        assert left.exists()
    write_whole(tmp_path / "rows.json", "newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".rows.csv.abcdefgh.part",
        ".rows.json.swp",
        "rows.json",
    ]
    assert (tmp_path / "rows.json").read_text() == "newer"


def interrupted(place: Path) -> None:
    with temporary(place, "pair", folder=True) as new:
        (new / "weights").write_text("half")
        raise KeyboardInterrupt


def test_an_error_in_between_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_longest_name_that_the_file_system_takes_can_be_written(tmp_path):
    path = tmp_path / ("é" * 127)
    write_whole(path, "here")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["here"]
