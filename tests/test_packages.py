"""The four rooms are ours, and stay quiet; `test_layers.py` has what they import of each other."""

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ("simulator", "verifiers", "lp_analysis")
ROOMS = (*LIBRARY, "experiments")


@pytest.mark.parametrize("room", ROOMS)
def test_room_is_ours_and_not_a_namesake_from_the_package_index(room: str) -> None:
    module = importlib.import_module(f"draftproof.{room}")
    assert Path(str(module.__file__)).resolve().is_relative_to(ROOT / room)


def test_verifiers_is_the_package_with_our_registry() -> None:
    verifiers = importlib.import_module("draftproof.verifiers")
    assert "naive" in verifiers.REGISTRY
    assert verifiers.REGISTRY["naive"].card.name == "naive"


def sources(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


@cache
def nodes(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def imported(source: str) -> set[str]:
    """Packages that are imported absolutely, inside functions and by name included."""
    names = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in ("import_module", "__import__"):
            names |= {str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)}
    return {name.split(".")[0] for name in names}


def dotted(node: ast.AST) -> str:
    """`np.random.seed` for the expression of that name, "" for anything that is no chain of names."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def forbidden(source: str) -> set[str]:
    """What library code must not do: print, read a clock, seed or use a global generator."""
    found = {name for name in imported(source) if name in ("time", "datetime")}
    generators = ("np.random.", "numpy.random.") + (("random.",) if imports_module_random(source) else ())
    for node in nodes(source):
        name = dotted(node)
        if isinstance(node, ast.Call) and dotted(node.func) in ("print", "sys.stdout.write", "sys.stderr.write"):
            found.add(dotted(node.func))
        if name.startswith(generators):
            last = name.rsplit(".", 1)[1]
            harmless = ("default_rng", "getstate", "get_state", "mtrand")  # seeded; looks at the global ones
            if last[0].islower() and last not in harmless:  # nor are classes global state
                found.add(name)
        if isinstance(node, ast.Call) and dotted(node.func).endswith("default_rng") and not node.args:
            found.add("default_rng()")
    return found


def imports_module_random(source: str) -> bool:
    """Whether the name `random` is the module, not an argument."""
    imports = [node for node in nodes(source) if isinstance(node, ast.Import)]
    return any(alias.name == "random" and not alias.asname for node in imports for alias in node.names)


@pytest.mark.parametrize("room", LIBRARY)
def test_library_never_prints_seeds_or_reads_a_clock(room: str) -> None:
    for path in sources(room):
        if path.name in ("system.py", "nondeterministic.py", "replay.py") and "symbolic" in path.parts:
            continue  # stand-ins for the clocks that audited code reads; points drawn by a seeded generator of its own
        if path.name == "real.py" and "audit" in path.parts:
            continue  # seeds what audited code draws from, and leaves it as it was
        if path.name == "program.py" and "audit" in path.parts:
            continue  # waits for another process, and not for ever
        wrong = forbidden(path.read_text(encoding="utf-8"))
        assert not wrong, f"{path.relative_to(ROOT)} uses {sorted(wrong)}"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("def f():\n    print('x')", "print"), ("import sys\nsys.stdout.write('x')", "sys.stdout.write"),
        ("import time\ntime.perf_counter()", "time"), ("def f():\n    from time import perf_counter", "time"),
        ("import importlib\nimportlib.import_module('time')", "time"), ("from datetime import datetime", "datetime"),
        ("import random\nrandom.seed(0)", "random.seed"), ("import random\nx = random.random()", "random.random"),
        ("import numpy as np\nnp.random.seed(0)", "np.random.seed"),
        ("import numpy\nnumpy.random.rand(3)", "numpy.random.rand"),
        ("import numpy as np\ng = np.random.default_rng()", "default_rng()"),
    ],
)  # fmt: skip
def test_quiet_reader_sees_every_noise(source: str, what: str) -> None:
    assert what in forbidden(source)


def test_quiet_reader_allows_seeded_generators() -> None:
    assert forbidden("from random import Random\nRandom(0)\nimport numpy as np\nnp.random.default_rng(3)") == set()
    assert forbidden("def draw(random):\n    return random.choice([1])") == set()


_WITHOUT_TORCH = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers"):
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Blocker())
for room in sys.argv[1:]:
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), room + "."):
        importlib.import_module(module.name)
"""


def _import_without_torch(*rooms: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _WITHOUT_TORCH, *rooms]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_library_imports_without_torch_or_transformers() -> None:
    done = _import_without_torch(*(f"draftproof.{room}" for room in LIBRARY))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", ["import torch", "from transformers import pipeline"])
def test_blocker_refuses_a_module_that_imports_them(tmp_path: Path, source: str) -> None:
    (tmp_path / "fake_room.py").write_text(source, encoding="utf-8")
    done = _import_without_torch("fake_room", folder=tmp_path)
    assert done.returncode != 0
    assert "was imported" in done.stderr
