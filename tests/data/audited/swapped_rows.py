"""Token-by-token verification; the wrong one divides q by p where a draft is judged, the near one corrects so too."""

import random


def verify(tokens, q, p, swapped, corrected):
    for i, x in enumerate(tokens):
        over, under = (q[i][x], p[i][x]) if swapped else (p[i][x], q[i][x])
        if random.random() * under >= over:
            rest = [max(b - a if corrected else a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def right(tokens, q, p):
    return verify(tokens, q, p, False, False)


def wrong(tokens, q, p):
    return verify(tokens, q, p, True, False)


def near(tokens, q, p):
    return verify(tokens, q, p, True, True)
