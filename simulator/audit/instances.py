"""The instances on which an audit rests where nothing else is asked for: small, and what breaks verifiers.

Rows are multiples of 1/16, so that floats hold them exactly. All but the context-free ones have rows of their own after
every context.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from simulator.arithmetic import RATIONAL
from simulator.audit.interfaces import Interface, SelfDrafted
from simulator.audit.ragged import Ragged
from simulator.drafts import Adaptive, Delayed
from simulator.errors import InvalidInput
from simulator.instances.families import FAMILIES
from simulator.instances.instance import Instance
from simulator.instances.processes import TableProcess
from simulator.protocol import DraftScheme

DENOMINATOR = 16
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
    "many_paths": "more paths than depth + 1, and duplicates among them",
}


@dataclass(frozen=True)
class Case:
    """One instance with its scheme. name: what it is there for."""

    name: str
    title: str
    instance: Instance
    scheme: DraftScheme


def default_cases(
    interface: Interface, scheme: DraftScheme | None = None, chosen: Sequence[str] | None = None, batch: bool = False
) -> list[Case]:
    """The cases for a function of this interface.

    scheme: of the drafts, in place of the usual ones. chosen: names of cases, None for all. batch: smaller ones, since
    requests multiply (their lengths differ anyway).
    Raises `InvalidInput` for a name that does not exist or does not apply.
    """
    given = scheme is not None
    main = scheme or (SelfDrafted(2) if interface.drafts else Delayed(2 if interface.multi_path else 1, 0, 2))
    shapes: dict[str, tuple[int, DraftScheme]] = dict.fromkeys(
        ("context", "zeros", "one_hot", "equal", "disjoint", "context_free"), (2, main)
    )
    flat = Delayed(2, 0, 1) if interface.multi_path else main
    shapes["three_tokens"] = (3, main if given or not interface.multi_path else flat)
    if not given and not interface.drafts:
        shapes |= _more_shapes(interface.multi_path, batch)
    order = [name for name in TITLES if name in shapes] if chosen is None else list(chosen)
    for name in order:
        if name not in shapes:
            raise InvalidInput(f"there is no case {name!r} here; choose from {', '.join(shapes)}")
    return [Case(name, TITLES[name], _instance(name, *shapes[name]), shapes[name][1]) for name in order]


def _more_shapes(multi_path: bool, batch: bool) -> dict[str, tuple[int, DraftScheme]]:
    """Vocabulary and scheme of the cases in which lengths and numbers of paths vary."""
    if batch:
        return {"many_paths": (2, Delayed(3, 0, 1))} if multi_path else {"short": (3, Delayed(1, 0, 1))}
    more: dict[str, tuple[int, DraftScheme]] = {"short": (3, Delayed(1, 0, 1))}
    more["ragged"] = (2, Ragged((2, 1)) if multi_path else Adaptive(1, 0, 2, Fraction(1, 2)))
    if not multi_path:
        return {**more, "deep": (2, Delayed(1, 0, 3))}
    shapes = {"many_paths": Delayed(4, 0, 1), "trunk": Delayed(2, 1, 1), "three_paths": Delayed(3, 0, 2)}
    return {**more, **{name: (2, shape) for name, shape in shapes.items()}}


TITLES.update(
    trunk="a trunk of one token, then two branches",
    three_paths="three paths of two tokens: as many paths as depth + 1",
)

_FAMILY = {"zeros": "zeros", "equal": "equal", "disjoint": "disjoint"}


#: Seeds whose rows tell block verification from token-by-token verification.
_TELLING = {"context": 45, "context_free": 10, "deep": 58}


def _instance(name: str, size: int, scheme: DraftScheme) -> Instance:
    """The rows of a case, always the same ones."""
    if name == "three_tokens":
        return _rotating(scheme.depth)
    generator = np.random.default_rng(_TELLING.get(name, (list(TITLES).index(name), size, scheme.depth)))
    made = FAMILIES[_FAMILY.get(name, "dirichlet")].instance(size, scheme.depth, generator, DENOMINATOR)
    if name == "one_hot":
        points = FAMILIES["point_masses"].instance(size, scheme.depth, generator, DENOMINATOR)
        made = Instance(made.target, points.draft)
    return context_free(made) if name == "context_free" else Instance(made.target, made.draft)


def _rotating(depth: int) -> Instance:
    """Three tokens; after every context another one is drafted too often, and its residual has two tokens."""
    target, draft = [], []
    for length in range(depth + 1):
        rows = [
            [deque(row) for row in ((3 + n % 2, 8 - n % 4, 5 - n % 2 + n % 4), (10, 4, 2))] for n in range(3**length)
        ]
        for n, pair in enumerate(rows):
            for row in pair:
                row.rotate(n + length)
        target.append(RATIONAL.vector([list(p) for p, _ in rows]) / DENOMINATOR)
        draft.append(RATIONAL.vector([list(q) for _, q in rows]) / DENOMINATOR)
    return Instance(TableProcess(target, "target"), TableProcess(draft[: max(depth, 1)], "draft"))


def context_free(instance: Instance) -> Instance:
    """The instance with the rows of the root after every context."""
    target, draft = (
        TableProcess([np.repeat(process.tables[0], len(table), axis=0) for table in process.tables], process.name)
        for process in (instance.target, instance.draft)
    )
    return Instance(target, draft, instance.scheme)


def with_equal_rows(instance: Instance) -> Instance:
    """The instance with `q` in place of `p`, as far as there is a `q`: a verifier then accepts every draft."""
    tables = list(instance.draft.tables) + list(instance.target.tables[len(instance.draft.tables) :])
    return Instance(TableProcess(tables, "target"), instance.draft, instance.scheme)
