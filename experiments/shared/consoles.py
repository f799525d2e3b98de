"""What commands share beside their options."""

from __future__ import annotations

import sys
from itertools import combinations

from rich.console import Console

from draftproof import verifiers
from draftproof.experiments.shared.names import NamedVerifier, find_verifier
from draftproof.experiments.shared.progress import PlainConsole
from draftproof.simulator.errors import InvalidInput


class _Pipe(PlainConsole):
    """A console that says so where nobody reads; the class above would end the program as if something were refuted."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_for(json_target: str | None) -> Console:
    """Standard output, silent where JSON goes there; wide when it is no terminal, so that tables do not wrap."""
    width = None if sys.stdout.isatty() else 140
    return _Pipe(width=width, quiet=json_target == "-")


def chosen_verifiers(chosen: list[str] | None) -> list[NamedVerifier]:
    """Those asked for, or all that a name alone makes; raises `InvalidInput` where two bear one name.

    `optimum` is none of those: it is made for one instance and one tree.
    """
    named = [find_verifier(spec) for spec in (dict.fromkeys(chosen) if chosen else verifiers.STANDALONE)]
    for other, each in combinations(named, 2):
        if each.label == other.label:
            raise InvalidInput(f"{other.spec} and {each.spec} are both called {each.label!r}; rename one card")
    return named
