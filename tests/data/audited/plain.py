"""Token-by-token verification, right and wrong."""

import asyncio
import random


def right(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def wrong(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            return i, random.choices(range(len(p[i])), weights=p[i])[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def hashed(tokens, q, p):
    return len(tokens), hash(random.random()) % 2


def in_a_loop(function):
    async def answered(*arguments):
        await asyncio.sleep(0)
        return function(*arguments)

    return lambda tokens, q, p: asyncio.run(answered(tokens, q, p))


asynchronous, asynchronous_wrong = in_a_loop(right), in_a_loop(wrong)


def connected(tokens, q, p):
    async def answered():
        await asyncio.open_connection("127.0.0.1", 9)

    return asyncio.run(answered())


def by_rejection(tokens, q, p):
    """Right, but no end of the loop is certain."""
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            while True:
                token = random.choices(range(len(p[i])), weights=p[i])[0]
                if random.random() * p[i][token] < p[i][token] - q[i][token]:
                    return i, token
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
