"""Functions that an audit must not call lossless, though a part of it would."""

import random

seen = set()
current = [None, False]
calls = []


def draw(row):
    return random.choices(range(len(row)), weights=row)[0]


def right(tokens, q, p):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, draw([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)])
    return len(tokens), draw(p[-1])


def stale(tokens, q, p):
    """Right on every tree as long as none comes again: an enumeration alone does not see it."""
    key = (tuple(tokens), str(p))
    if key != current[0]:
        current[:] = [key, key in seen]
        seen.add(key)
    return (0, 0) if current[1] else right(tokens, q, p)


def counts(tokens, q, p):
    calls.append(1)
    return 0, len(calls) % 2


def fails(tokens, q, p):
    """Divides by zero where the residual has no mass on token 0, on some of the instances."""
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            left = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, draw([mass / left[0] for mass in left])
    return len(tokens), draw(p[-1])


def fails_late(tokens, q, p):
    """Right, and fails on one instance only: the one whose q has all its mass on one token."""
    if any(1.0 in list(row) for row in q):
        raise ValueError("q is certain")
    return right(tokens, q, p)


def accepts_all(tokens, q, p):
    """More tokens a block than any lossless verifier has."""
    return len(tokens), draw(p[-1])


def catches_complex(tokens, q, p):
    """Adds a complex number, which a stand-in refuses; on real numbers, with three tokens, it rejects near 0."""
    for i, token in enumerate(tokens):
        u, ratio = random.random(), min(1, p[i][token] / q[i][token])
        try:
            u = (u + 0j).real
            accepted = 0.09 * ratio * (len(tokens) == 3) < u < ratio
        except TypeError:
            accepted = u < ratio
        if not accepted:
            return i, _corrected(p[i], q[i])
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def _corrected(p, q):
    left = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return random.choices(range(len(p)), weights=left if any(left) else p)[0]
