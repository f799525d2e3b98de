"""Requests of a batch, with and without drafts: token-by-token verification, right and wrong."""

import numpy as np


def _draw(row):
    return int(np.random.choice(len(row), p=row / row.sum()))


def _one(tokens, q, p, last):
    for i, x in enumerate(tokens):
        if np.random.random() * q[i, x] >= p[i, x]:
            return [*map(int, tokens[:i]), _draw(np.maximum(p[i] - q[i], 0))]
    return [*map(int, tokens), _draw(last)]


def each(tokens, q, p, lengths):
    return [_one(tokens[b][:n], q[b], p[b], p[b][n]) for b, n in enumerate(lengths)]


def raises(tokens, q, p, lengths):
    assert min(lengths) > 0, "a request without drafts"
    return each(tokens, q, p, lengths)


def row_before(tokens, q, p, lengths):
    """The last row of a request without drafts is taken from the request before."""
    rows = np.concatenate([p[b][: n + 1] for b, n in enumerate(lengths)])
    ends = np.cumsum(np.asarray(lengths) + 1) - 1
    return [_one(tokens[b][:n], q[b], p[b], rows[ends[b] - (n == 0 and b > 0)]) for b, n in enumerate(lengths)]


def row_after(tokens, q, p, lengths):
    """The rows of a request begin where the one before ends, which is forgotten where that has no drafts."""
    starts = [0 if b and lengths[b - 1] == 0 else b for b in range(len(lengths))]
    return [_one(tokens[b][:n], q[b], p[starts[b]], p[b][n]) for b, n in enumerate(lengths)]


def equal_only(tokens, q, p, lengths):
    """For drafts of one length, as where an engine pads them."""
    assert len({*map(int, lengths)}) == 1, "drafts of different lengths"
    return each(tokens, q, p, lengths)


def longest_for_all(tokens, q, p, lengths):
    return [_one(tokens[b], q[b], p[b], p[b][-1]) for b in range(len(lengths))]


def alone(tokens, q, p):
    return _one(tokens, q, p, p[-1])


def alone_raises(tokens, q, p):
    return _one(tokens, q, p, p[len(q.argmax(axis=1))] if tokens[0] >= 0 else None)


def alone_from_q(tokens, q, p):
    return _one(tokens, q, p, p[-1]) if len(tokens) else [_draw(p[0] ** 2)]


def flat(draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs, first):
    """first: the request from which on numbers are differences; 1 is right."""
    out, begin = [], 0
    for b, end in enumerate(cu_num_draft_tokens):
        begin = cu_num_draft_tokens[b - 1] if b >= first else 0
        out.append(_one(draft_token_ids[begin:end], draft_probs[begin:end], target_probs[begin:end], bonus_probs[b]))
    return out


def root_only(root):
    """A tree of one node has no child: its correction comes from p."""
    p, q, x = np.asarray(root.target), root.draft, root.children[0] if root.children else None
    if x is None:
        return (), _draw(p)
    if np.random.random() * q[x] < p[x]:
        return (x,), _draw(np.asarray(root.child(x).target))
    return (), _draw(np.maximum(p - np.asarray(q), 0))


def root_raises(root):
    assert root.children, "an empty tree"
    return root_only(root)
