"""Rules for drafts and targets with different tokenizers, and the exact check of a rule after a history.

A rule drafts tokens of the draft, proposes target tokens, and verifies these. The check lists all drafts, runs the
verification of each different candidate on every outcome of its coin, and holds the law of the block, in target
tokens, against the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.numbers import exact_fraction
from draftproof.simulator.protocol import Coin, Context, Source, Verdict
from draftproof.simulator.strings.drafting import (
    Candidate,
    Drawn,
    PathLaw,
    TextRoot,
    best_on_path,
    drafts,
    draw,
    target_tables,
)
from draftproof.simulator.tables import TableProcess, context_at, context_index

#: What a verification may use: the root, the candidate, the law of the proposed path, and the coin.
Verify: TypeAlias = Callable[[TextRoot, Candidate, PathLaw, Coin], Verdict]


@dataclass(frozen=True)
class StringRule:
    """A rule, as data and functions.

    drawn: the row that each drafted token is drawn from. propose: the candidate of a draft. verify: accepts a part of
    the candidate and draws one target token. whole_text: whether it drafts freely and proposes a spelling of a
    beginning of the text, so that what is known of verifiers of the text bounds it. control: whether it is a negative
    control.
    """

    name: str
    title: str
    source: Source | None
    drawn: Drawn
    propose: Callable[[TextRoot, Context], Candidate]
    verify: Verify
    whole_text: bool = True
    control: bool = False

    def candidates(self, root: TextRoot) -> dict[Candidate, Any]:
        """The law of the candidate, cut to `depth` tokens."""
        masses: dict[Candidate, Any] = {}
        for tokens, mass in drafts(root, self.drawn):
            one = self.cut(root, tokens)
            masses[one] = masses[one] + mass if one in masses else mass
        return masses

    def cut(self, root: TextRoot, drafted: Context) -> Candidate:
        """The candidate of a draft, cut to `depth` tokens."""
        whole = self.propose(root, drafted)
        return Candidate(whole.path[: root.depth], whole.before)

    def block(self, root: TextRoot, law: PathLaw, coin: Coin) -> Verdict:
        """One block from the first drafted token to the last written one, all by the coin."""
        return self.verify(root, self.cut(root, draw(root, self.drawn, coin)), law, coin)


def path_law(candidates: dict[Candidate, Any], size: int) -> PathLaw:
    """The law of the paths."""
    masses: dict[Context, Any] = {}
    for one, mass in candidates.items():
        masses[one.path] = masses.get(one.path, 0) + mass
    return PathLaw(masses, size)


def string_law(rule: StringRule, root: TextRoot) -> tuple[BlockLaw, PathLaw]:
    """The exact law of a block in target tokens, and that of the path it proposes."""
    candidates, size = rule.candidates(root), root.vocab_size
    law = path_law(candidates, size)
    correction = [RATIONAL.zeros(size**depth, size) for depth in range(root.depth + 1)]
    for one, mass in candidates.items():
        for verdict, part in outcomes(lambda coin, one=one: rule.verify(root, one, law, coin), RATIONAL):  # type: ignore[misc]
            place = context_index(verdict.accepted, size), verdict.correction
            correction[len(verdict.accepted)][place] += mass * part
    return BlockLaw(correction, RATIONAL), law


@dataclass(frozen=True)
class StringCheck:
    """The verdict on a rule after one history; exact, in rationals.

    tokens: of a target pass on average, the block efficiency. characters: of a target pass on average. best: the most
    tokens of any lossless verifier that accepts a part of the path which the rule proposes. token_variation: total
    variation of the first `depth + 1` tokens from the target's; text_variation: that of the first `depth + 1` letters.
    witness: where the law of tokens fails, None where it does not.
    """

    tokens: Fraction
    characters: Fraction
    best: Fraction
    token_variation: Fraction
    text_variation: Fraction
    witness: str | None

    @property
    def lossless(self) -> bool:
        """Whether the tokens have the target's law."""
        return self.witness is None


def judged(root: TextRoot, law: BlockLaw, path: PathLaw, target: TableProcess) -> StringCheck:
    """The verdict from the law of a block. target: in the vocabulary of the law, which may have the end, too."""
    tokenizer = root.pair.target_tokens
    strings = [*tokenizer.tokens, *[""] * (law.vocab_size - len(tokenizer.tokens))]
    worst = law.violation(target)
    return StringCheck(
        tokens=Fraction(law.block_efficiency),
        characters=exact_fraction(_characters(law, strings)),
        best=exact_fraction(best_on_path(path, root)),
        token_variation=Fraction(law.total_variation(target)),
        text_variation=exact_fraction(_text_variation(law, target, strings)) if worst.deviation else Fraction(0),
        witness=_witness(worst, root, strings) if worst.deviation else None,
    )


def check_rule(rule: StringRule, root: TextRoot) -> StringCheck:
    """The verdict on a rule after the history of the root."""
    law, path = string_law(rule, root)
    return judged(root, law, path, target_tables(root))


def _characters(law: BlockLaw, strings: Sequence[str]) -> Any:
    """Letters of a block on average."""
    lengths = RATIONAL.vector([len(string) for string in strings])
    total = RATIONAL.number(0)
    for reach in law.reach[1:]:
        total += (reach.reshape(-1, len(strings)).sum(axis=0) * lengths).sum()
    return total + sum((masses.sum(axis=0) * lengths).sum() for masses in law.correction)


def _text_variation(law: BlockLaw, target: TableProcess, strings: Sequence[str]) -> Any:
    """Distance of the first `L + 1` letters of the output from the target's, short blocks continued by the target."""
    size, length = len(strings), law.depth + 1
    ended, wanted = law.correction[0], target.tables[0]
    for depth in range(1, length):
        ended = ended.reshape(-1, 1) * target.tables[depth] + law.correction[depth]
        wanted = wanted.reshape(-1, 1) * target.tables[depth]
    gaps: dict[str, Any] = {}
    for index, gap in enumerate((ended - wanted).ravel()):
        if gap:
            text = "".join(strings[token] for token in context_at(index, length, size))[:length]
            gaps[text] = gaps.get(text, 0) + gap
    return sum((abs(gap) for gap in gaps.values()), RATIONAL.number(0)) / 2


def _witness(worst: Violation, root: TextRoot, strings: Sequence[str]) -> str:
    """A violation in letters."""
    written = [root.pair.target_tokens.tokens[token] for token in root.history]
    context = "|".join([*written, *(strings[token] or "(end)" for token in worst.context)]) or "nothing"
    token = strings[worst.token] or "(end)"
    reached = (
        "" if not worst.context else f", {'|'.join(strings[token] for token in worst.context)} of it in this block"
    )
    return f"after {context}{reached}, {token} must have mass {worst.expected}; the block gives it {worst.found}"
