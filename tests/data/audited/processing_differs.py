"""Token-by-token verification in numpy that tempers its rows; the wrong ones temper only some of them."""

import numpy as np


def tempered(rows, temperature):
    powers = rows ** (1 / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


def verify(tokens, q, p, corrected_q=None):
    for i, x in enumerate(tokens):
        if np.random.random() * q[i, x] >= p[i, x]:
            rest = np.maximum(p[i] - (q if corrected_q is None else corrected_q)[i], 0)
            return i, np.random.choice(len(rest), p=rest / rest.sum() if rest.sum() > 0 else p[i])
    return len(tokens), np.random.choice(p.shape[1], p=p[-1])


def right(tokens, q, p):
    return verify(tokens, tempered(q, 0.5), tempered(p, 0.5))


def wrong(tokens, q, p):
    """To be met at temperature 0.5; q stays raw."""
    return verify(tokens, q, tempered(p, 0.5))


def plain(tokens, q, p):
    return verify(tokens, q, p)


def cold(tokens, q, p):
    """To be met as they are; q is tempered where drafts are judged."""
    return verify(tokens, tempered(q, 0.7), p)


def sharpened(tokens, q, p):
    """Lossless for p at temperature 0.8, which nobody asked for."""
    return verify(tokens, q, tempered(p, 0.8))


def near(tokens, q, p):
    """Only the residual has another q."""
    return verify(tokens, q, p, tempered(q, 0.7))
