"""Bugs that an audit names, each beside a correct twin, and near misses, which it does not name."""

import itertools
import random

import numpy as np


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


def judging(ratio, p_row=0, q_row=0):
    """Token-by-token verification that accepts with this ratio of rows so many positions further."""

    def verify(tokens, q, p):
        for i, x in enumerate(tokens):
            target, draft = p[max(i + p_row, 0)], q[max(i + q_row, 0)]
            if ratio(target[x], draft[x]):
                return i, pick(rest(target, draft))
        return len(tokens), pick(p[-1])

    return verify


no_coin = judging(lambda p, q: p < q)
swapped = judging(lambda p, q: random.random() * p >= q)
draft_row_late = judging(lambda p, q: random.random() * q >= p, q_row=-1)
target_row_late = judging(lambda p, q: random.random() * q >= p, p_row=-1)


def swapped_throughout(tokens, q, p):
    """The correction is swapped, too."""
    for i, x in enumerate(tokens):
        if random.random() * p[i][x] >= q[i][x]:
            return i, pick(rest(q[i], p[i]))
    return len(tokens), pick(p[-1])


def bonus_row(tokens, q, p):
    kept, token = chain(tokens, q, p)
    return (kept, pick(p[-2])) if kept == len(tokens) else (kept, token)


def exact_first_token(tokens, q, p):
    return chain(tokens, q, p, lambda i, last, p, q: p if i >= 1 else rest(p, q))


def seeded(tokens, q, p, generator):
    for i, x in enumerate(tokens):
        if generator(i).random() >= p[i][x] / q[i][x]:
            return i, generator(10).choices(range(len(p[i])), weights=rest(p[i], q[i]))[0]
    return len(tokens), generator(10).choices(range(len(p[-1])), weights=p[-1])[0]


def seeded_apart(tokens, q, p, seed=0):
    return seeded(tokens, q, p, lambda place: random.Random(100 * seed + place))


def seeded_again(tokens, q, p, seed=0):
    return seeded(tokens, q, p, lambda place: random.Random(seed))


def multiplied(tokens, q, p, coins, cap=1):
    """A product of ratios for each token, compared with a coin. cap: of each ratio."""
    products = list(
        itertools.accumulate((min(cap, p[i][x] / q[i][x]) for i, x in enumerate(tokens)), lambda a, b: a * b)
    )
    n = next((i for i, (u, product) in enumerate(zip(coins, products, strict=False)) if u >= product), len(tokens))
    return n, pick(rest(p[n], q[n]) if n < len(tokens) else p[n])


def one_uniform(tokens, q, p):
    """One uniform number for the whole path is enough where the ratios are capped."""
    return multiplied(tokens, q, p, itertools.repeat(random.random()))


def uniforms_multiplied(tokens, q, p):
    coins = [random.random() for _ in tokens]
    return multiplied(tokens, q, p, list(itertools.accumulate(coins, lambda a, b: a * b)))


def one_uniform_uncapped(tokens, q, p):
    return multiplied(tokens, q, p, itertools.repeat(random.random()), float("inf"))


def blocks(tokens, q, p, chance):
    """Block verification. chance: of stopping at a depth, from its weight and what p exceeds q by there."""
    weights = [1.0]
    for i, x in enumerate(tokens):
        weights.append(min(1.0, weights[-1] * p[i][x] / q[i][x]))
    if random.random() < weights[-1]:
        return len(tokens), pick(p[-1])
    for i in reversed(range(len(tokens))):
        left = [max(weights[i] * a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
        if i == 0 or random.random() < chance(weights[i], sum(left)):
            return i, pick(left if sum(left) > 0 else p[i])


def block(tokens, q, p):
    return blocks(tokens, q, p, lambda weight, spare: spare / (spare + 1 - weight) if spare else 0)


def weights_as_probabilities(tokens, q, p):
    return blocks(tokens, q, p, lambda weight, spare: weight)


def duplicates_twice(paths, p, q):
    def judge(drafted, row, q):
        for token in drafted:
            if random.random() * q[token] < row[token] * drafted.count(token):
                return token, row
            row = rest(row, q)
        return None, row

    return tree(paths, p, q, judge)


def without_replacement(drafted, row, q, forget=True, left=rest):
    """The rule for drafts that are not replaced. forget: whether rejected ones leave q; left: of p by a rejection."""
    for token in drafted:
        if q[token] > 0 and random.random() * q[token] < row[token]:
            return token, row
        row, others = left(row, q), 1 - q[token]
        if forget and others > 0:
            q = [0 if x == token else mass / others for x, mass in enumerate(q)]
    return None, row


def forgotten(paths, p, q):
    return tree(paths, p, q, lambda drafted, *rows: without_replacement(dict.fromkeys(drafted), *rows))


def not_forgotten(paths, p, q):
    return tree(paths, p, q, lambda drafted, *rows: without_replacement(dict.fromkeys(drafted), *rows, forget=False))


def nothing_taken_off(paths, p, q):
    """It forgets to take q off p after a rejection."""
    keep = {"left": lambda row, q: row}
    return tree(paths, p, q, lambda drafted, *rows: without_replacement(dict.fromkeys(drafted), *rows, **keep))


def forgotten_duplicates(paths, p, q):
    """Drafts that may be the same, as if they could not."""
    return tree(paths, p, q, without_replacement)


def accepted(path, p, q):
    kept = itertools.takewhile(
        lambda i: random.random() * q[path[:i]][path[i]] < p[path[:i]][path[i]], range(len(path))
    )
    return path[: len(list(kept))]


def finish(path, paths, p, q):
    goes_on = any(len(other) > len(path) and other[: len(path)] == path for other in paths)
    return path, pick(rest(p[path], q[path]) if goes_on else p[path])


def first_path(paths, p, q):
    return finish(accepted(paths[0], p, q), paths[:1], p, q)


def longest_path(paths, p, q):
    return finish(max([accepted(path, p, q) for path in paths], key=len), paths, p, q)


def likeliest_path(paths, p, q):
    """The most probable one of those that were accepted, not the longest."""
    tried = [accepted(path, p, q) for path in paths]
    return finish(max(tried, key=lambda path: (p[path[:-1]][path[-1]] if path else 0, len(path))), paths, p, q)


def candidates_judged(p, candidates, q, normalise, full):
    """Recursive rejection on candidate arrays; full: the length of a whole path, from the candidates."""
    alive, best, length = list(range(len(candidates))), 0, 0
    while True:
        following = [k for k in alive if length + 1 < candidates.shape[1] and candidates[k, length + 1] >= 0]
        if not following:
            break
        row, drafted = p[best, length].copy(), q[best, length]
        for k in following:
            token = candidates[k, length + 1]
            if np.random.random() < row[token] / drafted[token]:
                alive, best, length = [j for j in following if candidates[j, length + 1] == token], k, length + 1
                break
            row = np.maximum(row - drafted, 0)
            row = row / row.sum() if normalise else row
        else:
            return best, length, row
    if length == full(candidates):
        return best, length, p[best, length]
    left = np.maximum(p[best, length] - q[best, length - 1], 0) if length else p[best, 0]
    return best, length, left / left.sum() if left.sum() > 0 else p[best, length]


def searched(p, candidates, q, normalise):
    """The next token from the cumulative sum of the row, as it is."""
    best, length, row = candidates_judged(p, candidates, q, normalise, depth)
    return best, length, min(int(np.searchsorted(np.cumsum(row), np.random.random(), side="right")), len(row) - 1)


def depth(candidates):
    return int((candidates >= 0).sum(axis=1).max()) - 1


def normalised(p, candidates, q):
    return searched(p, candidates, q, True)


def not_normalised(p, candidates, q):
    return searched(p, candidates, q, False)


def depth_for_depth(p, candidates, q):
    return [candidates_judged(*one, True, depth) for one in zip(p, candidates, q, strict=True)]


def paths_for_depth(p, candidates, q):
    return [candidates_judged(*one, True, len) for one in zip(p, candidates, q, strict=True)]


def tempered(rows, temperature):
    powers = np.array(rows) ** (1 / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


def cooled(tokens, q, p):
    """To be met at temperature 0.5."""
    return chain(tokens, tempered(q, 0.5), tempered(p, 0.5))


def target_cooled(tokens, q, p):
    """To be met at temperature 0.5; q stays raw."""
    return chain(tokens, q, tempered(p, 0.5))


def two_likeliest(tokens, q, p):
    """Both rows cut to their two likeliest tokens."""

    def cut(rows):
        kept = np.where(rows >= np.sort(rows, -1)[:, -2:-1], rows, 0)
        return kept / kept.sum(-1, keepdims=True)

    return chain(tokens, cut(np.array(q)), cut(np.array(p)))


def draft_warmer(tokens, q, p):
    """To be met as they are; q is tempered where drafts are judged."""
    return chain(tokens, tempered(q, 0.7), p)


def target_warmer(tokens, q, p):
    """Lossless for p at temperature 0.8, which nobody asked for."""
    return chain(tokens, q, tempered(p, 0.8))


def residual_warmer(tokens, q, p):
    """Only the residual has another q."""
    warm = tempered(q, 0.7)
    return chain(tokens, q, p, lambda i, last, target, draft: rest(target, warm[i]))


def greedy_acceptance(tokens, q, p):
    """Accepts where p is at least q, and corrects from p."""
    for i, token in enumerate(tokens):
        if p[i][token] < q[i][token]:
            return i, pick(p[i])
    return len(tokens), pick(p[-1])


def next_residual(tokens, q, p):
    """A rejection at i corrects with the rows of i + 1, where there are any."""
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, pick(rest(p[min(i + 1, len(p) - 1)], q[i]))
    return len(tokens), pick(p[-1])


def last_success(tokens, q, p):
    """Products of uniforms, the last success, and the residual of block verification."""
    coins, ratios, kept, weights = 1, 1, 0, [1]
    for i, token in enumerate(tokens):
        ratio = p[i][token] / q[i][token]
        coins, ratios = coins * random.random(), ratios * min(1, ratio)
        weights.append(min(1, weights[-1] * ratio))
        kept = i + 1 if coins < ratios else kept
    if kept == len(tokens):
        return kept, pick(p[-1])
    scaled = [weights[kept] * x for x in p[kept]]
    excess = [max(a - b, 0) for a, b in zip(scaled, q[kept], strict=True)]
    return kept, pick(excess if sum(excess) > 0 else p[kept])


def latest_longest(paths, p, q):
    """Every path by itself; the last of the longest."""
    best = ()
    for place, path in enumerate(paths):
        kept = 0
        while kept < len(path) and random.random() * q[path[:kept]][path[kept]] < p[path[:kept]][path[kept]]:
            kept += 1
        best = path[:kept] if kept >= len(best) or not place else best
    return best, pick(rest(p[best], q[best]) if best in q else p[best])


def generous(tokens, q, p):
    """Accepts with (1 + p/q) / 2 where that is below 1."""
    for i, token in enumerate(tokens):
        if random.random() >= 0.5 + 0.5 * min(1, p[i][token] / q[i][token]):
            return i, pick(rest(p[i], q[i]))
    return len(tokens), pick(p[-1])


def sharper(p, q):
    """Drafts from q squared, and judges them by q; one draft."""
    row = [x * x for x in q(())]
    token = pick(row)
    if random.random() * q(())[token] < p(())[token]:
        return [token, pick(p((token,)))]
    return [pick(rest(p(()), q(())))]


def parents_draft(paths, p, q):
    """Recursive rejection with the draft row of the node before."""
    before = [q[()]]

    def judge(drafted, row, own):
        token, left = recursive(drafted, row, before[-1])
        before.append(own)
        return token, left

    return tree(paths, p, q, judge)


def unscaled(tokens, q, p):
    """What is missing of (p - q)+ goes to the last token, by an inverse cumulative sum."""
    for i, token in enumerate(tokens):
        if random.random() >= p[i][token] / q[i][token]:
            edges = np.cumsum([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)])
            return i, min(int(np.searchsorted(edges, random.random(), side="right")), len(edges) - 1)
    return len(tokens), pick(p[-1])


def top_token(tokens, q, p):
    """Lossless for p with its likeliest token only."""
    return chain(tokens, q, [[float(x == max(row)) for x in row] for row in p])
