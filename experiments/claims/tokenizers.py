"""Claims about drafts and targets with different tokenizers: both sides of an instance get strings for their tokens."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from draftproof.experiments.api.strings import checked, find_rule
from draftproof.experiments.claims.claim import Cases, Claim, Exact, Figures, Measured, Variant
from draftproof.experiments.claims.statements import Holds, fractions
from draftproof.simulator.arithmetic import exact_fraction
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess, context_at
from draftproof.simulator.protocol import DraftScheme, Source
from draftproof.simulator.strings.drafting import TextRoot
from draftproof.simulator.strings.pair import StringPair, SuffixProcess
from draftproof.simulator.strings.tokenizers import Tokenizer

#: The strings of the target's tokens and of the draft's, by the size of the vocabulary.
STRINGS = {
    2: (("a", "b"), ("a", "ab")),
    3: (("a", "b", "ab"), ("b", "a", "ba")),
    4: (("a", "b", "ab", "bb"), ("a", "b", "ba", "aab")),
}
#: A path of L tokens: so many are drafted, and at most so many of those proposed are verified.
PAIRS = Cases(((2, Delayed(1, 0, 2)), (3, Delayed(1, 0, 2))), for_deep=((4, Delayed(1, 0, 2)), (3, Delayed(1, 0, 3))))
#: Longest string whose spellings are counted.
LONGEST = 5


def claims() -> Iterator[Claim]:
    """All of them."""

    def paper(place: str) -> Source:
        return Source("timor2025accelerating", place)

    # fmt: off
    for name, place, words, control, wrong in (
        ("union", "algorithm 1", "Token-by-token verification on the union of both vocabularies",
         "tli_unnormalised", "where the draft draws among common tokens and q is not renormalised"),
        ("slem", "algorithm 2", "String-level exact match", "slem_text", "where texts are compared and not tokens"),
        ("slrs", "algorithm 3", "String-level rejection sampling", "slrs_canonical",
         "where psi counts one spelling of each token"),
        ("tli", "algorithm 4", "Token-by-token verification on the intersection of both vocabularies",
         "tli_unnormalised", "with q as it was before the mask"),
        ("uag", "algorithm 2, as transformers has it", "Exact match with the alignment of transformers",
         "slem_across", "on a cut across what is written"),
    ):
        yield Exact(
            f"strings-{name}-lossless", paper(place), f"{words} keeps the law of the target's tokens.",
            Holds(partial(lossless, name)), PAIRS,
            Variant(f"also {wrong}", Holds(partial(lossless, control))),
        )
    # fmt: on
    yield Exact(
        "strings-acceptance",
        paper("expected acceptance rates of algorithms 1 to 4"),
        "The first proposed token is accepted with the probability that the paper gives for each of its algorithms.",
        Holds(partial(acceptance_is, FORMULAS)),
        PAIRS,
        Variant(
            "that of rejection sampling for exact match", Holds(partial(acceptance_is, {"slem": FORMULAS["slrs"]}))
        ),
    )  # fmt: skip
    for better, worse, words in (
        ("tli", "union", "The intersection of both vocabularies brings at least what their union does."),
        ("slrs", "slem", "String-level rejection sampling brings at least what exact match does."),
    ):
        yield Exact(
            f"strings-{better}-at-least-{worse}", paper("acceptance rates compared"), words,
            Holds(partial(at_least, better, worse)), PAIRS,
            Variant("and never more", Holds(partial(at_least, worse, better))),
            note="Of whole blocks, which is more than the paper says of one token.",
        )  # fmt: skip
    yield Exact(
        "strings-block-best", Source("draftproof", "draft with another tokenizer"),
        "Block verification with psi in place of q is the best lossless verifier of the proposed path.",
        Holds(partial(attains, "block")), PAIRS,
        Variant("so is string-level rejection sampling", Holds(partial(attains, "slrs"))),
    )  # fmt: skip
    yield Measured(
        "strings-spellings", paper("number of terms of psi"),
        "Where every string is a token, one of n letters has 2^(n-1) spellings, which psi sums over.",
        partial(spellings, lambda n: 2 ** (n - 1)),
        Variant("2^n", partial(spellings, lambda n: 2**n)),
    )  # fmt: skip


def pair_of(instance: Instance) -> StringPair:
    """The rows of an instance with strings for its tokens."""
    sides: list[Any] = []
    for strings, rows, name in zip(
        STRINGS[instance.vocab_size], (instance.target, instance.draft), ("target", "draft"), strict=True
    ):
        sides += [Tokenizer(strings, name=name), _process(rows, name)]
    return StringPair(sides[0], sides[1], sides[2], sides[3])


def _process(rows: TableProcess, name: str) -> SuffixProcess:
    size = rows.vocab_size
    contexts = (context_at(i, depth, size) for depth in range(rows.depth + 1) for i in range(size**depth))
    return SuffixProcess({context: rows.row(context) for context in contexts}, name)


def roots_of(instance: Instance, scheme: DraftScheme) -> list[TextRoot]:
    """The pair at the beginning of a text and after each token."""
    pair, length = pair_of(instance), scheme.depth
    return [TextRoot(pair, history, length, length) for history in [(), *((i,) for i in range(instance.vocab_size))]]


def lossless(name: str, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether a rule is lossless at all roots."""
    found = (checked(find_rule(name), root) for root in roots_of(instance, scheme))
    return next((f"{name}: {one.witness}" for one in found if not one.lossless), None)


def at_least(better: str, worse: str, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether a rule brings at least the tokens of another at all roots."""
    for root in roots_of(instance, scheme):
        more, less = (checked(find_rule(name), root).tokens for name in (better, worse))
        if more < less:
            return f"{better} {more}, {worse} {less}"
    return None


def attains(name: str, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether a rule brings the most of all lossless verifiers of the path at all roots."""
    found = (checked(find_rule(name), root) for root in roots_of(instance, scheme))
    return next((f"{name} {one.tokens}, the best {one.best}" for one in found if one.tokens < one.best), None)


#: The probability that the first proposed token is accepted, from p, psi, and q on the common tokens with its mass.
FORMULAS: dict[str, Callable[[list[Fraction], list[Fraction], list[Fraction], Fraction], Fraction]] = {
    "union": lambda p, psi, q, mass: _overlap(p, q),
    "slem": lambda p, psi, q, mass: sum((x * y for x, y in zip(p, psi, strict=True)), Fraction(0)),
    "slrs": lambda p, psi, q, mass: _overlap(p, psi),
    "tli": lambda p, psi, q, mass: _overlap(p, [x / mass for x in q] if mass else q),
}


def _overlap(p: list[Fraction], q: list[Fraction]) -> Fraction:
    return sum(map(min, p, q), Fraction(0))


def acceptance_is(formulas: Any, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the first token is accepted as the formulas say."""
    for root in roots_of(instance, scheme):
        if root.start is None:
            continue
        small = TextRoot(root.pair, root.history, root.drafted, 1)
        for name, formula in formulas.items():
            found = checked(find_rule(name), small).tokens - 1
            claimed = formula(*_rows_of(small))
            if found != claimed:
                return f"{name} accepts with probability {found}, not {claimed}"
    return None


def _rows_of(root: TextRoot) -> tuple[list[Fraction], list[Fraction], list[Fraction], Fraction]:
    """p, psi, q on the common tokens in the target's numbers, and the sum of that; psi by the law of the text."""
    psi, q = ([Fraction(0)] * root.vocab_size for _ in range(2))
    for text, mass in root.proposed_text.items():
        if cut := root.pair.target_tokens.encode(text):
            psi[cut[0]] += exact_fraction(mass)
    row = root.draft_row(())
    for own, target in root.pair.shared.items():
        q[target] = exact_fraction(row[own])
    return fractions(root.row(())), psi, q, sum(q, Fraction(0))


def spellings(claimed: Callable[[int], int], times: int) -> Figures:
    """The number of spellings of strings of up to `LONGEST` letters, of which all substrings are tokens."""
    found = []
    for n in range(1, LONGEST + 1):
        text = "abcde"[:n]  # different letters, so that every place has tokens of its own
        pieces = {text[i:j] for i, j in combinations(range(n + 1), 2)}
        found.append(_spelt(text, pieces))
    shown = all(count == claimed(n) for n, count in enumerate(found, 1))
    return Figures(shown, f"of 1 to {LONGEST} letters: {', '.join(map(str, found))}", LONGEST, ("strings",))


def _spelt(text: str, pieces: set[str]) -> int:
    return 1 if not text else sum(_spelt(text[len(p) :], pieces) for p in pieces if text.startswith(p))
