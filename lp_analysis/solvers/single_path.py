"""One path (`K = 1`): block verification is optimal, and its exact prices prove it without a solver.

With one path there is one selection law, `q` itself, so the optimum is the efficiency of
`D(c,y) = min(q(c,y), D(c) p(y|c))`.
Let `v(c) = 1 + sum over children with D(c,y) < q(c,y) of p(y|c) v(c,y)`, the derivative of the efficiency by `D(c)`.
The price of `c` is `v(c)` where `D(c) = q(c)`, 0 elsewhere; the price bound then equals the optimum.
"""

from draftproof.lp_analysis.nodes import NodeValues, children, reach
from draftproof.lp_analysis.subject import Subject


def single_path_prices(subject: Subject) -> NodeValues:
    """Optimal prices by depth, 0 at the root, in the arithmetic of the tables."""
    law = subject.masses
    reached = reach(law, subject.target)
    worth = law[-1] * 0 + 1
    prices: NodeValues = []
    for d in range(subject.depth, 0, -1):
        stopped = law[d] < children(reached[d - 1], subject.target[d - 1])
        prices.insert(0, worth * stopped)
        table = subject.target[d - 1]
        worth = 1 + (table * (worth * ~stopped).reshape(table.shape)).sum(axis=1)
    return [law[0] * 0, *prices]
