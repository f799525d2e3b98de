"""One-step acceptance on schemes that are not i.i.d.: the formulas equal enumeration, and both are the optimum."""

from itertools import combinations

import pytest

from draftproof.simulator import check
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Greedy, TopK
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import make


def instances(k: int):
    for instance in (*conformance_instances((3, k, 0, 1), 8), *corner_instances((3, k, 0, 1))):
        p, q = ([as_python(value) for value in side.row(())] for side in (instance.target, instance.draft))
        ranked = sorted(range(3), key=lambda token, q=q: (-q[token], token))
        yield instance, p, q, ranked, min(k, sum(mass > 0 for mass in q))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_nss_on_top_k_accepts_the_mass_of_the_top(k):
    for instance, p, _, ranked, count in instances(k):
        law = check(
            make("nss"), instance.target, instance.draft, TopK(k, 0, 1) if k > 1 else TopK(1, 0, 1), engine="enumerate"
        )
        assert law.block_efficiency - 1 == sum(p[token] for token in ranked[:count])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_greedy_multi_draft_accepts_the_top_and_the_overlap_with_the_rest_which_is_optimal(k):
    for instance, p, q, ranked, count in instances(k):
        top, rest = ranked[: count - 1], ranked[count - 1 :]
        left = sum(q[token] for token in rest)
        tail = {token: q[token] / left for token in rest}
        law = check(make("greedy_multi_draft"), instance.target, instance.draft, Greedy(k, 0, 1), engine="enumerate")
        rate = law.block_efficiency - 1
        assert rate == sum(p[token] for token in top) + sum(min(p[token], tail[token]) for token in rest)
        # no verifier can do better: for every set S, accepted mass <= p(not S) + P(some draft lies in S)
        sets = [set(some) for size in range(4) for some in combinations(range(3), size)]
        bounds = [
            sum(p[y] for y in range(3) if y not in some) + (1 if some & set(top) else sum(tail.get(y, 0) for y in some))
            for some in sets
        ]
        assert rate == min(bounds)
