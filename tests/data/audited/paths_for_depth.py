"""Candidate arrays of a batch in numpy; the wrong one compares with the number of paths where the depth belongs."""

import numpy as np


def request(p, candidates, q, full):
    alive, best, length = list(range(len(candidates))), 0, 0
    while length < (candidates[best] >= 0).sum() - 1:
        row, drafted = p[best, length].copy(), q[best, length]
        going_on = [k for k in alive if candidates[k, length + 1] >= 0]
        for k in going_on:
            token = candidates[k, length + 1]
            if np.random.random() < row[token] / drafted[token]:
                alive, best = [j for j in going_on if candidates[j, length + 1] == token], k
                length += 1
                break
            row = np.maximum(row - drafted, 0)
            row = row / row.sum()
        else:
            return best, length, row
    if length == full(candidates):
        return best, length, p[best, length]
    rest = np.maximum(p[best, length] - q[best, length - 1], 0) if length else p[best, 0]
    return best, length, rest / rest.sum() if rest.sum() > 0 else p[best, length]


def right(p, candidates, q):
    depth = lambda rows: max((row >= 0).sum() for row in rows) - 1  # noqa: E731
    return [request(*each, depth) for each in zip(p, candidates, q, strict=True)]


def wrong(p, candidates, q):
    return [request(*each, len) for each in zip(p, candidates, q, strict=True)]
