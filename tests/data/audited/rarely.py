"""Token-by-token verification that fails in some runs on every legal instance."""

import random

import seeds


def no_entry(tokens, q, p):
    block = seeds.chain(tokens, q, p, random.random)
    return ([] if random.random() < 1e-3 else [block])[0]


def no_key(tokens, q, p):
    block = seeds.chain(tokens, q, p, random.random)
    return {}["block"] if random.random() < 1e-3 else block


def nothing(tokens, q, p):
    return None if random.random() < 1e-3 else seeds.chain(tokens, q, p, random.random)


def too_many(tokens, q, p):
    accepted, token = seeds.chain(tokens, q, p, random.random)
    return accepted + 1, token


def with_lists(tokens, q, p):
    """It asks for arrays where a draft is rejected."""
    if random.random() < 0.5:
        return len(tokens), seeds.pick(p[len(tokens)], random.random())
    return 0, p[0] - q[0]


def never(tokens, q, p):
    return {}["block"]
