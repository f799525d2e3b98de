"""A budget of bias for all that is written: `budgeted` with an account of what its blocks have spent.

What a block spends along its drafted path has the bias of the block as its mean. So the total variation of all texts
together from the target's law is at most the mean of the account, whose bound holds on every run. The proof is in
`lp_analysis/README.md`: "What a bias buys", many blocks.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

from draftproof.simulator.arithmetic import as_fraction, as_python
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Card, Coin, DraftNode, Verdict
from draftproof.verifiers.lossy.budgeted import Budgeted

#: What is spent is rounded up to multiples of one in so many.
UNITS = 2**40


@dataclass
class BiasAccount:
    """A verifier for `generate_with(.., lossy=True)`: `budgeted` at `eps`, or at what is left of `total`.

    eps: the largest total variation of a block, in [0, 1]. total: of all texts together; None for no bound. spent: so
    far. blocks: their number. Raises `InvalidInput` for other numbers.
    """

    eps: Any = Fraction(1, 50)
    total: Any = None
    spent: Fraction = field(default=Fraction(0), init=False)
    blocks: int = field(default=0, init=False)

    card: ClassVar[Card] = Budgeted.card

    def __post_init__(self) -> None:
        self.eps = Budgeted(self.eps).eps
        self.total = None if self.total is None else as_fraction(self.total, "budgeted: total")
        if self.total is not None and self.total < 0:
            raise InvalidInput(f"budgeted: total = {self.total} must be at least 0")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """One block, entered into the account."""
        left = self.eps if self.total is None else max(min(self.eps, self.total - self.spent), Fraction(0))
        verdict, spent = Budgeted(left).verify_spending(root, coin)
        self.spent += min(Fraction(ceil(as_python(spent) * UNITS), UNITS), left)
        self.blocks += 1
        return verdict

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {float(self.total):g}"
        return f"bias spent{of}: at most {float(self.spent):.4f} in {self.blocks:,} blocks"
