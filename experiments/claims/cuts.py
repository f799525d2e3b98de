"""Claims about cuts: which drafted tokens of a batch are verified. A batch is two requests with the instance's rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from draftproof.experiments.claims.claim import INSTANCE, Cases, Claim, Exact, Outcome, Variant
from draftproof.experiments.claims.statements import Outputs, verifier
from draftproof.experiments.inputs.cuts import find_cut
from draftproof.simulator.batches.batch import Batch
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme, Source

REQUESTS = 2
PATHS = Cases(((2, Delayed(1, 0, 2)), (3, Delayed(1, 0, 2))), count=12, for_deep=((2, Delayed(1, 0, 3)),))
ONE_TOKEN = Cases(((2, Delayed(1, 0, 1)), (3, Delayed(1, 0, 1))), count=12)
STAIRCASE = "throughput:slot=1/3,pad=3"


def claims() -> Iterator[Claim]:
    """All of them."""
    yield Exact(
        "dcut-lossless", Source("angelslim2026dcut", "drafts are pruned before they are verified"),
        "Where tokens of low draft probability are dropped before they are verified, outputs keep the target's law.",
        LosslessCut("greedy:by=token", 2), PATHS,
        Variant("whatever number of them is planned", LosslessCut(f"{STAIRCASE},stop=best", 4)),
        true_variant=Variant("where the row's largest probability decides", LosslessCut("greedy:by=row", 2)),
        note="With sampled drafts. A greedy draft has its tokens known before, and nothing is peeked at.",
    )  # fmt: skip
    yield Exact(
        "dspark-first-decrease-lossless", Source("cheng2026dspark", "algorithm 1, early stopping"),
        "Tokens that are admitted by survival until the first that does not increase the rate keep the target's law.",
        LosslessCut(STAIRCASE, 4), PATHS,
        Variant("until the largest rate of all sizes", LosslessCut(f"{STAIRCASE},stop=best", 4)),
        note="Confidences are calibrated: the probability that a token not yet drawn is accepted.",
    )  # fmt: skip
    yield Exact(
        "dspark-survival-best", Source("cheng2026dspark", "algorithm 1, the order of admission"),
        "With calibrated confidences no cut that does not peek brings more tokens than the largest survivals.",
        BestCut("greedy", 2), PATHS,
        Variant("nor more than the same split for all", BestCut("equal", 2)),
        true_variant=Variant("where each request drafts one token", BestCut("greedy", 1), ONE_TOKEN),
        note="It takes the token that is likeliest to be accepted next, and not one that tells where to go on.",
    )  # fmt: skip


@dataclass(frozen=True)
class LosslessCut:
    """The outputs of all requests together have the law of independent targets."""

    cut: str
    budget: int

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        made = batch(instance, scheme, self.budget)
        found = made.check(find_cut(self.cut, made))
        return Outcome(found.lossless, found.violation or "", (command(self.budget, self.cut),))

    def refuted_by(self, outputs: Outputs) -> bool:
        return not all(row["lossless"] for output in outputs for row in output["rows"])


@dataclass(frozen=True)
class BestCut:
    """The cut brings as many tokens as the best one."""

    cut: str
    budget: int

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        made = batch(instance, scheme, self.budget)
        own, best = (made.check(find_cut(spec, made)).all_tokens for spec in (self.cut, "optimum"))
        return Outcome(own == best, f"{self.cut} {own}, the best {best}", (command(self.budget, self.cut, "optimum"),))

    def refuted_by(self, outputs: Outputs) -> bool:
        own, best = (Fraction(row["tokens"]) for output in outputs for row in output["rows"])
        return own < best


def batch(instance: Instance, scheme: DraftScheme, budget: int) -> Batch:
    """The batch."""
    assert isinstance(scheme, Delayed)
    return Batch([(instance.target, instance.draft)] * REQUESTS, scheme, verifier("naive"), budget)


def command(budget: int, *cuts: str) -> tuple[str, ...]:
    """The command that shows cuts on the instance."""
    return ("batch", *cuts, "--instance", INSTANCE, "--requests", str(REQUESTS), "--budget", str(budget))
