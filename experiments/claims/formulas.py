"""Acceptance rates of one step in closed form, from the papers. p, q: exact rows; k: the number of drafts.

Claims compare the verifiers with them, so they do not use the verifiers' own acceptance rates.
"""

from typing import Any

from draftproof.simulator.protocol import Vector
from draftproof.simulator.residual import positive_part, residual
from draftproof.simulator.vectors import one_hot, residuals, sums, top_tokens
from draftproof.verifiers.khisti import law_of, play, tournament
from draftproof.verifiers.spectr import acceptance_and_residual


def naive(p: Vector, q: Vector, k: int) -> Any:
    """`sum min(p, q)`: the first draft alone [leviathan2023fast]."""
    return (p - positive_part(p - q)).sum(-1)


def likeliest(p: Vector, q: Vector, k: int) -> Any:
    """`max p`: the most of any single token that is accepted where the target draws it."""
    return max(p)


def nss(p: Vector, q: Vector, k: int) -> Any:
    """`sum p (1 - (1 - q)^k)`: a token drawn from `p` equals one of the drafts."""
    return (p * (1 - (1 - q) ** k)).sum(-1)


def naive_tree(p: Vector, q: Vector, k: int) -> Any:
    """`sum min(p, q) + sum (p - q)+ (1 - (1 - q)^(k - 1))`."""
    excess = positive_part(p - q)
    return (p - excess + excess * (1 - (1 - q) ** (k - 1))).sum(-1)


def specinfer(p: Vector, q: Vector, k: int) -> Any:
    """`1 - prod R_j` with `R_j = sum (q - p_j)+`: a draw after the last rejection never equals a draft."""
    missed = 1
    for _ in range(k):
        missed = missed * positive_part(q - p).sum(-1)
        p = residuals(p, q)
    return 1 - missed


def spectr(p: Vector, q: Vector, k: int) -> Any:
    """`a + (1 - a) sum e (1 - (1 - r)^k)`: `a` the probability that a draft is accepted, `e` the residual,
    `r` the law of a rejected draft."""
    accepted, excess, missed = acceptance_and_residual(p, q, k)
    rejection = 1 - sums(accepted)
    rejected = (q - accepted) / (rejection + (rejection <= 0))
    return (1 - missed + missed * sums(excess * (1 - (1 - rejected) ** k))).sum(-1)


def khisti(p: Vector, q: Vector, k: int) -> Any:
    """The winner of the tournament is accepted, or a draw from the residual equals one of the drafts."""
    law = law_of(tournament(p, q, k), q)
    rate = (p - positive_part(p - law)).sum()
    rejection = positive_part(law - p) / (law + (law <= 0))  # its probability, by winner
    for token in range(len(p)):
        others = q - q * one_hot(q, token)
        unseen = others  # entry i: the probability that i wins and `token` is not among the drafts so far
        for weights, _ in tournament(p, q, k):
            unseen = play(weights, unseen, others)
        rate = rate + residual(p, law)[token] * ((law - unseen) * rejection).sum()
    return rate


def spechub(p: Vector, q: Vector, k: int) -> Any:
    """`min(1, p(a) + sum min(p(x), q(x)/(1 - q(a))))`, `a` the argmax of `q`; the sum is over the other tokens,
    0 where `q(a) = 1`."""
    hub = top_tokens(q, 1)[0]
    rest = 1 - q[hub]
    others = sum((min(p[x], q[x] / rest) for x in range(len(q)) if x != hub), start=p[hub] * 0) if rest > 0 else 0
    return min(p[hub] * 0 + 1, p[hub] + others)


def independent_drafts(p: Vector, q: Vector, k: int) -> Any:
    """`sum q (1 - (1 - min(1, p/q))^k)`: as if the drafts were accepted independently of one another."""
    total = p.sum() * 0
    for target, drafted in zip(p, q, strict=True):
        if drafted > 0:
            total += drafted * (1 - (1 - min(target / drafted, 1 + target * 0)) ** k)
    return total


def gumbel(p: Vector, q: Vector, k: int) -> Any:
    """`sum_i 1 / sum_j max(p_j/p_i, q_j/q_i)`: one draft whose noise the target reads [daliri2024coupling]."""
    return list_matching(p, q, 1)


def list_matching(p: Vector, q: Vector, k: int) -> Any:
    """`sum_j k / (sum_i max(q_i/q_j, p_i/p_j) + (k - 1)/p_j)`, over tokens that both have [rowan2025list]."""
    both = [j for j in range(len(p)) if p[j] > 0 and q[j] > 0]
    sizes = [sum(max(x / p[j], y / q[j]) for x, y in zip(p, q, strict=True)) + (k - 1) / p[j] for j in both]
    return sum((k / size for size in sizes), start=p[0] * 0)


def minhash(p: Vector, q: Vector, k: int) -> Any:
    """`sum min(p, q) / sum max(p, q) = (1 - TV) / (1 + TV)`: weighted MinHash [daliri2024coupling]."""
    shared = naive(p, q, 1)
    return shared / (p.sum() + q.sum() - shared)


def sum_over_drafts(p: Vector, q: Vector, k: int) -> Any:
    """`sum q K min(1, p/q)`: a false one, which counts a token as often as it is drafted."""
    return k * naive(p, q, k)
