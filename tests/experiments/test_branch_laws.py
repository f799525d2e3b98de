"""The study of laws of branches: its programs against others, and the gains of its tables."""

from itertools import product
from statistics import fmean

import numpy as np
import pytest
from scipy.optimize import linprog

from draftproof.experiments.studies import branch_laws
from draftproof.experiments.studies.branch_laws import LAWS, PathPieces, best_law, drawn, mean_optimum
from draftproof.lp_analysis.hitting import IidBranches, probability
from draftproof.lp_analysis.nodes import efficiency, reach
from draftproof.lp_analysis.reference.direct import solve_direct
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.processes import context_at

#: HiGHS solves to 1e-7 in every row.
SOLVED = 1e-5


def problem(shape, noise=1.0, targets=3):
    draft, tables = drawn(shape, noise, targets, 1)
    return IidBranches(draft, Delayed(*shape[1:])), tables


@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (3, 2, 0, 1), (2, 2, 1, 1)], ids=str)
@pytest.mark.parametrize("name", [name for name in LAWS if name.startswith("paths")])
def test_pieces_of_paths_are_met_as_often_as_in_a_list_of_draws(shape, name):
    iid, _ = problem(shape)
    trees = LAWS[name](iid)
    pieces = trees.pieces
    assert pieces.mean(axis=0) == pytest.approx(iid.shares)
    V, K, L1, L2 = shape
    rng = np.random.default_rng(0)
    paths = [context_at(path, L1 + L2, V) for path in range(V ** (L1 + L2))]
    for share in (0.2, 0.5):
        wanted = {path for path in paths if rng.random() < share}
        met = 0.0
        for trunk, mass in enumerate(iid.groups):
            below = paths[trunk * V**L2 : (trunk + 1) * V**L2]
            for branches in product(range(V**L2), repeat=K):
                chance = mass * np.prod([law[trunk, path] for law, path in zip(pieces, branches, strict=True)])
                met += chance * any(below[path] in wanted for path in branches)
        assert probability(trees, wanted) == pytest.approx(met)
        assert probability(trees, wanted) >= probability(iid, wanted) - 1e-12


def test_paths_in_ascending_order_have_the_pieces_of_the_descending_one():
    iid, _ = problem((3, 3, 0, 2))
    trees = LAWS["paths, by likelihood"](iid)
    ascending = PathPieces(iid.draft_tables, iid.scheme, trees.ranked[:, ::-1])
    assert ascending.pieces == pytest.approx(trees.pieces[::-1])


@pytest.mark.parametrize("shape", [(2, 2, 0, 2), (3, 2, 0, 1), (2, 2, 1, 1), (2, 3, 0, 2)], ids=str)
@pytest.mark.parametrize("like_draft", [True, False])
def test_the_best_law_is_worth_what_the_direct_program_gives_on_its_trees(shape, like_draft):
    iid, tables = problem(shape)
    value, law = best_law(iid, tables, like_draft)
    V, K, L1, L2 = shape
    trees, shown = [], np.zeros(iid.shares.shape)
    for (trunk, paths), mass in law.items():
        ends = [context_at(trunk * V**L2 + path, L1 + L2, V) for path in paths]
        trees.append((frozenset(end[:d] for end in ends for d in range(L1 + L2 + 1)), mass))
        if K == 2:
            shown[trunk, list(paths)] += mass * (3 - len(paths))
    total = sum(mass for _, mass in trees)
    trees = [(tree, mass / total) for tree, mass in trees]
    assert fmean(solve_direct(table, trees) for table in tables) == pytest.approx(value, abs=SOLVED)
    if K == 2 and like_draft:
        assert shown == pytest.approx(2 * iid.shares * iid.groups[:, None], abs=SOLVED)


def test_for_one_target_a_branch_is_selected_at_most_as_often_as_all_are_drawn():
    """The others can be anything: `r <= K q` is all that is asked of the selected path, and nothing without marginals.

    The program over the reach and `r` alone.
    """
    iid, (table,) = problem((2, 3, 0, 2), targets=1)
    q, (first, second) = iid.masses[-1], table
    # D(0), D(1), D(00), .., D(11), r(00), .., r(11)
    rows = [
        *([*np.eye(2)[i], *[0] * 4, *(-np.repeat(np.eye(2)[i], 2))] for i in range(2)),
        *([0, 0, *np.eye(4)[i], *-np.eye(4)[i]] for i in range(4)),
        *([*(-np.eye(2)[i // 2] * second[i // 2, i % 2]), *np.eye(4)[i], *[0] * 4] for i in range(4)),
    ]
    bounds = [*((0, p) for p in first[0]), *[(0, None)] * 4, *((0, min(3 * mass, 1)) for mass in q)]
    gains = [-1.0] * 6 + [0.0] * 4
    found = linprog(gains, rows, [0] * len(rows), [[0] * 6 + [1] * 4], [1], bounds)
    assert best_law(iid, [table])[0] == pytest.approx(1 - found.fun, abs=SOLVED)
    assert best_law(iid, [table], like_draft=False)[0] == pytest.approx(3, abs=SOLVED)


def test_one_branch_has_one_law():
    iid, tables = problem((3, 1, 0, 2))
    block = fmean(efficiency(reach(iid.masses, table)) for table in tables)
    assert best_law(iid, tables)[0] == pytest.approx(block, abs=SOLVED)
    assert mean_optimum(tables, iid) == pytest.approx(block, abs=SOLVED)


@pytest.mark.parametrize("kind", branch_laws.NOISES)
def test_no_law_is_worse_than_iid_branches_or_better_than_the_best(kind):
    row = branch_laws.measured((3, 2, 0, 2), kind, 4, 0)
    for name in LAWS:
        assert row["iid"] - SOLVED <= row[name] <= row["best"] + SOLVED
    assert row["best"] <= min(row["knowing"], row["free"]) + SOLVED


def test_the_table_has_the_shares_of_the_gain(monkeypatch, study):
    monkeypatch.setattr(branch_laws, "SHAPES", ((2, 2, 0, 1),))
    monkeypatch.setattr(branch_laws, "LEAST", 0.0)
    code, printed = study(branch_laws.main, "--drafts", 1, "--targets", 2)
    assert code == 0
    assert "| 2; 2, 0, 1 |" in printed.out
    row = {"iid": 2.0, "best": 2.1, "knowing": 2.2, "free": 2.4, **dict.fromkeys(LAWS, 2.05)}
    assert branch_laws.figures(row) == pytest.approx([0.05, 0.1, 0.2, *[0.5] * len(LAWS)])
    monkeypatch.setattr(branch_laws, "LEAST", 0.06)
    assert branch_laws.figures(row)[3:] == [None] * len(LAWS)
