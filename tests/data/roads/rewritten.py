"""The bugs of the catalogue once more, in other words: in log space, vectorised, in torch's and numpy's own ways."""

import math
import random

import numpy as np


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def rest(p, q):
    excess = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return excess if sum(excess) > 0 else p


def raced(row):
    """An index with probability in proportion to its weight, by an exponential race."""
    noise = np.random.exponential(size=len(row))
    return int(np.argmax(np.where(row > 0, row / noise, -1)))


def correction_by_race(tokens, q, p):
    """Corrects from p: the residual is computed and never used."""
    ratios = p[np.arange(len(tokens)), tokens] / q[np.arange(len(tokens)), tokens]
    coins = np.random.random(len(tokens))
    n = next((i for i in range(len(tokens)) if coins[i] >= ratios[i]), len(tokens))
    return n, raced(p[n])


def greedy_acceptance(tokens, q, p):
    """Accepts where p is at least q, and corrects from p."""
    for i, token in enumerate(tokens):
        if p[i][token] < q[i][token]:
            return i, pick(p[i])
    return len(tokens), pick(p[-1])


def late_bonus(tokens, q, p):
    """The bonus token comes from the row before the last one, whatever the length."""
    for i, token in enumerate(tokens):
        if math.log(random.random()) >= math.log(p[i][token]) - math.log(q[i][token]) if p[i][token] > 0 else True:
            return i, pick(rest(p[i], q[i]))
    return len(tokens), pick(p[-2])


def next_residual(tokens, q, p):
    """A rejection at i corrects with the rows of i + 1, where there are any."""
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, pick(rest(p[min(i + 1, len(p) - 1)], q[i]))
    return len(tokens), pick(p[-1])


def parents_draft(paths, p, q):
    """Recursive rejection with the draft row of the node before."""
    node, before = (), q[()]
    while True:
        drafted = [path[len(node)] for path in paths if path[: len(node)] == node and len(path) > len(node)]
        row = list(p[node])
        for token in drafted:
            if before[token] > 0 and random.random() * before[token] < row[token]:
                before, node = q[node], (*node, token)
                break
            left = rest(row, before)
            row = [x / sum(left) for x in left]
        else:
            return node, pick(row)


def last_success(tokens, q, p):
    """Products of uniforms, the last success, and the residual of block verification."""
    coins, ratios, kept, weights = 1, 1, 0, [1]
    for i, token in enumerate(tokens):
        ratio = p[i][token] / q[i][token]
        coins, ratios = coins * random.random(), ratios * min(1, ratio)
        weights.append(min(1, weights[-1] * ratio))
        kept = i + 1 if coins < ratios else kept
    if kept == len(tokens):
        return kept, pick(p[-1])
    scaled = [weights[kept] * x for x in p[kept]]
    excess = [max(a - b, 0) for a, b in zip(scaled, q[kept], strict=True)]
    return kept, pick(excess if sum(excess) > 0 else p[kept])


def latest_longest(paths, p, q):
    """Every path by itself; the last of the longest."""
    best = ()
    for place, path in enumerate(paths):
        kept = 0
        while kept < len(path) and random.random() * q[path[:kept]][path[kept]] < p[path[:kept]][path[kept]]:
            kept += 1
        best = path[:kept] if kept >= len(best) or not place else best
    return best, pick(rest(p[best], q[best]) if best in q else p[best])


def top_token(tokens, q, p):
    """Lossless for p with its likeliest token only."""
    sharp = np.where(p == p.max(axis=-1, keepdims=True), p, 0)
    sharp = sharp / sharp.sum(axis=-1, keepdims=True)
    for i, token in enumerate(tokens):
        if np.random.random() * q[i, token] >= sharp[i, token]:
            return i, raced(np.maximum(sharp[i] - q[i], 0))
    return len(tokens), raced(sharp[-1])


def generous(tokens, q, p):
    """Accepts with (1 + p/q) / 2 where that is below 1."""
    for i, token in enumerate(tokens):
        if random.random() >= 0.5 + 0.5 * min(1, p[i][token] / q[i][token]):
            return i, pick(rest(p[i], q[i]))
    return len(tokens), pick(p[-1])


def one_coin(tokens, q, p):
    """The coin that rejects chooses the correction as well."""
    for i, token in enumerate(tokens):
        coin = random.random()
        if coin * q[i][token] >= p[i][token]:
            left, total = rest(p[i], q[i]), sum(rest(p[i], q[i]))
            for other, mass in enumerate(left):
                coin = coin - mass / total
                if coin < 0:
                    return i, other
            return i, max(other for other, mass in enumerate(left) if mass > 0)
    return len(tokens), pick(p[-1])


def unscaled(tokens, q, p):
    """What is missing of (p - q)+ goes to the last token, by an inverse cumulative sum."""
    for i, token in enumerate(tokens):
        if np.random.random() >= p[i, token] / q[i, token]:
            edges = np.cumsum(np.maximum(p[i] - q[i], 0))
            return i, min(int(np.searchsorted(edges, np.random.random(), side="right")), len(edges) - 1)
    return len(tokens), raced(p[-1])


def sharper(p, q):
    """Drafts from q squared, and judges them by q; one draft."""
    row = [x * x for x in q(())]
    token = pick(row)
    if random.random() * q(())[token] < p(())[token]:
        return [token, pick(p((token,)))]
    return [pick(rest(p(()), q(())))]
