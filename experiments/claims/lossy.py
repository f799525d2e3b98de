"""Quantities of lossy verifiers: what a unit of bias buys, and the divergence of Cactus's rows."""

from fractions import Fraction

from flint import arb

from draftproof.experiments.claims.runs import checked, efficiency
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.verifiers import make
from draftproof.verifiers.lossy.cactus import raised, tested_row


def price(instance: Instance, scheme: DraftScheme, spec: str) -> Fraction:
    """What a verifier brings above block verification, over its bias; 0 where it brings no more."""
    check = checked(spec, instance, scheme)
    more = Fraction(check.block_efficiency) - efficiency("block", instance, scheme)
    assert check.total_variation is not None
    assert more <= 0 or check.total_variation > 0  # a verifier without bias brings no more than block
    return max(more, Fraction(0)) / (Fraction(check.total_variation) or 1)


def beside_mixture(instance: Instance, scheme: DraftScheme, text: str) -> Fraction:
    """The total variation of a part `eta` of a rule and the mixture of its law and `p` with this weight, at the root.

    The rule accepts everything. text: `ETA target` or `ETA residual`, where it would correct from.
    """
    eta, recovery = text.split()
    p, q = instance.target.row(()), instance.draft.row(())
    part, whole = (
        make("slack", eps=1, eta=weight, target=weight if recovery == "target" else 0).surrogate(p, q)  # type: ignore[attr-defined]
        for weight in (Fraction(eta), Fraction(1))
    )
    weight = Fraction(eta)
    mixed = p + (whole - p) * weight.numerator / weight.denominator
    return Fraction(as_python(abs(part - mixed).sum())) / 2


def beyond_divergence(instance: Instance, _: DraftScheme, highest: str) -> int:
    """How many rows that Cactus tests tokens with, raised to at most `highest`, diverge by more than `d` from `p`."""
    p, beyond = instance.target.row(()), 0
    for d in (Fraction(1, 100), Fraction(1, 10), Fraction(3, 4)):
        high = raised(p, d)
        for token in range(len(p)):
            if 0 < p[token] < 1 and as_python(high[token]) <= Fraction(highest):
                row = tested_row(p, high[token], token)
                parts = [arb(x) * (arb(x) / arb(y)).log() for x, y in zip(row, p, strict=True) if x > 0]
                beyond += sum(parts, arb(0)) > arb(d.numerator) / d.denominator
    return beyond
