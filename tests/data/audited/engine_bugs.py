"""Bugs seen in engines, each with the function as it should be: chain interface, of trees paths; rows of numpy."""

import random

import numpy as np


def pick(weights):
    return random.choices(range(len(weights)), weights=weights)[0]


def verify(tokens, q, p, correct, bonus):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, pick(correct(p[i], q[i]))
    return len(tokens), bonus(p[len(tokens)])


def residual(p, q):
    return np.maximum(p - q, 0)


def softmax_of_residual(p, q):
    weights = np.exp(residual(p, q))
    return weights / weights.sum()


def cooled(rows):
    """Temperature 1/2."""
    squares = rows**2
    return squares / squares.sum(axis=-1, keepdims=True)


def right_residual(tokens, q, p):
    return verify(tokens, q, p, residual, pick)


def wrong_softmax(tokens, q, p):
    return verify(tokens, q, p, softmax_of_residual, pick)


def wrong_greedy_bonus(tokens, q, p):
    return verify(tokens, q, p, residual, lambda row: int(np.argmax(row)))


def right_processed(tokens, q, p):
    return verify(tokens, cooled(q), cooled(p), residual, pick)


def wrong_bonus_unprocessed(tokens, q, p):
    return verify(tokens, cooled(q), np.concatenate([cooled(p[:-1]), p[-1:]]), residual, pick)


def wrong_processors_left_out(tokens, q, p):
    return verify(tokens, q, p, residual, pick)


def right_sample_and_compare(tokens, q, p):
    for i, token in enumerate(tokens):
        sampled = pick(p[i])
        if sampled != token:
            return i, sampled
    return len(tokens), pick(p[len(tokens)])


def wrong_sample_again(tokens, q, p):
    for i, token in enumerate(tokens):
        if pick(p[i]) != token:
            return i, pick(p[i])
    return len(tokens), pick(p[len(tokens)])


def won(weights, noise):
    """The index that an exponential race with these numbers gives."""
    return int(np.argmax(np.where(weights > 0, weights / noise, -1)))


def right_races(tokens, q, p):
    for i, token in enumerate(tokens):
        sampled = won(p[i], np.random.exponential(size=len(p[i])))
        if sampled != token:
            return i, sampled
    return len(tokens), won(p[-1], np.random.exponential(size=len(p[-1])))


def wrong_races_twice(tokens, q, p):
    noise = np.random.exponential(size=len(p[0]))
    for i, token in enumerate(tokens):
        sampled = won(p[i], noise)
        if sampled != token:
            return i, sampled
    return len(tokens), won(p[-1], noise)


def raced(tokens, q, p, coin_of):
    for i, token in enumerate(tokens):
        uniforms = np.random.random(len(p[i]))
        if coin_of(uniforms) * q[i][token] >= p[i][token]:
            return i, won(residual(p[i], q[i]), -np.log(uniforms))
    return len(tokens), won(p[-1], np.random.exponential(size=len(p[-1])))


def right_coin_apart(tokens, q, p):
    return raced(tokens, q, p, lambda uniforms: random.random())


def wrong_coin_in_race(tokens, q, p):
    return raced(tokens, q, p, lambda uniforms: uniforms[0])


def on_tree(paths, p, q, judged_with):
    """Siblings one after the other, each judged with a row in place of q."""
    node = ()
    while True:
        siblings = dict.fromkeys(
            path[len(node)] for path in paths if path[: len(node)] == node and len(path) > len(node)
        )
        left = p[node]
        for token in siblings:
            row = judged_with(q[node], token)
            if random.random() * row[token] < left[token]:
                node = (*node, token)
                break
            left = residual(left, row)
            left = left / left.sum()
        else:
            return node, pick(left)


def right_greedy_tree(paths, p, q):
    """The drafts are the likeliest tokens: the row that such a draft comes from is 1 at its token."""
    return on_tree(paths, p, q, lambda row, token: np.eye(len(row))[token])


def wrong_greedy_tree(paths, p, q):
    return on_tree(paths, p, q, lambda row, token: row)
