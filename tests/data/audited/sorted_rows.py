"""Token-by-token verification that sorts the residual before it draws from it; the wrong one keeps its largest entries.

The rule of acceptance stands in a file beside this one.
"""

import random

import numpy as np
from beside_sorted import accept


def pick(weights):
    level, total = random.random() * sum(weights), 0
    for place, weight in enumerate(weights):
        total += weight
        if level < total:
            return place
    return place


def right(tokens, q, p, most=None):
    for i, token in enumerate(tokens):
        if not accept(random.random(), min(1, p[i][token] / q[i][token])):
            residual = np.maximum(np.array(p[i]) - q[i], 0)
            order = np.argsort(-residual)[:most]
            return [*tokens[:i], int(order[pick(residual[order].tolist())])]
    return [*tokens, pick(p[len(tokens)])]


def wrong(tokens, q, p):
    return right(tokens, q, p, 2)
