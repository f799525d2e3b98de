"""Scripts as people write them in notebooks: no conversion by hand."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import draftproof
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.shown import tree_svg
from draftproof.simulator.tables import context_index

FROM_SOFTMAX_TO_TABLE = """
import numpy as np
import pandas as pd
from draftproof import compare, from_softmax

random = np.random.default_rng(7)
logits = random.normal(size=(2, 4, 4)).astype(np.float32)  # target and draft: a row after each of 4 tokens
exps = np.exp(logits)
p, q = (exps / exps.sum(axis=-1, keepdims=True)).astype(np.float32)

target, draft = from_softmax(p, root=(0,)), from_softmax(q, root=(0,))
shapes = ["delayed:K=2,L1=0,L2=2", "delayed:K=2,L1=1,L2=1"]
rows = compare(["naive_tree", "specinfer", "traversal", "mixed_order:a=1/2", "optimum"], (target, draft), shapes).rows
table = pd.DataFrame(rows).sort_values("block_efficiency", ascending=False)
print(table[["verifier", "scheme", "block_efficiency", "optimum", "gap"]])
"""

OWN = """
from draftproof import Card, Verdict, find_witness

class Pairs:
    depth = 2
    def draw(self, draft, coin):
        first = [coin.choose(draft.row(())) for _ in range(2)]
        return [(token, coin.choose(draft.row((token,)))) for token in first]

class Eager:
    card = Card(name="eager", title="Accepts the first draft", source=None)
    def verify(self, root, coin):
        node = root.child(root.children[0])
        return Verdict(node.context, coin.choose(node.target))

witness = find_witness(Eager(), Pairs())
print(witness)
"""


def test_from_two_softmax_arrays_to_a_ranked_table(capsys) -> None:
    assert len([line for line in FROM_SOFTMAX_TO_TABLE.splitlines() if line]) <= 15
    names: dict[str, Any] = {}
    exec(FROM_SOFTMAX_TO_TABLE, names)
    table = names["table"]
    assert table["verifier"].iloc[0] == "optimum"
    assert table["block_efficiency"].is_monotonic_decreasing
    assert len(table) == 10
    assert (table["block_efficiency"] <= table["optimum"] + 1e-6).all()
    assert table["lossless"].all()
    assert 0 < names["target"].correction < Fraction(1, 2**20)  # float32
    assert "mixed_order:a=1/2" in capsys.readouterr().out


def test_a_scheme_and_a_verifier_of_ones_own_and_the_shrunk_witness(capsys) -> None:
    names: dict[str, Any] = {}
    exec(OWN, names)
    witness = names["witness"]
    assert witness.shrunk
    assert witness.instance.vocab_size == 2
    assert witness.instance.scheme.name == "Pairs"
    assert witness.violation.deviation == 1  # the draft is sure of one token, the target of the other
    assert "eager on V = 2, Pairs" in capsys.readouterr().out


def test_numbers_of_a_rational_comparison_are_fractions_and_every_row_is_what_check_says() -> None:
    p, q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 4)]
    rows = draftproof.compare(["naive", "traversal"], (p, q), draftproof.Delayed(2, 0, 1), arithmetic="rational").rows
    for row in rows:
        scheme = row["scheme"].replace("(", ":").replace(")", "").replace(" ", "")
        checked = draftproof.check(row["verifier"], (p, q), scheme).row
        assert (row["block_efficiency"], row["lossless"]) == (checked["block_efficiency"], checked["lossless"])
        assert type(row["block_efficiency"]) is Fraction
        assert (
            row["gap"]
            == draftproof.bound(world=(p, q), scheme="delayed:K=2,L1=0,L2=1").row["upper"] - row["block_efficiency"]
        )
    assert list(pd.DataFrame(rows)["verifier"]) == ["traversal", "naive"]


def test_what_save_writes_load_reads_in_both_arithmetics(tmp_path: Path) -> None:
    rows = np.array([[0.1, 0.2, 0.7]])
    tables = [rows, np.array([[1 / 3, 1 / 3, 1 / 3], [0.25, 0.5, 0.25], [1e-9, 0.5, 0.5 - 1e-9]])]
    floats = draftproof.Instance(draftproof.TableProcess(tables), draftproof.TableProcess([rows]))
    floats.save(tmp_path / "floats.json")
    read = draftproof.Instance.load(tmp_path / "floats.json")
    assert read.target.arithmetic.name == "float64"
    assert all((a == b).all() for a, b in zip(read.target.tables, floats.target.tables, strict=True))
    assert read.digest() == floats.digest()


class Pair:
    """Two drafts; says nothing of itself."""

    depth = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        return [(coin.choose(draft.row(())),) for _ in range(2)]


def test_bounds_and_schemes_of_ones_own_are_readable() -> None:
    assert repr(draftproof.UserScheme(Pair())) == "UserScheme(Pair, depth 1)"
    assert repr(draftproof.UserScheme(draftproof.Delayed(2, 0, 1))) == "UserScheme(Delayed(K=2, L1=0, L2=1))"
    # Two drafts hit token 0 with probability 1 - 16/25 = 0.36; the other tokens have mass 1/2.
    found = draftproof.bound(world=(["1/2", "3/10", "1/5"], ["1/5", "3/10", "1/2"]), scheme=Pair())
    assert found.row["lower"] == found.row["upper"] == Fraction(93, 50)
    assert found.row["scheme"] == "Pair"


def test_processes_texts_and_trees_say_what_they_are() -> None:
    def rows(context: Any) -> Any:
        return ["1/2", "1/2"]

    process = draftproof.CallableProcess(2, rows, "target")
    assert repr(process) == "CallableProcess(target: V = 2, rows of rows)"
    text = draftproof.TextPair("abracadabra" * 5, 3, 1, 0)
    assert repr(text) == f"TextPair(V = 3, orders 1 and 0, 55 symbols, text {text.digest})"
    tree = draftproof.DraftTree.from_paths((), [(0, 1), (0,)])
    drawn = tree_svg(tree.children, {})
    assert re.findall("<title>(.*?) </title>", drawn) == ["()", "(0,)", "(0, 1)"]
    assert drawn.count("<line ") == 2
    assert "×2" in drawn  # the token 0 is drafted by both paths
    instance = draftproof.Instance(draftproof.TableProcess([[["1/3", "2/3"]]]), draftproof.TableProcess([[["1", "0"]]]))
    assert "<td>()</td><td>1/3 2/3</td><td>1 0</td>" in instance._repr_html_()


P, Q = ["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"]


@pytest.mark.parametrize("verifier", ["naive_tree", "block", "traversal", "layer_transport"])
def test_the_laws_of_all_trees_make_the_law_of_the_block(verifier: str) -> None:
    """The reach on every tree, weighted with the tree's probability, is the reach that `block_law` has."""
    scheme, law = draftproof.Delayed(2, 0, 2), draftproof.block_law(verifier, P, Q, "delayed:K=2,L1=0,L2=2")
    q, total = draftproof.MarkovProcess([Q], ()), dict.fromkeys([(), (0,), (2,), (2, 1)], Fraction(0))
    for tree, mass in outcomes(lambda coin: scheme.draw(q, coin), RATIONAL):
        found = draftproof.tree_law(verifier, P, Q, tree)
        for context in total:
            total[context] += as_python(mass) * found.reach.get(context, 0)
    wanted = {c: as_python(law.reach[len(c)][context_index(c, 3)]) for c in total}
    assert total == wanted


def test_a_drawn_tree_has_the_acceptance_of_every_node() -> None:
    found = draftproof.tree_law("naive_tree", P, Q, [(1, 2), (2,)])
    assert found.reach == {(): 1, (1,): 1, (2,): 0, (1, 2): Fraction(1, 3)}  # min(1, p/q) along the path
    assert found.block_efficiency == Fraction(7, 3)
    assert repr(found) == "TreeLaw(naive_tree on DraftTree((): 1, 2; (1,): 2): E[tau + 1] 7/3 = 2.33333)"
    titles = re.findall("<title>(.*?)</title>", found._repr_html_())
    assert titles == ["() 1", "(1,) 1", "(1, 2) 1/3 = 0.333333", "(2,) 0"]
    assert found.to_dict()["reach"][1, 2] == Fraction(1, 3)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ([(0, 5)], "drafted \\(5,\\) after \\(0,\\); tokens are 0..2"),
        (draftproof.DraftTree({(): (0,), (1,): (0,)}), "which was not drafted itself"),
    ],
)
def test_what_is_no_tree_is_refused(tree: Any, said: str) -> None:
    with pytest.raises(draftproof.InvalidInput, match=said):
        draftproof.tree_law("naive", P, Q, tree)


def test_every_scheme_has_its_class_on_the_face() -> None:
    assert {kind.__name__ for kind in draftproof.SCHEMES.values()} <= set(draftproof.__all__)
    assert draftproof.DySpec(nodes=3) == find_scheme("dyspec:nodes=3")


@pytest.mark.heavy
def test_sequoia_is_planned_on_the_pair_that_is_given() -> None:
    """A draft that is always right wants a path, one that is often wrong also second children."""
    sure, unsure = ["1/8", "3/4", "1/8"], ["3/4", "1/8", "1/8"]
    open_scheme = "sequoia:nodes=2,depth=2"
    shapes = {}
    for name, draft in (("path", sure), ("leaves", unsure)):
        found = draftproof.check("sequoia", (sure, draft), open_scheme).row
        row = draftproof.compare("sequoia", (sure, draft), open_scheme, optimum=True).row
        shapes[name] = found["scheme"]
        assert found["lossless"]
        assert (
            row["scheme"] == found["scheme"] == draftproof.bound(world=(sure, draft), scheme=open_scheme).row["scheme"]
        )
        assert draftproof.block_law("sequoia", sure, draft, open_scheme).block_efficiency == found["block_efficiency"]
        assert row["block_efficiency"] <= row["optimum"] + 1e-9  # float64
    assert shapes == {
        "path": str(draftproof.Sequoia(2, 2, (1, 1, 0))),
        "leaves": str(draftproof.Sequoia(2, 2, (2, 0, 0))),
    }
    witness = draftproof.find_witness("specinfer", open_scheme, target=sure, draft=unsure)
    assert witness is not None
    assert witness.violation.deviation > 0
    assert draftproof.find_witness("specinfer", "sequoia:nodes=4") is not None
