"""Drafting and verification in one numpy function; the wrong one drafts from a sharper q than it declares."""

import numpy as np

LENGTH = 2


def step(p, q, sharpness):
    context = ()
    for _ in range(LENGTH):
        sampled = q(context) ** sharpness
        sampled = sampled / sampled.sum()
        context = (*context, int(np.random.choice(len(sampled), p=sampled)))
    for i, token in enumerate(context):
        target, draft = p(context[:i]), q(context[:i])
        if np.random.random() >= target[token] / draft[token]:
            rest = np.maximum(target - draft, 0)
            rest = rest / rest.sum() if rest.sum() > 0 else target
            return [*context[:i], int(np.random.choice(len(rest), p=rest))]
    return [*context, int(np.random.choice(len(p(())), p=p(context)))]


def right(p, q):
    return step(p, q, 1)


def wrong(p, q):
    return step(p, q, 2)
