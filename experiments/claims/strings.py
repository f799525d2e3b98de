"""Quantities of drafts and targets with different tokenizers, at the beginning of a text and after each token.

Both sides of an instance get strings for their tokens; a path of L tokens is drafted, and at most L of those proposed
are verified.
"""

from fractions import Fraction

from draftproof.experiments.claims.runs import fractions
from draftproof.experiments.inputs.strings import checked, find_rule
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.numbers import exact_fraction
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.strings.drafting import TextRoot
from draftproof.simulator.strings.pair import StringPair, SuffixProcess
from draftproof.simulator.strings.tokenizers import Tokenizer
from draftproof.simulator.tables import TableProcess, context_at

#: The strings of the target's tokens and of the draft's, by the size of the vocabulary.
STRINGS = {
    2: (("a", "b"), ("a", "ab")),
    3: (("a", "b", "ab"), ("b", "a", "ba")),
    4: (("a", "b", "ab", "bb"), ("a", "b", "ba", "aab")),
}


def lossy(instance: Instance, scheme: DraftScheme, rule: str) -> list[int]:
    """1 for each root at which a rule is not lossless, 0 for the others."""
    return [not checked(find_rule(rule), root).lossless for root in _roots(instance, scheme)]


def tokens(instance: Instance, scheme: DraftScheme, rule: str) -> list[Fraction]:
    """The tokens of a target pass; `best`: the most of any lossless verifier of the path."""
    if rule == "best":
        return [checked(find_rule("block"), root).best for root in _roots(instance, scheme)]
    return [checked(find_rule(rule), root).tokens for root in _roots(instance, scheme)]


def accepted(instance: Instance, scheme: DraftScheme, rule: str) -> list[Fraction]:
    """The probability that the first proposed token is accepted."""
    return [checked(find_rule(rule), root).tokens - 1 for root in _first_tokens(instance, scheme)]


def formula(instance: Instance, scheme: DraftScheme, rule: str) -> list[Fraction]:
    """The same by the formula of [timor2025accelerating] for an algorithm."""
    return [_formula(root, rule) for root in _first_tokens(instance, scheme)]


def _formula(root: TextRoot, rule: str) -> Fraction:
    """From p, psi by the law of the text, and q on the common tokens in the target's numbers."""
    p, psi, q = fractions(root.row(())), *([Fraction(0)] * root.vocab_size for _ in range(2))
    for text, mass in root.proposed_text.items():
        if cut := root.pair.target_tokens.encode(text):
            psi[cut[0]] += exact_fraction(mass)
    row = root.draft_row(())
    for own, target in root.pair.shared.items():
        q[target] = exact_fraction(row[own])
    if rule == "slem":
        return sum((x * y for x, y in zip(p, psi, strict=True)), Fraction(0))
    common = sum(q) or Fraction(1)
    other = {"union": q, "slrs": psi, "tli": [x / common for x in q]}[rule]
    return sum(map(min, p, other), Fraction(0))


def _first_tokens(instance: Instance, scheme: DraftScheme) -> list[TextRoot]:
    """The roots with a start, where one proposed token is verified."""
    roots = (root for root in _roots(instance, scheme) if root.start is not None)
    return [TextRoot(root.pair, root.history, root.drafted, 1) for root in roots]


def _roots(instance: Instance, scheme: DraftScheme) -> list[TextRoot]:
    ours, theirs = STRINGS[instance.vocab_size]
    target, draft = _side(ours, instance.target, "target"), _side(theirs, instance.draft, "draft")
    pair, length = StringPair(*target, *draft), scheme.depth
    return [TextRoot(pair, history, length, length) for history in [(), *((i,) for i in range(instance.vocab_size))]]


def _side(strings: tuple[str, ...], rows: TableProcess, name: str) -> tuple[Tokenizer, SuffixProcess]:
    size = rows.vocab_size
    contexts = (context_at(i, depth, size) for depth in range(rows.depth + 1) for i in range(size**depth))
    return Tokenizer(strings, name=name), SuffixProcess({context: rows.row(context) for context in contexts}, name)
