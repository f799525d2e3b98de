"""Exact answers about verifiers of speculative decoding, in rational arithmetic.

check    is this verifier lossless, on these rows or on standard ones?
prove    is it, for all p and q?
audit    is the function of another project? For test suites: `assert_lossless`
compare  which verifier brings most tokens a block?
bound    how many could any verifier bring, without a bias or with one?
claims   what papers say, each with a test
model    does it hold on real models? `model.train`, `model.validate`, `model.choose`; also `generate_with`
report   a page of results
list     verifiers, draft schemes and all else that is known by name
verify   is what a certificate says true?
vectors  small instances with exact answers, for tests in any language

`draftproof --help` has them as commands; `check`, `prove`, `audit`, `bound` and the rest of `__all__` are for scripts:

    check("naive", world=(target, draft), scheme="delayed:K=2,L1=0,L2=1")

Verifiers, processes and schemes may be objects, or text as on the command line.
"""

from __future__ import annotations

import ast
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

#: The module of each name, as the stub beside this file imports it: what is asked for is imported then.
_MODULES = {
    alias.name: str(node.module)
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_MODULES)  # noqa: PLE0605 - type checkers read the stub


def main() -> None:
    """The command line.

    What fails while the command is still being imported must not end as Python does, with the code of refuted.
    """
    try:
        from draftproof.experiments.cli import main as run  # noqa: PLC0415 - it takes long

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(70)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_MODULES[name])
    value = globals()[name] = getattr(home, name) if hasattr(home, name) else import_module(f"{home.__name__}.{name}")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
