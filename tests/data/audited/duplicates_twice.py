"""Recursive rejection on paths keyed by prefix; the wrong one gives a token that was drafted twice twice its chance."""

import random


def verify(paths, p, q, twice):
    prefix = ()
    while True:
        here = [path for path in paths if path[: len(prefix)] == prefix and len(path) > len(prefix)]
        row = list(p[prefix])
        if not here:
            return prefix, random.choices(range(len(row)), weights=row)[0]
        drafted = [path[len(prefix)] for path in here]
        for token in drafted:
            ratio = row[token] / q[prefix][token] * (drafted.count(token) if twice else 1)
            if random.random() < ratio:
                prefix = (*prefix, token)
                break
            rest = [max(a - b, 0) for a, b in zip(row, q[prefix], strict=True)]
            row = [x / sum(rest) for x in rest] if sum(rest) > 0 else row
        else:
            return prefix, random.choices(range(len(row)), weights=row)[0]


def right(paths, p, q):
    return verify(paths, p, q, False)


def wrong(paths, p, q):
    return verify(paths, p, q, True)
