"""Runs at boundary values of coins ("corner coins"): 0, the largest float below 1, and exactly the threshold.

A real uniform number has none of these values, so `u <= p/q` and `u < p/q` have one law. A float is exactly 0 once in
2^53 draws (2^24 in float32), and then `u <= 0` accepts a token of target probability zero. The runs look for blocks
with such a token. The ranges are those that the libraries document: `random`, `numpy.random` and `torch.rand` give 0
and never 1, multiples of 2^-53 or 2^-24; torch's `exponential_` gives no 0, `random.expovariate` does.
"""

from dataclasses import dataclass

from draftproof.simulator.audit.judge import Audit
from draftproof.simulator.coins import outcomes
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftScheme, Verdict
from draftproof.simulator.symbolic import Settings
from draftproof.simulator.tables import TableProcess


@dataclass(frozen=True)
class Corner:
    """A token of probability zero, or a failure, at a boundary value of a coin.

    context, token: the first token of probability zero; token is None where the function fails. accepted: whether that
    token is an accepted draft, not the correction. events: the coins, in words. what: the finding, in words.
    """

    context: Context
    token: int | None
    accepted: bool
    events: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        return f"{self.what}, at {', '.join(self.events)}" if self.events else self.what


def corners(audit: Audit, instance: Instance, scheme: DraftScheme) -> list[Corner]:
    """Every place where a boundary value gives a token of probability zero, once each, with the fewest coins.

    Raises as `Audit.judge` does, except that a failure only at boundary values is an entry of the list.
    """
    at_corners = audit.under(Settings(boundary=True))
    expected, log = audit.expected_instance(instance, scheme), audit.audited.log
    verifier = at_corners.verifier(instance, scheme)
    by_place: dict[tuple[Context, int | None, bool], Corner] = {}
    for tree, _ in outcomes(lambda coin: scheme.draw(expected.draft, coin), expected.target.arithmetic):
        root = tree.root(expected.target, expected.draft)

        def run(coin: object, root: object = root) -> Verdict | InvalidVerifier:
            try:
                return verifier.verify(root, coin)  # type: ignore[arg-type]
            except InvalidVerifier as error:
                if not log.events:
                    raise
                return error

        for verdict, _ in outcomes(run, expected.target.arithmetic):
            corner = _corner(verdict, log.events, expected.target)
            if corner is not None and corner.events:  # without boundary values the law itself shows it
                key = corner.context, corner.token, corner.accepted
                if key not in by_place or len(corner.events) < len(by_place[key].events):
                    by_place[key] = corner
    return list(by_place.values())


def _corner(verdict: Verdict | InvalidVerifier, events: tuple[str, ...], target: TableProcess) -> Corner | None:
    if isinstance(verdict, InvalidVerifier):
        return Corner((), None, False, events, f"the function fails: {verdict}")
    block = (*verdict.accepted, verdict.correction)
    for depth, token in enumerate(block):
        accepted = depth < len(verdict.accepted)
        does = f"it {'accepts' if accepted else 'corrects with'} token {token} after {block[:depth]}, which"
        if not 0 <= token < target.vocab_size:
            return Corner(block[:depth], token, accepted, events, f"{does} does not exist")
        if target.row(block[:depth])[token] == 0:
            return Corner(block[:depth], token, accepted, events, f"{does} has probability zero")
    return None
