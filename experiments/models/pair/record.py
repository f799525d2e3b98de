"""What training leaves in a folder: files and their record as JSON, complete or not there at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from draftproof.experiments.models.pair.devices import quiet_loading
from draftproof.experiments.shared.temporary import temporary
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut, parse_json, read_text

#: What can be done about a folder that holds something else.
WAY_OUT = "choose another --out, or remove it first"


def read_record(folder: Path, name: str, what: str, *nested: str, way_out: str = WAY_OUT) -> dict[str, Any] | None:
    """The record in `NAME.json`, None where nothing is there; raises `InvalidInput` for a folder of anything else.

    what: what the folder should hold, for errors. nested: fields that are mappings themselves.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        record = dict(parse_json(read_text(folder / f"{name}.json", name), f"{name}.json"))
        for key in nested:
            dict(record[key])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(f"{folder} is there and holds no {what}; {way_out}") from None
    return record


def check_same(folder: Path, what: str, there: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` for the first field of what is there that is not as asked for."""
    for key, value in asked.items():
        if there.get(key) != value:
            raise InvalidInput(f"{folder} holds a {what} with {key} {there.get(key)}, not {value}; {WAY_OUT}")


@contextmanager
def saving(what: str) -> Iterator[None]:
    """While libraries write: they have errors of their own for a full disk, which become `InvalidInput`."""
    try:
        with quiet_loading():
            yield
    except Exception as error:
        raise InvalidInput(f"{what} cannot be written: {cut(error, 160)}; make room and run again") from None


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside the one wanted, which it becomes when the work is done; raises `InvalidInput`."""
    try:
        parent = folder.resolve().parent
        parent.mkdir(parents=True, exist_ok=True)
        with temporary(parent, folder.name, folder=True) as new:
            yield new
            umask = os.umask(0)
            os.umask(umask)
            new.chmod(0o777 & ~umask)
            os.replace(new, folder.resolve())
    except OSError as error:
        raise InvalidInput(f"cannot write {folder}: {error.strerror}; choose a folder that can be written") from None
