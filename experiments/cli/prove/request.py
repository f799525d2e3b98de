"""What a theorem of `draftproof prove` is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.cli.prove.free import subject_of
from draftproof.experiments.grid.rows import row_id
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.algebra.oracle import solver_module
from draftproof.simulator.theorems.proof.rows import Shape, check_numbers
from draftproof.simulator.theorems.proof.theorem import Subject


@dataclass(frozen=True)
class Request:
    """The theorem to prove.

    zeros: whether p and q may have zeros. free: numbers of the verifier that may have any value in [0, 1].
    max_trees: shapes with more draft trees are refused.
    """

    named: NamedVerifier
    vocab_size: int
    scheme: DraftScheme
    zeros: bool = False
    free: tuple[str, ...] = ()
    max_trees: int = 1_000

    def row_id(self, question: str = "theorem", **settings: Any) -> str:
        """The id of the stored row of the theorem, or of a step of it."""
        world = {"vocab_size": self.vocab_size, "zeros": self.zeros}
        return row_id(question, world, self.scheme, self.named.identity, free=list(self.free), **settings)

    @property
    def theorem_fields(self) -> dict[str, Any]:
        """Everything that defines the theorem."""
        return {
            "verifier": self.named.identity,
            "vocab_size": self.vocab_size,
            "scheme": self.scheme.as_dict(),
            "zeros": self.zeros,
            "free": list(self.free),
        }

    @property
    def nameless(self) -> bool:
        """Whether it is about objects of Python, which neither another process nor a file can name."""
        of_object = isinstance(self.scheme, UserScheme) and "file" not in self.scheme.as_dict()
        return of_object or (self.named.user_defined and not self.named.from_file)

    def subject_and_shape(self) -> tuple[Subject, Shape]:
        """The verifier with its free numbers, and the shape; raises `InvalidInput` for what no theorem is about."""
        assert_provable([self.named])
        subject = subject_of(self.named.verifier, self.free, self.vocab_size, self.scheme)
        return subject, Shape(self.vocab_size, self.scheme, self.zeros, subject.parameters)

    def trees(self, shape: Shape) -> int:
        """How many draft trees a shape has; raises `InvalidInput` or `TooLarge` for a shape that is not proved."""
        check_numbers(shape)
        trees = self.scheme.count(shape.instance(shape.point).draft)
        if trees > self.max_trees:
            raise TooLarge(
                f"{shape} has {trees:,} draft trees, more than {self.max_trees:,}; take a smaller shape or a larger "
                "max_trees"
            )
        return trees


def assert_provable(named: Sequence[NamedVerifier]) -> None:
    """Raise `InvalidInput` for verifiers that no theorem is about, and where the solver is not installed."""
    for verifier in named:
        if isinstance(verifier.verifier, Planned):
            raise InvalidInput(f"{verifier.spec} is computed for one instance, so no theorem covers all p and q")
    solver_module()
