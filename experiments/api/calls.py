"""Functions about one verifier: its verdict, its law and its smallest witness."""

from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.experiments.inputs.processes import as_pair
from draftproof.experiments.inputs.schemes import as_scheme, planned
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, as_verifier, evaluator
from draftproof.experiments.inputs.worlds import FamilyWorld, RowsWorld
from draftproof.experiments.shared.progress import quiet
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import EnumeratingCoin
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.estimator import TreeLaw
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import Coin, DraftScheme, TokenProcess
from draftproof.simulator.verdicts.grids import DENOMINATOR
from draftproof.simulator.verdicts.lossless import block_law as law_of
from draftproof.simulator.verdicts.witness import Witness

#: The scheme where none is given, as on the command line.
SCHEME = "delayed"


def block_law(
    verifier: Any,
    target: Any,
    draft: Any,
    scheme: Any = SCHEME,
    arithmetic: str = "rational",
    engine: str = "auto",
) -> BlockLaw:
    """The exact law of one block; arguments as for `check`. `law.as_dict()` has every block with its probability."""
    named = as_verifier(verifier)
    if isinstance(named.verifier, Planned):
        raise InvalidInput(f"{named.spec} is planned for one instance; check and compare do that")
    pair = as_pair(target, draft)
    shape = planned(as_scheme(scheme), [RowsWorld(*pair)])
    return law_of(named.verifier, *pair, shape, arithmetic, engine)


@dataclass(frozen=True)
class _Fixed:
    """The scheme that always draws one tree; as a `UserScheme` the tree is checked."""

    tree: Any
    depth: int
    name: ClassVar[str] = "of one tree"

    def draw(self, draft: TokenProcess, coin: Coin) -> Any:
        return self.tree


def tree_law(verifier: Any, target: Any, draft: Any, tree: Any, arithmetic: str = "rational") -> TreeLaw:
    """The law of a verifier on one draft tree: the probability `D(c)` that each node is accepted. Notebooks draw it.

    tree: a `DraftTree`, or paths from the root such as `[(0, 1), (2,)]`; the other arguments as for `check`.
    It does not show whether the verifier is lossless: the balance equation is about all trees of a scheme together.
    """
    named = as_verifier(verifier)
    drafted = tree if isinstance(tree, DraftTree) else DraftTree.from_paths((), tree)
    depth = max((len(context) + 1 for context, tokens in drafted.children.items() if tokens), default=0)
    numbers = arithmetic_named(arithmetic)
    pair = Instance.of(*as_pair(target, draft), depth, numbers)
    drawn = UserScheme(_Fixed(drafted, depth)).draw(pair.draft, EnumeratingCoin(numbers))
    return TreeLaw.of(named.verifier, drawn, pair.target, pair.draft, numbers)


def assert_lossless(verifier: Any, target: Any = None, draft: Any = None, scheme: Any = None, **options: Any) -> None:
    """Raise `AssertionError` with the violation unless a verifier, or a function that audits take, is lossless.

    As `draftproof.simulator.assert_lossless`, but verifier, target, draft and scheme are given as for `check`.
    """
    from draftproof.simulator.audit.function import assert_lossless as judge

    if target is not None and draft is not None:
        target, draft = as_pair(target, draft)
    judged = as_verifier(verifier).verifier if isinstance(verifier, str) else verifier
    if isinstance(judged, type):
        judged = as_verifier(judged).verifier  # raises the error for a class
    judge(judged, target, draft, None if scheme is None else as_scheme(scheme), **options)


def find_witness(
    verifier: Any,
    scheme: Any = SCHEME,
    instances: int = 100,
    vocab_size: int = 3,
    seed: int = 0,
    target: Any = None,
    draft: Any = None,
    engine: str = "auto",
) -> Witness | None:
    """The smallest witness found for a verifier; None where no instance refutes it, which is no proof.

    Random rational instances of the family dirichlet (`seed`, `seed + 1`, ..), or the one given by `target` and `draft`
    in exact rows, are checked until one fails; that one is shrunk, as `draftproof check` does.
    """
    named, shape = as_verifier(verifier), as_scheme(scheme)
    if isinstance(named.verifier, Planned):
        raise InvalidInput(f"{named.spec} is planned for one instance, and has no witness beyond it; use check")
    if (target is None) != (draft is None):
        raise InvalidInput("give both target and draft, or neither")
    if target is not None:
        pair = as_pair(target, draft)
        shape = planned(shape, [RowsWorld(*pair)])
        return _refuted(named, Instance.of(*pair, shape.depth, RATIONAL), shape, engine)
    family = FamilyWorld("dirichlet", vocab_size, seed, max(DENOMINATOR, vocab_size))
    shape = planned(shape, [family])
    for number in range(seed, seed + instances):
        instance = family.member(number, shape.depth, RATIONAL).rows(shape.depth)
        witness = _refuted(named, instance, shape, engine)
        if witness is not None:
            return witness
    return None


def _refuted(named: NamedVerifier, instance: Instance, shape: DraftScheme, engine: str) -> Witness | None:
    """The shrunk witness, if the verifier fails on this instance."""
    verdict = evaluator(named.verifier, "rational", engine).check(instance.target, instance.draft, shape)
    if verdict.lossless:
        return None
    from draftproof.simulator.verdicts.search import shrink  # Hypothesis takes a while to import

    with quiet():
        return shrink(named.verifier, instance, shape)
