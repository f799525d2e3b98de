"""Verifiers that a proof for every vocabulary size must not believe.

Each is right but for one token number, one vocabulary size, one tie or one repetition, or tells a proof from a run.
"""

import copy
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.protocol import Card, Verdict
from draftproof.simulator.theorems.algebra.polynomials import rational
from draftproof.simulator.theorems.any_vocabulary.theorem import Theorem
from draftproof.simulator.theorems.proof.judging import LOSSLESS
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.watch import HasState

#: A token that small vocabularies lack.
SEVEN = 7


def right(root, coin):
    x, p, q = root.children[0], root.target, root.draft
    if coin.flip(p[x] / q[x] if p[x] < q[x] else 1):
        return Verdict((x,), coin.choose(root.child(x).target))
    return Verdict((), coin.choose(np.maximum(p - q, 0)))


def lossy(root, coin):
    x = root.children[0]
    return Verdict((x,), coin.choose(root.child(x).target))


def tie(root):
    x = root.children[0]
    return 17 * root.target[x] == 13 * root.draft[x]


def half(root):
    one = root.target.sum()
    return one / (one + one)


def by_attribute(root):
    x = root.children[0]
    return hasattr(x, "bit_length") and x == SEVEN


def by_error(root):
    try:
        number = ~root.children[0]
    except TypeError:
        return False
    return number == ~SEVEN


def by_array(root):
    array = np.array(root.children)
    return array.dtype != object and int(array[0]) == SEVEN


def by_error_of_row(root):
    try:
        root.target**2
    except TypeError:
        return False
    return root.children[0] == SEVEN


def by_hidden_node(root):
    return not hasattr(root._node, "_drafted") and root.children[0] == SEVEN


def by_attribute_of_node(root):
    try:
        root.mark = 1
    except AttributeError:
        return root.children[0] == SEVEN
    return False


def by_writing(root):
    x = root.children[0]
    try:
        root.target[x] = root.target[x]
    except ValueError:
        return x == SEVEN
    return False


def by_tie(root):
    x, p, q = root.children[0], root.target, root.draft
    return False if p[x] == q[x] else tie(root)


def by_shallow_copy(root):
    if not tie(root):
        return False
    p, x = root.target, root.children[0]
    before, row = p[x], copy.copy(p)
    row[x] = before * 0
    answer = p[x] > 0
    row[x] = before
    return answer


#: Where the verifier accepts every draft, else it is right; all can be seen at V = 8 or at a tie.
CONDITIONS = {
    "by_text": lambda root: str(root.children[0]) == str(SEVEN),
    "by_format": lambda root: f"{root.children[0]}" == f"{SEVEN}",
    "by_set": lambda root: root.children[0] in {SEVEN},
    "by_dictionary": lambda root: {(SEVEN,): True}.get(root.child(root.children[0]).context, False),
    "by_counter": lambda root: Counter(root.children)[SEVEN] > 0,
    "by_type_of_row": lambda root: isinstance(root.target, np.ndarray) and root.children[0] == SEVEN,
    "by_attribute_of_row": lambda root: not hasattr(root.target, "clamp") and root.children[0] == SEVEN,
    "by_text_of_row": lambda root: "ClassRow" not in str(root.target) and root.children[0] == SEVEN,
    "by_name_of_node": lambda root: root.__class__.__name__ != "ClassNode" and root.children[0] == SEVEN,
    "by_text_of_node": lambda root: "ClassNode" not in str(root) and root.children[0] == SEVEN,
    "by_sum": lambda root: root.target.sum(initial=1) == 2 and root.children[0] == SEVEN,
    "by_slice": lambda root: root.target[:] is not root.target,
    "by_attribute": by_attribute, "by_error": by_error, "by_array": by_array, "by_error_of_row": by_error_of_row,
    "by_attribute_of_node": by_attribute_of_node, "by_writing": by_writing, "by_tie": by_tie,
    "by_shallow_copy": by_shallow_copy,
}  # fmt: skip


def five_draws(root, coin):
    drawn = [coin.choose(root.target) for _ in range(5)]
    different = all(drawn[i] != drawn[j] for i in range(5) for j in range(i))
    return (lossy if different else right)(root, coin)


def negative_weight(root, coin):
    x = root.children[0]
    if coin.flip(half(root)):
        return lossy(root, coin)
    row = root.target * 1
    row[x] = row[x] - half(root)
    return Verdict((), coin.choose(row))


def no_node(root, coin):
    verdict = right(root, coin)
    if verdict.accepted:
        return Verdict((*verdict.accepted, verdict.correction), verdict.correction)
    return verdict


def view_of_a_row(root, coin):
    rest = root.target * 1
    x = root.children[0]
    entry = rest[..., x]
    rest[x] = entry * 0
    return (lossy if entry[()] == 0 else right)(root, coin)


def compared_and_not_used(root, coin):
    a, b = root.children
    p, q = root.target, root.draft
    return p[b] * q[a] > p[a] * q[b]


def in_place(root, coin):
    p = root.target
    p -= root.draft
    return right(root, coin)


def kept_by_the_node(root, coin):
    x, p = root.children[0], root.target
    q = root.draft / root.draft.sum()
    if coin.flip(p[x] / q[x] if p[x] < q[x] else 1):
        token = coin.choose(root.child(x).target)
        root.draft = root.draft * 2
        return Verdict((x,), token)
    if root.draft.sum() == 1:
        return Verdict((), coin.choose(p))
    return Verdict((), coin.choose(np.maximum(p - q, 0)))


def a_list(root, coin):
    verdict = right(root, coin)
    return Verdict(verdict.accepted, [verdict.correction])


def never_equal(root, coin):
    x = root.children[0]
    return (right if root.target[x] == root.draft[x] else lossy)(root, coin)


WHOLE = (view_of_a_row, five_draws, negative_weight, no_node, in_place, kept_by_the_node, a_list, never_equal)


def below(node, coin):
    """Token by token from a node on."""
    while node.children:
        x, p, q = node.children[0], node.target, node.draft
        if not coin.flip(p[x] / q[x] if p[x] < q[x] else 1):
            return Verdict(node.context, coin.choose(np.maximum(p - q, 0)))
        node = node.child(x)
    return Verdict(node.context, coin.choose(node.target))


def caught_look(root, coin):
    """What is drafted after the first token is drawn when the code looks there; this code tells it by the error."""
    try:
        root.child(root.children[0])
    except Exception:
        return Verdict((), coin.choose(root.target))
    return lossy(root, coin)


def caught_look_beside_another(root, coin):
    if coin.flip(half(root)):
        return below(root.child(root.children[0]), coin) if coin.flip(0) else below(root, coin)
    return caught_look(root, coin)


def suppressed_look(root, coin):
    with suppress(Exception):
        root.child(root.children[0])
        return lossy(root, coin)
    return Verdict((), coin.choose(root.target))


def flip_after_a_look(root, coin):
    """A failed look would flip a coin too often."""
    try:
        root.child(root.children[0])
    finally:
        heads = coin.flip(half(root))
    return (below if heads else lossy)(root, coin)


def flip_where_a_look_is_caught(root, coin):
    heads = True
    try:
        root.child(root.children[0])
        heads = coin.flip(half(root))
    except Exception:
        coin.flip(half(root))
        root.child(root.children[0])
    return (below if heads else lossy)(root, coin)


def flip_before_another_error(root, coin):
    try:
        root.child(root.children[0])
    except Exception as error:
        coin.flip(half(root))
        raise ValueError from error
    return (below if coin.flip(half(root)) else lossy)(root, coin)


LOOKS = (
    caught_look,
    caught_look_beside_another,
    suppressed_look,
    flip_after_a_look,
    flip_where_a_look_is_caught,
    flip_before_another_error,
)


def look_in_a_block(root, coin):
    """Nothing depends on the error."""
    try:
        root.child(root.children[0])
    finally:
        root.child(root.children[0])
    return below(root, coin)


def two_looks_for_one(root, coin):
    """Given either answer of the first coin, what follows a second token is not linear in its probabilities."""
    x, p, q = root.children[0], root.target, root.draft
    if not coin.flip(p[x] / q[x] if p[x] < q[x] else 1):
        return Verdict((), coin.choose(np.maximum(p - q, 0)))
    heads, node = coin.flip(half(root)), root.child(x)
    y = node.children[0]
    share = node.target[y] / (node.target[y] + node.draft[y])
    if coin.flip(share if heads else 1 - share):
        return below(node, coin)
    return Verdict(node.context, coin.choose(node.target))


def look_after_a_choice(root, coin):
    """The next token is drawn first; if it is drafted, the walk goes on there."""
    node = root
    while True:
        y = coin.choose(node.target)
        if y not in node.children:
            return Verdict(node.context, y)
        node = node.child(y)


def ends_with_the_run(root, coin):
    """What flips a coin at its end ends with its own run, not within the next one."""

    def waiting():
        try:
            yield
        finally:
            coin.flip(half(root))

    held = waiting()
    next(held)
    return below(root, coin)


class Counts:
    """Holds how deep it is while it looks."""

    card = Card(name="counts", title="Counts", source=None, needs=None)

    def __init__(self):
        self.depth = 0

    def verify(self, root, coin):
        self.depth += 1
        try:
            root.child(root.children[0])
        finally:
            self.depth -= 1
        return below(root, coin)


class Remembers:
    """Is right once a run has ended at a look or at a comparison, which no run of a real tree does."""

    card = Card(name="remembers", title="Remembers", source=None, needs=None)
    seen = False

    def verify(self, root, coin):
        if self.seen:
            return below(root, coin)
        self.look(root, root.children[0])
        return lossy(root, coin)

    def look(self, root, x):
        try:
            root.child(x)
        except Exception:
            self.seen = True
            raise


class RemembersAtLast(Remembers):
    def look(self, root, x):
        ended = False
        try:
            root.child(x)
            ended = True
        finally:
            self.seen = not ended


class RemembersComparisons(Remembers):
    def look(self, root, x):
        try:
            return root.target[x] < root.draft[x]
        except Exception:
            self.seen = True
            raise


class RemembersItsRefusal(Remembers):
    """It would be refused for the number of a token."""

    def verify(self, root, coin):
        if not self.seen:
            self.look(root, root.children[0])
            if root.children[0] == SEVEN:
                return lossy(root, coin)
        return below(root, coin)


class Told:
    """A verifier that is one of these functions."""

    card = Card(name="told", title="Told", source=None, needs=None)

    def __init__(self, function):
        self.function = function

    def verify(self, root, coin):
        if self.function in CONDITIONS.values():
            return (lossy if self.function(root) else right)(root, coin)
        return self.function(root, coin)


class IfHidden(Told):
    def verify(self, root, coin):
        return (lossy if by_hidden_node(root) else right)(root, coin)


class ByAnother(Told):
    """Naive on two tokens, except that a token after itself is always accepted."""

    def verify(self, root, coin):
        x, p, q = root.children[0], root.target, root.draft
        node = root.child(x)
        y = node.children[0]
        if x != y and not coin.flip(p[x] / q[x] if p[x] < q[x] else 1):
            return Verdict((), coin.choose(np.maximum(p - q, 0)))
        p, q = node.target, node.draft
        if x != y and not coin.flip(p[y] / q[y] if p[y] < q[y] else 1):
            return Verdict((x,), coin.choose(np.maximum(p - q, 0)))
        return Verdict((x, y), coin.choose(node.child(y).target))


class BySameObject(ByAnother):
    """The same with `is`, which small whole numbers pass."""

    def verify(self, root, coin):
        x = root.children[0]
        node = root.child(x)
        if x is node.children[0]:
            return Verdict((x, x), coin.choose(node.target))
        return super().verify(root, coin)


def believed(verifier, scheme):
    """Whether it is proved; a refusal is no belief."""
    theorem = Theorem(LOSSLESS, scheme, verifier)
    try:
        return all(theorem.step(depth).proved for depth in theorem.depths)
    except InvalidVerifier:
        return False


@pytest.mark.one_in(4)
@pytest.mark.parametrize("function", [*CONDITIONS.values(), *WHOLE])
def test_a_liar_is_not_believed(function):
    assert not believed(Told(function), Delayed(1, 0, 1))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("function", LOOKS, ids=lambda each: each.__name__)
def test_code_around_a_look_is_not_believed(function):
    scheme = Delayed(1, 0, 2)
    assert not believed(Told(function), scheme)
    instance = Shape(2, scheme).instance(Shape(2, scheme).point)
    assert enumerate_law(Told(function), instance.target, instance.draft, scheme).max_deviation(instance.target) != 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    "verifier",
    [
        *map(Told, (below, look_in_a_block, look_after_a_choice)),
        *(pytest.param(each, marks=pytest.mark.heavy) for each in (Told(two_looks_for_one), Counts())),
    ],
)
def test_right_code_around_a_look_is_believed(verifier):
    assert believed(verifier, Delayed(1, 0, 2))


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an ended run has no coin
def test_a_run_that_was_ended_holds_nothing():
    assert believed(Told(ends_with_the_run), Delayed(1, 0, 2))


@pytest.mark.parametrize("kind", [Remembers, RemembersAtLast, RemembersComparisons, RemembersItsRefusal])
def test_what_a_run_that_was_ended_leaves_behind_is_refused(kind):
    scheme = Delayed(1, 0, 2)
    with pytest.raises(HasState, match="changed during a call"):
        Theorem(LOSSLESS, scheme, kind()).step(0)
    if kind is not RemembersItsRefusal:
        instance = Shape(2, scheme).instance(Shape(2, scheme).point)
        assert enumerate_law(kind(), instance.target, instance.draft, scheme).max_deviation(instance.target) != 0


def test_what_is_behind_a_node_tells_nothing():
    assert not believed(IfHidden(None), Delayed(1, 0, 1))


def test_tokens_of_two_rows_may_have_one_number():
    assert not believed(ByAnother(None), Delayed(1, 0, 2))
    assert not believed(BySameObject(None), Delayed(1, 0, 2))


@pytest.mark.heavy
def test_ratios_of_two_drafted_tokens_may_be_compared():
    class Compared(Told):
        def verify(self, root, coin):
            compared_and_not_used(root, coin)
            return super().verify(root, coin)

    assert Theorem(LOSSLESS, Delayed(2, 0, 1), Compared(right)).step(1).proved


def test_the_right_one_is_believed():
    assert believed(Told(right), Delayed(1, 0, 1))


@pytest.mark.parametrize("name", ["by_text", "by_set", "by_type_of_row", "by_sum", "by_tie"])
def test_enumeration_refutes_them(name):
    function = CONDITIONS[name]
    size = 2 if function is by_tie else SEVEN + 1
    shape = Shape(size, Delayed(1, 0, 1))
    point = list(shape.point)
    if function is by_tie:
        point[:1] = [rational(13, 40)]
        point[-1:] = [rational(17, 40)]
    else:
        point[: size - 1] = [rational(1, 40)] * (size - 1)
        point[-(size - 1) :] = [rational(1, 9)] * (size - 1)
        point[: size - 1] = [rational(5, 36)] * (size - 1)  # so that p(7) = 1/36 < q(7) = 2/9
    instance = shape.instance(tuple(point))
    law = enumerate_law(Told(function), instance.target, instance.draft, shape.scheme)
    assert law.max_deviation(instance.target) != 0
