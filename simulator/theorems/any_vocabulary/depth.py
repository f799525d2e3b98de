"""From one layer to every depth: what an induction over the depth of draft trees needs, proved for every vocabulary.

Take a verifier that treats every node in the same way: it decides there from the rows of the node, from its drafted
tokens in their order, from one number `w`, the score of the node, and from whether the subtree of each child, once
visited with the score of the child, is rejected. Say that a subtree *keeps its score* if, averaged over what is drafted
in it, it is accepted with probability `w`, and then the balance holds at all its nodes.

Lemma. If trees of one layer keep every score `w` in (0, 1], and the decisions at every node see of a subtree only
whether it is rejected, then trees of every depth keep their scores, and the verifier is lossless at every depth.
Proof, by induction over the depth. Given the children of a node and averaged over their subtrees, each subtree is
accepted with probability equal to the score of the child, independently of the others: so the node is accepted, and
the next token is drawn, as if its children were leaves, and trees of one layer keep their score. (A token that is
drafted twice is one child, with the branches of both below it.) Below an accepted child the balance holds by the
induction, at a leaf by the theorem for the tree that was named. At the root the score is 1.

Proved here, for every p and q and every vocabulary size, for `k = 1..K` branches:
- `KEEPS`: below one token, whose score `w = min(1, p/q)` may be any number in (0, 1], a layer is accepted with
  probability `w` given that token, and its balance holds.
- `CUT`: in trees of two layers, for any tokens drafted in the first, averaged over the second, the verdict cut after
  the first layer has the law that it has where the first layer is all that is drafted: for `k` branches of two tokens,
  and for `k` branches below one token. The same where a token is above them, whose score may be any number in (0, 1].
That the code treats every node in the same way, also deeper ones, decides there from that one score, and sees of a
subtree of several layers no more than of one, is not proved: whoever uses the lemma reads it in the code (a walk, a
recursion).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from draftproof.simulator.drafts.delayed import Delayed
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.sums import Drafted, Sum
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, Theorem, difference, gain, is_zero, passes, start
from draftproof.simulator.theorems.proof.judging import LOSSLESS

KEEPS, CUT = "keeps its score", "sees only whether a subtree is rejected"
#: A hypothesis of the lemma, the number of branches, and its proof.
Hypothesis: TypeAlias = tuple[str, int, Callable[[], Step]]


def hypotheses(verifier: Verifier, branches: int) -> list[Hypothesis]:
    """Each hypothesis of the lemma, for every number of branches up to this one, with its proof."""
    listed: list[Hypothesis] = []
    for k in range(1, branches + 1):
        listed.append((KEEPS, k, partial(Theorem(LOSSLESS, Delayed(k, 1, 1), verifier).step, 1)))
        listed.append((KEEPS, k, partial(reach, verifier, k)))
        for above in (0, 1):
            shapes = [Delayed(k, above, 2), *([Delayed(k, above + 1, 1)] if k > 1 else [])]
            listed += [(CUT, k, partial(cut, verifier, shape, above)) for shape in shapes]
    return listed


def reach(verifier: Verifier, branches: int) -> Step:
    """The probability of accepting the first token of a trunk, with branches below it: `q w = min(p, q)`."""
    case, context, _ = start(1, after=False)

    def holds(part: Case, value: Ratio) -> bool:
        p, q = part.variables(context[0])
        lower = part.has_sign((p - q).num, NEGATIVE | ZERO) and part.equal(value, p)
        return lower or (part.has_sign((p - q).num, POSITIVE | ZERO) and part.equal(value, q))

    total = Sum(Delayed(branches, 1, 1), [verifier], partial(passes, context=context))
    return Step(context).add(total, case, holds)


def cut(verifier: Verifier, scheme: Delayed, above: int) -> Step:
    """That the verdict on two layers, cut after the first, has the law of that on the first layer alone.

    above: the number of tokens above them, part of the trunk.
    """
    case, context, token = start(above)
    assert token is not None
    step = Step(context, token)
    parts, settled = (whole, partial(first_layers, count=above + 1)), above + (1 if above < scheme.L1 else scheme.K)
    for share in (partial(gain, context=(*context, token)), partial(difference, context=context, token=token)):
        step.add(Sum(scheme, [verifier] * 2, share, parts=parts, settled=settled), case, is_zero)
    return step


def whole(drafted: Drafted) -> Drafted:
    """All that is drafted."""
    return drafted


def first_layers(drafted: Drafted, count: int) -> Drafted:
    """What is drafted in so many layers below the root."""
    return {context: tokens for context, tokens in drafted.items() if len(context) < count}
