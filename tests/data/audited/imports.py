"""Verifiers that import something while they run, and a file that imports compiled packages."""

import random

try:
    import pandas as frames
except ImportError:
    frames = None


def verify(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() >= p[i][x] / q[i][x]:
            return i, random.choices(range(len(p[i])), weights=[max(a - b, 0) for a, b in zip(p[i], q[i])])[0]  # noqa: B905
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def beside(tokens, q, p):
    from beside_imports import verify

    return verify(tokens, q, p)


def beside_wrong(tokens, q, p):
    from beside_imports import wrong

    return wrong(tokens, q, p)


def missing(tokens, q, p):
    import a_package_that_nobody_has

    return a_package_that_nobody_has.verify(tokens, q, p)


def optional(tokens, q, p):
    try:
        import a_package_that_nobody_has
    except ImportError:
        return verify(tokens, q, p)
    return a_package_that_nobody_has.verify(tokens, q, p)


def late(tokens, q, p):
    import sqlite3  # with a part in C
    import xml.dom.minidom  # noqa: F401 - imported where it runs

    assert sqlite3.sqlite_version
    return verify(tokens, q, p)
