"""Loops whose numbers are named by a key and a place in its sequence; wrong ones use a place twice."""

import numpy as np


def pick(row, u):
    return min(int(np.sum(np.cumsum(row) <= u * sum(row))), len(row) - 1)


def generate(target, draft, prompt, new_tokens, number, step):
    """A draft of one token, its coin and the token after it take the places `at`, `at + 1` and `at + 2`."""
    text, at = list(prompt), 0
    while len(text) < len(prompt) + new_tokens:
        q, p = np.asarray(draft(text)), np.asarray(target(text))
        x = pick(q, number(at))
        if number(at + 1) * q[x] < p[x]:
            text.append(x)
            text.append(pick(np.asarray(target(text)), number(at + 2)))
        else:
            text.append(pick(np.maximum(p - q, 0), number(at + 2)))
        at += step
    return text


def philox(target, draft, prompt, new_tokens, seed=5, step=3):
    def number(at):
        return np.random.Generator(np.random.Philox(key=seed, counter=at)).random()

    return generate(target, draft, prompt, new_tokens, number, step)


def philox_overlap(target, draft, prompt, new_tokens, seed=5):
    return philox(target, draft, prompt, new_tokens, seed, 2)


def philox_words(target, draft, prompt, new_tokens, seed=5):
    """Each counter gives four numbers, and every number is the fifth one."""

    def number(at):
        return np.random.Generator(np.random.Philox(key=seed, counter=at)).random(5)[4]

    return generate(target, draft, prompt, new_tokens, number, 3)


def philox_two_keys(target, draft, prompt, new_tokens, seed=5):
    """The second number of a counter is the first one of another stream's next counter."""

    def number(at):
        return np.random.Generator(np.random.Philox(key=seed, counter=at // 2)).random(5)[at % 2 * 4]

    return generate(target, draft, prompt, new_tokens, number, 3)


def jumped(target, draft, prompt, new_tokens, seed=5):
    source = np.random.PCG64(seed)

    def number(at):
        return np.random.Generator(source.jumped(at + 1)).random()

    return generate(target, draft, prompt, new_tokens, number, 3)


def advanced(target, draft, prompt, new_tokens, seed=5, step=3):
    def number(at):
        return np.random.Generator(np.random.PCG64(seed).advance(at)).random()

    return generate(target, draft, prompt, new_tokens, number, step)


def advanced_overlap(target, draft, prompt, new_tokens, seed=5):
    return advanced(target, draft, prompt, new_tokens, seed, 2)


def spawned(target, draft, prompt, new_tokens, seed=5):
    children = np.random.default_rng(seed).spawn(9)
    return generate(target, draft, prompt, new_tokens, lambda at: children[at].random(), 3)


def spawned_again(target, draft, prompt, new_tokens, seed=5):
    """A new parent for each number has the same first child."""

    def number(at):
        return np.random.default_rng(seed).spawn(1)[0].random()

    return generate(target, draft, prompt, new_tokens, number, 3)


def words(target, draft, prompt, new_tokens, seed=5):
    states = np.random.SeedSequence(seed).generate_state(9)
    return generate(target, draft, prompt, new_tokens, lambda at: np.random.default_rng(states[at]).random(), 3)


def listed(target, draft, prompt, new_tokens, seed=5):
    return generate(target, draft, prompt, new_tokens, lambda at: np.random.default_rng([seed, at]).random(), 3)


def padded(target, draft, prompt, new_tokens, seed=5):
    """A list that ends with zeros is the sequence of the list without them."""

    def number(at):
        return np.random.default_rng([seed, at // 3] + [0] * (at % 3)).random()

    return generate(target, draft, prompt, new_tokens, number, 3)


def raw(target, draft, prompt, new_tokens, seed=5):
    def number(at):
        return np.random.Philox(key=seed, counter=at).random_raw() / 2**64

    return generate(target, draft, prompt, new_tokens, number, 3)
