"""Token-by-token verification whose parameters stand in other orders than an interface hands them over."""

import random


def _verified(tokens, q, p):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            residual = [max(own - drafted, 0) for own, drafted in zip(p[i], q[i], strict=True)]
            return [*tokens[:i], *random.choices(range(len(residual)), residual)]
    return [*tokens, *random.choices(range(len(p[-1])), p[-1])]


def target_before_draft(draft_ids, target_probs, draft_probs):
    return _verified(draft_ids, draft_probs, target_probs)


def rows_before_tokens(p_target, q_draft, drafts):
    return _verified(drafts, q_draft, p_target)


def named_wrongly(draft_ids, target_probs, draft_probs):
    return _verified(draft_ids, target_probs, draft_probs)


def letters(tokens, p, q):
    return _verified(tokens, q, p)


def half_named(tokens, p, draft_probs):
    return _verified(tokens, draft_probs, p)


def one_is_named(x, rows, target_rows):
    return _verified(x, rows, target_rows)


def draft_model_first(draft_model, target_model):
    tokens = []
    for _ in range(2):
        row = draft_model(tuple(tokens))
        tokens += random.choices(range(len(row)), row)
    rows = [draft_model(tuple(tokens[:i])) for i in range(2)], [target_model(tuple(tokens[:i])) for i in range(3)]
    return _verified(tokens, *rows)
