"""The verifier `optimum` on the command line: planned anew for every instance and shape, then run like any other."""

from __future__ import annotations

from dataclasses import dataclass

from draftproof import verifiers
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.structured.size import MEMORY
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Progress, TokenProcess, Verdict, Verifier
from draftproof.simulator.verdicts.lossless import Check, Evaluator

#: Certified gap of the plans.
GAP = 1e-6


@dataclass(frozen=True)
class Planned:
    """Stands for an entry of the registry that is made from a plan; it has a card and cannot run by itself."""

    name: str = "optimum"

    @property
    def card(self) -> Card:
        """The card of the entry."""
        card: Card = verifiers.REGISTRY[self.name].card
        return card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Always raises `InvalidInput`."""
        raise InvalidInput(f"{self.name} is planned for one instance and one shape; use it with check or compare")


class PlannedEvaluator(Evaluator):
    """An `Evaluator` that makes the verifier for each instance, from the optimum of its exact rows."""

    def check(
        self, target: TokenProcess, draft: TokenProcess, scheme: DraftScheme, progress: Progress | None = None
    ) -> Check:
        """See `Evaluator.check`; raises `InvalidInput` for other schemes than delayed trees."""
        from draftproof.lp_analysis import optimum

        if not isinstance(scheme, Delayed):
            raise InvalidInput(f"{self.verifier.card.name} is planned for delayed trees, not for {scheme}")
        rows = Instance.of(target, draft, scheme.depth, RATIONAL)
        plan = optimum(rows.target, rows.draft, scheme, gap=GAP).plan
        made = verifiers.make(self.verifier.card.name, plan=plan, draft_tables=rows.draft.tables)
        evaluator = Evaluator(made, self.arithmetic, self.engine, self.device, self.memory)
        return evaluator.check(rows.target, rows.draft, scheme, progress)


def evaluator(
    verifier: Verifier, arithmetic: str, engine: str, device: str | None = None, memory: float = MEMORY
) -> Evaluator:
    """What computes the laws of one verifier, fields as for `Evaluator`; `optimum` is planned for each instance."""
    kind = PlannedEvaluator if isinstance(verifier, Planned) else Evaluator
    ours = type(verifier).__module__.partition(".")[0] == verifiers.__name__  # tested where tokens tie
    return kind(verifier, arithmetic, engine, device, memory, ours)
