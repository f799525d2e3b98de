"""The four rooms are ours, and stay quiet; `test_layers.py` has what they import of each other."""

import importlib
import subprocess
import sys
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


@pytest.mark.parametrize("room", LIBRARY)
def test_generators_of_the_library_have_a_seed(room: str) -> None:
    """Ruff's rules refuse printing, clocks and global generators there."""
    for path in (ROOT / room).rglob("*.py"):
        assert "default_rng()" not in path.read_text(encoding="utf-8"), path


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
