"""The certificate checker: it recomputes both bounds in rationals from the rows, without solvers or other code of ours.

It imports the standard library, exact rationals and the reader of instance files. Why the bounds hold is on the theory
page: any prices bound the optimum from above, and a selection law in the base polytope is attained.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from flint import fmpq, fmpz

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut, parse_json, read_text
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.instances.instance import Instance

_KEYS = {"format", "instance", "digest", "prices", "lower", "upper", "gap"}
_NUMBER = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?")


def check_file(path: str | Path, instance: Instance | None = None) -> tuple[Fraction, Fraction]:
    """`check_certificate` of a file."""
    fields = parse_json(read_text(path, "certificate"), f"certificate {cut(path)}", object_pairs_hook=_once)
    return check_certificate(fields, instance)


def check_certificate(fields: Any, instance: Instance | None = None) -> tuple[Fraction, Fraction]:
    """The proved `(lower, upper)`; raises `InvalidInput` that names the first difference.

    instance: the one the certificate must be about; without it, the rows in the file are used.
    """
    if not isinstance(fields, dict) or set(fields) not in (_KEYS | {"plan"}, _KEYS | {"law"}):
        raise InvalidInput(f"a certificate has the keys {', '.join(sorted(_KEYS))} and either plan or law")
    _same("format", fields["format"], "draftproof bound 1")
    rows = Instance.from_dict(fields["instance"])
    shape = rows.scheme.as_dict() if rows.scheme is not None else {}
    _same("draft scheme", shape.get("name"), "delayed")
    K, L1, depth, p = shape["K"], shape["L1"], shape["L1"] + shape["L2"], rows.target.tables
    _same("depth", rows.depth, depth)
    _same("digest", fields["digest"], rows.digest())
    if instance is not None:
        own = exact_instance(instance.target, instance.draft, depth)
        _same("digest of this instance", fields["digest"], own.digest())
        for name in ("target", "draft"):  # digests are short; different rows with one digest are refused here
            _same_tables(name, getattr(rows, name).tables, getattr(own, name).tables)
    q = [[fmpq(1)]]
    for table in rows.draft.tables[:depth]:
        q.append([mass * share for mass, row in zip(q[-1], table, strict=True) for share in row])
    trunks = list(zip(q[L1], _split(q[depth], len(q[L1])), strict=True))
    prices = _numbers("prices", fields["prices"], [rows.vocab_size**d for d in range(1, depth + 1)])
    law = _stated(fields["law"], trunks, K) if "law" in fields else _mixed(fields["plan"], trunks, K)
    lower, upper = _lower(law, p), _upper(prices, p, trunks, K)
    for name, value in (("lower", lower), ("upper", upper), ("gap", upper - lower)):
        _same(name, fields[name], str(value))
    return Fraction(int(lower.p), int(lower.q)), Fraction(int(upper.p), int(upper.q))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of a file; raises `InvalidInput` for duplicate keys, of which readers take different ones."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _upper(prices: list[Any], p: Any, trunks: Any, K: int) -> Any:
    """`1 + sum_y p(y) t(y) + sum_x pi(x) r(x)` where `r` is the law of the order by `pi`, largest first."""
    worths, paths = [fmpq(1)] * (len(prices[-1]) if prices else 1), [fmpq(0)]
    for own, table in zip(reversed(prices), reversed(p[: len(prices)]), strict=True):
        kept = [max(worth - price, fmpq(0)) for worth, price in zip(worths, own, strict=True)]
        below = zip(table, _split(kept, len(table)), strict=True)
        worths = [1 + sum(a * b for a, b in zip(row, part, strict=True)) for row, part in below]
    for values in prices:
        paths = [above + own for above, part in zip(paths, _split(values, len(paths)), strict=True) for own in part]
    total = worths[0]
    for (mass, shares), levels in zip(trunks, _split(paths, len(trunks)), strict=True):
        order = sorted(range(len(levels)), key=lambda path: -levels[path])
        total += sum(levels[path] * chance for path, chance in _taken(order, mass, shares, K))
    return total


def _lower(law: list[Any], p: Any) -> Any:
    """The sum of `D(c,y) = min(r(c,y), D(c) p(y|c))`: block verification against the law."""
    levels = [law]
    for _ in p[1:]:  # one table more than depths: the row of the correction token
        levels.insert(0, [sum(part) for part in _split(levels[0], len(levels[0]) // len(p[0][0]))])
    reached, total = levels[0], levels[0][0]
    for chosen, table in zip(levels[1:], p, strict=False):
        targets = [mass * share for mass, row in zip(reached, table, strict=True) for share in row]
        reached = [min(pair) for pair in zip(chosen, targets, strict=True)]
        total += sum(reached)
    return total


def _stated(values: Any, trunks: Any, K: int) -> list[Any]:
    """A law, if no prefix of the paths by `r/q` is selected more often than drafted, and a trunk exactly as often."""
    law = _numbers("law", [values], [len(trunks) * len(trunks[0][1])])[0]
    for i, ((mass, below), part) in enumerate(zip(trunks, _split(law, len(trunks)), strict=True)):
        pairs = list(zip(part, below, strict=True))
        _same(f"law on trunk {i}", sum(part), mass)
        _same(f"law on what is never drafted after trunk {i}", sum(r for r, x in pairs if x == 0), 0)
        ranked = sorted(((r, x) for r, x in pairs if x > 0), key=lambda pair: -pair[0] / pair[1])
        sums = zip(accumulate(r for r, _ in ranked), accumulate(x for _, x in ranked), strict=True)
        if any(r > _hit(x, mass, K) for r, x in sums):
            raise InvalidInput(f"the law selects some paths of trunk {i} more often than they are drafted")
    return law


def _mixed(plan: Any, trunks: Any, K: int) -> list[Any]:
    """The law of a mixture of orders of the paths, one order a trunk."""
    if not isinstance(plan, dict) or set(plan) != {"weights", "orders"} or not isinstance(plan["orders"], list):
        raise InvalidInput("plan must hold weights and orders")
    weights = _numbers("weights", [plan["weights"]], [len(plan["orders"])])[0]
    _same("sum of the weights", sum(weights), 1)
    paths = list(range(len(trunks[0][1])))
    law = [fmpq(0)] * (len(paths) * len(trunks))
    for weight, order in zip(weights, plan["orders"], strict=True):
        if not isinstance(order, list) or [_ranked(part) for part in order] != [paths] * len(trunks):
            raise InvalidInput(f"an order is no permutation of {len(paths)} paths for each of {len(trunks)} trunks")
        for i, ((mass, below), part) in enumerate(zip(trunks, order, strict=True)):
            for path, chance in _taken(part, mass, below, K):
                law[i * len(paths) + path] += weight * chance
    return law


def _ranked(part: Any) -> Any:
    return sorted(part) if isinstance(part, list) and all(type(path) is int for path in part) else None


def _taken(order: list[int], mass: Any, shares: list[Any], K: int) -> Iterator[tuple[int, Any]]:
    """For each path of a trunk the probability that it is drafted and none before it is."""
    before = fmpq(0)
    for path, x in zip(order, accumulate(shares[path] for path in order), strict=True):
        now = _hit(x, mass, K)
        yield path, now - before
        before = now


def _hit(x: Any, mass: Any, K: int) -> Any:
    """`q(trunk) g(x / q(trunk))`: the trunk is drafted and a branch falls into a set of mass `x`."""
    return mass * (1 - (1 - x / mass) ** K) if mass > 0 else mass


def _split(values: list[Any], parts: int) -> list[list[Any]]:
    """The values below each of so many nodes of one depth."""
    width = len(values) // parts
    return [values[start : start + width] for start in range(0, len(values), width)]


def _numbers(name: str, values: Any, lengths: list[int]) -> list[list[Any]]:
    """Lists of these lengths of numbers of at least 0, given as text of any length."""
    fits = isinstance(values, list) and [len(part) if isinstance(part, list) else None for part in values] == lengths
    if not fits or any(type(value) is not str or not _NUMBER.fullmatch(value) for value in chain(*values)):
        raise InvalidInput(f"{name} must be lists of {lengths} exact numbers of at least 0 written as text, as '1/3'")
    return [[fmpq(*map(fmpz, value.split("/"))) for value in part] for part in values]


def _same_tables(name: str, stated: Any, recomputed: Any) -> None:
    for depth, (held, own) in enumerate(zip(stated, recomputed, strict=True)):
        for number, (row, wanted) in enumerate(zip(held.tolist(), own.tolist(), strict=True)):
            _same(f"{name} row {number} at depth {depth} of this instance", row, wanted)


def _same(name: str, stated: Any, recomputed: Any) -> None:
    if stated != recomputed:
        texts = [str(value) if str(value).isprintable() else repr(value) for value in (stated, recomputed)]
        short = [text if len(text) <= 100 else f"{text[:100]}.. ({len(text):,} characters)" for text in texts]
        raise InvalidInput(f"{name}: the certificate states {short[0]}, recomputed it is {short[1]}")
