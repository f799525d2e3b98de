"""The public copy of the reference code of greedy block verification: `TreeVerifier` on given trees."""

from pathlib import Path
from typing import Any

from draftproof.simulator.symbolic import locate_function

#: The pending token that every path begins with.
_PENDING = 0


def gbv(checkout: Path, path: str) -> Any:
    """`gbv_verify`."""
    return _verifier(checkout / path, "gbv_verify")


def traversal(checkout: Path, path: str) -> Any:
    """`traversal_verify`."""
    return _verifier(checkout / path, "traversal_verify")


def block(checkout: Path, path: str) -> Any:
    """`bv_verify`, which reads the first path only."""
    return _verifier(checkout / path, "bv_verify")


def _verifier(file: Path, method: str) -> Any:
    tree_verifier = locate_function(file, "TreeVerifier").function

    def verify(paths: Any, p: Any, q: Any) -> Any:
        drafted = [[_PENDING, *path] for path in paths]
        prefixes: list[str] = []
        for path in drafted:  # in the order of the forward pass of the target
            for length in range(1, len(path) + 1):
                prefix = ",".join(map(str, path[:length]))
                if prefix not in prefixes:
                    prefixes.append(prefix)
        rows = [
            {prefix: table[_context(prefix)].clone() for prefix in prefixes if _context(prefix) in table}
            for table in (q, p)
        ]
        node, token = getattr(tree_verifier(drafted, prefixes, *rows), method)()
        return list(_context(node.rep)), token

    return verify


def _context(prefix: str) -> tuple[int, ...]:
    return tuple(map(int, prefix.split(",")[1:]))
