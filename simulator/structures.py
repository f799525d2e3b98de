"""What a verifier may offer beside `verify`, so that its law need not be enumerated: one value, its `structure`.

An engine asks for this value, never for a name. `n` contexts at once: `p`, `q` and laws have shape `(n.., V)`, weights
`(n.., 1)`, in the arithmetic of the rows. The structures of the project's own verifiers are compared with `verify` by
its tests; that of any other verifier is used only where it is asked for, and proves nothing about `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import DraftScheme, Vector, Verifier
from draftproof.simulator.user_code import with_user_numbers

#: `branch(p, q, drafted)`: the law of the next token given the drafts of one node, shape `(V,)`.
Branch: TypeAlias = Callable[[Vector, Vector, Any], Vector]
#: `law(p, q, k)`, see `TopDown.child_law`.
ChildLaw: TypeAlias = Callable[[Vector, Vector, int], Any]
#: `weights(weight, p, q)`: the weight with which each child is entered, shape `(n.., V)`; anything where `q = 0`.
ChildWeights: TypeAlias = Callable[[Any, Vector, Vector], Vector]


@dataclass(frozen=True)
class TopDown:
    """Decides node by node from the root, each time from the drafts of that node alone. One of the first two is enough.

    branch: the law of the next token given the drafts, `branch(p, q, drafted)`, of one node; it serves any scheme.
    child_law: the law of one step with `k` i.i.d. drafts, shape `(k + 1, n.., V)`. Entry `[m, .., y]` for `m >= 1`: it
    goes on to the child `y`, which `m` drafts equal. Entry `[0, .., y]`: it stops here with correction `y`.
    last_step: `last_step(p, q, masses)`, a shorter way to the sums over `k` of `masses[k] child_law[0]` and of
    `masses[k] child_law[1:].sum(0)`, each of shape `(n.., V)`: what is left of it where the children are leaves, which
    most contexts are. masses: by number of drafts, 1 or more, numbers or shape `(n.., 1)`.
    """

    branch: Branch | None = None
    child_law: ChildLaw | None = None
    last_step: Callable[[Vector, Vector, Mapping[int, Any]], tuple[Vector, Vector]] | None = None

    name: ClassVar[str] = "top-down"

    def __post_init__(self) -> None:
        if self.branch is None and self.child_law is None:
            raise InvalidVerifier("TopDown() offers nothing: give it branch or child_law")


@dataclass(frozen=True)
class Selection:
    """Selects one of the drafted paths by a rule, so that the path has another law than `q`.

    A state is a tuple of arrays of shape `(n.., 1)`: what the law of the rest of the path depends on.
    root: `root(like)` is the state at the root, in the shape and arithmetic of `like`, `(n.., 1)`.
    step: `step(state, p, q, paths)` gives the law of the selected path's next token and the states of the children,
    each of shape `(n.., V)`. paths: the branches that go through this node's trunk: `K`, or 1 above the fork.
    """

    root: Callable[[Vector], tuple[Any, ...]]
    step: Callable[[Any, Vector, Vector, int], tuple[Vector, tuple[Vector, ...]]]


@dataclass(frozen=True)
class OnePath:
    """Verifies one path from the leaf up, with a weight at every node as in block verification.

    `q` is the law of the path's next token. The path is the first one, or the one that `selection` takes.
    at_rejection: `at_rejection(weight, p, q)` gives the law of the correction and the probability of accepting the node
    where its continuation was rejected. only: raises `UnsupportedTree` for schemes that the verifier is not made for.
    """

    child_weights: ChildWeights
    at_rejection: Callable[[Any, Vector, Vector], tuple[Vector, Any]]
    selection: Selection | None = None
    only: Callable[[DraftScheme], None] | None = None

    name: ClassVar[str] = "path"


@dataclass(frozen=True)
class LeafToRoot:
    """Visits the leaves depth first, children in the order in which they were drafted, and forgets what it rejected.

    reject: `reject(weight, p, q, token)`: target, draft and weight of a node once its child `token` was rejected.
    """

    child_weights: ChildWeights
    reject: Callable[[Any, Vector, Vector, int], tuple[Vector, Vector, Any]]

    name: ClassVar[str] = "leaf-to-root"


@dataclass(frozen=True)
class Layered:
    """Gives scores to the drafted nodes of a layer together, see `step`; what has none plays no further part.

    step: `step(scores, target, draft, branches)` for `B` layers of `n` nodes from which `branches` go on: scores of
    shape `(B, n, 1)`, rows of shape `(B, n, V)`. It returns `m`, the mean scores of the children, of the shape of the
    rows, and for each layer the possible outcomes `(probability, [(place of the node, token, branches through it,
    score), ..])`; above the leaves these are not looked at, so a generator saves their cost.
    Layers with one branch are not asked about: the score of a child is `min(1, a p/q)`.
    """

    step: Callable[[Vector, Vector, Vector, tuple[int, ...]], tuple[Vector, Iterable[Any]]]

    name: ClassVar[str] = "layered"


@dataclass(frozen=True)
class Continued:
    """Decides along one path as `path` says, and starts again at its correction token if another path has drafted it.

    It starts there as at a root, with the paths that go through. Nothing that was looked at may depend on what these
    have drafted below.
    beside: `beside(p, q)`: whether a path may go to the second token when the selected one goes to the first, booleans
    of shape `(n, V, V)`. None where the path is the first one, beside which the others go anywhere.
    """

    path: OnePath
    beside: Callable[[Vector, Vector], Any] | None = None

    name: ClassVar[str] = "continued"


S = TypeVar("S", bound="Structure | Selection")
Structure: TypeAlias = TopDown | OnePath | LeafToRoot | Layered | Continued
#: Structures of verifiers that have no attribute `structure`, by their type: those of the core.
OF_TYPES: dict[type, Structure] = {}


def declared(verifier: Verifier) -> Structure | None:
    """The structure of a verifier as it stands: to ask for its kind, not to call its functions.

    None if it has none. Raises `InvalidVerifier` for one that is of no known kind.
    """
    structure = getattr(verifier, "structure", OF_TYPES.get(type(verifier)))
    if structure is None:
        return None
    if not isinstance(structure, (TopDown, OnePath, LeafToRoot, Layered, Continued)):
        raise InvalidVerifier(
            f"{verifier.card.name}: structure is a {type(structure).__name__}; make it a TopDown, OnePath, LeafToRoot, "
            "Layered or Continued of draftproof.simulator.structures, or leave it out"
        )
    return structure


def offered(verifier: Verifier) -> Structure | None:
    """The structure of a verifier, see `declared`, to be called: user-defined functions get `Exact` numbers."""
    structure = declared(verifier)
    if structure is None or is_library(verifier):
        return structure
    return with_functions(structure, lambda name, function: with_user_numbers(function))


def with_functions(structure: S, change: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> S:
    """The same with `change(name, function)` in place of each function, in its parts too."""
    changes: dict[str, Any] = {}
    for part in fields(structure):
        value = getattr(structure, part.name)
        if is_dataclass(value):
            changes[part.name] = with_functions(value, change)  # type: ignore[type-var]
        elif callable(value):
            changes[part.name] = change(part.name, value)
    return replace(structure, **changes)


def branch_of(verifier: Verifier) -> Branch | None:
    """The law of the next token given the drafts of a node, for verifiers that offer it."""
    structure = offered(verifier)
    return structure.branch if isinstance(structure, TopDown) else None
