"""Recursive rejection for drafts without replacement; the wrong one keeps rejected tokens in q."""

import random


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def rest(p, q):
    excess = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    total = sum(excess)
    return [x / total for x in excess] if total > 0 else p


def verify(paths, p, q, remove, residual=True):
    prefix = ()
    while True:
        drafted = [path[len(prefix)] for path in paths if path[: len(prefix)] == prefix and len(path) > len(prefix)]
        row, draft = list(p[prefix]), list(q[prefix]) if drafted else None
        for token in dict.fromkeys(drafted):
            if random.random() * draft[token] < row[token]:
                prefix = (*prefix, token)
                break
            row = rest(row, draft) if residual else row
            if remove:
                draft[token] = 0
                total = sum(draft)
                draft = [x / total for x in draft] if total > 0 else draft
        else:
            return prefix, pick(row)


def right(paths, p, q):
    return verify(paths, p, q, True)


def wrong(paths, p, q):
    return verify(paths, p, q, False)


def near(paths, p, q):
    """It forgets to take q off p after a rejection."""
    return verify(paths, p, q, True, residual=False)


def removing(paths, p, q):
    """The rule for drafts without replacement, for drafts that may be the same; those are passed over."""
    prefix = ()
    while True:
        drafted = [path[len(prefix)] for path in paths if path[: len(prefix)] == prefix and len(path) > len(prefix)]
        row, draft = list(p[prefix]), list(q[prefix]) if drafted else None
        for token in drafted:
            if draft[token] > 0 and random.random() * draft[token] < row[token]:
                prefix = (*prefix, token)
                break
            row = rest(row, draft)
            total = sum(draft) - draft[token]
            if total > 0:
                draft = [0 if other == token else x / total for other, x in enumerate(draft)]
        else:
            return prefix, pick(row)
