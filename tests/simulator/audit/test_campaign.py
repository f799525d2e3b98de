"""A campaign: at least 100 lossless functions, none of which may be refuted, and 60 biased ones, none proved.

Ways to draw a token, to compare a coin with the ratio, to write a verifier and to get it wrong are combined.
"""

import heapq
import itertools
import math
import random
from bisect import bisect_right
from functools import lru_cache

import numpy as np
import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.verdict import Record, Request, run_audit

torch = pytest.importorskip("torch")


def edges(row):
    return np.cumsum(row)


class Sampler:
    """A callable object that keeps its own generator."""

    def __init__(self):
        self.random = random.Random()

    def __call__(self, row):
        return self.random.choices(range(len(row)), list(row))[0]


def pick(row):
    return random.choices(range(len(row)), weights=list(row))[0]


def walked(row):
    left = random.random() * sum(row)
    for token, mass in enumerate(row):
        left = left - mass
        if left < 0:
            return token
    return max(token for token, mass in enumerate(row) if mass > 0)


def in_any_order(row):
    left, order = random.random() * sum(row), list(range(len(row)))
    random.shuffle(order)
    for token in order:
        left -= row[token]
        if left < 0:
            return token
    return max(token for token in order if row[token] > 0)


def by_thresholds(row):
    at = random.uniform(0, float(sum(row)))
    return next(token for token, edge in enumerate(itertools.accumulate(row)) if at < edge)


def gumbel(row):
    keys = [math.log(mass) - math.log(-math.log(random.random())) if mass > 0 else -math.inf for mass in row]
    return keys.index(max(keys))


def alias(row):
    """Walker's tables: a place, and a coin between it and another one."""
    size = len(row)
    weights, others = [float(mass) / sum(row) * size for mass in row], list(range(size))
    small, large = [i for i in range(size) if weights[i] < 1], [i for i in range(size) if weights[i] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        others[low], weights[high] = high, weights[high] + weights[low] - 1
        (small if weights[high] < 1 else large).append(high)
    place = random.randrange(size)
    return place if place in small + large or random.random() < weights[place] else others[place]


def race(row):
    return [(random.expovariate(mass) if mass > 0 else math.inf, i) for i, mass in enumerate(row)]


def present(row):
    tokens = np.flatnonzero(row > 0)
    return int(tokens[np.argmin(np.random.exponential(size=len(tokens)) / row[tokens])])


def beside_nan(search):
    def choose(row):
        with np.errstate(all="ignore"):
            return int(search(np.where(row > 0, np.random.exponential(size=len(row)) / row, np.nan)))

    return choose


#: Ways to draw a token from weights, by the library of the rows.
SAMPLERS = {
    "python": {
        "choices": pick,
        "walked": walked,
        "any order": in_any_order,
        "object": Sampler(),
        "thresholds": by_thresholds,
        "gumbel": gumbel,
        "alias": alias,
        "bisect": lambda row: bisect_right(list(itertools.accumulate(row)), random.random() * sum(row)),
        "exponentials": lambda row: min(race(row))[1],
        "heap": lambda row: heapq.nsmallest(1, race(row))[0][1],
        "cumulative": lambda row: random.choices(range(len(row)), cum_weights=list(itertools.accumulate(row)))[0],
    },
    "numpy": {
        "choice": lambda row: int(np.random.choice(len(row), p=row / row.sum())),
        "rng": lambda row: int(np.random.default_rng().choice(len(row), p=row / row.sum())),
        "state": lambda row: int(np.random.RandomState().choice(len(row), p=row / row.sum())),
        "inverse": lambda row: int(np.searchsorted(edges(row), np.random.random() * row.sum(), side="right")),
        "argmax": lambda row: int(np.argmax(edges(row) > np.random.rand() * row.sum())),
        "count": lambda row: int((edges(row) <= np.random.uniform() * row.sum()).sum()),
        "digitize": lambda row: int(np.digitize(np.random.random() * row.sum(), edges(row))),
        "race": lambda row: int(np.argmax(np.where(row > 0, row / np.random.standard_exponential(len(row)), -1))),
        "race of some": present,
        "race of ratios": lambda row: int(np.argmax(row / np.random.exponential(size=len(row)))),
        "nanargmin": beside_nan(np.nanargmin),
        "powers": lambda row: int(np.argmax([np.log(np.random.random()) / w if w > 0 else -np.inf for w in row])),
        "multinomial": lambda row: int(np.random.multinomial(1, row / row.sum()).argmax()),
    },
    "torch": {
        "multinomial": lambda row: torch.multinomial(row, num_samples=1).item(),
        "categorical": lambda row: torch.distributions.Categorical(probs=row).sample().item(),
        "gumbel": lambda row: (row.log() - torch.empty_like(row).exponential_().log()).argmax().item(),
        "two logarithms": lambda row: int((row.log() - torch.log(-torch.log(torch.rand_like(row)))).argmax()),
        "race": lambda row: (row / torch.empty_like(row).exponential_(1)).argmax().item(),
        "bucketize": lambda row: torch.bucketize(
            torch.rand((), dtype=row.dtype) * row.sum(), row.cumsum(0), right=True
        ).item(),
        "searchsorted": lambda row: int(
            torch.searchsorted(row.cumsum(0), torch.rand(1, dtype=row.dtype) * row.sum(), right=True)
        ),
    },
}
COINS = {"python": random.random, "numpy": np.random.random, "torch": lambda: torch.rand((), dtype=torch.float64)}
#: Ways to compare a coin with the ratio.
ACCEPT = {
    "ratio": lambda u, p, q: u < p / q,
    "product": lambda u, p, q: p > u * q,
    "not rejected": lambda u, p, q: not u >= p / q,
    "capped": lambda u, p, q: u <= min(1, p / q),
    "complement": lambda u, p, q: 1 - u < p / q,
    "logarithms": lambda u, p, q: p > 0 and math.log(u) < math.log(p) - math.log(q),
}


def excess(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)] if isinstance(p, list) else (p - q).clip(min=0)


def loop(sample, coin, accept=ACCEPT["product"], prepare=lambda rows: rows):
    def verify(tokens, q, p):
        q, p = prepare(q), prepare(p)
        for i, token in enumerate(tokens):
            if not accept(coin(), p[i][token], q[i][token]):
                return i, sample(excess(p[i], q[i]))
        return len(tokens), sample(p[len(tokens)])

    return verify


def recursion(sample, coin):
    def below(i, tokens, q, p):
        if i == len(tokens):
            return [sample(p[i])]
        if coin() < min(1, p[i][tokens[i]] / q[i][tokens[i]]):
            return [int(tokens[i]), *below(i + 1, tokens, q, p)]
        return [sample(excess(p[i], q[i]))]

    return lambda tokens, q, p: below(0, tokens, q, p)


def coins_first(sample, coin):
    """All coins, then all corrections, of which one is used."""

    def verify(tokens, q, p):
        kept = [coin() * q[i][token] < p[i][token] for i, token in enumerate(tokens)]
        other = [sample(row) for row in [*(left(p[i], q[i]) for i in range(len(tokens))), p[len(tokens)]]]
        length = sum(1 for _ in itertools.takewhile(bool, kept))
        return length, other[length]

    def left(p, q):
        rest = excess(p, q)
        return rest if sum(rest) > 0 else p

    return verify


def compared(sample, coin):
    """Tokens of the target, of which those that equal drafts are followed."""

    def verify(tokens, q, p):
        out = []
        for row, token in zip(p, [*tokens, None], strict=True):
            out.append(sample(row))
            if token is None or out[-1] != token:
                return out
        return out

    return verify


def blocks(sample, coin):
    """Block verification, from the last token."""

    def verify(tokens, q, p):
        weights = [1.0]
        for i, token in enumerate(tokens):
            weights.append(min(1.0, float(weights[-1] * p[i][token] / q[i][token])))
        for i in reversed(range(1, len(tokens) + 1)):
            if i == len(tokens):
                kept, rows = weights[i], p[i]
            else:
                rows = left(weights[i], p[i], q[i])
                spare = float(sum(rows))
                kept = spare / (spare + 1 - weights[i]) if spare > 0 else 0
            if coin() < kept:
                return i, sample(rows)
        return 0, sample(left(1, p[0], q[0]) if len(tokens) else p[0])

    def left(weight, p, q):
        return excess([weight * x for x in p], q) if isinstance(p, list) else excess(weight * p, q)

    return verify


def on_paths(sample, coin):
    """Recursive rejection on a tree, the drafts of a node as they come."""

    def verify(paths, p, q):
        def at(node):
            left = p[node]
            for path in paths:
                if path[: len(node)] != node or len(path) == len(node):
                    continue
                token = path[len(node)]
                if coin() * q[node][token] < left[token]:
                    return at((*node, token))
                left = excess(left, q[node])
                left = [x / sum(left) for x in left] if isinstance(left, list) else left / left.sum()
            return node, sample(left)

        return at(())

    return verify


def among_children(sample, coin):
    """A token of the target, which is followed where it was drafted."""

    def verify(paths, p, q):
        node = ()
        while True:
            token = sample(p[node])
            if not any(path[: len(node) + 1] == (*node, token) for path in paths):
                return node, token
            node = (*node, token)

    return verify


CHAINS = (loop, recursion, coins_first, compared, blocks)
TREES = (on_paths, among_children)


def plain(p, q):
    first = pick(p(()))
    return [first, pick(p((first,)))]


def drafted(p, q):
    token = pick(q(()))
    if random.random() * q(())[token] < p(())[token]:
        return [token, pick(p((token,)))]
    return [pick(excess(p(()), q(())))]


def two_blocks(p, q):
    token = pick(q(()))
    if random.random() * q(())[token] >= p(())[token]:
        token = pick(excess(p(()), q(())))
    second = pick(q((token,)))
    if random.random() * q((token,))[second] < p((token,))[second]:
        return [token, second]
    return [token, pick(excess(p((token,)), q((token,))))]


def retried(p, q):
    for _ in range(2):  # drafts that are thrown away cost nothing but time
        pick(q(()))
    return drafted(p, q)


def cached(p, q):
    return two_blocks(lru_cache(p), lru_cache(q))


def inverse(row, coin):
    return int(np.searchsorted(edges(row), coin * edges(row)[-1], side="right"))


def flat(draft_token_ids, draft_probs, target_probs, uniforms, final_uniforms):
    for i, token in enumerate(draft_token_ids):
        if uniforms[i] >= target_probs[i, token] / draft_probs[i, token]:
            return [[*draft_token_ids[:i], inverse(excess(target_probs[i], draft_probs[i]), final_uniforms[0])]]
    return [[*draft_token_ids, inverse(target_probs[-1], final_uniforms[0])]]


def rescaled(again):
    """The coin that rejects also corrects; what is left of it is uniform only when it is rescaled."""

    def function(tokens, q, p):
        for i, token in enumerate(tokens):
            coin, share = np.random.random(), min(1, p[i][token] / q[i][token])
            if coin >= share:
                return i, inverse(excess(p[i], q[i]), (coin - share) / (1 - share) if again else coin)
        return len(tokens), inverse(p[-1], np.random.random())

    return function


def at_once(count):
    """All coins in one array; the accepted ones are counted up to the first that is none."""

    def function(tokens, q, p):
        places = np.arange(len(tokens))
        kept = np.random.random(len(tokens)) < p[places, tokens] / q[places, tokens]
        length = int(count(kept))
        row = p[length] if length == len(tokens) else excess(p[length], q[length])
        return length, pick(row if row.sum() > 0 else p[length])

    return function


def one_row_of_noise(other):
    """The noise that corrects is also the coin: right while the token that it rejects can not be put out again."""

    def function(tokens, q, p):
        for i, token in enumerate(tokens):
            noise = np.random.exponential(size=q.shape[1])
            place = (token + other) % q.shape[1]
            if (1 - np.exp(-noise[place])) * q[i, token] >= p[i, token]:
                return i, int(np.argmax(excess(p[i], q[i]) / noise))
        return len(tokens), pick(p[-1])

    return function


def paired(tokens, q, p):
    """Every second coin is what the one before it leaves of 1."""
    waiting = []

    def coin():
        if waiting:
            return waiting.pop()
        waiting.append(1 - random.random())
        return 1 - waiting[0]

    return loop(pick, coin)(tokens, q, p)


def larger_of_two():
    return max(random.random(), random.random())


CHAIN, ARRAYS, STEP = {"interface": "chain"}, {"interface": "chain", "library": "numpy"}, {"interface": "step"}
HALF = {**ARRAYS, "tolerance": 1e-2}


def lossless():
    """Name, function, how it is called."""
    for library, samplers in SAMPLERS.items():
        how = {"interface": "chain", "library": library}
        for place, (name, sample) in enumerate(samplers.items()):
            for make in (CHAINS[place % 5], CHAINS[(place + 2) % 5], TREES[place % 2]):
                interface = "paths" if make in TREES else "chain"
                yield (
                    f"{make.__name__}, {library} {name}",
                    make(sample, COINS[library]),
                    {**how, "interface": interface},
                )
        for name, accept in ACCEPT.items():
            if library != "torch" or name != "logarithms":
                yield f"{name}, {library}", loop(next(iter(samplers.values())), COINS[library], accept), how
    sample, ratio = SAMPLERS["numpy"]["race of ratios"], ACCEPT["ratio"]
    for kind, how in ((np.float32, ARRAYS), (np.float16, HALF)):
        narrow = lambda rows, kind=kind: rows.astype(kind)  # noqa: E731
        yield f"rows as {kind.__name__}", loop(sample, np.random.random, ratio, narrow), how
    for step in (plain, drafted, two_blocks, retried, cached):
        yield f"step, {step.__name__}", step, STEP
    yield "coins as arguments", flat, {"interface": "coins"}
    yield "rescaled", rescaled(True), ARRAYS
    yield "at once", at_once(lambda kept: np.cumprod(kept).sum()), ARRAYS
    yield "one row of noise", one_row_of_noise(0), ARRAYS
    yield "larger of two", loop(pick, larger_of_two, lambda u, p, q: u < min(1, p / q) ** 0.5), CHAIN
    yield "turned", loop(pick, lambda: abs(random.randrange(2) - random.random())), CHAIN


def wrong_with(**changed):
    """Token-by-token verification of which one part is another."""
    parts = {
        "share": lambda p, q, token, place: p[token] / q[token],
        "left": lambda p, q, token, place: excess(p, q),
        "last": lambda p, q: p[-1],
        **changed,
    }

    def made(sample, coin):
        def verify(tokens, q, p):
            for i, token in enumerate(tokens):
                if coin() >= parts["share"](p[i], q[i], token, i):
                    rest = parts["left"](p[i], q[i], token, i)
                    return i, sample(rest if rest.sum() > 0 else p[i])
            return len(tokens), sample(parts["last"](p, q))

        return verify

    return made


def without_token(p, q, token, place):
    row = p + 0
    row[token] = 0
    return row


def exponentials(row):
    return row.exp() if hasattr(row, "exp") else np.exp(row)


#: One part that is wrong, rows of numpy or torch.
WRONG = {
    "q is forgotten": {"share": lambda p, q, token, place: p[token]},
    "squared ratio": {"share": lambda p, q, token, place: min(1, p[token] / q[token]) ** 2},
    "root of the ratio": {"share": lambda p, q, token, place: min(1, p[token] / q[token]) ** 0.5},
    "p/(p + q)": {"share": lambda p, q, token, place: p[token] / (p[token] + q[token])},
    "0.99 of the ratio": {"share": lambda p, q, token, place: 0.99 * min(1, p[token] / q[token])},
    "a thousandth more": {"share": lambda p, q, token, place: min(1, p[token] / q[token]) + 0.001},
    "likeliest accepted": {"share": lambda p, q, token, place: 1 if p[token] == max(p) else p[token] / q[token]},
    "second token": {"share": lambda p, q, token, place: p[token] / q[token] * (1 if place == 0 else 0.9)},
    "token 1": {"share": lambda p, q, token, place: p[token] / q[token] * (0.9 if token == 1 else 1)},
    "reversed ratio": {"share": lambda p, q, token, place: q[token] / p[token] if p[token] > 0 else 0},
    "absolute residual": {"left": lambda p, q, token, place: abs(p - q)},
    "residual of q": {"left": lambda p, q, token, place: excess(q, p)},
    "correction from q": {"left": lambda p, q, token, place: q},
    "p without the token": {"left": without_token},
    "softmax": {"left": lambda p, q, token, place: exponentials(excess(p, q))},
    "residual to a power": {"left": lambda p, q, token, place: excess(p, q) ** 0.9},
    "guard of 1e-3": {"left": lambda p, q, token, place: excess(p, q) + 1e-3},
    "half of q": {"left": lambda p, q, token, place: excess(p, q / 2)},
    "bonus from q": {"last": lambda p, q: q[-1]},
    "bonus row early": {"last": lambda p, q: p[-2]},
    "flatter bonus": {"last": lambda p, q: p[-1] ** 0.95},
    "mean of rows": {"last": lambda p, q: p.mean(0)},
}
WAYS = [("numpy", "rng"), ("torch", "multinomial"), ("numpy", "count"), ("torch", "race"), ("numpy", "race")]


def biased():
    for place, (name, changed) in enumerate(WRONG.items()):
        for library, sampler in (WAYS[place % 5], WAYS[(place + 1) % 5], WAYS[(place + 3) % 5]):
            function = wrong_with(**changed)(SAMPLERS[library][sampler], COINS[library])
            yield f"{name}, {library} {sampler}", function, {"interface": "chain", "library": library}
    yield "not rescaled", rescaled(False), ARRAYS
    yield "all counted", at_once(np.sum), ARRAYS
    yield "noise of another token", one_row_of_noise(1), ARRAYS
    yield "argmin beside NaN", loop(beside_nan(np.argmin), np.random.random), ARRAYS
    yield "larger of two, not its root", loop(pick, larger_of_two), CHAIN
    yield "pairs", paired, CHAIN


LOSSLESS, BIASED = {name: how for name, *how in lossless()}, {name: how for name, *how in biased()}


def is_lossless(function, how, names):
    audit = make_audit(function, **how)
    cases = default_cases(audit.audited.interface, None, names, sorts=audit.audited.sorts)
    return run_audit(Record(Request(audit.name, audit, cases))).verdict.lossless


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("function", "how"), LOSSLESS.values(), ids=LOSSLESS)
def test_a_lossless_function_is_never_refuted(function, how):
    assert is_lossless(function, how, ["three_tokens", "zeros"])


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("function", "how"), BIASED.values(), ids=BIASED)
def test_a_biased_function_is_never_proved(function, how):
    """On all instances where two show nothing."""
    assert not is_lossless(function, how, ["three_tokens", "zeros"]) or not is_lossless(function, how, None)


def test_there_are_many_of_them():
    assert len(LOSSLESS) == sum(1 for _ in lossless()) >= 100
    assert len(BIASED) == sum(1 for _ in biased()) >= 60
