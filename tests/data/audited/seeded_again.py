"""Token-by-token verification in plain Python; the wrong one makes its generator anew, with one seed, for each draw."""

import random


def verify(tokens, q, p, generator):
    for i, x in enumerate(tokens):
        if generator(i).random() >= p[i][x] / q[i][x]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, generator(10).choices(range(len(rest)), weights=rest)[0]
    return len(tokens), generator(10).choices(range(len(p[-1])), weights=p[-1])[0]


def right(tokens, q, p, seed=0):
    return verify(tokens, q, p, lambda place: random.Random(100 * seed + place))


def wrong(tokens, q, p, seed=0):
    return verify(tokens, q, p, lambda place: random.Random(seed))
