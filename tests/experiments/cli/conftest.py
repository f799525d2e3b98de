"""An audit of a source, as the command makes it; programs that answer through a pipe, right and wrong."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"

#: Drawing and the residual, before every source.
DRAW = """
import random

def draw(row):
    return random.choices(range(len(row)), weights=row)[0]

def rest(p, q):
    return [max(a - b, 0) for a, b in zip(p, q)]
"""


@pytest.fixture
def audit(draftproof, tmp_path):
    """`audit(source, name, *options)`: the command on a function of a file with that source."""

    def run(source, name, *options):
        file = tmp_path / "theirs.py"
        file.write_text(DRAW + source)
        return draftproof("audit", f"{file}:{name}", *options)

    return run


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Commands of the client in C, right and wrong."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    folder = tmp_path_factory.mktemp("c")
    for name, flags in (("right", ()), ("wrong", ("-DBUG",))):
        made = [compiler, "-O2", *flags, str(PROGRAMS / "client.c"), "-o", str(folder / name)]
        subprocess.run(made, check=True, timeout=60)
    return f"{folder}/right", f"{folder}/wrong"


@pytest.fixture
def clients(request):
    """Commands of a client that takes its numbers, right and wrong."""
    if request.param == "c":
        return request.getfixturevalue("compiled")
    if request.param == "node" and shutil.which("node") is None:
        pytest.skip("there is no Node")
    torch = pytest.importorskip("torch") if request.param == "torch" else None
    device = "--device cuda" if torch is not None and torch.cuda.is_available() else "--device cpu"
    right, bug = {
        "node": (f"node {PROGRAMS}/client.js", "bug"),
        "python": (f"{sys.executable} {PROGRAMS}/client.py numbers", "bug"),
        "torch": (f"{sys.executable} {PROGRAMS}/client_torch.py {device}", "--bug"),
    }[request.param]
    return right, f"{right} {bug}"
