"""From one layer to every depth, for verifiers that go layer by layer, whatever they select.

Take a verifier that gives scores to the nodes of a layer, from the layer above to the one below, and then accepts a
node on the way back up; see `draftproof.verifiers._layers`. It decides at a layer from the rows of its nodes, their
drafted tokens, their scores, and from which node below was accepted. Say that a layer *keeps its scores* if, given all
that is drafted down to it and averaged over what is drafted below it, for every node it or one below it is accepted
with the probability that is its score, never without a score, and the balance holds at this node.

Lemma. If nodes of every layer with scores > 0, of sum at most 1, are accepted with these scores where nothing is
drafted below that layer, if the balance at them holds where one more layer is drafted, and that of the root where one
layer is, and if a layer sees of those below only which node is accepted, then layers keep their scores whatever depth
is below them, and the verifier is lossless at every depth.
Proof, by induction over the depth below a layer. The layer below it keeps its scores, so with the probability that a
node of that layer has as its score, this one or one below it is accepted: the layer, and the root, decide as if nothing
were drafted below that.

Proved here, for every p and q, every vocabulary size and every selection, for `k = 1..K` branches. A layer is *given*
if any numbers stand for the scores that the verifier computes for it, and one row for the means `m(c, .)` of each node
`c` above it, from which its corrections come: the smaller of `a_c p` and the law of the selection. For one branch that
row is what block verification has, `min(a_c p, q)`, for more it is `a_c p - a_c q / 2`.
- `ROOT`: the balance of the root, where one layer is drafted.
- `KEEPS`: that nodes of a given layer are accepted with their scores, where nothing is drafted below; and the balance
  at its nodes, averaged over one more layer.
- `CUT`: one layer below the root is given or, for one branch, two, the second one below a node of the first; one more
  is drafted and averaged over. The verdict, cut after the last given layer, has the law that it has where that is all
  that is drafted.
What is not proved and to be read in the code: that it treats all layers alike, those further below and those of several
parents, too, decides at each from its scores, and sees of those below the same whatever the means are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from draftproof.simulator.drafts.delayed import Delayed
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.depth import first_layers, whole
from draftproof.simulator.theorems.any_vocabulary.selection import AnySelection, Paths
from draftproof.simulator.theorems.any_vocabulary.sums import Account, Masses
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, difference, gain, passes
from draftproof.simulator.theorems.any_vocabulary.tokens import Context, Token

ROOT, KEEPS, CUT = "balance of the root", "keeps its scores", "sees only which node below is accepted"


def hypotheses(
    theorem: AnySelection, progress: Callable[[Account], None] | None = None
) -> list[tuple[str, int, Callable[[], Step]]]:
    """Each hypothesis of the lemma, five for each number of branches up to K and two more for one, with its proof."""
    listed: list[tuple[str, int, Callable[[], Step]]] = []
    for k in range(1, theorem.scheme.K + 1):
        one, two = (AnySelection(Delayed(k, 0, layers), theorem.made, given=1) for layers in (1, 2))
        listed.append((ROOT, k, partial(replace(one, given=0).step, 0, progress)))
        listed.append((KEEPS, k, partial(_kept, one, progress)))
        listed.append((KEEPS, k, partial(two.step, 1, progress)))
        three = AnySelection(Delayed(k, 1, 2), theorem.made, given=2)
        for depth, cut in enumerate((two, three)[: 2 if k == 1 else 1]):
            parts = (whole, partial(first_layers, count=depth + 1))
            for share in (_passed_below, difference):
                listed.append((CUT, k, partial(cut.summed, depth, share, progress, settled=depth + 1, parts=parts)))
    return listed


def _kept(theorem: AnySelection, progress: Callable[[Account], None] | None) -> Step:
    return replace(theorem.summed(1, _passed, progress, less=_score, settled=1), token=None)


def _passed(case: Case, masses: Sequence[Masses], context: Context, token: Token) -> Ratio:
    return passes(case, masses, context)


def _score(paths: Paths, context: Context) -> Ratio | None:
    return paths.chances.get(context)


def _passed_below(case: Case, masses: Sequence[Masses], context: Context, token: Token) -> Ratio | None:
    return gain(case, masses, (*context, token))
