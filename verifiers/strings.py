"""Rules for a draft whose tokenizer is not the target's, as papers and transformers have them, and negative controls.

[timor2025accelerating]. The draft writes a text, the target's tokens that it proposes are verified. `psi(t|c)` is the
probability that the proposed path goes on with the target token `t`, given that it goes through `c`.

1. `union`, algorithm 1: tokens that only one vocabulary has get probability 0 in the other; token-by-token
   verification. A drafted token that is not the target's is rejected, and the draft ends.
2. `slem`, algorithm 2: the text is cut by the target's tokenizer; a token is accepted if it equals what the target
   draws.
3. `slrs`, algorithm 3: the same proposal; `t` is accepted with probability `min(1, p(t)/psi(t))`, the correction is
   drawn from normalised `(p - psi)+`. On a path `psi` is asked anew at every node; where the path ends, `psi` is 0 and
   the correction is drawn from the same residual.
4. `tli`, algorithm 4: the draft draws from `q` renormalised on the tokens that both have; token-by-token verification.

`uag` is what transformers ships for greedy decoding (`AssistedCandidateGeneratorDifferentTokenizers`): text so far and
draft are cut together, the longest common run aligns them with the tokens written, and tokens are accepted as by
`slem`.

Departures: algorithm 3 is printed for one token; the paper's look-ahead is here a fixed number of drafted tokens. The
draft reads all that is written as its tokenizer cuts it; transformers keeps the draft's own tokens of earlier blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.protocol import Coin, Context, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.strings.check import StringRule, Verify
from draftproof.simulator.strings.drafting import Candidate, PathLaw, TextRoot, only_shared

#: The tokens at the end of the text that transformers cuts anew (`assistant_lookbehind`).
LOOKBEHIND = 10
#: The rows that a rejection rule takes for `psi`.
Rows = Callable[[TextRoot, PathLaw, Context], Vector]


def shared_prefix(root: TextRoot, drafted: Context) -> Candidate:
    """The drafted tokens as the target's, up to the first that is none."""
    shared = root.pair.shared
    count = next((i for i, token in enumerate(drafted) if token not in shared), len(drafted))
    return Candidate(tuple(shared[token] for token in drafted[:count]), root.history)


def cut_anew(root: TextRoot, drafted: Context) -> Candidate:
    """The drafted text as the target's tokenizer cuts it."""
    return Candidate(root.pair.target_tokens.encode(root.pair.draft_tokens.decode(drafted)), root.history)


def cut_together(root: TextRoot, drafted: Context) -> Candidate:
    """Text so far and draft are cut together; of that as many tokens as were written pass for them, unseen."""
    text = root.text + root.pair.draft_tokens.decode(drafted)
    tokens, written = root.pair.target_tokens.encode(text), len(root.history)
    return Candidate(tokens[written:], tokens[:written])


def aligned(root: TextRoot, drafted: Context) -> Candidate:
    """As transformers does it: the last tokens of the draft's text are cut and aligned with the last written ones."""
    start = root.start or ()
    window = (start + drafted)[len(start) - LOOKBEHIND :]
    cut = root.pair.target_tokens.encode(root.pair.draft_tokens.decode(window))
    return Candidate(new_tokens(root.history[-len(cut) :] if cut else root.history, cut), root.history)


def new_tokens(written: Sequence[int], cut: Sequence[int]) -> Context:
    """What of `cut` is new, by the first longest run that both have (`_get_tokens_diag`); all of it without one.

    Of the tokens after the run as many are left out as `written` has after it.
    """
    runs = [
        (next((n for n in range(min(len(cut) - i, len(written) - j)) if cut[i + n] != written[j + n]), None), i, j)
        for i in range(len(cut))
        for j in range(len(written))
    ]
    lengths = [(min(len(cut) - i, len(written) - j) if n is None else n, i, j) for n, i, j in runs]
    longest = max((n for n, _, _ in lengths), default=0)
    if not longest:
        return tuple(cut)
    _, i, j = next(run for run in lengths if run[0] == longest)
    return tuple(cut[i + longest + len(written) - (j + longest) :])


def exact_match(root: TextRoot, candidate: Candidate, law: PathLaw, coin: Coin) -> Verdict:
    """Draw from the target; go on as long as the draws are the proposed tokens."""
    accepted: Context = ()
    for token in (*candidate.path, None):
        drawn = coin.choose(root.pair.target.row(candidate.before + accepted))
        if drawn != token:
            return Verdict(accepted, drawn)
        accepted = (*accepted, drawn)
    raise AssertionError("no draw is None")


def same_text(root: TextRoot, candidate: Candidate, law: PathLaw, coin: Coin) -> Verdict:
    """Exact match of texts in place of tokens: go on as long as draw and proposed text agree as far as both go."""
    strings = root.pair.target_tokens
    accepted: Context = ()
    for place, token in enumerate(candidate.path):
        drawn, rest = coin.choose(root.row(accepted)), strings.decode(candidate.path[place:])
        string = strings.tokens[drawn]
        if not (rest.startswith(string) or string.startswith(rest)):
            return Verdict(accepted, drawn)
        accepted = (*accepted, token)
    return Verdict(accepted, coin.choose(root.row(accepted)))


def rejection(rows: Rows) -> Verify:
    """Token-by-token verification with these rows for `psi`."""

    def verify(root: TextRoot, candidate: Candidate, law: PathLaw, coin: Coin) -> Verdict:
        accepted: Context = ()
        for token in (*candidate.path, None):
            p, psi = root.row(accepted), rows(root, law, accepted)
            if len(accepted) == root.depth:
                return Verdict(accepted, coin.choose(p))
            if token is None or not coin.flip(acceptance(p, psi, token)):
                return Verdict(accepted, coin.choose(residual(p, psi)))
            accepted = (*accepted, token)
        raise AssertionError("the last token is None")

    return verify


def of_the_path(root: TextRoot, law: PathLaw, accepted: Context) -> Vector:
    """`psi` as it is: over all drafts whose path goes on with the token."""
    return law.row(accepted)


def of_the_draft(root: TextRoot, law: PathLaw, accepted: Context) -> Vector:
    """`q` on the tokens that both vocabularies have, in the target's numbers; 0 after the last drafted token."""
    return _in_target(root, accepted, TextRoot.shared_row)


def renormalised(root: TextRoot, law: PathLaw, accepted: Context) -> Vector:
    """The same, renormalised."""
    return _in_target(root, accepted, only_shared)


def of_one_spelling(root: TextRoot, law: PathLaw, accepted: Context) -> Vector:
    """The probability of each token's string in the draft's own cut of it, as if the draft had no other spelling."""
    row = RATIONAL.zeros(root.vocab_size)
    if root.start is None:
        return row
    tokenizer, strings = root.pair.draft_tokens, root.pair.target_tokens
    before = tokenizer.encode(strings.decode(accepted))
    for token, string in enumerate(strings.tokens):
        spelt, mass = tokenizer.encode(string), RATIONAL.number(1)
        if tokenizer.decode(spelt) == string and len(before) + len(spelt) <= root.drafted:
            for place, part in enumerate(spelt):
                mass *= root.draft_row(before + spelt[:place])[part]
            row[token] = mass
    return row


def _in_target(root: TextRoot, accepted: Context, row: Callable[[TextRoot, Context], Vector]) -> Vector:
    back = {target: draft for draft, target in root.pair.shared.items()}
    law = RATIONAL.zeros(root.vocab_size)
    if root.start is not None and len(accepted) < root.drafted and all(token in back for token in accepted):
        own = row(root, tuple(back[token] for token in accepted))
        for target, draft in back.items():
            law[target] = own[draft]
    return law


def _paper(place: str) -> Source:
    return Source("timor2025accelerating", place)


_RULES = (
    StringRule(
        "union", "Union of the vocabularies", _paper("algorithm 1"), TextRoot.draft_row, shared_prefix,
        rejection(of_the_draft),
    ),
    StringRule(
        "tli", "Token-level intersection", _paper("algorithm 4"), only_shared, shared_prefix, rejection(renormalised),
        whole_text=False,
    ),
    StringRule("slem", "String-level exact match", _paper("algorithm 2"), TextRoot.draft_row, cut_anew, exact_match),
    StringRule(
        "uag", "Exact match, aligned as in transformers", _paper("algorithm 2, as transformers has it"),
        TextRoot.draft_row, aligned, exact_match, whole_text=False,
    ),
    StringRule(
        "slrs", "String-level rejection sampling", _paper("algorithm 3"), TextRoot.draft_row, cut_anew,
        rejection(of_the_path),
    ),
    StringRule(
        "tli_unnormalised", "Token-level intersection that is verified with q as it was before the mask", None,
        only_shared, shared_prefix, rejection(of_the_draft), whole_text=False, control=True,
    ),
    StringRule(
        "slem_text", "Exact match of texts: a draw that spells what is proposed passes for it", None,
        TextRoot.draft_row, cut_anew, same_text, control=True,
    ),
    StringRule(
        "slem_across", "Exact match on text and draft cut together, across the end of what is written", None,
        TextRoot.draft_row, cut_together, exact_match, whole_text=False, control=True,
    ),
    StringRule(
        "slrs_canonical", "String-level rejection sampling with one spelling of each token", None,
        TextRoot.draft_row, cut_anew, rejection(of_one_spelling), control=True,
    ),
)  # fmt: skip
#: Every rule by name, negative controls last.
STRING_RULES: Mapping[str, StringRule] = MappingProxyType({rule.name: rule for rule in _RULES})
