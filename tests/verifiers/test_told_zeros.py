"""Drafts that the q which a verifier is told cannot have drawn: one rule for every verifier and its formulas.

Such a draft is judged by what the target has there: it is accepted where `p > 0` and rejected where `p = 0`. What has a
plan for the drafts of its q refuses others by name.
"""

from itertools import product
from typing import Any

import pytest

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.estimator import TreeEfficiency, tree_efficiency_by_coins
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.structures import branch_of
from draftproof.verifiers import REGISTRY, STANDALONE, make, required

ROWS = [["1/2", "1/2", "0"], ["0", "1/3", "2/3"], ["1", "0", "0"], ["1/4", "1/4", "1/2"], ["0", "0", "1"]]
TREES = ([(0,)], [(2,)], [(0,), (1,)], [(2,), (0,)], [(2,), (2,)], [(0, 2), (1, 0)])
#: What refuses drafts, and how.
REFUSED = {
    "optimal_transport": "no plan for the drafts",
    "layer_verification": "no plan for the drafts",
    "spechub": "verifies pairs",
}
GIVEN = {"inner": "naive", "target": "ensemble:w=1/2"}
#: It is made for one instance.
NAMES = [name for name in REGISTRY if name != "optimum"]
#: Rules that move the target toward q, so that a token of p = 0 may have mass where q > 0, and where they correct.
LOSSY = {name for name in NAMES if REGISTRY[name].card.needs is None}
#: Of one path, with a target of their own: `q` itself on some rows, or the noise that it shares with the draft.
OWN = {"cascade", "gls_reused_noise"}
ONE_PATH = [name for name in NAMES if REGISTRY[name].card.single_path and name not in OWN]


#: The number of tokens of a tree has formulas of its own; those of `optimal_transport` are by its plan.
BY_FORMULAS = {name for name in STANDALONE if branch_of(make(name))} - {"optimal_transport"} | {"traversal"}


def made(name: str) -> Verifier:
    return make(name, **{key: GIVEN.get(key, "1/2") for key in required(name)})


def processes(arithmetic: Arithmetic, *rows: list[str]) -> list[MarkovProcess]:
    return [MarkovProcess(arithmetic.vector([row] * 3), (0,), "rows") for row in rows]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("arithmetic", [RATIONAL, FLOAT64], ids=lambda arithmetic: arithmetic.name)
@pytest.mark.parametrize("name", NAMES)
def test_every_verifier_judges_them_or_refuses_them_by_name(name: str, arithmetic: Arithmetic) -> None:
    verifier, refused = made(name), False
    for target, draft in product(ROWS, ROWS):
        p, q = processes(arithmetic, target, draft)
        possible = [a > 0 or (b > 0 and name in LOSSY) for a, b in zip(p.row(()), q.row(()), strict=True)]
        for paths in TREES:
            try:
                found = verdicts(verifier, DraftTree.from_paths((), paths), p, q, arithmetic)
            except UnsupportedTree as error:
                refused = REFUSED.get(name, "no refusal") in str(error)
                continue
            assert abs(sum(found.values()) - 1) <= arithmetic.tolerance
            for (accepted, token), mass in found.items():
                assert not mass or all(possible[each] for each in (*accepted, token)), (target, draft, paths)
            if name in BY_FORMULAS and arithmetic is RATIONAL:
                root = DraftTree.from_paths((), paths).root(p, q)
                assert TreeEfficiency(verifier).of(root) == tree_efficiency_by_coins(verifier, root)
    assert refused == (name in REFUSED)


@pytest.mark.parametrize("name", [*ONE_PATH, "specinfer", "naive_tree", "spectr", "khisti", "traversal"])
def test_a_single_draft_is_accepted_where_p_is_above_zero(name: str) -> None:
    p, q = processes(RATIONAL, ["1/4", "0", "3/4"], ["0", "0", "1"])
    for token, depth in ((0, 1), (1, 0)):
        found: dict[Any, Any] = verdicts(made(name), DraftTree.from_paths((), [(token,)]), p, q, RATIONAL)
        assert {len(accepted) for (accepted, _), mass in found.items() if mass} == {depth}
