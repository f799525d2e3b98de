"""A campaign: at least 100 lossless functions, none of which may be refuted, and 60 biased ones, none proved.

Ways to draw a token, to write a verifier and to get it wrong are combined, and joined with what other tests plant. An
audit may refuse a function; it says so, and that is counted.
"""

import itertools
import math
import random
from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.verdict import Record, Request, run_audit
from draftproof.simulator.drafts.branching import TopK
from draftproof.simulator.errors import InvalidVerifier
from tests.simulator.audit import test_engine_bugs as bugs
from tests.simulator.audit import test_engines as engines
from tests.simulator.audit import test_no_false_verdict as many
from tests.simulator.audit import test_unusual_functions as unusual

torch = pytest.importorskip("torch")
CASES = ("three_tokens", "zeros")


def edges(row):
    return np.cumsum(row)


class Sampler:
    """A callable object that keeps its own generator."""

    def __init__(self):
        self.random = random.Random()

    def __call__(self, row):
        return self.random.choices(range(len(row)), list(row))[0]


def by_thresholds(row):
    at = random.uniform(0, float(sum(row)))
    return next(token for token, edge in enumerate(itertools.accumulate(row)) if at < edge)


def gumbel(row):
    keys = [math.log(mass) - math.log(-math.log(random.random())) if mass > 0 else -math.inf for mass in row]
    return keys.index(max(keys))


def torch_gumbel(row):
    noise = -torch.log(-torch.log(torch.rand(len(row), dtype=row.dtype)))
    return int((torch.log(row) + noise).argmax())


#: Ways to draw a token from weights, by the library of the rows.
SAMPLERS = {
    "python": {
        "object": Sampler(),
        "thresholds": by_thresholds,
        "gumbel": gumbel,
        "bisect": lambda row: bisect_right(list(itertools.accumulate(row)), random.random() * sum(row)),
        "exponentials": lambda row: min(
            (random.expovariate(1) / mass, token) for token, mass in enumerate(row) if mass > 0
        )[1],
        "cumulative": lambda row: random.choices(range(len(row)), cum_weights=list(itertools.accumulate(row)))[0],
    },
    "numpy": {
        "rng": lambda row: int(np.random.default_rng().choice(len(row), p=row / row.sum())),
        "state": lambda row: int(np.random.RandomState().choice(len(row), p=row / row.sum())),
        "argmax": lambda row: int(np.argmax(edges(row) > np.random.rand() * row.sum())),
        "count": lambda row: int((edges(row) <= np.random.uniform() * row.sum()).sum()),
        "digitize": lambda row: int(np.digitize(np.random.random() * row.sum(), edges(row))),
        "race": lambda row: int(np.argmax(np.where(row > 0, row / np.random.standard_exponential(len(row)), -1))),
        "multinomial": lambda row: int(np.random.multinomial(1, row / row.sum()).argmax()),
    },
    "torch": {
        "multinomial": lambda row: torch.multinomial(row, num_samples=1).item(),
        "categorical": lambda row: torch.distributions.Categorical(probs=row).sample().item(),
        "gumbel": torch_gumbel,
        "race": lambda row: (row / torch.empty_like(row).exponential_(1)).argmax().item(),
        "bucketize": lambda row: torch.bucketize(
            torch.rand((), dtype=row.dtype) * row.sum(), row.cumsum(0), right=True
        ).item(),
    },
}
COINS = {"python": random.random, "numpy": np.random.random, "torch": lambda: torch.rand((), dtype=torch.float64)}


def excess(p, q):
    if isinstance(p, list):
        return [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return (p - q).clip(min=0)


def loop(pick, coin):
    def verify(tokens, q, p):
        i = 0
        while i < len(tokens) and coin() * q[i][tokens[i]] < p[i][tokens[i]]:
            i += 1
        return i, pick(p[i] if i == len(tokens) else excess(p[i], q[i]))

    return verify


def recursion(pick, coin):
    def below(i, tokens, q, p):
        if i == len(tokens):
            return [pick(p[i])]
        if coin() < min(1, p[i][tokens[i]] / q[i][tokens[i]]):
            return [int(tokens[i]), *below(i + 1, tokens, q, p)]
        return [pick(excess(p[i], q[i]))]

    return lambda tokens, q, p: below(0, tokens, q, p)


def coins_first(pick, coin):
    """All coins, then all corrections, of which one is used."""

    def verify(tokens, q, p):
        kept = [coin() * q[i][token] < p[i][token] for i, token in enumerate(tokens)]
        other = [pick(row) for row in [*(left(p[i], q[i]) for i in range(len(tokens))), p[len(tokens)]]]
        length = sum(1 for _ in itertools.takewhile(bool, kept))
        return length, other[length]

    def left(p, q):
        rest = excess(p, q)
        return rest if sum(rest) > 0 else p

    return verify


def compared(pick, coin):
    """Tokens of the target, of which those that equal drafts are followed."""

    def verify(tokens, q, p):
        out = []
        for row, token in zip(p, [*tokens, None], strict=True):
            out.append(pick(row))
            if token is None or out[-1] != token:
                return out
        return out

    return verify


def blocks(pick, coin):
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
                return i, pick(rows)
        return 0, pick(left(1, p[0], q[0]) if len(tokens) else p[0])

    def left(weight, p, q):
        return excess([weight * x for x in p], q) if isinstance(p, list) else excess(weight * p, q)

    return verify


def on_paths(pick, coin):
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
            return node, pick(left)

        return at(())

    return verify


def among_children(pick, coin):
    """A token of the target, which is followed where it was drafted."""

    def verify(paths, p, q):
        node = ()
        while True:
            token = pick(p[node])
            if not any(path[: len(node) + 1] == (*node, token) for path in paths):
                return node, token
            node = (*node, token)

    return verify


CHAINS = (loop, recursion, coins_first, compared, blocks)
TREES = (on_paths, among_children)


def lossless():
    """Name, function, how it is called, its scheme."""
    for library, samplers in SAMPLERS.items():
        for place, (name, pick) in enumerate(samplers.items()):
            for make in (CHAINS[place % 5], CHAINS[(place + 2) % 5], TREES[place % 2]):
                interface = "paths" if make in TREES else "chain"
                options = {"interface": interface, "library": library}
                yield f"{make.__name__}, {library} {name}", make(pick, COINS[library]), options, None
    for name, function, options in many.FUNCTIONS:
        yield name, function, options, None
    for name, (function, options) in unusual.LOSSLESS.items():
        yield name, function, options, None


def planted_ones(planted, end):
    for name, options in bugs.FUNCTIONS.items():
        if name.startswith(end):
            scheme = TopK(2, 0, 2) if "interface" in options else None
            yield name, planted("engine_bugs", name), {"interface": "chain", "library": "numpy", **options}, scheme
    for name, interface in engines.FUNCTIONS.items():
        if name.endswith(end) and "sampled" not in name:
            yield name, planted("engines", name), {"interface": interface}, None


def wrong_with(**changed):
    """Token-by-token verification of which one part is another."""
    parts = {
        "share": lambda p, q, token, place: p[token] / q[token],
        "left": lambda p, q, token, place: excess(p, q),
        "last": lambda p, q: p[-1],
        **changed,
    }

    def made(pick, coin):
        def verify(tokens, q, p):
            for i, token in enumerate(tokens):
                if coin() >= parts["share"](p[i], q[i], token, i):
                    rest = parts["left"](p[i], q[i], token, i)
                    return i, pick(rest if rest.sum() > 0 else p[i])
            return len(tokens), pick(parts["last"](p, q))

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


def biased():
    ways = [("numpy", name) for name in ("rng", "count", "race")] + [
        ("torch", name) for name in ("multinomial", "race")
    ]
    for place, (name, changed) in enumerate(WRONG.items()):
        for library, sampler in (ways[place % 5], ways[(place + 3) % 5]):
            function = wrong_with(**changed)(SAMPLERS[library][sampler], COINS[library])
            yield f"{name}, {library} {sampler}", function, {"interface": "chain", "library": library}, None
    for name, (function, options) in unusual.LOSSY.items():
        yield name, function, options, None


def verdicts(functions, every_case):
    """The names by verdict. every_case: whether what two cases do not refute is judged on all of them."""
    found = {"lossless": [], "refuted": [], "refused": []}
    for name, function, options, scheme in functions:
        audit = make_audit(function, name=name, **options)
        few = None if options["interface"] == "step" else CASES
        try:
            for chosen in (few, None) if every_case and few else (few,):
                cases = default_cases(audit.audited.interface, scheme, chosen, sorts=audit.audited.sorts)
                record = run_audit(Record(Request(name, audit, cases)))
                if not record.verdict.lossless:
                    break
        except InvalidVerifier as error:
            found["refused"].append(f"{name}: {error}")
            continue
        found["lossless" if record.verdict.lossless else "refuted"].append(name)
    return found


def told(found, what, capsys):
    with capsys.disabled():
        counted = ", ".join(f"{len(names)} {verdict}" for verdict, names in found.items())
        print(f"\n{what}: {counted}", *found["refused"], sep="\n  ")


@pytest.mark.heavy
def test_no_lossless_function_is_refuted(planted, capsys):
    functions = [*lossless(), *planted_ones(planted, "right")]
    assert not [name for name, times in Counter(name for name, *_ in functions).items() if times > 1]
    found = verdicts(functions, every_case=False)
    told(found, f"{len(functions)} lossless functions", capsys)
    assert found["refuted"] == []
    assert len(found["lossless"]) >= 100


@pytest.mark.heavy
def test_no_biased_function_is_proved(planted, capsys):
    functions = [*biased(), *planted_ones(planted, "wrong")]
    assert not [name for name, times in Counter(name for name, *_ in functions).items() if times > 1]
    found = verdicts(functions, every_case=True)
    told(found, f"{len(functions)} biased functions", capsys)
    assert found["lossless"] == []
    assert len(found["refuted"]) >= 60
