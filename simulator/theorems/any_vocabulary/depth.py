"""From one layer to every depth: what an induction over the depth of draft trees needs, proved for every vocabulary.

Take a verifier that treats every node in the same way: it decides there from the rows of the node, from its drafted
tokens in their order, from one number `w`, the score of the node, and from whether the subtree of each child, once
visited with the score of the child, is rejected. Say that a subtree *keeps its score* if, averaged over what is drafted
in it, it is accepted with probability `w`, and then the balance holds at all its nodes.

Lemma. If trees of one layer keep every score `w` in (0, 1], and the decisions at a node see of a subtree only whether
it is rejected, then trees of every depth keep their scores, and the verifier is lossless at every depth.
Proof, by induction over the depth. Given the children of a node and averaged over their subtrees, each subtree is
accepted with probability equal to the score of the child, independently of the others: so the node is accepted, and
the next token is drawn, as if its children were leaves, and trees of one layer keep their score. Below an accepted
child the balance holds by the induction. At the root the score is 1.

Proved here, for every p and q and every vocabulary size, for `k = 1..K` branches:
- `KEEPS`: below one token, whose score `w = min(1, p/q)` may be any number in (0, 1], a layer is accepted with
  probability `w` given that token, and its balance holds.
- `CUT`: in trees of two layers, for any tokens drafted in the first, averaged over the second, the verdict cut after
  the first layer has the law that it has where the first layer is all that is drafted.
That the code treats every node in the same way, also deeper ones, and decides there from that one score, is not
proved: whoever uses the lemma reads it in the code (a walk, a recursion).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from draftproof.simulator.drafts.delayed import Delayed
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.sums import Drafted, Sum
from draftproof.simulator.theorems.any_vocabulary.theorem import (
    LOSSLESS,
    Step,
    Theorem,
    difference,
    gain,
    is_zero,
    passes,
    start,
)

KEEPS, CUT = "keeps its score", "sees only whether a subtree is rejected"


def hypotheses(verifier: Verifier, branches: int) -> Iterator[tuple[str, int, Step]]:
    """Each hypothesis of the lemma, for every number of branches up to this one, with the steps of its proof."""
    for k in range(1, branches + 1):
        layer = Theorem(LOSSLESS, Delayed(k, 1, 1), verifier)
        yield KEEPS, k, layer.step(1)
        yield KEEPS, k, reach(verifier, k)
        yield CUT, k, cut(verifier, k)


def reach(verifier: Verifier, branches: int) -> Step:
    """The probability of accepting the first token of a trunk, with branches below it: `q w = min(p, q)`."""
    case, context, _ = start(1, after=False)

    def holds(each: Case, value: Ratio) -> bool:
        p, q = each.variables(context[0])
        lower = each.has_sign((p - q).num, NEGATIVE | ZERO) and each.equal(value, p)
        return lower or (each.has_sign((p - q).num, POSITIVE | ZERO) and each.equal(value, q))

    total = Sum(Delayed(branches, 1, 1), [verifier], partial(passes, context=context))
    return Step(context).add(total, case, holds)


def cut(verifier: Verifier, branches: int) -> Step:
    """That the verdict on a tree of two layers, cut after the first, has the law of that on the first layer alone."""
    case, context, token = start(0)
    assert token is not None
    step = Step(context, token, case.variables(token))
    parts = (_whole, _first_layer)
    for share in (partial(gain, context=(token,)), partial(difference, context=context, token=token)):
        step.add(Sum(Delayed(branches, 0, 2), [verifier] * 2, share, parts=parts, settled=branches), case, is_zero)
    return step


def _whole(drafted: Drafted) -> Drafted:
    return drafted


def _first_layer(drafted: Drafted) -> Drafted:
    return {(): drafted[()]}
