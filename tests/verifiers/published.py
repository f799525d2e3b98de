"""The papers' algorithms followed literally, step by step, on masses.

Each function carries the probability of every branch of the algorithm in fractions, without a coin, and shares no code
with the verifiers.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations
from math import factorial, prod
from typing import Any

from draftproof.experiments.claims.noise import probability, smallest
from draftproof.simulator import DraftNode
from draftproof.simulator.arithmetic import as_python

Law = Counter[tuple[tuple[int, ...], int]]
Row = list[Fraction]
ONE = Fraction(1)


def row(vector: Any) -> Row:
    return [as_python(value) for value in vector]


def excess(p: Row, q: Row) -> Row:
    return [max(x - y, Fraction(0)) for x, y in zip(p, q, strict=True)]


def normalised(masses: Row) -> Row:
    return [mass / sum(masses) for mass in masses]


def stop(law: Law, context: tuple[int, ...], mass: Fraction, correction: Row) -> None:
    for token, share in enumerate(correction):
        law[context, token] += mass * share


def first_path(root: DraftNode) -> list[DraftNode]:
    path = [root]
    while path[-1].children:
        path.append(path[-1].child(path[-1].children[0]))
    return path


def naive(root: DraftNode) -> Law:
    law, alive = Law(), ONE
    path = first_path(root)
    for node, after in pairwise(path):
        p, q, x = row(node.target), row(node.draft), after.context[-1]
        accept = min(ONE, p[x] / q[x])
        if accept < 1:
            stop(law, node.context, alive * (1 - accept), normalised(excess(p, q)))
        alive *= accept
    stop(law, path[-1].context, alive, row(path[-1].target))
    return law


def top_down(root: DraftNode, token_law: Callable[[Row, Row, tuple[int, ...]], Row]) -> Law:
    law, front = Law(), [(root, ONE)]
    for node, mass in front:
        if not node.children:
            stop(law, node.context, mass, row(node.target))
            continue
        for token, share in enumerate(token_law(row(node.target), row(node.draft), node.children)):
            if share and token in node.children:
                front.append((node.child(token), mass * share))
            else:
                law[node.context, token] += mass * share
    return law


def nss(root: DraftNode) -> Law:
    return top_down(root, lambda p, q, drafted: p)


def naive_step(p: Row, q: Row, x: int) -> Row:
    accept = min(ONE, p[x] / q[x])
    redraw = normalised(excess(p, q)) if accept < 1 else p
    return [accept * (y == x) + (1 - accept) * mass for y, mass in enumerate(redraw)]


def naive_tree(root: DraftNode) -> Law:
    return top_down(root, lambda p, q, drafted: naive_step(p, q, drafted[0]))


def specinfer(root: DraftNode) -> Law:
    def token_law(p: Row, q: Row, drafted: tuple[int, ...]) -> Row:
        total = [Fraction(0)] * len(p)
        for order in permutations(drafted):  # picking uniformly again and again is one uniform order
            current, alive = p, Fraction(1, factorial(len(drafted)))
            for x in order:
                accept = min(ONE, current[x] / q[x])
                total[x] += alive * accept
                alive *= 1 - accept
                if alive:
                    current = normalised(excess(current, q))
            total = [mass + alive * share for mass, share in zip(total, current, strict=True)]
        return total

    return top_down(root, token_law)


def without(q: Row, token: int) -> Row:
    left = [0 * mass if y == token else mass for y, mass in enumerate(q)]
    return normalised(left) if sum(left) else q


def rejection_without_replacement(root: DraftNode) -> Law:
    def token_law(p: Row, q: Row, drafted: tuple[int, ...]) -> Row:
        total, alive = [Fraction(0)] * len(p), ONE
        for x in dict.fromkeys(drafted):
            if not q[x]:
                continue  # a draft from an exhausted row: such a one is never tried
            accept = min(ONE, p[x] / q[x])
            total[x] += alive * accept
            alive *= 1 - accept
            if not alive:
                return total
            p, q = normalised(excess(p, q)), without(q, x)
        return [mass + alive * share for mass, share in zip(total, p, strict=True)]

    return top_down(root, token_law)


def sequoia(root: DraftNode) -> Law:
    """Rejection without replacement, where an exhausted row gives way to the uniform one."""

    def token_law(p: Row, q: Row, drafted: tuple[int, ...]) -> Row:
        total, alive = [Fraction(0)] * len(p), ONE
        tried: list[int] = []
        for x in dict.fromkeys(drafted):
            left = [Fraction(0) if y in tried else mass for y, mass in enumerate(q)]
            law = normalised(left if sum(left) else [Fraction(y not in tried) for y in range(len(p))])
            accept = min(ONE, p[x] / law[x])
            total[x], alive = total[x] + alive * accept, alive * (1 - accept)
            p, tried = normalised(excess(p, law)) if alive else p, [*tried, x]
        return [mass + alive * share for mass, share in zip(total, p, strict=True)]

    return top_down(root, token_law)


def spechub(root: DraftNode) -> Law:
    """Over both kinds of pairs at once: what each token gets in all, shared out to the pair at hand."""

    def token_law(p: Row, q: Row, drafted: tuple[int, ...]) -> Row:
        hub = max(range(len(q)), key=lambda y: (q[y], -y))
        others = [y for y in range(len(q)) if y != hub and q[y]]
        first = {x: min(p[x], q[x]) for x in others}
        mass = {x: q[hub] * q[x] / (1 - q[hub]) for x in others}
        second = {x: min(p[x] - first[x], mass[x]) for x in others}
        given = ONE - sum(first.values()) - sum(second.values())
        taken = min(p[hub], given)
        rest = [p[y] - first.get(y, 0) - second.get(y, 0) - (taken if y == hub else 0) for y in range(len(p))]
        total, alive = [Fraction(0)] * len(p), ONE
        for x in set(drafted) - {hub}:
            total[x] = first[x] / q[x] if drafted[0] == x else second[x] / mass[x]
            alive -= total[x]
        if not alive:
            return total
        total[hub] += alive * taken / given
        left = alive * (1 - taken / given)
        return [a + left * b / (sum(rest) or ONE) for a, b in zip(total, rest, strict=True)]

    return top_down(root, token_law)


def greedy_multi_draft(root: DraftNode) -> Law:
    def token_law(p: Row, q: Row, drafted: tuple[int, ...]) -> Row:
        for x in drafted[:-1]:
            q = without(q, x)
        return naive_step(p, q, drafted[-1])

    return top_down(root, token_law)


def rheo(root: DraftNode) -> Law:
    """The likeliest child is not judged: with it alone a token comes from p, beside others only the sampled one is."""

    def token_law(p: Row, q: Row, drafted: tuple[int, ...]) -> Row:
        return p if len(drafted) == 1 else naive_step(p, without(q, drafted[0]), drafted[-1])

    return top_down(root, token_law)


def block_on(path: list[DraftNode], laws: list[Row]) -> Law:
    """All coins thrown, independently; the accepted depth is the largest that shows heads."""
    law, weights = Law(), [ONE]
    for node, q, after in zip(path, laws, path[1:], strict=False):
        x = after.context[-1]
        weights.append(min(ONE, weights[-1] * row(node.target)[x] / q[x]))
    heads, rests = [], []
    for node, q, w in zip(path, laws, weights, strict=False):
        rest = excess([w * mass for mass in row(node.target)], q)
        heads.append(sum(rest) / (sum(rest) + 1 - w) if sum(rest) else Fraction(0))
        rests.append(rest)
    heads = [ONE, *heads[1:], weights[-1]] if laws else [ONE]
    for depth, node in enumerate(path):
        mass = heads[depth] * prod((1 - head for head in heads[depth + 1 :]), start=ONE)
        if mass:
            stop(law, node.context, mass, normalised(rests[depth]) if depth < len(laws) else row(node.target))
    return law


def block(root: DraftNode) -> Law:
    path = first_path(root)
    return block_on(path, [row(node.draft) for node in path[:-1]])


def hsd(root: DraftNode) -> Law:
    """Walked back from the leaf: at each node the capped ratio of its prefix, not what the walk has left."""
    path, law, ratio, largest, capped = first_path(root), Law(), ONE, ONE, [ONE]
    for node, after in pairwise(path):
        x = after.context[-1]
        ratio *= row(node.target)[x] / row(node.draft)[x]
        capped.append(min(ONE, ratio / largest))
        largest = max(largest, ratio)
    stop(law, path[-1].context, capped[-1], row(path[-1].target))
    left = 1 - capped[-1]
    for node, w in [*zip(path, capped, strict=True)][-2::-1]:
        p, q = [w * mass for mass in row(node.target)], row(node.draft)
        more, less = sum(excess(p, q)), sum(excess(q, p))
        accept = min(ONE, more / less) if less else Fraction(more > 0)
        accept = ONE if node is path[0] else accept
        if left * accept:
            stop(law, node.context, left * accept, normalised(excess(p, q)))
        left *= 1 - accept
    return law


def tree_monte_carlo(root: DraftNode) -> Law:
    law, w = Law(), ONE
    path = first_path(root)
    for node, after in pairwise(path):
        p, q, x = row(node.target), row(node.draft), after.context[-1]
        scaled = [w * mass for mass in p]
        then, missing = min(ONE, w * p[x] / q[x]), sum(excess(q, scaled))
        t = (1 - then) / missing if missing else ONE
        law = Law({block: mass * t for block, mass in law.items()})
        for y, mass in enumerate(excess(scaled, q)):
            law[node.context, y] += t * mass
        w = then
    stop(law, path[-1].context, w, row(path[-1].target))
    return law


def traversal(root: DraftNode) -> Law:
    """The leaves in depth-first order on a tree whose numbers are written over as leaves are rejected."""
    p, q, below = {}, {}, {}
    front = [root]
    for node in front:
        at = node.context
        p[at], q[at] = row(node.target), row(node.draft) if node.children else []
        below[at] = list(dict.fromkeys(node.children))
        front += [node.child(token) for token in below[at]]
    weight = {(): ONE}

    def reweigh(at: tuple[int, ...]) -> None:
        for x in below[at]:
            weight[(*at, x)] = min(ONE, weight[at] * p[at][x] / q[at][x])
            reweigh((*at, x))

    reweigh(())
    law, alive = Law(), ONE
    while alive:
        at: tuple[int, ...] = ()
        while below[at]:
            at = (*at, below[at][0])
        accept = weight[at] if at else ONE
        stop(law, at, alive * accept, p[at])
        alive *= 1 - accept
        if not at:
            break
        up, x = at[:-1], at[-1]
        rest = excess([weight[up] * mass for mass in p[up]], q[up])
        weight[up] = sum(rest) / (sum(rest) + 1 - weight[up]) if sum(rest) else Fraction(0)
        p[up] = normalised(rest) if sum(rest) else p[up]
        q[up] = without(q[up], x)
        below[up].remove(x)
        reweigh(up)
    return law


def gls(root: DraftNode) -> Law:
    return top_down(root, lambda p, q, drafted: shared_noise(tuple(p), tuple(q), drafted))


@cache
def shared_noise(p: tuple[Fraction, ...], q: tuple[Fraction, ...], drafted: tuple[int, ...]) -> Row:
    """The law of the target's token given the drafts, by integrals over the exponentials that both read."""
    paths = range(len(drafted))
    drawn = [order for path, x in enumerate(drafted) for order in smallest(q, x, path, [path])]
    everything = [(i, path) for i in range(len(p)) for path in paths]

    def mass(y: int) -> Fraction:
        return sum((probability(everything, [*drawn, *smallest(p, y, path, paths)]) for path in paths), Fraction(0))

    return normalised([mass(y) if share else Fraction(0) for y, share in enumerate(p)])


STEPS = (nss, naive, naive_tree, specinfer, block, hsd, tree_monte_carlo, traversal)
STEPS += (gls, rejection_without_replacement, greedy_multi_draft, sequoia, spechub, rheo)
PUBLISHED: dict[str, Callable[[DraftNode], Law]] = {steps.__name__: steps for steps in STEPS}
