"""Recursive rejection on candidate arrays in numpy; the wrong one searches the cumulative sum of a row as it is."""

import numpy as np

rng = np.random.default_rng()


def pick(row):
    return min(int(np.searchsorted(np.cumsum(row), rng.random(), side="right")), len(row) - 1)


def verify(p, candidates, q, normalise):
    alive, best = list(range(len(candidates))), 0
    for i in range(1, candidates.shape[1]):
        going_on = [k for k in alive if candidates[k, i] >= 0]
        if not going_on:
            return best, i - 1, pick(p[best, i - 1])
        row, drafted = p[best, i - 1].copy(), q[best, i - 1]
        for k in going_on:
            token = candidates[k, i]
            if rng.random() < row[token] / drafted[token]:
                alive, best = [j for j in going_on if candidates[j, i] == token], k
                break
            row = np.maximum(row - drafted, 0)
            row = row / row.sum() if normalise else row
        else:
            return best, i - 1, pick(row)
    return best, candidates.shape[1] - 1, pick(p[best, -1])


def right(p, candidates, q):
    return verify(p, candidates, q, True)


def wrong(p, candidates, q):
    return verify(p, candidates, q, False)
