"""Several paths; the wrong one tests each by itself and takes the longest one that was accepted."""

import random


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def tested(path, p, q):
    for i, token in enumerate(path):
        if random.random() >= p[path[:i]][token] / q[path[:i]][token]:
            return path[:i]
    return path


def finish(path, paths, p, q, residual=True):
    goes_on = any(len(other) > len(path) and other[: len(path)] == path for other in paths)
    if not goes_on:
        return path, pick(p[path])
    rest = [max(a - b, 0) for a, b in zip(p[path], q[path], strict=True)] if residual else p[path]
    return path, pick(rest if sum(rest) > 0 else p[path])


def right(paths, p, q):
    return finish(tested(paths[0], p, q), paths[:1], p, q)


def wrong(paths, p, q):
    found = [tested(path, p, q) for path in paths]
    return finish(max(found, key=len), paths, p, q)


def near(paths, p, q):
    """The most probable one of those that were accepted, not the longest."""
    found = [tested(path, p, q) for path in paths]
    best = max(found, key=lambda path: (p[path[:-1]][path[-1]] if path else 0, len(path)))
    return finish(best, paths, p, q)
