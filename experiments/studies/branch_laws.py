"""How near stratified branches are to the best law of `K` paths, by the order in which tokens or paths are cut.

`python -m draftproof.experiments.studies.branch_laws --markdown runs/branch_laws.md`

A draft `q` has several targets `p`, and a law of the branches is worth the mean of its optima. The best law is found by
a linear program over joint laws of the branches, for all targets together: one that does not know which of them it
meets. With few targets it can still fit itself to them, so no law of branches is better than it, on any targets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import typer

from draftproof.experiments.grid.report.section import Section, lines_of, percent, text
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for
from draftproof.lp_analysis.hitting import Branches, Hitting, IidBranches, StratifiedBranches
from draftproof.lp_analysis.nodes import as_floats
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.columns import Columns, generate
from draftproof.lp_analysis.solvers.minimise import Search, stopped
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.instances.processes import rationalise

#: V, K, L1, L2.
SHAPES = (
    *((4, K, 0, 1) for K in (2, 3, 4, 8)),
    *((2, K, 0, 2) for K in (2, 3, 4, 8)),
    *((3, K, 0, 2) for K in (2, 3)),
    (4, 2, 0, 2),
    *((2, K, 0, 3) for K in (2, 3, 4)),
    *((2, K, 1, 2) for K in (2, 4, 8)),
    *((3, K, 1, 1) for K in (2, 4, 8)),
)
#: Strength of the noise between the logits of draft and target; None: rows that know nothing of each other.
NOISES = {"perturbed": 1.0, "dirichlet": None}
#: The optima of this study are in float64, from both sides up to this.
GAP = 1e-8
#: A smaller gain of the best law is not shared out.
LEAST = 1e-4
DENOMINATOR = 2**16


@dataclass(frozen=True)
class PathPieces(Branches):
    """All paths below a trunk in one order, cut into `K` pieces of mass `1/K`: a branch from each piece.

    ranked: the paths of each trunk in this order, shape `(G, N)`.
    """

    scheme: Delayed
    ranked: Any

    @property
    def pieces(self) -> Any:
        """The laws of the pieces, shape `(K, G, N)`."""
        K = self.scheme.K
        masses = np.take_along_axis(self.shares, self.ranked, axis=1) * K
        ends = masses.cumsum(axis=1)
        laws = np.stack([self.shares * 0] * K)
        for place, law in enumerate(laws):
            inside = np.minimum(ends, place + 1) - np.maximum(ends - masses, place)
            np.put_along_axis(law, self.ranked, np.maximum(inside, 0), axis=1)
        return laws

    def chances(self, orders: Any, groups: Any = slice(None)) -> Any:
        """See `Hitting`."""
        missed = np.ones(np.shape(orders))
        for law in self.pieces:
            missed = missed * (1 - np.take_along_axis(law[groups], orders, axis=1).cumsum(axis=1))
        return 1 - missed

    @property
    def floats(self) -> "PathPieces":
        """The same in float64."""
        return PathPieces(as_floats(self.draft_tables), self.scheme, self.ranked)


def _by_number(iid: IidBranches) -> Any:
    return np.tile(np.arange(iid.shares.shape[1]), (len(iid.shares), 1))


def _by_tokens(iid: IidBranches) -> Any:
    """Descending tokens at every node, the first token first."""
    scheme, V = iid.scheme, iid.vocab_size
    ranks = np.zeros((V**scheme.L1, 1), dtype=np.int64)
    for table in iid.draft_tables[scheme.L1 : scheme.depth]:
        places = (-table).argsort(axis=1, kind="stable").argsort(axis=1)
        ranks = (ranks.reshape(-1, 1) * V + places).reshape(len(ranks), -1)
    return ranks.argsort(axis=1)


def _by_likelihood(iid: IidBranches) -> Any:
    return (-iid.shares).argsort(axis=1, kind="stable")


#: The laws of branches: what is cut, and in which order. Ascending orders have the pieces of descending ones.
LAWS: Mapping[str, Callable[[IidBranches], Hitting]] = {
    "tokens, descending": lambda iid: _stratified(iid, "descending"),
    "tokens, by number": lambda iid: _stratified(iid, "number"),
    "paths, descending tokens": lambda iid: PathPieces(iid.draft_tables, iid.scheme, _by_tokens(iid)),
    "paths, by number": lambda iid: PathPieces(iid.draft_tables, iid.scheme, _by_number(iid)),
    "paths, by likelihood": lambda iid: PathPieces(iid.draft_tables, iid.scheme, _by_likelihood(iid)),
}


def _stratified(iid: IidBranches, order: str) -> Hitting:
    scheme = iid.scheme
    exact = [rationalise(table, DENOMINATOR, RATIONAL) for table in iid.draft_tables]
    return StratifiedBranches.of(exact, Stratified(scheme.K, scheme.L1, scheme.L2, order)).floats


def mean_optimum(targets: Sequence[Sequence[Any]], trees: Hitting) -> float:
    """The mean over targets of the optimum on these trees, in float64."""
    return fmean(_optimum(target, trees) for target in targets)


def _optimum(target: Sequence[Any], trees: Hitting) -> float:
    search = Search(None, stopped, np.inf)
    generate(Columns(BoundProblem(target, trees)), GAP, search)
    return float(search.lower)


def drawn(shape: tuple[int, int, int, int], noise: float | None, targets: int, seed: int) -> tuple[Any, list[Any]]:
    """Tables of a draft and of its targets."""
    V, _, L1, L2 = shape
    generator = np.random.default_rng((seed, *shape))
    draft = [rationalise(generator.dirichlet(np.ones(V), V**d), DENOMINATOR) for d in range(L1 + L2)]
    floats = as_floats(draft)
    rows: list[Any] = []
    for _ in range(targets):
        if noise is None:
            rows.append([generator.dirichlet(np.ones(V), V**d) for d in range(L1 + L2)])
        else:
            made = [table * np.exp(noise * generator.standard_normal(table.shape)) for table in floats]
            rows.append([table / table.sum(axis=1, keepdims=True) for table in made])
    return floats, rows


@dataclass
class _Program:
    """A linear program in parts: maximise, with rows of sums that are equal to a number or at most that."""

    gains: list[float] = field(default_factory=list)
    equal: list[tuple[Mapping[int, float], float]] = field(default_factory=list)
    most: list[tuple[Mapping[int, float], float]] = field(default_factory=list)

    def variables(self, count: int, gain: float = 0.0) -> range:
        """So many more variables of at least 0."""
        self.gains += [gain] * count
        return range(len(self.gains) - count, len(self.gains))

    def solve(self) -> tuple[float, Any]:
        """The largest value, and where it is."""
        from scipy.optimize import linprog

        parts: dict[str, Any] = {}
        for name, rows in (("eq", self.equal), ("ub", self.most)):
            parts[f"A_{name}"], parts[f"b_{name}"] = self._matrix(rows), [right for _, right in rows]
        found = linprog(-np.array(self.gains), **parts, method="highs")
        assert found.status == 0, found.message
        return -float(found.fun), found.x

    def _matrix(self, rows: Sequence[tuple[Mapping[int, float], float]]) -> Any:
        from scipy.sparse import csr_array

        entries = [(value, place, column) for place, (row, _) in enumerate(rows) for column, value in row.items()]
        values, places, columns = zip(*entries, strict=True)
        return csr_array((values, (places, columns)), shape=(len(rows), len(self.gains)))


Law = dict[tuple[int, tuple[int, ...]], float]


def best_law(iid: IidBranches, targets: Sequence[Sequence[Any]], like_draft: bool = True) -> tuple[float, Law]:
    """The largest mean optimum over laws of the branches below the trunk, and a law that has it.

    The law has the probability of each pair of a trunk and the set of the different paths below it. like_draft: whether
    a branch taken at random must have the law `q`. iid: the i.i.d. branches, in float64.

    A set `S` of at most `K` paths is drafted with mass `w(S)`; its other `K - |S|` branches repeat paths of it. A
    verifier for a target selects one of its paths; see theorem 3 of `lp_analysis`.
    """
    program, K = _Program(), iid.scheme.K
    N = iid.shares.shape[1]
    sets = [each for size in range(1, min(K, N) + 1) for each in combinations(range(N), size)]
    weights = [program.variables(len(sets)) for _ in iid.groups]
    for trunk, (mass, row) in enumerate(zip(iid.groups, weights, strict=True)):
        program.equal.append((dict.fromkeys(row, 1.0), float(mass)))
        if like_draft:
            _repeat(program, sets, row, K * float(mass) * iid.shares[trunk], K)
    for target in targets:
        _verify(program, iid, target, sets, weights, 1 / len(targets))
    value, where = program.solve()
    law = {(t, each): float(where[w]) for t, row in enumerate(weights) for w, each in zip(row, sets, strict=True)}
    return 1 + value, {key: mass for key, mass in law.items() if mass > 0}


def _repeat(program: _Program, sets: Sequence[tuple[int, ...]], row: range, wanted: Any, K: int) -> None:
    """Branches show every path as often as wanted."""
    shown: list[dict[int, float]] = [{} for _ in wanted]
    for weight, each in zip(row, sets, strict=True):
        more = program.variables(len(each)) if len(each) < K else range(0)
        if more:
            program.equal.append(({weight: float(len(each) - K), **dict.fromkeys(more, 1.0)}, 0.0))
        for place, path in enumerate(each):
            shown[path] |= {weight: 1.0, **({more[place]: 1.0} if more else {})}
    program.equal += [(columns, float(mean)) for columns, mean in zip(shown, wanted, strict=True)]


def _verify(
    program: _Program, iid: IidBranches, target: Sequence[Any], sets: Sequence[tuple[int, ...]],
    weights: Sequence[range], gain: float,
) -> None:  # fmt: skip
    """The rows of a verifier for this target, whose reach counts with the gain."""
    V, L, L1 = iid.vocab_size, iid.depth, iid.scheme.L1
    reach = [program.variables(V**d, gain) for d in range(1, L + 1)]
    for d in range(1, L + 1):
        for c in range(V**d):
            share = float(target[d - 1][c // V, c % V])
            above = {} if d == 1 else {reach[d - 2][c // V]: -share}
            program.most.append(({reach[d - 1][c]: 1.0, **above}, share if d == 1 else 0.0))
    for d in range(1, L1 + 1):
        program.most += [({reach[d - 1][c]: 1.0}, float(mass)) for c, mass in enumerate(iid.masses[d])]
    through: list[list[dict[int, float]]] = [[{node: 1.0} for node in level] for level in reach]
    N = iid.shares.shape[1]
    for trunk, row in enumerate(weights):
        for weight, each in zip(row, sets, strict=True):
            chosen = program.variables(len(each))
            program.most.append(({**dict.fromkeys(chosen, 1.0), weight: -1.0}, 0.0))
            for place, path in zip(chosen, each, strict=True):
                for d in range(L1 + 1, L + 1):
                    through[d - 1][(trunk * N + path) // V ** (L - d)][place] = -1.0
    program.most += [(columns, 0.0) for level in through[L1:] for columns in level]


def measured(shape: tuple[int, int, int, int], kind: str, targets: int, seed: int) -> dict[str, float]:
    """Mean optima on one draft: of i.i.d. branches, each law, the best law, and the best that knows the target."""
    K, L1, L2 = shape[1:]
    draft, tables = drawn(shape, NOISES[kind], targets, seed)
    iid = IidBranches(draft, Delayed(K, L1, L2))
    return {
        "iid": mean_optimum(tables, iid),
        **{name: mean_optimum(tables, law(iid)) for name, law in LAWS.items()},
        "best": best_law(iid, tables)[0],
        "free": best_law(iid, tables, like_draft=False)[0],
        "knowing": fmean(best_law(iid, [target])[0] for target in tables),
    }


def main(
    drafts: Annotated[int, typer.Option(min=1, help="Drafts of each kind and shape.")] = 6,
    targets: Annotated[int, typer.Option(min=1, help="Targets of each draft.")] = 16,
    markdown: Annotated[str | None, typer.Option(help="The table, as Markdown.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Print the share of the gain of the best law of branches over i.i.d. ones that each order has."""
    check_files((), {"--markdown": markdown, "--json": json_target})
    rows = [
        {"shape": shape, "kind": kind, **_means([measured(shape, kind, targets, seed) for seed in range(drafts)])}
        for kind in NOISES
        for shape in SHAPES
    ]
    shown = "".join(f"{line}\n" for section in sections(rows) for line in lines_of(section))
    console_for(json_target).print(shown, soft_wrap=True, markup=False, highlight=False)
    if markdown is not None:
        write_whole(markdown, shown)
    write_json(json_target, rows)
    return 0


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


def sections(rows: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    """A table for each kind of targets; the last line has the gains and losses of all shapes together."""
    for kind in NOISES:
        own = [row for row in rows if row["kind"] == kind]
        total = {name: fmean(row[name] for row in own) for name in ("iid", "best", "knowing", "free", *LAWS)}
        named = [*(("{}; {}, {}, {}".format(*row["shape"]), row) for row in own), ("all", total)]
        headings = ("V; K, L1, L2", "best law", "knowing p", "any marginals", *LAWS)
        yield Section(
            kind,
            f"Orders: {kind} targets",
            headings,
            [[text(name), *map(percent, figures(row))] for name, row in named],
        )


def figures(row: Mapping[str, Any]) -> list[float | None]:
    """Gains over i.i.d. branches of the best laws, then the shares that the orders have of the first."""
    gains = [row[name] / row["iid"] - 1 for name in ("best", "knowing", "free")]
    most = row["best"] - row["iid"]
    return [*gains, *((row[name] - row["iid"]) / most if gains[0] >= LEAST else None for name in LAWS)]


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
