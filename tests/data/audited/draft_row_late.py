"""Token-by-token verification in numpy; the wrong one uses the draft row of the step before."""

import numpy as np


def verify(tokens, q, p, late_q, late_p=0):
    for i, x in enumerate(tokens):
        target, draft = p[max(i - late_p, 0)], q[max(i - late_q, 0)]
        if np.random.random() * draft[x] >= target[x]:
            rest = np.maximum(target - draft, 0)
            return i, np.random.choice(len(rest), p=rest / rest.sum() if rest.sum() > 0 else target)
    return len(tokens), np.random.choice(p.shape[1], p=p[-1])


def right(tokens, q, p):
    return verify(tokens, q, p, 0)


def wrong(tokens, q, p):
    return verify(tokens, q, p, 1)


def near(tokens, q, p):
    """The target row is late, not the draft row."""
    return verify(tokens, q, p, 0, 1)
