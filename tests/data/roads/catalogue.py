"""Bugs that an audit names, each beside a correct twin."""

import random


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def rest(p, q):
    excess = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return [x / sum(excess) for x in excess] if sum(excess) > 0 else list(p)


def chain(tokens, q, p, correction=lambda i, last, p, q: rest(p, q), bonus=lambda row: row):
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            return i, pick(correction(i, len(tokens) - 1, p[i], q[i]))
    return len(tokens), pick(bonus(p[-1]))


def right(tokens, q, p):
    return chain(tokens, q, p)


def last_from_target(tokens, q, p):
    return chain(tokens, q, p, lambda i, last, p, q: p if i == last else rest(p, q))


def later_from_target(tokens, q, p):
    return chain(tokens, q, p, lambda i, last, p, q: p if i else rest(p, q))


def counted(tokens, q, p):
    """All tokens are judged, and as many are kept as were accepted, wherever they stand."""
    n = sum([random.random() * q[i][x] < p[i][x] for i, x in enumerate(tokens)])
    return n, pick(rest(p[n], q[n]) if n < len(tokens) else p[n])


def latest(tokens, q, p):
    """All tokens are judged, and those up to the last accepted one are kept."""
    n = max([i + 1 for i, x in enumerate(tokens) if random.random() * q[i][x] < p[i][x]], default=0)
    return n, pick(rest(p[n], q[n]) if n < len(tokens) else p[n])


def first_failure(tokens, q, p):
    """All tokens are judged, and those before the first rejection are kept."""
    accepted = [random.random() * q[i][x] < p[i][x] for i, x in enumerate(tokens)]
    n = accepted.index(False) if False in accepted else len(tokens)
    return n, pick(rest(p[n], q[n]) if n < len(tokens) else p[n])


def sharper_bonus(tokens, q, p):
    return chain(tokens, q, p, bonus=lambda row: [x**2 for x in row])


def top_bonus(tokens, q, p):
    return chain(tokens, q, p, bonus=lambda row: [x if x >= sorted(row)[-2] else 0 for x in row])


def tree(paths, p, q, judge):
    node = ()
    while True:
        drafted = [path[len(node)] for path in paths if path[: len(node)] == node and len(path) > len(node)]
        if not drafted:
            return node, pick(p[node])
        token, row = judge(drafted, list(p[node]), q[node])
        if token is None:
            return node, pick(row)
        node = (*node, token)


def recursive(drafted, row, q, distinct=False):
    for token in dict.fromkeys(drafted) if distinct else drafted:
        if random.random() * q[token] < row[token]:
            return token, row
        row = rest(row, q)
    return None, row


def siblings(paths, p, q):
    return tree(paths, p, q, recursive)


def skipping(paths, p, q):
    return tree(paths, p, q, lambda *here: recursive(*here, distinct=True))


def alone(paths, p, q):
    """Every sibling is judged by the whole p."""

    def judge(drafted, row, q):
        return next((x for x in drafted if random.random() * q[x] < row[x]), None), rest(row, q)

    return tree(paths, p, q, judge)


def cumulative(drafted, row, coin):
    """Acceptance below the sum of p over the siblings so far, which is right for one coin of all of them."""
    total, left = 0, list(row)
    for token in dict.fromkeys(drafted):
        total, left[token] = total + row[token], 0
        if coin() < total:
            return token, left
    return None, left


def one_coin(paths, p, q):
    def judge(drafted, row, q):
        coin = random.random()
        return cumulative(drafted, row, lambda: coin)

    return tree(paths, p, q, judge)


def own_coins(paths, p, q):
    return tree(paths, p, q, lambda drafted, row, q: cumulative(drafted, row, random.random))


def batch(tokens, q, p, lengths, common):
    kept = []
    for request, length in enumerate(lengths):
        n = 0
        while n < length and random.random() * q[request][n][tokens[request][n]] < p[request][n][tokens[request][n]]:
            n += 1
        kept.append(n)
    found = []
    for request, (length, own) in enumerate(zip(lengths, kept, strict=True)):
        n = min(kept) if common else own
        found.append((n, pick(rest(p[request][n], q[request][n]) if n < length else p[request][n])))
    return found


def requests(tokens, q, p, lengths):
    return batch(tokens, q, p, lengths, False)


def common_minimum(tokens, q, p, lengths):
    return batch(tokens, q, p, lengths, True)


def loop(target, draft, prompt, new_tokens, propose):
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        row = draft(text)
        token = propose(row)
        p = target(text)
        if random.random() * row[token] < p[token]:
            text.append(token)
            text.append(pick(target(text)))
        else:
            text.append(pick(rest(p, row)))
    return text[: len(prompt) + new_tokens]


def sampled_drafts(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, pick)


def greedy_drafts(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, lambda row: row.index(max(row)))


def greedy_known(target, draft, prompt, new_tokens):
    """The likeliest token, judged as one that is certain."""
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        row, p = draft(text), target(text)
        token = row.index(max(row))
        certain = [float(x == token) for x in range(len(row))]
        text.append(token if random.random() < p[token] else pick(rest(p, certain)))
    return text
