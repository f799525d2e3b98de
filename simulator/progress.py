"""What long work tells of its progress."""

from collections.abc import Callable
from typing import TypeAlias

#: Told how many steps (draft trees, instances) of the work are done.
Progress: TypeAlias = Callable[[float], None]
