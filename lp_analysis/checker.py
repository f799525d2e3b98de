"""The certificate checker: both bounds recomputed in rationals from the rows, without solvers or code of the makers.

It imports the standard library, the reader of instance files and its numbers. Why the bounds hold is on the theory
page: any prices bound the optimum from above, and a selection law in the base polytope is attained.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

from simulator.arithmetic import as_fraction, as_python, to_fmpq
from simulator.errors import InvalidInput
from simulator.instance import Instance

_KEYS = {"format", "instance", "digest", "prices", "lower", "upper", "gap"}


def check_file(path: str | Path, instance: Instance | None = None) -> tuple[Fraction, Fraction]:
    """`check_certificate` of a file."""
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot read certificate {path}: {error}") from None
    return check_certificate(fields, instance)


def check_certificate(fields: Any, instance: Instance | None = None) -> tuple[Fraction, Fraction]:
    """The proved `(lower, upper)`; raises `InvalidInput` that names the first thing that differs.

    instance: the one the certificate should be about; without it, the rows in the file are believed.
    """
    if not isinstance(fields, dict) or set(fields) not in (_KEYS | {"plan"}, _KEYS | {"law"}):
        raise InvalidInput(f"a certificate has the keys {', '.join(sorted(_KEYS))} and either plan or law")
    _same("format", fields["format"], "draftproof bound 1")
    rows = Instance.from_dict(fields["instance"])
    shape = rows.scheme.as_dict() if rows.scheme is not None else {}
    _same("draft scheme", shape.get("name"), "delayed")
    K, L1, depth, size = shape["K"], shape["L1"], shape["L1"] + shape["L2"], rows.vocab_size
    _same("depth", rows.depth, depth)
    _same("digest", fields["digest"], rows.digest())
    if instance is not None:
        _same("digest of this instance", fields["digest"], instance.converted(rows.target.arithmetic, depth).digest())
    p, q = rows.target.tables, [[to_fmpq(1)]]
    for table in rows.draft.tables[:depth]:
        q.append([mass * share for mass, row in zip(q[-1], table, strict=True) for share in row])
    width = len(q[depth]) // len(q[L1])
    trunks = [(mass, q[depth][i * width : (i + 1) * width]) for i, mass in enumerate(q[L1])]
    prices = _numbers("prices", fields["prices"], [size**d for d in range(1, depth + 1)])
    upper = _upper(prices, p, trunks, K)
    law = _stated(fields["law"], trunks, K) if "law" in fields else _mixed(fields["plan"], trunks, K)
    lower = _lower(law, p, depth, size)
    for name, value in (("lower", lower), ("upper", upper), ("gap", upper - lower)):
        _same(name, fields[name], str(value))
    return as_fraction(as_python(lower), "lower"), as_fraction(as_python(upper), "upper")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a file; a key that stands twice would be read one way here and another way elsewhere."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _upper(prices: list[Any], p: Any, trunks: Any, K: int) -> Any:
    """`1 + sum_y p(y) t(y) + sum_trunks q(trunk) sum_i (pi_i - pi_{i+1}) g(mass of the first i)`."""
    size = len(p[0][0])
    worths, paths = [to_fmpq(1) for _ in prices[-1]] if prices else [to_fmpq(1)], [to_fmpq(0)]
    for d in range(len(prices), 0, -1):
        kept = [max(worth - price, to_fmpq(0)) for worth, price in zip(worths, prices[d - 1], strict=True)]
        worths = [1 + sum(a * b for a, b in zip(row, kept[c * size :], strict=False)) for c, row in enumerate(p[d - 1])]
    for values in prices:
        paths = [above + price for c, above in enumerate(paths) for price in values[c * size : (c + 1) * size]]
    total, width = worths[0], len(paths) // len(trunks)
    for i, (mass, below) in enumerate(trunks):
        ranked = sorted(zip(paths[i * width : (i + 1) * width], below, strict=True), key=lambda pair: -pair[0])
        levels = [level for level, _ in ranked] + [to_fmpq(0)]
        sums = accumulate(share for _, share in ranked)
        total += sum((a - b) * _hit(x, mass, K) for a, b, x in zip(levels, levels[1:], sums, strict=False))
    return total


def _lower(law: list[Any], p: Any, depth: int, size: int) -> Any:
    """The sum of `D(c,y) = min(r(c,y), D(c) p(y|c))`: block verification against the law."""
    levels = [law]
    for _ in range(depth):
        levels.insert(0, [sum(levels[0][i : i + size]) for i in range(0, len(levels[0]), size)])
    reached, total = levels[0], levels[0][0]
    for d in range(depth):
        targets = [mass * share for mass, row in zip(reached, p[d], strict=True) for share in row]
        reached = [min(pair) for pair in zip(levels[d + 1], targets, strict=True)]
        total += sum(reached)
    return total


def _stated(values: Any, trunks: Any, K: int) -> list[Any]:
    """A law, if no prefix of the paths by `r/q` is selected more often than drafted, and a trunk exactly as often."""
    width = len(trunks[0][1])
    law = _numbers("law", [values], [width * len(trunks)])[0]
    for i, (mass, below) in enumerate(trunks):
        pairs = list(zip(law[i * width : (i + 1) * width], below, strict=True))
        ranked = sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: -pair[0] / pair[1])
        _same(f"law on trunk {i}", sum(r for r, _ in ranked), mass)
        _same(f"law on what is never drafted after trunk {i}", sum(r for r, x in pairs if x == 0), 0)
        sums = zip(accumulate(r for r, _ in ranked), accumulate(x for _, x in ranked), strict=True)
        if any(r > _hit(x, mass, K) for r, x in sums):
            raise InvalidInput(f"the law selects some paths of trunk {i} more often than they are drafted")
    return law


def _mixed(plan: Any, trunks: Any, K: int) -> list[Any]:
    """The law of a mixture of orders: of each path the chance that it is drafted and none before it."""
    if not isinstance(plan, dict) or set(plan) != {"weights", "orders"} or not isinstance(plan["orders"], list):
        raise InvalidInput("plan must hold weights and orders")
    weights = _numbers("weights", [plan["weights"]], [len(plan["orders"])])[0]
    _same("sum of the weights", sum(weights), 1)
    paths = list(range(len(trunks[0][1])))
    law = [to_fmpq(0)] * (len(paths) * len(trunks))
    for weight, order in zip(weights, plan["orders"], strict=True):
        if not isinstance(order, list) or len(order) != len(trunks):
            raise InvalidInput(f"an order needs {len(trunks)} parts, one a trunk")
        for i, ((mass, below), part) in enumerate(zip(trunks, order, strict=True)):
            if not isinstance(part, list) or any(type(path) is not int for path in part) or sorted(part) != paths:
                raise InvalidInput(f"an order of trunk {i} is no permutation of its {len(paths)} paths")
            hits = [_hit(x, mass, K) for x in accumulate(below[path] for path in part)]
            for path, now, before in zip(part, hits, [to_fmpq(0), *hits], strict=False):
                law[i * len(paths) + path] += weight * (now - before)
    return law


def _hit(x: Any, mass: Any, K: int) -> Any:
    """`q(trunk) g(x / q(trunk))`: the trunk is drafted and a branch falls into a set of mass `x`."""
    return mass * (1 - (1 - x / mass) ** K) if mass > 0 else mass


def _numbers(name: str, values: Any, lengths: list[int]) -> list[list[Any]]:
    """Lists of these lengths of numbers of at least 0, given as text."""
    if not isinstance(values, list) or [len(part) if isinstance(part, list) else None for part in values] != lengths:
        raise InvalidInput(f"{name} must be lists of {lengths} numbers")
    if any(type(value) is not str for part in values for value in part):
        raise InvalidInput(f"{name} must hold exact numbers written as text")
    numbers = [[to_fmpq(value) for value in part] for part in values]
    if any(value < 0 for part in numbers for value in part):
        raise InvalidInput(f"{name} holds a negative number")
    return numbers


def _same(name: str, stated: Any, found: Any) -> None:
    if stated != found:
        raise InvalidInput(f"{name}: the certificate states {_cut(stated)}, recomputed it is {_cut(found)}")


def _cut(value: Any) -> str:
    text = str(value) if str(value).isprintable() else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}.. ({len(text):,} characters)"
