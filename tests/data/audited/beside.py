"""What engines ask beside losslessness: tokens that depend on neighbours, log-probabilities beside tokens."""

import math
import random


def pick(row, number):
    for token, weight in enumerate(row):
        number -= weight
        if number < 0:
            return token
    return max(token for token, weight in enumerate(row) if weight > 0)


def right_batch(tokens, q, p, lengths, final_uniform):
    return [[pick(rows[0], number)] for rows, number in zip(p, final_uniform, strict=True)]


def wrong_batch(tokens, q, p, lengths):
    """One generator for all: what a request draws depends on how many numbers those before it took."""
    results = []
    for rows, length in zip(p, lengths, strict=True):
        token = random.choices(range(len(rows[0])), weights=rows[0])[0]
        results.append([token])
        for _ in range(length):
            random.random()
    return results


def right_logs(tokens, q, p, final_uniform):
    token = pick(p[0], final_uniform)
    return [token], [math.log(p[0][token])]


def wrong_logs(tokens, q, p, final_uniform):
    token = pick(p[0], final_uniform)
    return [token], [math.log(p[0][token]) / 2]
