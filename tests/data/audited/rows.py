"""Token-by-token verification on rows that it rounds first."""

import numpy as np


def _verify(tokens, q, p):
    for i, x in enumerate(tokens):
        if np.random.random() * q[i, x] >= p[i, x]:
            rest = np.maximum(p[i] - q[i], 0)
            return i, int(np.random.choice(len(rest), p=rest / rest.sum()))
    return len(tokens), int(np.random.choice(p.shape[1], p=p[-1] / p[-1].sum()))


def as_given(tokens, q, p):
    return _verify(tokens, q, p)


def single(tokens, q, p):
    return _verify(tokens, q.astype(np.float32), p.astype(np.float32))


def half(tokens, q, p):
    return _verify(tokens, q, p.astype(np.float16).astype(float))


def decimals(tokens, q, p):
    return _verify(tokens, np.round(q, 4), np.round(p, 4))


def eighths(tokens, q, p):
    """A float of eight bits, of which three follow the first one."""
    mantissa, exponent = np.frexp(p)
    return _verify(tokens, q, np.ldexp(np.round(mantissa * 16) / 16, exponent))


def cut(tokens, q, p):
    """Leaves out tokens that are hardly ever drawn."""
    kept = np.where(p < 1e-3, 0, p)
    return _verify(tokens, q, kept / kept.sum(-1, keepdims=True))


def from_a_ratio(tokens, q, p):
    """Rejects what is hardly ever accepted."""
    for i, x in enumerate(tokens):
        if p[i, x] < q[i, x] / 100 or np.random.random() * q[i, x] >= p[i, x]:
            rest = np.maximum(p[i] - q[i], 0)
            return i, int(np.random.choice(len(rest), p=rest / rest.sum()))
    return len(tokens), int(np.random.choice(p.shape[1], p=p[-1] / p[-1].sum()))
