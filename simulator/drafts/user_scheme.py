"""User-defined draft schemes: `draw` and `depth` are enough, the rest has defaults, and every tree is checked.

class Pair:
    depth = 1

    def draw(self, draft, coin):
        q = draft.row(())
        return [(coin.choose(q),), (coin.choose(q),)]  # paths, a DraftTree, or tokens by context
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64, Arithmetic, arithmetic_of
from draftproof.simulator.changes import Watch
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._shape import LARGEST
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import (
    DraftproofError,
    Fails,
    InvalidInput,
    InvalidVerifier,
    NoFunction,
    TooLarge,
    printable,
    short_repr,
)
from draftproof.simulator.protocol import Coin, Context, DraftScheme, TokenProcess, Vector
from draftproof.simulator.raised import user_lines
from draftproof.simulator.user_code import UserCoin, UserRows, from_user, to_user

#: Counting stops with `TooLarge` above so many draft outcomes.
MOST_OUTCOMES = 1_000_000
#: The largest values that a scheme may return.
MOST = {"depth": LARGEST, "nodes": 10**9, "count": 10**300}
#: The node budget of a scheme without `nodes` is the most in so many trees, over so many tokens.
SAMPLED, TOKENS = 2_000, 4

#: The attributes of a scheme that engines use.
CONTRACT = ("name", "depth", "nodes", "draw", "count", "reductions", "as_dict")


@dataclass(frozen=True, repr=False)
class UserScheme:
    """A user-defined scheme, completed by defaults for what it does not define.

    scheme: has `draw(draft, coin)`, which returns a `DraftTree`, paths from the root, or drafted tokens by context,
    and `depth`, the length of the longest path. `name`, `nodes`, `count` and `reductions` are used where it has them.
    source: where it comes from, for files and rows. given: the parameters that its class was called with, as texts.
    Raises `InvalidInput` for anything else, and where `draw` returns no tree.
    """

    scheme: Any
    source: Mapping[str, str] = field(default_factory=dict, compare=False)
    given: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        label = getattr(self.scheme, "__name__", type(self.scheme).__name__)
        if isinstance(self.scheme, type):
            raise InvalidInput(f"{label} is a class; give an object of it: {label}()")
        if not callable(getattr(self.scheme, "draw", None)):
            raise InvalidInput(f"{label} is no draft scheme: it needs `depth` and `draw(draft, coin)`")
        self._whole("depth", getattr(self.scheme, "depth", None), "the length of its longest path")

    def __hash__(self) -> int:
        return hash(type(self.scheme))  # objects of a dataclass have no hash

    @property
    def name(self) -> str:
        """Its own name, or that of its class."""
        return printable(str(getattr(self.scheme, "name", type(self.scheme).__name__)))

    @property
    def depth(self) -> int:
        """Length of the longest path."""
        return self._whole("depth", self.scheme.depth, "the length of its longest path")

    @property
    def nodes(self) -> int:
        """Drafted tokens at most; where the scheme does not say it, the most in 2,000 trees over four tokens."""
        if hasattr(self.scheme, "nodes"):
            return self._whole("nodes", self.scheme.nodes, "the largest number of drafted tokens")
        trees = islice(outcomes(lambda coin: self.draw(_Uniform(), coin), FLOAT64), SAMPLED)
        return max(sum(len(tokens) for tokens in tree.children.values()) for tree, _ in trees)

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """One tree, checked."""
        with self._named():
            drawn = self._called("draw", UserRows(draft), UserCoin(coin))
        try:
            tree = self._tree(drawn)
            self._check(tree, draft.vocab_size)
        except (TypeError, AttributeError):
            raise self._no_tree(drawn) from None
        return tree

    def trees(self, draft: TokenProcess, arithmetic: Arithmetic) -> Iterator[tuple[DraftTree, Any]]:
        """Every tree with its probability; raises `InvalidInput` where `draw` is no function of draft and coin."""
        watch = Watch(self.scheme, "draw", "the draft")
        with self._named():
            yield from outcomes(partial(watch.run, partial(self.draw, draft)), arithmetic)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of the coin and the watch, which are the same for verifiers, name the scheme."""
        try:
            yield
        except InvalidVerifier as error:
            if type(error) not in (InvalidVerifier, NoFunction, Fails):
                raise
            raise InvalidInput(f"scheme {self.name}: {str(error).replace('verify must', 'draw must')}") from error

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability; raises `TooLarge` above a million."""
        if hasattr(self.scheme, "count"):
            number = self._called("count", UserRows(draft))
            return self._whole("count", number, "the number of draft trees")
        number = sum(1 for _ in islice(self.trees(draft, arithmetic_of(draft.row(()))), MOST_OUTCOMES + 1))
        if number > MOST_OUTCOMES:
            raise TooLarge(f"scheme {self.name} has more than {MOST_OUTCOMES:,} draft trees; use a smaller one")
        return number

    def reductions(self) -> Sequence[DraftScheme]:
        """The reductions of the scheme, or itself alone; for a scheme of a file those that a command can name."""
        smaller = self._called("reductions") if hasattr(self.scheme, "reductions") else [self.scheme]
        if not isinstance(smaller, Sequence) or isinstance(smaller, str):
            raise InvalidInput(
                f"scheme {self.name}: reductions returned {short_repr(smaller)}; it must be a list of schemes"
            )
        return [scheme for scheme in map(self._reduced, smaller) if scheme is not None]

    def _reduced(self, scheme: Any) -> DraftScheme | None:
        if scheme is self.scheme:
            return self
        if type(scheme).__module__.startswith("draftproof.simulator.drafts."):
            ours: DraftScheme = scheme
            return ours
        if not self.source:
            return UserScheme(scheme)
        kind, values = type(scheme), dict(getattr(scheme, "__dict__", {}))
        named = not values or (dataclasses.is_dataclass(kind) and {type(v) for v in values.values()} <= {int, Fraction})
        if kind.__module__ != type(self.scheme).__module__ or not named:
            return None
        file = self.source["file"].partition(".py:")[0]
        given = ",".join(f"{key}={value}" for key, value in values.items())
        return UserScheme(
            scheme, {**self.source, "file": f"{file}.py:{kind.__name__}" + (f":{given}" if given else "")}
        )

    def as_dict(self) -> dict[str, Any]:
        """Its name, its parameters where they are known, and its file, None for an object of Python."""
        given = {"parameters": self._parameters()} if self._parameters() else {}
        return {"name": self.name, **given, "file": None, **self.source}

    def _parameters(self) -> dict[str, str]:
        """The fields of a dataclass; of another class what it was called with."""
        if not dataclasses.is_dataclass(self.scheme):
            return dict(self.given)
        return {field.name: str(getattr(self.scheme, field.name)) for field in dataclasses.fields(self.scheme)}

    def __str__(self) -> str:
        if "__str__" in vars(type(self.scheme)):
            return str(self.scheme)
        shown = ", ".join(f"{key}={value}" for key, value in self._parameters().items())
        return f"{self.name}({shown})" if shown else self.name

    def __repr__(self) -> str:
        says = any("__repr__" in vars(kind) for kind in type(self.scheme).__mro__[:-1])  # the default shows an address
        return (
            f"UserScheme({self.scheme!r})" if says else f"UserScheme({type(self.scheme).__name__}, depth {self.depth})"
        )

    def _tree(self, drawn: Any) -> DraftTree:
        if isinstance(drawn, DraftTree):
            told = {context: tuple(map(_UserPiece, pieces)) for context, pieces in drawn.pieces.items()}
            return DraftTree(drawn.children, told)
        if isinstance(drawn, Mapping):
            return DraftTree({context: tuple(tokens) for context, tokens in drawn.items()})
        if isinstance(drawn, Iterable) and not isinstance(drawn, str):
            paths = list(drawn)
            if all(isinstance(path, (tuple, list)) for path in paths):
                return DraftTree.from_paths((), paths)
        raise self._no_tree(drawn)

    def _no_tree(self, drawn: Any) -> InvalidInput:
        return InvalidInput(
            f"scheme {self.name}: draw returned {short_repr(drawn)}; it must be a DraftTree, paths from the root such "
            "as [(0, 1), (2,)], or drafted tokens by context such as {(): (0, 2), (0,): (1,)}"
        )

    def _called(self, what: str, *arguments: Any) -> Any:
        """What a method of the scheme returns."""
        try:
            return getattr(self.scheme, what)(*arguments)
        except DraftproofError:
            raise
        except Exception as error:
            raise InvalidInput(f"scheme {self.name}: {what} raised {user_lines(error)}") from error

    def _whole(self, key: str, value: Any, way_out: str) -> int:
        if type(value) is not int or not 0 <= value <= MOST[key]:
            raise InvalidInput(f"scheme {self.name}: {key} is {short_repr(value)}; give {way_out}, a whole number")
        return value

    def _check(self, tree: DraftTree, size: int) -> None:
        for context, tokens in tree.children.items():
            if not _are_tokens(context, size) or not _are_tokens(tokens, size):
                raise InvalidInput(f"scheme {self.name} drafted {tokens!r} after {context!r}; tokens are 0..{size - 1}")
            if tokens and context not in tree:
                raise InvalidInput(f"scheme {self.name} drafted {tokens} after {context}, which was not drafted itself")
            if tokens and len(context) >= self.depth:
                raise InvalidInput(f"scheme {self.name} drafted after {context}, beyond its depth {self.depth}")
        for context, pieces in tree.pieces.items():
            if len(pieces) != len(tree.children.get(context, ())):
                raise InvalidInput(f"scheme {self.name} gives {len(pieces)} pieces for the drafts after {context}")
        drafted = sum(len(tokens) for tokens in tree.children.values())
        if hasattr(self.scheme, "nodes") and drafted > self.nodes:
            raise InvalidInput(f"scheme {self.name} drafted {drafted} tokens, more than its nodes {self.nodes}")


@dataclass(frozen=True)
class _UserPiece:
    """A piece of a user-defined scheme, which gets rows as the scheme does; see `Piece`."""

    piece: Any

    def law(self, row: Vector) -> Vector:
        shown = to_user(row)
        law = self.piece.law(shown)
        return row if law is shown else from_user(law)


def _are_tokens(tokens: Any, size: int) -> bool:
    return isinstance(tokens, tuple) and all(
        isinstance(token, (int, np.integer)) and 0 <= token < size for token in tokens
    )


class _Uniform:
    """A draft that can draw every token."""

    vocab_size = TOKENS

    def row(self, context: Context) -> Any:
        return np.full(TOKENS, 1 / TOKENS)
