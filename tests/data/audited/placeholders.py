"""Outputs padded with -1, and outputs that have -1 where a token should be."""

import numpy as np


def _draw(row):
    return int(np.random.choice(len(row), p=row / row.sum()))


def _first(tokens, q, p, u):
    """The block of the first draft: that draft and a token after it, or the correction."""
    x = int(tokens[0])
    return [x, _draw(p[1])] if u * q[0, x] < p[0, x] else [_draw(np.maximum(p[0] - q[0], 0))]


def padded(tokens, q, p):
    block = _first(tokens, q, p, np.random.random()) if len(tokens) else [_draw(p[0])]
    return np.array([*block, *[-1] * (len(p) + 2 - len(block))])


def between(tokens, q, p):
    block = _first(tokens, q, p, np.random.random()) if len(tokens) else [_draw(p[0])]
    return [block[0], -1, *block[1:]] if len(block) > 1 else block


def before(tokens, q, p):
    return [-1, _draw(p[0])]


def flat(draft_token_ids, num_draft_tokens, draft_probs, target_probs, uniforms, gap):
    """A flat batch; gap: how many -1 there are between an accepted draft and the next token."""
    out = np.full((len(num_draft_tokens), len(uniforms) + 2 + gap), -1)
    begin = 0
    for request, drafts in enumerate(num_draft_tokens):
        rows, end = target_probs[begin + request :], begin + int(drafts)
        if drafts:
            block = _first(draft_token_ids[begin:end], draft_probs[begin:end], rows, uniforms[begin])
        else:
            block = [_draw(rows[0])]
        out[request, 0] = block[0]
        out[request, gap + 1 : gap + len(block)] = block[1:]
        begin = end
    return out


def step(p, q):
    x = _draw(np.asarray(q(())))
    block = _first([x], [q(())] @ np.eye(len(q(()))), np.array([p(()), p((x,))]), np.random.random())
    return [*block, -1]


def step_between(p, q):
    block = step(p, q)
    return [block[0], -1, *block[1:]]


def loop(target, draft, prompt, new_tokens):
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        x = _draw(np.asarray(draft(text)))
        q, p = np.array([draft(text)]), np.array([target(text), target([*text, x])])
        text += _first([x], q, p, np.random.random())
    return [*text[: len(prompt) + new_tokens], -1, -1]


def loop_between(target, draft, prompt, new_tokens):
    text = loop(target, draft, prompt, new_tokens)
    return [*text[: len(prompt) + 1], -1, *text[len(prompt) + 1 :]]
