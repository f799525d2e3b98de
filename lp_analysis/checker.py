"""The certificate checker: it recomputes both bounds in rationals from the rows, without solvers or other code of ours.

It imports the standard library, exact rationals, the reader of instance files and, for schemes whose chances have no
closed form here, the enumeration of their draws. Why the bounds hold is on the theory page: any prices bound the
optimum from above, and a selection law in the base polytope is attained.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, chain, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from flint import fmpq, fmpz

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, TooLarge, cut
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess

_KEYS = {"format", "instance", "digest", "prices", "plan", "lower", "upper", "gap"}
_FRONTIER_KEYS = {"format", "instance", "digest", "points"}
_LONG_RUN_KEYS = {"format", "order", "depth", "target", "draft", "scheme", "potentials", "blocks"}
_LONG_RUN_KEYS |= {"lower", "upper", "gap"}
_POINT_KEYS = {"bias", "price", "shortfalls", "plan", "reach", "corrections", "lower", "upper"}
_NUMBER, _SIGNED = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?"), re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")
#: Most draft trees that are enumerated, and most tokens of a state or a tree of a long run.
_MOST_TREES, _MOST_ORDER = 200_000, 64


class _Group(NamedTuple):
    """The trees of one trunk, or all trees.

    ends: what can be leaves of them, each as its depth and its place in it, the deepest first. first: for every end of
    an order, given as places in `ends`, the probability that it is a leaf and none before it is.
    """

    ends: list[tuple[int, int]]
    first: Callable[[list[int]], Iterator[tuple[int, Any]]]


def read_certificate(path: str | Path) -> Any:
    """The fields of a certificate file; raises `InvalidInput` for what is no JSON and for duplicate keys."""
    return parse_json(read_text(path, "certificate"), f"certificate {cut(path)}", object_pairs_hook=_once)


def check_certificate(fields: Any, instance: Instance | None = None) -> tuple[Fraction, Fraction]:
    """The proved `(lower, upper)`; raises `InvalidInput` that names the first difference, `TooLarge` for many trees.

    instance: the one the certificate must be about; without it, the rows in the file are used.
    """
    optional = {"weights", "limits"}
    if not isinstance(fields, dict) or set(fields) - optional != _KEYS:
        raise InvalidInput(f"a certificate has the keys {', '.join(sorted(_KEYS))}")
    rows, scheme = _stated_rows(fields, "draftproof bound 1", instance)
    sizes = [rows.vocab_size**d for d in range(scheme.depth + 1)]
    ones = [[fmpq(1)] * size for size in sizes]  # those of block efficiency
    weights = _numbers("weights", fields["weights"], sizes, _SIGNED) if "weights" in fields else ones
    lower, upper = _block(fields, rows, scheme, weights)
    for name, value in (("lower", lower), ("upper", upper), ("gap", upper - lower)):
        _same(name, fields[name], str(value))
    return Fraction(int(lower.p), int(lower.q)), Fraction(int(upper.p), int(upper.q))


def check_frontier(fields: Any, instance: Instance | None = None) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The proved `(bias, lower, upper)` of every point of a frontier; raises as `check_certificate` does."""
    if not isinstance(fields, dict) or set(fields) != _FRONTIER_KEYS or not isinstance(fields["points"], list):
        raise InvalidInput(f"a certificate of a frontier has the keys {', '.join(sorted(_FRONTIER_KEYS))}")
    rows, scheme = _stated_rows(fields, "draftproof frontier 1", instance)
    groups = _groups(rows, scheme)
    return [_point(point, rows, scheme.depth, groups) for point in fields["points"]]


def check_long_run(fields: Any) -> tuple[Fraction, Fraction]:
    """The proved `(lower, upper)` of a long run; raises as `check_certificate` does.

    From every state a block is worth the tokens, and the potential of the state where it ends less that of its own:
    `sum_c w(c) D(c)` with `w(c) = 1 + sum_y p(y|c) h(c,y) - h(c)`. The least lower and the largest upper bound hold.
    """
    if not isinstance(fields, dict) or set(fields) != _LONG_RUN_KEYS:
        raise InvalidInput(f"a certificate of a long run has the keys {', '.join(sorted(_LONG_RUN_KEYS))}")
    _same("format", fields["format"], "draftproof long run 1")
    size, states = _states(fields)
    target, _ = (_numbers(name, fields[name], [size] * states) for name in ("target", "draft"))
    (potentials,) = _numbers("potentials", [fields["potentials"]], [states], _SIGNED)
    ends = [_from(potentials, state, size) for state in range(states)]
    means = [sum(a * b for a, b in zip(*pair, strict=True)) for pair in zip(target, ends, strict=True)]
    weights = [1 + mean - own for mean, own in zip(means, potentials, strict=True)]
    if not isinstance(fields["blocks"], list) or len(fields["blocks"]) != states:
        raise InvalidInput(f"blocks: give one for each of {states} states")
    bounds = []
    for state, block in enumerate(fields["blocks"]):
        if not isinstance(block, dict) or set(block) - {"limits"} != {"prices", "plan"}:
            raise InvalidInput(f"block {state} must hold prices, a plan and limits where there are any")
        rows, scheme = _rows_from(fields, state, size)
        own = [_from(weights, state, size**d) for d in range(scheme.depth + 1)]
        bounds.append(_block(block, rows, scheme, own))
    lower, upper = min(low for low, _ in bounds), max(high for _, high in bounds)
    for name, value in (("lower", lower), ("upper", upper), ("gap", upper - lower)):
        _same(name, fields[name], str(value))
    return Fraction(int(lower.p), int(lower.q)), Fraction(int(upper.p), int(upper.q))


def _states(fields: dict[str, Any]) -> tuple[int, int]:
    """`V` and the number of states, the last `order` tokens."""
    order, rows = fields["order"], fields["target"]
    size = len(rows[0]) if isinstance(rows, list) and rows and isinstance(rows[0], list) else 0
    if type(order) is not int or not 0 <= order <= _MOST_ORDER or size < 1 or size**order != len(rows):
        raise InvalidInput("target must list one row for each of V^order states")
    return size, len(rows)


def _rows_from(fields: dict[str, Any], state: int, size: int) -> tuple[Instance, DraftScheme]:
    """The rows after the contexts from a state, as in an instance file, and the scheme."""
    depth = fields["depth"]
    if type(depth) is not int or not 0 <= depth <= _MOST_ORDER or size**depth > _MOST_TREES:
        raise InvalidInput(f"depth: trees of at most {_MOST_TREES:,} paths are checked")
    tables = {
        name: {
            ",".join(map(str, context)): row
            for d in range(length + 1)
            for context, row in zip(product(range(size), repeat=d), _from(fields[name], state, size**d), strict=True)
        }
        for name, length in (("target", depth), ("draft", max(depth - 1, 0)))
    }
    rows = Instance.from_dict({"vocab_size": size, "depth": depth, "scheme": fields["scheme"], **tables})
    if rows.scheme is None:
        raise InvalidInput("the certificate must name a draft scheme that this package has")
    _same("depth", depth, rows.scheme.depth)
    return rows, rows.scheme


def _from(values: list[Any], state: int, width: int) -> list[Any]:
    """The values of the states after all contexts of one length from a state; width: how many contexts."""
    return [values[(state * width + place) % len(values)] for place in range(width)]


def _block(fields: Any, rows: Instance, scheme: DraftScheme, weights: list[list[Any]]) -> tuple[Any, Any]:
    """What the plan of a block is worth, or that of a certificate of one block, and what none exceeds."""
    depth, p = scheme.depth, rows.target.tables
    sizes = [rows.vocab_size**d for d in range(depth + 1)]
    prices = _numbers("prices", fields["prices"], sizes[1:])
    limits = _numbers("limits", fields["limits"], sizes) if "limits" in fields else None
    groups = _groups(rows, scheme)
    masses = [[fmpq(0)] * size for size in sizes]
    _mix(fields["plan"], groups, masses)
    return _lower(masses, p, weights, limits), _upper(prices, p, groups, weights)


def _point(fields: Any, rows: Instance, depth: int, groups: list[_Group]) -> tuple[Fraction, Fraction, Fraction]:
    """A verifier of at most this bias has `lower` tokens, by its reach and corrections; none has more than `upper`."""
    if not isinstance(fields, dict) or set(fields) != _POINT_KEYS:
        raise InvalidInput(f"a point of a frontier has the keys {', '.join(sorted(_POINT_KEYS))}")
    sizes, p = [rows.vocab_size**d for d in range(depth + 1)], rows.target.tables
    bias, price = (_numbers(key, [[fields[key]]], [1])[0][0] for key in ("bias", "price"))
    (shortfalls,) = _numbers("shortfalls", [fields["shortfalls"]], sizes[-1:])
    reached = _numbers("reach", fields["reach"], sizes)
    corrections = _numbers("corrections", fields["corrections"], sizes)
    masses = [[fmpq(0)] * size for size in sizes]
    _mix(fields["plan"], groups, masses)
    spent = _bias_of(reached, corrections, _sums(masses), p)
    if spent > bias:
        raise InvalidInput(f"bias: the certificate states {bias}, its verifier has {spent}")
    lower = sum((sum(level) for level in reached), fmpq(0))
    upper = price * bias + _most(shortfalls, price, p, groups)
    for name, value in (("lower", lower), ("upper", upper)):
        _same(name, fields[name], str(value))
    return tuple(Fraction(int(value.p), int(value.q)) for value in (bias, lower, upper))  # type: ignore[return-value]


def _bias_of(reached: list[Any], corrections: list[Any], drafted: list[Any], p: Any) -> Any:
    """The total variation of the output from the target, if reach and corrections are those of a verifier.

    drafted: the law of the selected path by node, which the reach must not exceed. What is reached at a node goes on to
    its children, by accepted tokens or by corrections. After a correction the target continues.
    """
    _same("reach and correction of the root", (reached[0], corrections[0]), ([fmpq(1)], [fmpq(0)]))
    if any(
        own > most for level, law in zip(reached, drafted, strict=True) for own, most in zip(level, law, strict=True)
    ):
        raise InvalidInput("reach: a node is accepted more often than it is selected")
    ended, paths = [fmpq(0)], [fmpq(1)]
    for depth in range(1, len(reached)):
        below = [one + other for one, other in zip(reached[depth], corrections[depth], strict=True)]
        sums = [sum(part) for part in _split(below, len(reached[depth - 1]))]
        _same(f"sums of reach and corrections below depth {depth - 1}", sums, reached[depth - 1])
        continued = [mass * share for mass, row in zip(ended, p[depth - 1], strict=True) for share in row]
        ended = [one + other for one, other in zip(continued, corrections[depth], strict=True)]
        paths = [mass * share for mass, row in zip(paths, p[depth - 1], strict=True) for share in row]
    return sum((max(a - b - c, fmpq(0)) for a, b, c in zip(paths, ended, reached[-1], strict=True)), fmpq(0))


def _most(shortfalls: list[Any], price: Any, p: Any, groups: list[_Group]) -> Any:
    """`E[max over c in T of w(c)] - Z(())` by prices of shortfalls, which are at most the price of bias."""
    if any(value > price for value in shortfalls):
        raise InvalidInput("shortfalls: one is above the price of bias")
    depth = max(end[0] for end in groups[0].ends)
    worths, after = [[depth + 1 + value for value in shortfalls]], shortfalls
    for d in reversed(range(depth)):
        parts = _split(after, len(p[d]))
        worths.insert(0, [d + 1 + max(part) for part in parts])
        after = [sum(a * b for a, b in zip(row, part, strict=True)) for row, part in zip(p[d], parts, strict=True)]
    for above, own in pairwise(worths):
        size = len(own) // len(above)
        own[:] = [max(value, above[place // size]) for place, value in enumerate(own)]
    return _mean_of_largest(worths, groups) - after[0]


def _mean_of_largest(levels: list[Any], groups: list[_Group]) -> Any:
    """The mean over the trees of the largest value at their leaves."""
    total = fmpq(0)
    for ends, first in groups:
        values = [levels[d][place] for d, place in ends]
        order = sorted(range(len(values)), key=lambda end: -values[end])
        total += sum(values[end] * chance for end, chance in first(order))
    return total


def _stated_rows(fields: Any, kind: str, instance: Instance | None) -> tuple[Instance, DraftScheme]:
    """The rows and the scheme of a certificate, if they are those of the instance that it must be about."""
    _same("format", fields["format"], kind)
    rows = Instance.from_dict(fields["instance"])
    if rows.scheme is None:
        raise InvalidInput("the instance of a certificate must name a draft scheme that this package has")
    depth = rows.scheme.depth
    _same("depth", rows.depth, depth)
    _same("digest", fields["digest"], rows.digest())
    if instance is not None:
        own = exact_instance(instance.target, instance.draft, depth)
        _same("digest of this instance", fields["digest"], own.digest())
        for name in ("target", "draft"):  # digests are short; different rows with one digest are refused here
            _same_tables(name, getattr(rows, name).tables, getattr(own, name).tables)
    return rows, rows.scheme


def _groups(rows: Instance, scheme: DraftScheme) -> list[_Group]:
    """The trees of the scheme, in groups of which each has one order of ends."""
    shape, tables = scheme.as_dict(), rows.draft.tables
    if shape["name"] == "stratified":
        return _stratified(tables, **{key: shape[key] for key in ("K", "L1", "L2", "order")})
    if shape["name"] == "delayed":
        trunks = _trunks(tables, shape["L1"], scheme.depth)
        return [_below(i, scheme.depth, mass, shares, shape["K"]) for i, (mass, shares) in enumerate(trunks)]
    return [_listed(scheme, rows.draft)]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of a file; raises `InvalidInput` for duplicate keys, of which readers take different ones."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _trunks(q: Any, L1: int, depth: int) -> list[tuple[Any, list[Any]]]:
    """The mass of every trunk and of the paths below it."""
    masses = [[fmpq(1)]]
    for table in q[:depth]:
        masses.append([mass * share for mass, row in zip(masses[-1], table, strict=True) for share in row])
    return list(zip(masses[L1], _split(masses[depth], len(masses[L1])), strict=True))


def _below(trunk: int, depth: int, mass: Any, shares: list[Any], K: int) -> _Group:
    """The trees of a trunk with `K` i.i.d. branches; shares: the masses of its paths."""

    def first(order: list[int]) -> Iterator[tuple[int, Any]]:
        sums = accumulate(shares[path] for path in order)
        return zip(order, _differences(_hit(mass, x, K) for x in sums), strict=True)

    return _Group([(depth, trunk * len(shares) + path) for path in range(len(shares))], first)


def _stratified(q: Any, K: int, L1: int, L2: int, order: str) -> list[_Group]:
    """At a node of `k` branches the tokens side by side in an order, cut into `k` parts of the same mass."""

    @cache
    def parts(depth: int, place: int, k: int) -> list[dict[int, Any]]:
        """For each part its tokens with their shares, in the order."""
        row, start = list(q[depth][place]), fmpq(0)
        laws: list[dict[int, Any]] = [{} for _ in range(k)]
        for token in sorted(range(len(row)), key=lambda token: -row[token] if order == "descending" else token):
            end = start + row[token]
            for i, law in enumerate(laws):
                share = min(end, fmpq(i + 1, k)) - max(start, fmpq(i, k))
                if share > 0:
                    law[token] = k * share
            start = end
        return laws

    def first(trunk: int, mass: Any, ends: list[int]) -> Iterator[tuple[int, Any]]:
        missed: dict[tuple[int, int, int], Any] = {}  # by depth, place and branches, where it is not 1

        def met(end: int) -> Any:
            """How likely an end up to this one is met."""
            place = trunk * size**L2 + end
            missed.update({(L1 + L2, place, k): fmpq(0) for k in range(1, K + 1)})
            for depth in reversed(range(L1, L1 + L2)):
                place //= size
                for k in range(1, K + 1):
                    below = partial(_child, missed, depth + 1, place * size)
                    missed[depth, place, k] = _mean(parts(depth, place, k), below)
            return mass * (1 - missed.get((L1, trunk, K), 1))

        return zip(ends, _differences(map(met, ends)), strict=True)

    size = len(list(q[0][0])) if L1 + L2 else 1
    return [
        _Group([(L1 + L2, trunk * size**L2 + path) for path in range(size**L2)], partial(first, trunk, mass))
        for trunk, (mass, _) in enumerate(_trunks(q, L1, L1 + L2))
    ]


def _child(missed: dict[tuple[int, int, int], Any], depth: int, first: int, token: int, k: int) -> Any:
    return missed.get((depth, first + token, k), fmpq(1))


def _mean(laws: list[dict[int, Any]], value: Callable[[int, int], Any]) -> Any:
    """The mean product of `value(y, n)` over the tokens `y` that `n` draws have, one draw from each part of a row.

    From part to part: how likely its token is `y`, which `n` draws have so far, times the values of the others. A part
    shares no token with the next one but its last.
    """
    last: dict[tuple[int, int], Any] = {}
    total = fmpq(1)
    for law in laws:
        now = {
            (y, n + 1): share * last[y, n] for y, share in law.items() for n in range(1, len(laws)) if (y, n) in last
        }
        for y, share in law.items():
            own = [n for n in range(1, len(laws)) if (y, n) in last]
            now[y, 1] = share * (total - sum(last[y, n] * value(y, n) for n in own))
        last, total = now, sum(weight * value(*drawn) for drawn, weight in now.items())
    return total


def _differences(values: Iterable[Any]) -> Iterator[Any]:
    """Each value less the one before it, the first less 0."""
    before = fmpq(0)
    for value in values:
        yield value - before
        before = value


def _listed(scheme: DraftScheme, draft: TokenProcess) -> _Group:
    """All trees of a scheme, by enumeration of its draws."""
    if scheme.count(draft) > _MOST_TREES:
        raise TooLarge(f"{scheme} has more than {_MOST_TREES:,} draft trees")
    size, trees = draft.vocab_size, []
    for tree, mass in drawn_trees(scheme, draft, RATIONAL):
        leaves: list[tuple[int, int]] = []
        open_nodes: list[tuple[int, int, Context]] = [(0, 0, ())]
        while open_nodes:
            d, place, context = open_nodes.pop()
            drafted = [y for y in range(size) if (*context, y) in tree]
            open_nodes += [(d + 1, place * size + y, (*context, y)) for y in drafted]
            leaves += [] if drafted else [(d, place)]
        trees.append((leaves, mass))
    ends = sorted({end for leaves, _ in trees for end in leaves}, key=lambda end: (-end[0], end[1]))
    numbers = {end: number for number, end in enumerate(ends)}
    held = [([numbers[end] for end in leaves], mass) for leaves, mass in trees]
    return _Group(ends, partial(_first_leaf, held))


def _first_leaf(trees: list[tuple[list[int], Any]], order: list[int]) -> Iterator[tuple[int, Any]]:
    """`first` of listed trees."""
    ranks = {end: rank for rank, end in enumerate(order)}
    chances = [fmpq(0)] * len(order)
    for leaves, mass in trees:
        chances[min(ranks[end] for end in leaves)] += mass
    return zip(order, chances, strict=True)


def _upper(prices: list[Any], p: Any, groups: list[_Group], weights: list[list[Any]]) -> Any:
    """`w(()) + sum_y p(y) t(y) + sum_c pi(c) r(c)` where `r` is the law of the order of ends by `pi`, largest first."""
    worths, totals = weights[-1], [[fmpq(0)]]
    for own, table, above in zip(reversed(prices), reversed(p[: len(prices)]), reversed(weights[:-1]), strict=True):
        gains = [max(worth - price, fmpq(0)) for worth, price in zip(worths, own, strict=True)]
        below = zip(above, table, _split(gains, len(table)), strict=True)
        worths = [weight + sum(a * b for a, b in zip(row, part, strict=True)) for weight, row, part in below]
    for values in prices:
        split = zip(totals[-1], _split(values, len(totals[-1])), strict=True)
        totals.append([above + own for above, part in split for own in part])
    return worths[0] + _mean_of_largest(totals, groups)


def _lower(masses: list[list[Any]], p: Any, weights: list[list[Any]], limits: list[list[Any]] | None) -> Any:
    """The weighted sum of `D(c,y) = min(r(c,y), D(c) p(y|c))`: block verification against the law with these ends.

    limits: what `D` is at most, too.
    """
    levels = _sums(masses)
    reached, total = levels[0], levels[0][0] * weights[0][0]
    for chosen, table, own, most in zip(levels[1:], p, weights[1:], (limits or levels)[1:], strict=False):
        targets = [mass * share for mass, row in zip(reached, table, strict=True) for share in row]
        reached = [min(three) for three in zip(chosen, targets, most, strict=True)]
        total += sum(weight * mass for weight, mass in zip(own, reached, strict=True))
    return total


def _sums(masses: list[list[Any]]) -> list[list[Any]]:
    """The mass at and below every node."""
    levels = masses[-1:]
    for own in reversed(masses[:-1]):
        below = _split(levels[0], len(own))
        levels.insert(0, [mass + sum(part) for mass, part in zip(own, below, strict=True)])
    return levels


def _mix(plan: Any, groups: list[_Group], masses: list[list[Any]]) -> None:
    """Add the law of a mixture of orders of the ends, one order a group, to the masses of nodes by depth."""
    if not isinstance(plan, dict) or set(plan) != {"weights", "orders"} or not isinstance(plan["orders"], list):
        raise InvalidInput("plan must hold weights and orders")
    weights = _numbers("weights", [plan["weights"]], [len(plan["orders"])])[0]
    _same("sum of the weights", sum(weights), 1)
    count = len(groups[0].ends)
    for weight, order in zip(weights, plan["orders"], strict=True):
        if not isinstance(order, list) or [_ranked(part) for part in order] != [list(range(count))] * len(groups):
            raise InvalidInput(f"an order is no permutation of {count} paths for each of {len(groups)} trunks")
        for (ends, first), part in zip(groups, order, strict=True):
            for end, chance in first(part):
                d, place = ends[end]
                masses[d][place] += weight * chance


def _ranked(part: Any) -> Any:
    return sorted(part) if isinstance(part, list) and all(type(path) is int for path in part) else None


def _hit(mass: Any, x: Any, K: int) -> Any:
    """A trunk of this mass is drafted and one of `K` i.i.d. branches is in a set; x: their mass, with the trunk's."""
    return mass * (1 - (1 - x / mass) ** K) if mass > 0 else mass


def _split(values: list[Any], parts: int) -> list[list[Any]]:
    """The values below each of so many nodes of one depth."""
    width = len(values) // parts
    return [values[start : start + width] for start in range(0, len(values), width)]


def _numbers(name: str, values: Any, lengths: list[int], form: re.Pattern[str] = _NUMBER) -> list[list[Any]]:
    """Lists of these lengths of numbers given as text of any length, by default of at least 0."""
    fits = isinstance(values, list) and [len(part) if isinstance(part, list) else None for part in values] == lengths
    at_least = "of at least 0 " if form is _NUMBER else ""
    if not fits or any(type(value) is not str or not form.fullmatch(value) for value in chain(*values)):
        raise InvalidInput(f"{name} must be lists of {lengths} exact numbers {at_least}written as text, as '1/3'")
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
