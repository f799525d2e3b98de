"""Verifiers with one bug each, by the entry of the catalogue that they are evidence for."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from draftproof.simulator.audit.diagnosis.evidence import Suspect
from draftproof.simulator.audit.diagnosis.references import (
    Blockwise,
    Corrections,
    Longest,
    Recursive,
    SampledAgain,
    TokenWise,
)

#: Row shifts: by how much, and whether a row before the first is the last one.
_STEPS = ((-1, False), (-1, True), (1, False))


def from_target() -> Iterator[Suspect]:
    """Corrections from `p`."""
    wrong = Corrections("target")
    name = "correction from p"
    yield Suspect(name, "token-by-token verification that corrects from p", TokenWise(wrong))
    yield Suspect(name, "block verification that corrects from p", Blockwise(wrong))
    yield Suspect(name, "recursive rejection that corrects from p", Recursive(wrong))


def bonus() -> Iterator[Suspect]:
    """The bonus token from an earlier row."""
    for places in (-1, -2):
        text = f"token-by-token verification with the bonus row {-places} position{'s' * (places < -1)} too early"
        yield Suspect("bonus row", text, TokenWise(bonus=places))


def softmax() -> Iterator[Suspect]:
    """Corrections from exponentials of what is weights already."""
    name = "softmax of the residual"
    for kind, words in (("softmax", "the normalised residual"), ("softmax of weights", "(p - q)+")):
        text = f"that corrects from a softmax of {words}"
        yield Suspect(name, f"token-by-token verification {text}", TokenWise(Corrections(kind)))
        yield Suspect(name, f"block verification {text}", Blockwise(Corrections(kind)))


def sampled_again() -> Iterator[Suspect]:
    """A second sample where the first one is the answer."""
    yield Suspect("sampled again", "a comparison with a sample of p, and another sample after it", SampledAgain())


def greedy_bonus() -> Iterator[Suspect]:
    """The likeliest bonus token."""
    yield Suspect(
        "greedy bonus", "token-by-token verification with the likeliest bonus token", TokenWise(greedy_bonus=True)
    )


def late_draft() -> Iterator[Suspect]:
    """`q` of the step before, wherever `q` is used."""
    name = "draft row late"
    for wraps in (False, True):
        first = "the last one" if wraps else "its own"
        text = f"with q of the step before, {first} at the first token"
        yield Suspect(name, f"token-by-token verification {text}", TokenWise(accept_q=-1, correct_q=-1, wraps=wraps))
        yield Suspect(name, f"token-by-token acceptance {text}", TokenWise(accept_q=-1, wraps=wraps))
        yield Suspect(name, f"token-by-token correction {text}", TokenWise(correct_q=-1, wraps=wraps))
    yield Suspect(name, "recursive rejection with q of the node before", Recursive(late=True))


def shifted() -> Iterator[Suspect]:
    """Rows of other positions, without those of `late_draft`."""
    words = {"accept_p": "p where a draft is judged", "accept_q": "q where a draft is judged"}
    words |= {"correct_p": "p where a correction is drawn", "correct_q": "q where a correction is drawn"}
    groups = [[name] for name in words] + [["accept_p", "correct_p"], ["accept_q", "correct_q"]]
    groups += [["accept_p", "accept_q"], ["correct_p", "correct_q"], list(words)]
    for names, (step, wraps), places in product(groups, _STEPS, (0, -1)):
        if step == -1 and not places and all(name.endswith("_q") for name in names):
            continue
        which = " and ".join(words[name] for name in names) + " and the bonus row" * bool(places)
        text = f"token-by-token verification with the row {step:+d} of {which}"
        shifts: dict[str, Any] = dict.fromkeys(names, step)
        yield Suspect("row off by one", text, TokenWise(**shifts, bonus=places, wraps=wraps))


def unnormalised() -> Iterator[Suspect]:
    """Residuals that are not normalised."""
    name = "missing renormalisation"
    for kind in ("last", "first"):
        corrections = Corrections(kind)
        text = f"corrects from (p - q)+ as it is, what is missing to 1 going to the {kind} token"
        yield Suspect(name, f"token-by-token verification that {text}", TokenWise(corrections))
        yield Suspect(name, f"recursive rejection that {text}", Recursive(corrections))
        yield Suspect(name, f"recursive rejection that never normalises and {text}", Recursive(corrections, False))
    text = "recursive rejection that judges later drafts by (p - q)+ as it is"
    yield Suspect(name, text, Recursive(normalised=False))


def uncapped() -> Iterator[Suspect]:
    """The ratio of the whole path."""
    text = "block verification whose last weight is the product of all ratios"
    yield Suspect("uncapped ratio", text, Blockwise(capped=False))


def duplicates() -> Iterator[Suspect]:
    """A ratio multiplied by the number of duplicates of a token."""
    text = "recursive rejection whose ratio is multiplied by the number of duplicates"
    yield Suspect("duplicates counted twice", text, Recursive(counted=True))


def untossed() -> Iterator[Suspect]:
    """Acceptance where `p >= q`, without a coin."""
    for kind in ("residual", "target"):
        text = f"accepting a token exactly where p >= q, correcting from {'p' if kind == 'target' else '(p - q)+'}"
        yield Suspect("acceptance without a coin", text, TokenWise(Corrections(kind), randomised=False))


def swapped() -> Iterator[Suspect]:
    """Acceptance with `min(1, q/p)`."""
    for kind in ("residual", "target"):
        text = f"token-by-token verification that does so and corrects from {'p' if kind == 'target' else '(p - q)+'}"
        yield Suspect("p and q swapped", text, TokenWise(Corrections(kind), swapped=True))


def weights() -> Iterator[Suspect]:
    """Weights of block verification as probabilities."""
    yield Suspect("weights as probabilities", "block verification with that bug", Blockwise(weights=True))


def longest() -> Iterator[Suspect]:
    """The longest of independent paths."""
    for kind, last in product(("residual", "target"), (False, True)):
        text = f"the longest of independently tested paths, the {'last' if last else 'first'} of equal ones"
        text += f", correcting from {'p' if kind == 'target' else '(p - q)+'}"
        yield Suspect("longest of independent paths", text, Longest(Corrections(kind), last))


def deterministic() -> Iterator[Suspect]:
    """Rules for drafts that are drawn, on trees of which the rows say what they are."""
    name = "deterministic drafts"
    yield Suspect(name, "recursive rejection that judges every draft by q", Recursive())
    yield Suspect(name, "recursive rejection that takes rejected tokens out of q", Recursive(excluding=True))
    yield Suspect(name, "token-by-token verification of the first path with p/q", TokenWise())
    yield Suspect(name, "block verification of the first path with p/q", Blockwise())


def with_replacement() -> Iterator[Suspect]:
    """The rule for independent drafts; where they are independent it is right and nothing is refuted."""
    text = "recursive rejection that judges every draft by the whole q"
    yield Suspect("with-replacement rule", text, Recursive())


def without_replacement() -> Iterator[Suspect]:
    """The rule for drafts without replacement."""
    text = "recursive rejection that takes rejected tokens out of q"
    yield Suspect("without-replacement rule", text, Recursive(excluding=True))
