"""Tables of models that were computed before, in the user's folder of caches: by the hash of all that decides them.

A file whose contents do not have the hash that it was written with is computed again, never read.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from draftproof.experiments.shared.output import write_whole
from draftproof.simulator.errors import InvalidInput


@dataclass(frozen=True)
class Tables:
    """Target tables to depth `L`, draft tables to `L - 1`, `[d]` of shape `(V**d, V)`, float64.

    outside: by depth 1..L the probability of a path with a token that was not kept, shape `(2, L)` for target and
    draft; of shape `(2, 0)` where all tokens are. above_target, above_draft: where not all are kept, tables whose
    optimum bounds that of the whole vocabulary from above (`truncated`).
    """

    target: Sequence[Any]
    draft: Sequence[Any]
    outside: Any
    above_target: Sequence[Any] = ()
    above_draft: Sequence[Any] = ()


_PARTS = ("target", "draft", "above_target", "above_draft")

#: Whatever numpy and the reader of archives say to what is no archive of arrays, or was damaged.
_NO_ARCHIVE = (OSError, ValueError, EOFError, KeyError, TypeError, RuntimeError, MemoryError, BadZipFile, zlib.error)


def kept_tables(key: str, make: Callable[[], Tables]) -> Tables:
    """The tables of this key, computed where they are not at hand; a folder that cannot be written keeps nothing."""
    path = cache_folder() / f"tables-{key}.npz"
    found = _read(path)
    if found is None:
        found = make()
        with suppress(OSError, InvalidInput):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, _packed(found))
    return found


def cache_folder() -> Path:
    """`draftproof` in the folder where this user's programs keep what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "draftproof"


def _packed(tables: Tables) -> bytes:
    arrays = {"outside": np.asarray(tables.outside, dtype=np.float64)}
    for name in _PARTS:
        arrays |= {f"{name}{depth}": np.asarray(rows) for depth, rows in enumerate(getattr(tables, name))}
    stream = io.BytesIO()
    np.savez(stream, digest=np.frombuffer(_digest(arrays), dtype=np.uint8), **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _read(path: Path) -> Tables | None:
    """What a file holds; None where there is none, and where it is not as it was written."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
    except _NO_ARCHIVE:
        return None
    digest = arrays.pop("digest", None)
    if digest is None or digest.tobytes() != _digest(arrays):
        return None
    parts = {
        name: [arrays[f"{name}{depth}"] for depth in range(sum(each.startswith(name) for each in arrays))]
        for name in _PARTS
    }
    return Tables(outside=arrays["outside"], **parts)


def _digest(arrays: dict[str, Any]) -> bytes:
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
    return found.digest()
