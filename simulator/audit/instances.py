"""The default instances of an audit: small ones, on which typical bugs show.

Rows are multiples of 1/997: neither short floats nor a few decimals hold them, so rows that a function rounds show. All
but the context-free ones have rows of their own after every context. One has entries of 1e-4, which some functions cut.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit.interfaces import Interface, SelfDrafted
from draftproof.simulator.audit.ragged import ByRequest, Ragged
from draftproof.simulator.drafts import Adaptive, Delayed
from draftproof.simulator.drafts.branching import Branching
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import rationalise, tabulate, telling
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.tables import TableProcess

#: Rows are chosen in multiples of `1/UNITS`, and given in the nearest multiples of `1/DENOMINATOR`, a prime.
UNITS, DENOMINATOR = 16, 997
#: More paths than this are not shown beside two more tokens: their trees would be too many.
MOST_WIDE = 5
#: Tokens of the case for functions that sort.
MANY_TOKENS = 7
#: What an audit has where it is asked for: cases, and other questions than the law.
ALSO = ("masked", "reproducible", "logprobs")
#: What each case is, by its name.
TITLES = {
    "context": "p and q depend on the context",
    "three_tokens": "three tokens, p and q depend on the context",
    "zeros": "zero entries in p and q",
    "one_hot": "every q has all its mass on one token",
    "equal": "p = q",
    "disjoint": "p and q have disjoint supports",
    "context_free": "p and q are the same after every context",
    "short": "drafts of one token",
    "ragged": "drafts of different lengths",
    "deep": "drafts one token longer",
    "longer": "texts one token longer",
    "many_paths": "more paths than depth + 1, and duplicates among them",
    "trunk": "a trunk of one token, then two branches",
    "three_paths": "three paths of two tokens: as many paths as depth + 1",
    "wide": "two paths of four tokens: some are never drafted",
    "wider": "three paths of five tokens: some are never drafted",
    "widest": "two tokens more than there are paths",
    "masked": "tokens of probability zero (as logits -inf) in p, in q and in both",
    "many_tokens": "seven tokens with positive entries, since the function sorts rows or cuts them",
    "no_drafts": "a request has no draft",
    "no_drafts_first": "the first request of a batch has no draft",
    "small": "probabilities of 1e-4 beside large ones",
}
#: Cases whose rows are of the family of that name; those of others are of `dirichlet`.
_FAMILIES = ("zeros", "equal", "disjoint")


def default_cases(
    interface: Interface,
    scheme: DraftScheme | None = None,
    chosen: Sequence[str] | None = None,
    batch: bool = False,
    sorts: bool = False,
) -> list[Case]:
    """The cases for a function of this interface.

    scheme: in place of the usual one; cases that vary the number and length of drafts stay. chosen: names of cases,
    None for all. batch: whether cases are smaller, since the trees of requests multiply. sorts: whether the function
    sorts rows or keeps their largest entries, which few tokens may not show.
    Raises `InvalidInput` for a name that does not exist or does not apply.
    """
    shapes = _shapes(interface, scheme, batch)
    usual = [name for name in TITLES if name in shapes and name != "masked" and (sorts or name != "many_tokens")]
    for name in chosen or ():
        if name not in shapes:
            close = get_close_matches(name, shapes, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidInput(f"there is no case {name!r} here; {hint}choose from {', '.join(shapes)}")
    return [_case(name, *shapes[name]) for name in (usual if chosen is None else chosen)]


def also_cases(
    interface: Interface, scheme: DraftScheme | None, also: Sequence[str], known: Sequence[Case], batch: bool = False
) -> list[Case]:
    """The cases that `also` adds, a part of `ALSO`, to those that are known; raises `InvalidInput` for another name."""
    for name in also:
        if name not in ALSO:
            raise InvalidInput(f"there is no {name!r} to be added; choose from {', '.join(ALSO)}")
    wanted = "masked" in also and all(case.name != "masked" for case in known)
    return default_cases(interface, scheme, ["masked"], batch) if wanted else []


def _case(name: str, size: int, scheme: DraftScheme) -> Case:
    rows = _instance(name, size, scheme)
    return Case(name, rows.target, rows.draft, title=TITLES[name], draft_scheme=scheme)


def _shapes(interface: Interface, scheme: DraftScheme | None, batch: bool) -> dict[str, tuple[int, DraftScheme]]:
    """Vocabulary and scheme of every case that applies.

    Wide cases have two tokens more than paths: some token is never drafted, so that every draft may be rejected.
    """
    main = scheme or (SelfDrafted(2) if interface.drafts else Delayed(2 if interface.multi_path else 1, 0, 2))
    if batch and not interface.ragged and isinstance(main, Delayed):
        main = ByRequest((main.depth,))
    free = isinstance(main, (Delayed, Adaptive))  # independent paths
    of_one_token = _shaped(main, 2, 1) if interface.multi_path else main
    shapes: dict[str, tuple[int, DraftScheme | None]] = dict.fromkeys(
        ("context", "zeros", "one_hot", "equal", "disjoint", "context_free"), (2, main)
    )
    shapes["three_tokens"] = (3, main if scheme is not None else of_one_token or main)
    shapes["small"] = (3, main if interface.drafts else _shaped(main, 2 if interface.multi_path else 1, 1))
    shapes["masked"] = (3 if interface.drafts else 4, of_one_token or main)
    shapes["many_tokens"] = (MANY_TOKENS, main if interface.name == "step" else _shaped(main, 1, 1))
    if interface.name == "loop":
        shapes["longer"] = (2, SelfDrafted(main.depth + 1))
    elif not interface.drafts and not (interface.multi_path and getattr(main, "K", 2) > 1):
        shapes["short"] = (3, _shaped(main, 1, 1))
        if not batch:
            shapes["ragged"] = (2, Adaptive(1, 0, 2, Fraction(1, 2)) if free else None)
            shapes["deep"] = (2, _shaped(main, 1, 3))
    elif not interface.drafts:
        shapes["many_paths"] = (2, _shaped(main, 3 if batch else 4, 1))
        shapes["wide"] = (4, _shaped(main, 2, 1))
        if not batch:
            shapes["short"] = (3, _shaped(main, 1, 1))
            shapes["ragged"] = (2, Ragged((2, 1)) if free else None)
            shapes["trunk"] = (2, _shaped(main, 2, 1, 1))
            shapes["three_paths"] = (2, _shaped(main, 3, 2))
            shapes["wider"] = (5, _shaped(main, 3, 1))
            most = getattr(main, "K", 0)
            shapes["widest"] = (most + 2, _shaped(main, most, 1) if 3 < most <= MOST_WIDE else None)
    if batch and free:
        shapes["no_drafts"] = (2, ByRequest((main.depth, 0)))
        shapes["no_drafts_first"] = (2, ByRequest((0, main.depth)))
    elif free and interface.without_drafts:
        shapes["no_drafts"] = (3, Delayed(1, 0, 0))
    return {name: (size, shape) for name, (size, shape) in shapes.items() if shape is not None}


def _shaped(main: DraftScheme, K: int, L2: int, L1: int = 0) -> DraftScheme | None:
    """A scheme of the same kind with another shape; None where the kind has none."""
    if isinstance(main, Branching):
        return type(main)(K, L1, L2)
    return Delayed(K, L1, L2) if isinstance(main, (Delayed, Adaptive)) else None


#: Seeds whose rows tell block verification from token-by-token verification.
_TELLING = {"context": 45, "context_free": 10, "deep": 58}


def _instance(name: str, size: int, scheme: DraftScheme) -> Instance:
    """The rows of a case, always the same ones."""
    if name == "small":
        return _rotating(scheme.depth, lambda n: (11, 29_999, 69_981), (40_009, 7, 59_975))
    return remade(_in_units(name, size, scheme), lambda tables: [rationalise(table, DENOMINATOR) for table in tables])


def _in_units(name: str, size: int, scheme: DraftScheme) -> Instance:
    if name == "three_tokens":
        return _rotating(scheme.depth, lambda n: (3 + n % 2, 8 - n % 4, 5 - n % 2 + n % 4), (10, 4, 2))
    if name == "masked":
        return _with_masks(size, scheme.depth)
    if name == "many_tokens":
        return _graded(size, scheme.depth)
    generator = np.random.default_rng(_TELLING.get(name, (list(TITLES).index(name), size, scheme.depth)))
    made = FAMILIES[name if name in _FAMILIES else "dirichlet"].instance(size, scheme.depth, generator, UNITS)
    if name == "one_hot":
        points = FAMILIES["point_masses"].instance(size, scheme.depth, generator, UNITS)
        made = Instance(made.target, points.draft)
    return context_free(made) if name == "context_free" else Instance(made.target, made.draft)


def _rotating(depth: int, of_target: Callable[[int], Sequence[int]], of_draft: Sequence[int]) -> Instance:
    """Three tokens; after every context another one is drafted too often, and its residual has two tokens.

    of_target: the weights of p after context `n`; of_draft: those of q, of the same sum.
    """
    target, draft = [], []
    for length in range(depth + 1):
        rows = [[deque(row) for row in (of_target(n), of_draft)] for n in range(3**length)]
        for n, pair in enumerate(rows):
            for row in pair:
                row.rotate(n + length)
        target.append(RATIONAL.vector([list(p) for p, _ in rows]) / sum(of_draft))
        draft.append(RATIONAL.vector([list(q) for _, q in rows]) / sum(of_draft))
    return Instance(TableProcess(target, "target"), TableProcess(draft[: max(depth, 1)], "draft"))


#: Rows of p and q over two or three tokens, in sixteenths: a token that only one of them has, and rows of one token.
_MASKED = {
    2: (((5, 11), (16, 0)), ((16, 0), (8, 8)), ((0, 16), (16, 0)), ((7, 9), (9, 7))),
    3: (((8, 8, 0), (4, 0, 12)), ((0, 16, 0), (8, 8, 0)), ((5, 0, 11), (0, 0, 16)), ((3, 6, 7), (0, 16, 0))),
}


def _with_masks(size: int, depth: int) -> Instance:
    """The last token has probability 0 in all rows, as padding of a vocabulary has, others after some contexts."""
    kinds = _MASKED[size - 1]

    def table(length: int, which: int) -> Any:
        rows = [(*kinds[(n + length) % len(kinds)][which], 0) for n in range(size**length)]
        return RATIONAL.vector(rows) / UNITS

    target = [table(length, 0) for length in range(depth + 1)]
    draft = [table(length, 1) for length in range(max(depth, 1))]
    return Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))


def _graded(size: int, depth: int) -> Instance:
    """Positive entries in different orders after every context, no two of a row equal."""
    total = 4 * UNITS
    ranks = [*range(1, size), total - size * (size - 1) // 2]

    generator = np.random.default_rng((size, depth))

    def table(length: int) -> Any:
        return RATIONAL.vector([generator.permutation(ranks).tolist() for _ in range(size**length)]) / total

    target = [table(length) for length in range(depth + 1)]
    draft = [table(length) for length in range(max(depth, 1))]
    return Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))


def remade(instance: Instance, tables: Callable[[Sequence[Any]], list[Any]]) -> Instance:
    """The instance with other tables for `p`, for `q`, and for what verifiers are told of `q`."""

    def process(given: TableProcess) -> TableProcess:
        return TableProcess(tables(given.tables), given.name)

    told, draft = instance.draft.told, process(instance.draft)
    if told is not None:
        draft = telling(draft, process(tabulate(told, instance.draft.depth, instance.draft.arithmetic)))
    return replace(instance, target=process(instance.target), draft=draft)


def context_free(instance: Instance) -> Instance:
    """The instance with the rows of the root after every context."""
    return remade(instance, lambda tables: [np.repeat(tables[0], len(table), axis=0) for table in tables])


def with_equal_rows(instance: Instance) -> Instance:
    """The instance with `q` in place of `p`, as far as there is a `q`: a verifier then accepts every draft."""
    tables = list(instance.draft.tables) + list(instance.target.tables[len(instance.draft.tables) :])
    return Instance(TableProcess(tables, "target"), instance.draft, instance.scheme)


def probe(instance: Instance, scheme: DraftScheme) -> Instance:
    """One more random instance, for trees of the same scheme and vocabulary."""
    generator = np.random.default_rng((instance.vocab_size, scheme.depth, 97))
    made = FAMILIES["dirichlet"].instance(instance.vocab_size, scheme.depth, generator, DENOMINATOR)
    return Instance(made.target, made.draft)
