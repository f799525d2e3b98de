"""Lossless functions written in many ways: in every interface and library, and none of them may be refuted."""

import math
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from draftproof.simulator.audit import assert_lossless, default_cases, make_audit
from draftproof.simulator.symbolic import NotFollowed

torch = pytest.importorskip("torch")

ACCEPT: dict[str, Callable[..., Any]] = {
    "ratio": lambda u, p, q: u < p / q,
    "product": lambda u, p, q: p > u * q,
    "not rejected": lambda u, p, q: not u >= p / q,
    "capped": lambda u, p, q: u <= min(1, p / q),
    "complement": lambda u, p, q: 1 - u < p / q,
}


def log_space(u: Any, p: Any, q: Any) -> Any:
    return p > 0 and math.log(u) < math.log(p) - math.log(q)


def inverse(row: Any) -> int:
    edges = np.cumsum(row)
    return int(np.searchsorted(edges, np.random.random() * edges[-1], side="right"))


def walked(row: Any) -> int:
    left = random.random() * sum(row)
    for token, mass in enumerate(row):
        left = left - mass
        if left < 0:
            return token
    return max(token for token, mass in enumerate(row) if mass > 0)


SAMPLE: dict[str, dict[str, Callable[[Any], int]]] = {
    "python": {"choices": lambda row: random.choices(range(len(row)), weights=list(row))[0], "walked": walked},
    "numpy": {
        "choice": lambda row: int(np.random.choice(len(row), p=row / row.sum())),
        "inverse": inverse,
        "race": lambda row: int(np.argmin(np.random.exponential(size=len(row))[row > 0] / row[row > 0])),
        "argmax": lambda row: int(np.argmax(row / np.random.exponential(size=len(row)))),
        "powers": lambda row: int(np.argmax([np.log(np.random.random()) / w if w > 0 else -np.inf for w in row])),
    },
    "torch": {
        "multinomial": lambda row: int(torch.multinomial(row, 1)),
        "race": lambda row: int((row / torch.empty_like(row).exponential_()).argmax()),
        "gumbel": lambda row: int((row.log() - torch.empty_like(row).exponential_().log()).argmax()),
        "inverse": lambda row: int(
            torch.searchsorted(row.cumsum(0), torch.rand(1, dtype=row.dtype) * row.sum(), right=True)
        ),
    },
}
SAMPLE["numpy"]["race"] = lambda row: int(
    np.flatnonzero(row > 0)[np.argmin(np.random.exponential(size=int((row > 0).sum())) / row[row > 0])]
)


def excess(p: Any, q: Any) -> Any:
    if isinstance(p, list):
        return [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return (p - q).clip(min=0)


def coin(library: str) -> Any:
    return {"python": random.random, "numpy": np.random.random, "torch": lambda: torch.rand(()).item()}[library]()


def token_wise(library: str, accept: Any, sample: Any, prepare: Any = lambda rows: rows) -> Any:
    def function(tokens: Any, q: Any, p: Any) -> Any:
        q, p = prepare(q), prepare(p)
        for i, token in enumerate(tokens):
            if not accept(coin(library), p[i][token], q[i][token]):
                return i, sample(excess(p[i], q[i]))
        return len(tokens), sample(p[len(tokens)])

    return function


def blockwise(sample: Any) -> Any:
    def function(tokens: Any, q: Any, p: Any) -> Any:
        weights = [1.0]
        for i, token in enumerate(tokens):
            weights.append(min(1.0, weights[-1] * p[i][token] / q[i][token]))
        for i in range(len(tokens), 0, -1):
            spare = excess(weights[i] * p[i], q[i]).sum() if i < len(tokens) else None
            stop = weights[i] if spare is None else spare / (spare + 1 - weights[i]) if spare > 0 else 0
            if np.random.random() < stop:
                return i, sample(p[i] if i == len(tokens) else excess(weights[i] * p[i], q[i]))
        return 0, sample(excess(p[0], q[0]) if len(tokens) else p[0])

    return function


def draw(row: Any) -> int:
    return random.choices(range(len(row)), weights=list(row))[0]


def plain(p: Any, q: Any) -> Any:
    first = draw(p(()))
    return [first, draw(p((first,)))]


def drafted(p: Any, q: Any) -> Any:
    token = draw(q(()))
    if random.random() * q(())[token] < p(())[token]:
        return [token, draw(p((token,)))]
    return [draw(excess(p(()), q(())))]


def two_blocks(p: Any, q: Any) -> Any:
    token = draw(q(()))
    if random.random() * q(())[token] >= p(())[token]:
        token = draw(excess(p(()), q(())))
    second = draw(q((token,)))
    if random.random() * q((token,))[second] < p((token,))[second]:
        return [token, second]
    return [token, draw(excess(p((token,)), q((token,))))]


def retried(p: Any, q: Any) -> Any:
    for _ in range(2):  # drafts that are thrown away cost nothing but time
        draw(q(()))
    return drafted(p, q)


def cached(p: Any, q: Any) -> Any:
    rows = {name: lru_cache(function) for name, function in (("p", p), ("q", q))}
    return two_blocks(rows["p"], rows["q"])


def recursive(sample: Any) -> Any:
    def function(paths: Any, p: Any, q: Any) -> Any:
        node: tuple[int, ...] = ()
        while True:
            children = [path[len(node)] for path in paths if path[: len(node)] == node and len(path) > len(node)]
            left = p[node]
            for token in children:
                if random.random() * q[node][token] < left[token]:
                    node = (*node, token)
                    break
                left = excess(left, q[node])
                total = sum(left)
                left = [x / total for x in left] if isinstance(left, list) else left / total
            else:
                return node, sample(left)

    return function


def only_the_first(paths: Any, p: Any, q: Any) -> Any:
    path = paths[0]
    for i, token in enumerate(path):
        if random.random() * q[path[:i]][token] >= p[path[:i]][token]:
            return path[:i], draw(excess(p[path[:i]], q[path[:i]]))
    return path, draw(p[path])


def flat(draft_token_ids: Any, draft_probs: Any, target_probs: Any, uniforms: Any, final_uniforms: Any) -> Any:
    for i, token in enumerate(draft_token_ids):
        if uniforms[i] >= target_probs[i, token] / draft_probs[i, token]:
            edges = np.cumsum(excess(target_probs[i], draft_probs[i]))
            return [[*draft_token_ids[:i], np.searchsorted(edges, final_uniforms[0] * edges[-1], side="right")]]
    edges = np.cumsum(target_probs[-1])
    return [[*draft_token_ids, np.searchsorted(edges, final_uniforms[0] * edges[-1], side="right")]]


NARROW: dict[str, Callable[[Any], Any]] = {
    "float32": lambda rows: rows.astype(np.float32),
    "float16": lambda rows: rows.astype(np.float16),
}


def functions() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for library, samples in SAMPLE.items():
        for (accepting, accept), (sampling, sample) in product(ACCEPT.items(), samples.items()):
            how = {"interface": "chain", "library": library}
            yield f"{library}-{accepting}-{sampling}", token_wise(library, accept, sample), how
        sample = next(iter(samples.values()))
        yield f"{library}-log", token_wise(library, log_space, sample), {"interface": "chain", "library": library}
    for sampling, sample in SAMPLE["numpy"].items():
        yield f"block-{sampling}", blockwise(sample), {"interface": "chain", "library": "numpy"}
    for kind, narrow in NARROW.items():
        rounded = token_wise("numpy", ACCEPT["ratio"], SAMPLE["numpy"]["argmax"], narrow)
        tolerance = {"tolerance": 1e-2} if kind == "float16" else {}
        yield f"numpy-{kind}", rounded, {"interface": "chain", "library": "numpy", **tolerance}
    single = token_wise("torch", ACCEPT["ratio"], SAMPLE["torch"]["race"], lambda rows: rows.float())
    yield "torch-float32", single, {"interface": "chain", "library": "torch"}
    for step in (plain, drafted, two_blocks, retried, cached):
        yield step.__name__, step, {"interface": "step"}
    for library, sample in (("python", draw), ("numpy", SAMPLE["numpy"]["argmax"]), ("torch", SAMPLE["torch"]["race"])):
        yield f"recursive-{library}", recursive(sample), {"interface": "paths", "library": library}
    yield "first path", only_the_first, {"interface": "paths"}
    yield "coins as arguments", flat, {"interface": "coins"}


FUNCTIONS = list(functions())
#: Every way to sample is in one of these, library by library; the other products are heavy.
PRODUCTS = {
    f"{library}-{accepting}-{sampling}": place != other
    for library, samples in SAMPLE.items()
    for place, accepting in enumerate(ACCEPT)
    for other, sampling in enumerate(samples)
}
CASES = [
    pytest.param(function, how, id=name, marks=[pytest.mark.heavy] * PRODUCTS.get(name, False))
    for name, function, how in FUNCTIONS
]


def test_there_are_at_least_sixty_of_them():
    assert len({name for name, _, _ in FUNCTIONS}) == len(FUNCTIONS) >= 60


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("function", "how"), CASES)
def test_a_lossless_function_is_never_refuted(function, how):
    audit = make_audit(function, **how)
    cases = default_cases(audit.audited.interface, None, ["three_tokens", "zeros"])
    assert all(audit.judge(case.instance, case.scheme).lossless for case in cases)


@pytest.mark.parametrize("cases", [("deep",), None])
def test_what_shows_on_real_numbers_in_a_late_case_alone_is_not_lossless(planted, cases):
    with pytest.raises(NotFollowed, match="real random numbers"):
        assert_lossless(planted("traps", "catches_complex"), interface="chain", cases=cases)
