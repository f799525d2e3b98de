"""Numbers that others are handed compare with every exact number, and whatever cannot be compared is refused."""

import copy
import math
import operator
import pickle
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import draftproof
from draftproof.simulator.drafts import Delayed, UserScheme
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Card, Verdict
from draftproof.simulator.residual import positive_part, residual
from draftproof.simulator.structures import LeafToRoot, OnePath, TopDown, declared
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.theorems.algebra.polynomials import POSITIVE, Ring
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.proof.numbers import Run
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.simulator.theorems.proof.watch import NotFollowed
from draftproof.simulator.user_code import Exact, to_user
from draftproof.simulator.vectors import one_hot
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import REGISTRY, naive
from draftproof.verifiers.naive import Naive

EIGHTHS = [fmpq(3, 8), fmpq(5, 8)]
#: The number 3/8 as others write it.
SAME = [0.375, Fraction(3, 8), Decimal("0.375"), np.float64(0.375), np.float32(0.375), np.longdouble(0.375), fmpq(3, 8)]
LESS = [0, 0.37499999999999994, Fraction(1, 3), Decimal("0.3749"), np.float32(0.37), -math.inf, False, np.int64(0)]
MORE = [1, 0.37500000000000006, Fraction(2, 5), Decimal("0.3751"), np.float16(0.38), math.inf, True, np.int64(1)]
NO_NUMBER = [None, "0.375", (), [0.375], math.nan, Decimal("nan")]


def matched(x):
    match x:
        case 0.375:
            return True
    return False


#: What others may ask of `x`, which is 3/8, and of `p`, which is (3/8, 5/8); and the answer.
ASKED = {
    "in": (lambda x, p: x in (0.1, 0.375), True),
    "match": (lambda x, p: matched(x), True),
    "any": (lambda x, p: bool((p == 0.375).any()), True),
    "all": (lambda x, p: bool((p == np.array([0.375, 0.625])).all()), True),
    "reflected array": (lambda x, p: (np.array([0.375, 0.5]) == p).tolist(), [True, False]),
    "array_equal": (lambda x, p: np.array_equal(p, [0.375, 0.625]), True),
    "where": (lambda x, p: np.where(p == 0.375, 1, 0).tolist(), [1, 0]),
    "sum": (lambda x, p: p.sum() == 1.0, True),
    "product": (lambda x, p: x * x == 0.140625, True),
    "quotient": (lambda x, p: x / p[1] == Fraction(3, 5), True),
    "power": (lambda x, p: x**2 == 0.140625, True),
    "minus": (lambda x, p: 1 - x == 0.625, True),
    "max": (lambda x, p: max(x, 0.25) == 0.375, True),
    "maximum": (lambda x, p: np.maximum(p, 0.5).tolist()[0] == 0.5, True),
    "positive part": (lambda x, p: positive_part(p - p)[0] == 0.0, True),
    "residual": (lambda x, p: residual(p, p[::-1])[0] == 0.0, True),
    "one hot": (lambda x, p: one_hot(p, 1)[0] == 0.0, True),
    "zero": (lambda x, p: bool(x - x), False),
    "argmax": (lambda x, p: int(p.argmax()), 1),
    "fraction minus": (lambda x, p: Fraction(1, 2) - x == Fraction(1, 8), True),
    "row of fractions": (lambda x, p: (p / Fraction(1, 8)).tolist() == [3, 5], True),
}
#: What only numbers with a value can answer.
OF_VALUES = {
    "key": (lambda x, p: {0.375: "a"}[x], "a"),
    "key of a fraction": (lambda x, p: {x: "a"}[Fraction(3, 8)], "a"),
    "round": (lambda x, p: round(x, 1) == Fraction(2, 5), True),
    "floor": (lambda x, p: math.floor(x) == 0.0 and math.ceil(x) == 1.0, True),
    "int": (lambda x, p: int(x) == 0.0, True),
    "numerator": (lambda x, p: (x.numerator == 3.0, x.denominator == 8.0, x.p == 3.0), (True, True, True)),
    "copy": (lambda x, p: copy.deepcopy(p)[0] == copy.copy(x) == 0.375, True),
    "pickle": (lambda x, p: pickle.loads(pickle.dumps(x)) == 0.375, True),
    "float": (lambda x, p: float(x) > 0.37, True),
    "format": (lambda x, p: (f"{x:.2f}", f"{x}"), ("0.38", "3/8")),
    "isclose": (lambda x, p: math.isclose(x, 0.375), True),
    "as floats": (lambda x, p: p.astype(float).tolist(), [0.375, 0.625]),
}
REFUSED = {
    "as a fraction": lambda x, p: Fraction(x),
    "plus a float": lambda x, p: x + 0.5,
    "float minus": lambda x, p: 0.5 - x,
    "row minus a float": lambda x, p: p - 0.5,
    "numpy float": lambda x, p: np.float64(0.5) * x,
    "isclose": lambda x, p: np.isclose(p, 0.375),
    "allclose": lambda x, p: np.allclose(p, 0.375),
    "floor division": lambda x, p: x // p[1],
    "root": lambda x, p: x**0.5,
    "logarithm": lambda x, p: np.log(p),
    "complex": lambda x, p: x == 0.375 + 0j,
    "reflected complex": lambda x, p: np.complex128(0.375) == x,
    "text": lambda x, p: x < "0.375",
}


class Tensor:
    """A number of another library, which does not know ours."""

    def __float__(self):
        return 0.375


def exact():
    return Exact(fmpq(3, 8)), to_user(np.array(EIGHTHS, dtype=object))


def followed():
    """The same as numbers of a theorem."""
    ring = Ring(["x"])
    run = Run(Region(ring, {ring.atom(ring.variables[0]): POSITIVE}), (fmpq(3, 8),))
    x = run.variable(0)
    return x, np.array([x, 1 - x], dtype=object)


MADE = pytest.mark.parametrize("made", [exact, followed])


@MADE
@pytest.mark.parametrize("other", SAME, ids=repr)
def test_equal_numbers_are_equal_from_both_sides(made, other):
    x, _ = made()
    assert [
        bool(f(x, other)) for f in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
    ] == [*(True, False, False, True, False, True)]
    assert bool(other == x)
    assert not bool(other != x)
    assert bool(other <= x)
    assert not bool(other < x)


@MADE
@pytest.mark.parametrize(("other", "more"), [*((y, False) for y in LESS), *((y, True) for y in MORE)], ids=repr)
def test_other_numbers_are_ordered_by_their_exact_values(made, other, more):
    x, _ = made()
    assert (bool(x < other), bool(x > other), bool(other > x), bool(other < x)) == (more, not more, more, not more)
    assert bool(x == other) is False
    assert other != x


@MADE
@pytest.mark.parametrize("other", NO_NUMBER, ids=repr)
def test_what_is_no_number_is_never_equal(made, other):
    x, _ = made()
    assert not bool(x == other)
    assert bool(x != other)


@MADE
@pytest.mark.parametrize("name", ASKED)
def test_what_others_ask_is_answered_exactly(made, name):
    asked, answer = ASKED[name]
    assert asked(*made()) == answer


@pytest.mark.parametrize("name", OF_VALUES)
def test_values_are_keys_and_are_rounded_like_fractions_and_theorems_refuse_that(name):
    asked, answer = OF_VALUES[name]
    assert asked(*exact()) == answer
    if name != "copy":
        with pytest.raises(NotFollowed, match=r"test_user_code\.py line \d+"):
            asked(*followed())


@MADE
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exact_is_refused(made, name):
    with pytest.raises((TypeError, NotFollowed)):
        REFUSED[name](*made())


@MADE
@pytest.mark.parametrize(
    "ask", [lambda x, y: x == y, lambda x, y: y == x, lambda x, y: x in (1, y), lambda x, y: x < y]
)
def test_a_number_without_known_value_is_refused(made, ask):
    x, _ = made()
    with pytest.raises((TypeError, NotFollowed), match="Tensor"):
        ask(x, Tensor())


# Verifiers, schemes, structures and policies of others: each is lossy where it finds a probability of 3/8.

ASKING = {
    "float": lambda p: p[0] == 0.375,
    "fraction": lambda p: p[0] == Fraction(3, 8),
    "decimal": lambda p: Decimal("0.375") == p[0],
    "in": lambda p: p[0] in (0.25, 0.375),
    "array": lambda p: (p == 0.375).any(),
    "match": lambda p: matched(p[0]),
    "sum": lambda p: p[0] * 2 == 0.75,
}
KEYS = {
    "key": lambda p: {0.375: True}.get(p[0], False),
    "float": lambda p: float(p[0]) == 0.375,
}
P, Q = ["3/8", "5/8"], ["1/2", "1/2"]
DELAYED = Delayed(K=1, L1=0, L2=1)


class Asking(Naive):
    """Naive, but for rows of which `ask` says yes: there it emits what was drafted."""

    def __init__(self, ask):
        self.ask = ask

    @property
    def structure(self):
        return None

    def verify(self, root, coin):
        if root.children and self.ask(root.target):
            return Verdict((), root.children[0])
        return super().verify(root, coin)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("ask", [*ASKING.values(), *KEYS.values()], ids=[*ASKING, *(f"by {key}" for key in KEYS)])
def test_a_check_finds_what_is_wrong_at_one_number(ask):
    found = draftproof.check(Asking(ask), (P, Q), DELAYED)
    assert found.row["engine"] == "enumerate"
    assert found.verdict == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ASKING)
def test_no_theorem_passes_over_one_number(name):
    pytest.importorskip("z3")
    proof = prove(Subject.of(Asking(ASKING[name])), Shape(2, DELAYED))
    assert proof.refutation is not None
    assert any(ASKING[name](to_user(row)) for row in proof.refutation.instance.target.tables[0])


@dataclass(frozen=True)
class OneToken:
    """Drafts one token; where its probability would be 3/8 always the first one."""

    depth: int = 1

    def draw(self, draft, coin):
        q = draft.row(())
        return [(0,)] if q[0] == 0.375 else [(coin.choose(q),)]


def test_a_scheme_finds_the_number_too():
    assert draftproof.check("naive", (Q, P), OneToken()).verdict == 1
    assert draftproof.check("naive", (Q, ["1/4", "3/4"]), OneToken()).row["lossless"]


def _branch(p, q, drafted):
    return one_hot(p, drafted[0]) if p[0] == 0.375 else declared(REGISTRY["specinfer"]).branch(p, q, drafted)


def _child_law(p, q, k):
    if (p == 0.375).any():
        return np.stack([q * 0, q])
    return declared(REGISTRY["naive"]).child_law(p, q, k)


def _weights(weight, p, q):
    return p * 0 + 1 if (p[..., 0] == 0.375).any() else declared(REGISTRY["block"]).child_weights(weight, p, q)


STRUCTURES = {
    "branch": TopDown(branch=_branch),
    "child law": TopDown(child_law=_child_law),
    "path": OnePath(_weights, declared(REGISTRY["block"]).at_rejection),
    "leaf to root": LeafToRoot(_weights, declared(REGISTRY["traversal"]).reject),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_finds_the_number_too(name):
    class Offering:
        card = Card(name="offering", title="lossy at 3/8", source=None, single_path=True)
        structure = STRUCTURES[name]

        def verify(self, root, coin):
            raise NotImplementedError

    target = TableProcess([np.array([P]), np.array([Q] * 2)], "target")
    draft = TableProcess([np.array([Q])], "draft")
    found = check(Offering(), target, draft, DELAYED, engine="structured")
    assert found.violation.expected - found.violation.found in (Fraction(1, 8), Fraction(-1, 8))
    assert type(next(iter(found.metrics.depth_distribution))) is Fraction


class AcceptsAtFirst(Naive):
    """Naive, but for the first run on a node or a row that `is_new` has not met."""

    structure = None

    def __init__(self, is_new):
        self.is_new = is_new

    def verify(self, root, coin):
        honest = super().verify(root, coin)
        return Verdict(root.child(root.children[0]).context, 0) if self.is_new(root) else honest


def meeting():
    """Whether an object is met for the first time."""
    met = []  # kept, so that no other object gets its place in memory

    def is_new(thing):
        known = any(thing is each for each in met)
        met.append(thing)
        return not known

    return is_new


def was_locked(row):
    """Whether nobody has unlocked the row before."""
    locked = not row.flags.writeable
    row.setflags(write=True)
    return locked


#: What is looked at of a root, and whether it is new.
NEW = {
    "node": (lambda root: root, meeting),
    "row": (lambda root: root.target, meeting),
    "draft": (lambda root: root.draft, meeting),
    "flag": (lambda root: root.target, lambda: was_locked),
}


def accepting(name):
    """A verifier that accepts where this is new."""
    part, made = NEW[name]
    is_new = made()
    return AcceptsAtFirst(lambda root: is_new(part(root)))


def test_code_that_catches_the_refusal_of_a_comparison_gets_no_verdict():
    def caught(row):
        try:
            return row[0] == Tensor()
        except TypeError:
            return False

    with pytest.raises(InvalidVerifier, match=r"compared with a Tensor.*test_user_code.py line"):
        draftproof.check(Asking(caught), (P, Q), DELAYED)


@pytest.mark.parametrize("name", ["plus a float", "numpy float", "isclose", "floor division", "root"])
def test_code_that_catches_what_exact_numbers_do_not_do_gets_no_verdict(name):
    def caught(row):
        with suppress(TypeError):
            REFUSED[name](row[0], row)
            return True
        return False

    with pytest.raises(InvalidVerifier, match=r"test_user_code.py line"):
        draftproof.check(Asking(caught), (P, Q), DELAYED)
    with pytest.raises((NotFollowed, InvalidVerifier), match=r"test_user_code.py line"):
        prove(Subject.of(Asking(caught)), Shape(2, DELAYED))


@pytest.mark.parametrize(
    "asked",
    [
        lambda row: isinstance(row[0], float),
        lambda row: hasattr(row[0], "is_integer"),
        lambda row: row.dtype == np.float64,
        lambda row: np.isscalar(row[0]) and row.dtype.kind == "f",
    ],
)
def test_code_that_does_something_else_with_floats_gets_no_verdict(asked):
    pytest.importorskip("z3")
    with pytest.raises(InvalidVerifier, match="float64 its balance is off"):
        draftproof.check(Asking(asked), (P, Q), DELAYED)
    with pytest.raises((NotFollowed, InvalidVerifier)):
        prove(Subject.of(Asking(asked)), Shape(2, DELAYED))


def test_a_scheme_that_does_something_else_with_floats_gets_no_verdict():
    class Caught:
        depth = 1

        def draw(self, draft, coin):
            row = draft.row(())
            return [(0,)] if row.dtype == np.float64 else [(coin.choose(row),)]

    with pytest.raises(InvalidVerifier, match="float64 its balance is off"):
        draftproof.check("naive", (P, Q), UserScheme(Caught()))


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("arithmetic", ["rational", "float64"])
def test_nothing_is_kept_at_a_node_from_one_run_to_the_next(name, arithmetic):
    rows = (P, Q) if arithmetic == "rational" else ([0.375, 0.625], [0.5, 0.5])
    with pytest.raises(InvalidVerifier, match="met changes with every call") if name != "flag" else nullcontext():
        found = draftproof.check(accepting(name), rows, DELAYED, arithmetic=arithmetic)
        assert found.row["block_efficiency"] == 2
        assert found.verdict == 1


@pytest.mark.parametrize(
    ("where", "name", "put"),
    [
        (Naive, "verify", lambda self, root, coin: Verdict((), coin.choose(root.draft))),
        (Naive, "structure", property(lambda self: declared(REGISTRY["nss"]))),
        (naive, "acceptance", lambda p, q, token: 1),
    ],
)
def test_what_somebody_put_into_a_class_of_the_library_or_its_module_is_enumerated(monkeypatch, where, name, put):
    assert is_library(Naive())
    monkeypatch.setattr(where, name, put, raising=False)
    found = draftproof.check("naive", (P, Q), DELAYED)
    assert found.row["engine"] == "enumerate"
    assert found.row["lossless"] == (name == "structure")


@dataclass(frozen=True)
class Half:
    """The first or the second half of the mass, where the first of two tokens has half of it or more."""

    first: bool

    def law(self, row):
        assert row[0] > 0.5
        return np.array([fmpq(1), fmpq(0)] if self.first else [2 * row[0] - 1, 2 * row[1]], dtype=object)


class Halves:
    """One branch from each half; the second tokens are drawn from the whole draft."""

    depth = 2

    def draw(self, draft, coin):
        pieces = Half(True), Half(False)
        first = [coin.choose(piece.law(draft.row(()))) for piece in pieces]
        return DraftTree.from_paths((), [(token, coin.choose(draft.row((token,)))) for token in first], {(): pieces})


@dataclass
class InTurn:
    """Recursive rejection with the law of each draft, or wrongly with the draft row."""

    own: bool
    card = Card(name="in_turn", title="Recursive rejection", source=None, needs=None)

    def verify(self, root, coin):
        node = root
        while node.children:
            p = node.target
            for token, law in zip(node.children, node.laws if self.own else [node.draft] * 2, strict=False):
                if law[token] == 0 or coin.flip(min(1, p[token] / law[token])):
                    break
                p = residual(p, law)
            else:
                return Verdict(node.context, coin.choose(p))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))


def test_user_code_draws_from_its_own_pieces_and_reads_the_laws() -> None:
    p, q = ["1/3", "2/3"], ["5/8", "3/8"]
    assert draftproof.check(InTurn(own=True), (p, q), Halves()).row["lossless"]
    assert not draftproof.check(InTurn(own=False), (p, q), Halves()).row["lossless"]
    assert draftproof.check(InTurn(own=False), (p, q), Delayed()).row["lossless"]
    with pytest.raises(draftproof.InvalidInput, match=r"gives 1 pieces for the drafts after \(\)"):
        draftproof.check("naive", (p, q), Short())


class Short(Halves):
    def draw(self, draft, coin):
        tree = super().draw(draft, coin)
        return DraftTree(tree.children, {(): tree.pieces[()][:1]})
