"""Token-by-token verification with cumulative products; the wrong one multiplies the uniforms as well."""

import numpy as np


def correct(i, q, p):
    rest = np.maximum(p[i] - q[i], 0)
    rest = rest if rest.sum() > 0 else p[i]
    return i, np.random.choice(len(rest), p=rest / rest.sum())


def finish(accepted, tokens, q, p):
    n = int(np.cumprod([bool(each) for each in accepted]).sum())
    return correct(n, q, p) if n < len(tokens) else (n, np.random.choice(p.shape[1], p=p[n]))


def wrong(tokens, q, p):
    ratios = np.cumprod([min(1, p[i, x] / q[i, x]) for i, x in enumerate(tokens)])
    uniforms, product = [], 1
    for _ in tokens:
        product = product * np.random.random()
        uniforms.append(product)
    return finish([u < r for u, r in zip(uniforms, ratios, strict=True)], tokens, q, p)


def right(tokens, q, p):
    """One uniform for the whole path is enough where the ratios are capped."""
    ratios = np.cumprod([min(1, p[i, x] / q[i, x]) for i, x in enumerate(tokens)])
    coin = np.random.random()
    return finish([coin < ratio for ratio in ratios], tokens, q, p)


def near(tokens, q, p):
    ratios = np.cumprod([p[i, x] / q[i, x] for i, x in enumerate(tokens)])
    coin = np.random.random()
    return finish([coin < ratio for ratio in ratios], tokens, q, p)
