"""The papers that cards and docstrings refer to, by key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

BIBLIOGRAPHY: Mapping[str, str] = MappingProxyType(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
)
