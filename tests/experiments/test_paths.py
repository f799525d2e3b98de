"""Paths of every option: names too long, pipes, devices without an end, letters beyond ASCII, JSON without a bottom."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.test_bad_input import GOOD, assert_refused

LONG = "x" * 300
SMALL = "--K 1 --L2 1"
#: Every option that names a file or a folder to read, `@` for the path.
INPUTS = (
    "check block --world @",
    "check block --world text:@",
    "compare block --world @",
    f"compare block {SMALL} --cost @",
    f"compare block {SMALL} --resume @",
    "bound --world @",
    "verify @",
    "check @.py:Mine",
    "audit @.py:f",
    "check block --scheme @.py:Mine",
)
#: Every option that names a file or a folder to write.
OUTPUTS = (
    f"check block {SMALL} -o @",
    f"check block {SMALL} --witness @",
    f"compare block {SMALL} -o @",
    f"compare block {SMALL} --plot @",
    f"bound {SMALL} --certificate @",
    f"bound {SMALL} --bias 0 --plot @",
    "prove block -o @",
    "model train --out @",
    "model validate --world models:@",
    "model validate --times @",
    "model validate --world models:nowhere -o @",
    "model validate --resume @",
    "model validate --world models:target=@,draft=@",
)
READ_AS_JSON = [line for line in INPUTS if ".py:" not in line and "text" not in line and "--resume" not in line]


def refused(draftproof, line: str, path: str) -> None:
    if "validate" in line or "train" in line:
        pytest.importorskip("torch")
    ran = draftproof(*(part.replace("@", path) for part in shlex.split(line)))
    assert ran.out == ""
    assert_refused(ran, "draftproof: ")
    assert max(map(len, ran.err.splitlines())) <= 300


@pytest.mark.parametrize("line", INPUTS + OUTPUTS)
def test_a_name_that_is_too_long_is_one_line(draftproof, tmp_path, line):
    refused(draftproof, line, LONG)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", INPUTS)
def test_pipes_devices_and_json_without_a_bottom_are_no_input(draftproof, line):
    os.mkfifo("pipe.py" if ".py:" in line else "pipe")
    Path("zeros.py" if ".py:" in line else "zeros").symlink_to("/dev/zero")
    for path in ("pipe", "zeros"):
        refused(draftproof, line, path)
    for text in ("[" * 100_000, '{"a":' * 100_000) if line in READ_AS_JSON else ():
        Path("deep.json").write_text(text)
        refused(draftproof, line, "deep.json")


@pytest.mark.heavy
def test_letters_beyond_ascii_in_a_plain_locale(tmp_path):
    """One process: an instance and a report with such names, a verifier, and a name that is not there."""
    (tmp_path / "é.json").write_text(json.dumps(GOOD))
    (tmp_path / "ü.py").write_text(
        "from draftproof.simulator import Card\nfrom draftproof.verifiers import make\n"
        "class Möglich:\n    card = Card(name='mögl', title='é', source=None)\n"
        "    verify = staticmethod(make('naive').verify)\n"
    )
    program = (
        "import sys\nfrom draftproof.experiments import cli\n"
        "for given in ' '.join(sys.argv[1:]).split(' , '):\n"
        "    sys.argv = ['draftproof', *given.split()]\n    print('code', cli.run(cli.program()))\n"
    )
    (tmp_path / "three.py").write_text(program)
    given = "check block --world é.json -o ö.json , check ü.py:Möglich , check block --world ñ.json"
    done = subprocess.run(
        [sys.executable, "three.py", *given.split()],
        env={**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    said = done.stdout.decode() + done.stderr.decode()
    assert [line for line in said.splitlines() if line.startswith("code")] == ["code 0", "code 2", "code 2"], said
    assert "PYTHONUTF8=1" in said  # Python itself imports no file of such a name there
    assert "Traceback" not in said
    assert json.loads((tmp_path / "ö.json").read_text())["rows"][0]["lossless"] is True


@pytest.mark.parametrize(
    ("card", "named"),
    [
        ("Card(name=5, title='', source=None)", "5"),
        ("Card(name='mine', title=None, source=None)", "None"),
        ("Card(name='mine', title='', source=None, needs='delayed')", "'delayed'"),
        ("Card(name='mine', title='', source='paper')", "'paper'"),
        ("Card(name='mine', title='', source=None, max_vocab='x')", "'x'"),
        ("Card(name='mine', title='', source=None, dominates=('m' * 500, 5))", "hold names"),
        ("5", "`card`"),
    ],
)
def test_a_card_that_is_none_is_bad_input(draftproof, card, named):
    Path("mine.py").write_text(
        "from draftproof.simulator import Card\nfrom draftproof.verifiers import make\n"
        f"class Mine:\n    card = {card}\n"
        "    def verify(self, root, coin):\n        return make('naive').verify(root, coin)\n"
    )
    for command in ("check", "compare"):
        assert_refused(draftproof(command, "mine.py:Mine", "--K", 1, "--L2", 1), named)
