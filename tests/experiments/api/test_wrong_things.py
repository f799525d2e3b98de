"""Whatever is wrong at a Python door is named, with the way out."""

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draftproof
from draftproof import REGISTRY, Delayed, InvalidInput, InvalidVerifier

P = ["1/2", "1/2"]


class Divides:
    card = draftproof.Card(name="divides", title="Divides by nothing", source=None)

    def verify(self, root: Any, coin: Any) -> Any:
        return self.helper(0)

    def helper(self, nothing: int) -> Any:
        return draftproof.Verdict((), 1 // nothing)


class Deeper:
    depth = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        return [(0, 1)]


class Mine(Delayed):
    def draw(self, draft: Any, coin: Any) -> Any:
        return {(): (0,)}


def a_function(root: Any, coin: Any) -> Any:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("verifier", "scheme", "message"),
    [
        (REGISTRY["mixed_order"], "delayed", "MixedOrder is a class, not a verifier: call it, MixedOrder()"),
        (REGISTRY["optimum"], "delayed", "call it, Optimum(plan=.., draft_tables=..)"),
        (Divides, "delayed", "Divides is a class, not a verifier: call it, Divides()"),
        ("travesal", "delayed", "unknown verifier 'travesal'; did you mean 'traversal'"),
        (a_function, "delayed", "a_function is a function; a verifier is an object with `card` and `verify"),
        (7, "delayed", "int is no verifier: it needs a `card` and `verify(root, coin)`; missing: card and verify"),
        ("nowhere.py:Mine", "delayed", "no file nowhere.py"),
        ("block", "delaied", "unknown scheme 'delaied'; did you mean 'delayed'?"),
        ("block", "delayed:K=2,M=3", "M has no meaning for the scheme delayed; it takes K, L1, L2"),
        ("block", "dyspec:K=2", "K has no meaning for the scheme dyspec; it takes depth, nodes: dyspec:nodes=4"),
        ("block", "delayed:K=two", "K=two in 'delayed:K=two': give a whole number"),
        ("block", Delayed, "Delayed is a class, not a scheme: call it, Delayed()"),
        ("block", Deeper(), "scheme Deeper drafted after (0,), beyond its depth 1"),
        ("block", 3, "int is no draft scheme: it needs `depth` and `draw(draft, coin)`"),
        ("block", [], "there is no scheme"),
    ],
)
def test_wrong_verifiers_and_schemes(verifier: Any, scheme: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        draftproof.check(verifier, (P, P), scheme)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("p.json", "target is 'p.json'; give a process, such as from_softmax(rows)"),
        (np.ones((3, 2)) / 2, "target is ndarray of shape (3, 2): give one row, a list of tables"),
        (np.array([0.5001, 0.5], dtype=np.float32), "from_softmax(rows) divides rows of low precision by their sums"),
        (np.array([0.5, 0.5]), "make them exact with from_softmax(rows)"),
        (["1/3", "1/3", "1/3"], "target has 3 tokens, draft has 2"),
        ([0.3, 0.3], "sums to 0.6, not 1; take the softmax, or divide each row by its sum; from_softmax(rows)"),
        (["1/2", 0.5], "target: 0.5 is not an exact number; write a fraction such as '1/3'"),
        (lambda context: 3, "target: int is no row; a row holds V probabilities"),
        (lambda context: P if not context else 3, "target row (0,): int is no row"),
        (lambda context: P[len(context) :], "target row (0,) has shape (1,); it must be (2,)"),
        (lambda context: 1 / 0, "target row after the empty context: the function raised ZeroDivisionError: division"),
        (lambda context: P if not context else {}["row"], "target row (0,): the function raised KeyError: 'row' (test"),
    ],
)
def test_wrong_processes(target: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        draftproof.check("block", (target, P), Delayed(1, 0, 1))


@pytest.mark.parametrize("look", [REGISTRY.__getitem__, draftproof.make], ids=["REGISTRY", "make"])
def test_a_name_with_a_typo_is_told_with_the_nearest_one(look: Callable[[str], Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        look("travesal")
    assert str(caught.value) == "unknown verifier 'travesal'; did you mean 'traversal'?"
    assert isinstance(caught.value, KeyError)
    assert "travesal" not in REGISTRY
    assert REGISTRY.get("travesal") is None


def test_objects_only_doors_say_where_names_are_taken() -> None:
    from draftproof import simulator

    process = draftproof.MarkovProcess([P], ())
    with pytest.raises(InvalidInput, match=r"'block' is a name; `draftproof.check` takes names"):
        simulator.check("block", process, process, Delayed())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"'delayed' is a name"):
        simulator.check(REGISTRY["block"], process, process, "delayed")  # type: ignore[arg-type]


def test_a_subclass_of_delayed_is_not_taken_for_it() -> None:
    from draftproof import simulator

    process = draftproof.MarkovProcess([P], ())
    with pytest.raises(
        InvalidInput, match=r"Mine inherits from Delayed and would be taken for it; give UserScheme\(Mine"
    ):
        simulator.check(REGISTRY["block"], process, process, Mine(1, 0, 1))
    law = draftproof.block_law("nss", P, P, Mine(1, 0, 1))  # its own trees: token 0 is always drafted
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    assert law.as_dict() == {((0,), 0): quarter, ((0,), 1): quarter, ((), 1): half}


def test_an_error_inside_a_verifier_shows_its_own_lines() -> None:
    with pytest.raises(InvalidVerifier) as caught:
        draftproof.check(Divides(), (P, P), "delayed:K=1,L1=0,L2=1")
    text = str(caught.value)
    assert text.startswith(
        "divides on delayed(K=1, L1=0, L2=1): verify raised ZeroDivisionError: integer division or modulo by zero ("
    )
    assert re.search(r"test_wrong_things.py line \d+, in verify: `return self.helper\(0\)`", text)
    assert re.search(
        r"test_wrong_things.py line \d+, in helper: `return draftproof.Verdict\(\(\), 1 // nothing\)`", text
    )


def test_an_error_inside_a_scheme_shows_its_own_lines() -> None:
    class Broken:
        depth = 1

        def draw(self, draft: Any, coin: Any) -> Any:
            return {}["tree"]

    with pytest.raises(
        InvalidInput, match=r"scheme Broken: draw raised KeyError: 'tree' .*in draw: `return \{\}\[.tree.\]`"
    ):
        draftproof.check("nss", (P, P), Broken())


@pytest.mark.parametrize("drawn", [7, "ab", [1, 2], {(): (5,)}, {(0,): (1,)}, [("a",)]], ids=str)
def test_a_scheme_that_returns_no_tree_is_refused(drawn: Any) -> None:
    class Odd:
        depth = 3

        def draw(self, draft: Any, coin: Any) -> Any:
            return drawn

    with pytest.raises(InvalidInput, match="scheme Odd"):
        draftproof.check("nss", (P, P), Odd())


SOURCE = """
class Twice:
    def __init__(self, k=2):
        self.k = k
    depth = 1
    def draw(self, draft, coin):
        return [(coin.choose(draft.row(())),) for _ in range(self.k)]
"""


def test_a_witness_on_a_scheme_from_a_file_says_how_to_see_it_again(
    draftproof: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    ran = draftproof("check", "ensemble:w=1/2", "--scheme", "mine.py:Twice", "--witness", "w.json")
    assert ran.code == 1
    assert "--world w.json --scheme mine.py:Twice" in ran.out
    assert draftproof("check", "ensemble:w=1/2", "--world", "w.json", "--scheme", "mine.py:Twice").code == 1
    alone = draftproof("check", "ensemble:w=1/2", "--world", "w.json")
    assert alone.code == 2
    assert "is meant for the scheme mine.py:Twice; give it as the scheme" in alone.err


class Plain:
    card = draftproof.Card(name="plain", title="Draws from the target at the root", source=None)

    def verify(self, root: Any, coin: Any) -> Any:
        return draftproof.Verdict((), coin.choose(root.target))


@pytest.mark.parametrize("more", [{"resume": "rows.db"}, {"jobs": 2}, {"dask": "tcp://127.0.0.1:9"}], ids=str)
def test_objects_are_in_no_store_and_in_no_other_process(tmp_path: Path, more: dict[str, Any]) -> None:
    shape = "delayed:K=1,L1=0,L2=1"
    for verifiers, world, scheme in (
        (Plain(), "family:dirichlet", shape),
        ("naive", (P, P), shape),
        ("naive", "family:dirichlet", draftproof.Delayed(1, 0, 1)),
    ):
        with pytest.raises(draftproof.InvalidInput, match=rf"{next(iter(more))} is for \w+ as text"):
            draftproof.compare(verifiers, world, scheme, **more)


def test_two_objects_of_one_name_are_not_taken_for_one() -> None:
    with pytest.raises(draftproof.InvalidInput, match="are both called 'plain'; rename one card"):
        draftproof.compare([Plain(), Plain()], (P, P))


@pytest.mark.parametrize(
    ("door", "pair"), [(draftproof.check, [(P, P)]), (draftproof.compare, [(P, P)])], ids=["check", "compare"]
)
def test_the_same_is_told_in_python(door: Callable[..., Any], pair: list[Any]) -> None:
    with pytest.raises(draftproof.TooLarge) as caught:
        door(Plain(), *pair, "delayed:K=4,L1=0,L2=6")
    message = str(caught.value)
    assert "needs about 3.4e+07 runs, more than 20,000,000; the nearest shape that fits is delayed(K=" in message
    assert (
        "or allow more runs; plain has no `structure`: with one, such as TopDown(branch=..), about 128 contexts"
        in message
    )
    with pytest.raises(draftproof.TooLarge, match=r"more than 5; allow more runs$"):  # too few runs for such a word
        door(Plain(), *pair, "delayed:K=2,L1=0,L2=1", max_runs=5)
    with pytest.raises(draftproof.TooLarge) as caught:
        door("typical", *pair, "delayed:K=4,L1=0,L2=6")
    assert "structure" not in str(caught.value)  # that is not for its user to write
    assert draftproof.check(Plain(), (P, P), "delayed:K=2,L1=0,L2=1", max_runs=8).row["lossless"]


def test_what_a_structure_raises_is_told_with_the_lines_of_its_author() -> None:
    from draftproof.simulator.structures import TopDown
    from draftproof.verifiers import make

    def child_law(p: Any, q: Any, k: int) -> Any:
        return {}["nothing"]

    class Broken:
        card = make("naive_tree").card
        structure = TopDown(child_law=child_law)

        def verify(self, root: Any, coin: Any) -> Any:
            return make("naive_tree").verify(root, coin)

    with pytest.raises(draftproof.InvalidVerifier) as caught:
        draftproof.check(Broken(), (P, P), "delayed:K=2,L1=0,L2=1", engine="structured")
    message = str(caught.value)
    assert "child_law of its structure raised KeyError" in message
    assert 'in child_law: `return {}["nothing"]`' in message
    assert "\n" not in message
