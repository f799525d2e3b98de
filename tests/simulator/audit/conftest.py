"""The planted bugs and their corrected twins, imported as the command imports them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.modules import load

AUDITED = Path(__file__).parents[2] / "data" / "audited"


@pytest.fixture
def planted() -> Callable[[str, str], Any]:
    """`planted(file, name)`: a function of `tests/data/audited`."""
    return lambda file, name: load(AUDITED / f"{file}.py", name)
