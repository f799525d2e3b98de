"""Certificates of awkward input: fractions of thousands of digits, lists that fit nothing, every other instance."""

import sys
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from draftproof.lp_analysis import certificate, check_certificate, check_file, dumps, law_certificate, optimum
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess

SHAPE = (2, 0, 2)
#: Python's own limit on the digits of whole numbers in texts; the command line lifts it.
DIGITS = 4300


@pytest.fixture
def digit_limit():
    """The limit as it is in a program of somebody else."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(DIGITS)
    yield
    sys.set_int_max_str_digits(before)


def of_denominators(depth, size):
    """Two tokens, every row with its own denominator of about `size` digits."""
    rng = np.random.default_rng(0)

    def row():
        whole, part = (int("".join(map(str, rng.integers(1, 10, digits)))) for digits in (size, size - 1))
        return [Fraction(part, whole), 1 - Fraction(part, whole)]

    target, draft = ([RATIONAL.vector([row() for _ in range(2**d)]) for d in range(depth + 1)] for _ in range(2))
    return Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))


@pytest.mark.heavy
def test_numbers_beyond_the_longest_text_of_whole_numbers_are_written_and_checked(digit_limit, tmp_path):
    instance = of_denominators(4, 900)
    found = optimum(instance.target, instance.draft, Delayed(2, 0, 4), gap=1e-3)
    law = found.plan.selection([table.astype(float) for table in instance.draft.tables])[-1]
    for fields in (
        certificate(*pair(instance), found),
        law_certificate(*pair(instance), Delayed(2, 0, 4), found.prices, law),
    ):
        assert len(fields["lower"].split("/")[0]) > DIGITS
        (tmp_path / "long.json").write_text(dumps(fields))
        lower, upper = check_file(tmp_path / "long.json", instance)
        assert upper == found.upper
        assert abs(lower - found.lower) < Fraction(1, 10**12)  # a law that went through float64
        with pytest.raises(InvalidInput, match="lower: the certificate states") as caught:
            check_certificate(fields | {"lower": "1" + fields["lower"]}, instance)
        assert len(str(caught.value)) < 600


def test_rows_that_no_file_could_hold_are_refused(digit_limit):
    share = Fraction(1, 10**5000 + 1)
    rows = RATIONAL.vector([[share, 1 - share]])
    instance = Instance(TableProcess([rows, rows.repeat(2, axis=0)], "target"), TableProcess([rows], "draft"))
    found = optimum(instance.target, instance.draft, Delayed(2, 0, 1))
    with pytest.raises(InvalidInput, match=r"target rows hold a fraction of 5,003 characters.*rationalise"):
        certificate(*pair(instance), found)


def pair(instance):
    return instance.target, instance.draft


def perturbed(seed=0, size=2, depth=2):
    return FAMILIES["perturbed"].instance(size, depth, np.random.default_rng(seed), denominator=64)


PRICES, LAW = [[0], [1, 0], [0, 0, 0, 0]], [0.25] * 4


def test_floats_alone_give_a_certificate_and_what_rounding_made_negative_is_nothing():
    exact = law_certificate(*pair(perturbed()), Delayed(*SHAPE), PRICES, LAW)
    rough = law_certificate(
        *pair(perturbed()), Delayed(*SHAPE), [[-1e-14], [1, -1e-13], [0, 0, 0, 0]], [0.25, 0.25, 0.25, 0.25]
    )
    assert check_certificate(exact) == check_certificate(rough)
    none = law_certificate(*pair(perturbed()), Delayed(*SHAPE), PRICES, [1, 0, 0, -1e-15])
    assert none == law_certificate(*pair(perturbed()), Delayed(*SHAPE), PRICES, [1, 0, 0, 0])


@pytest.mark.parametrize(
    ("prices", "law", "message"),
    [
        (PRICES[:2], LAW, "one for each depth 0 to 2"),
        ([*PRICES, [0] * 8], LAW, "one for each depth 0 to 2"),
        (None, LAW, "one for each depth 0 to 2"),
        ([[0], [1], [0] * 4], LAW, "prices at depth 1 must be a list of 2 numbers, not 1"),
        ([[0], [1, 0], [0] * 5], LAW, "prices at depth 2 must be a list of 4 numbers, not 5"),
        ([[0], [float("nan"), 0], [0] * 4], LAW, "prices at depth 1 must hold finite numbers of at least 0, not nan"),
        ([[0], [float("inf"), 0], [0] * 4], LAW, "finite numbers of at least 0, not inf"),
        ([[0], [-1, 0], [0] * 4], LAW, "finite numbers of at least 0, not -1"),
        ([[0], ["a", 0], [0] * 4], LAW, "prices at depth 1 must be a list of 2 numbers"),
        ([[0], [[1, 0], 0], [0] * 4], LAW, "prices at depth 1 must be a list of 2 numbers"),
        ([[1], [1, 0], [0] * 4], LAW, "0 at the root"),
        (PRICES, LAW[:3], "law must be a list of 4 numbers, not 3"),
        (PRICES, [*LAW, 0], "law must be a list of 4 numbers, not 5"),
        (PRICES, [float("nan"), *LAW[1:]], "law must hold finite numbers of at least 0, not nan"),
        (PRICES, [-0.25, *LAW[1:]], "law must hold finite numbers of at least 0, not -0.25"),
        (PRICES, None, "law must be a list of 4 numbers"),
    ],
)
def test_lists_that_prove_nothing_are_named(prices, law, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        law_certificate(*pair(perturbed()), Delayed(*SHAPE), prices, law)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "message"), [((2, 0, 3), "target has no row for context"), ((0, 0, 2), "K"), ((2, 2, 0), "L2")]
)
def test_shapes_that_do_not_fit_are_named(shape, message):
    with pytest.raises(InvalidInput, match=message):
        law_certificate(*pair(perturbed()), Delayed(*shape), PRICES, LAW)


def others():
    """Instances near `perturbed()`: each differs from it in one way."""
    own, foreign = perturbed(), perturbed(1)
    yield "target", Instance(foreign.target, own.draft)
    yield "draft", Instance(own.target, foreign.draft)
    for name in ("target", "draft"):
        for depth in range(len(getattr(own, name).tables)):
            tables = [table.copy() for table in getattr(own, name).tables]
            tables[depth][-1] = tables[depth][-1] + RATIONAL.vector([Fraction(1, 997), Fraction(-1, 997)])
            changed = {"target": own.target, "draft": own.draft, name: TableProcess(tables, name)}
            yield f"one number of the {name} at depth {depth}", Instance(**changed)
    yield "the two swapped", Instance(TableProcess([*own.draft.tables, own.target.tables[2]]), own.target)
    yield "another vocabulary", perturbed(size=3)
    yield "too shallow", perturbed(depth=1)
    yield "deeper, other rows", perturbed(2, depth=3)


@pytest.mark.parametrize(("difference", "other"), list(others()), ids=lambda value: value if type(value) is str else "")
def test_a_certificate_for_another_instance_is_refused_however_it_is_dressed(difference, other):
    instance = perturbed()
    found = optimum(instance.target, instance.draft, Delayed(*SHAPE))
    law = found.plan.selection([table.astype(float) for table in instance.draft.tables])[-1]
    for fields in (
        certificate(*pair(instance), found),
        law_certificate(*pair(instance), Delayed(*SHAPE), found.prices, law),
    ):
        with pytest.raises(InvalidInput):
            check_certificate(fields, other)
        dressed = fields | {"instance": Instance(other.target, other.draft, Delayed(*SHAPE)).as_dict()}
        with pytest.raises(InvalidInput, match=r"digest|depth"):
            check_certificate(dressed, other)
        with suppress(InvalidInput):  # what is accepted with another digest is true of the other instance
            lower, upper = check_certificate(dressed | {"digest": other.digest()}, other)
            own = optimum(other.target, other.draft, Delayed(*SHAPE))
            assert lower <= own.upper
            assert own.lower <= upper
            assert (lower, upper) == check_certificate(fields, instance)
            assert difference.startswith("one number")


@pytest.mark.parametrize("shape", [(3, 0, 2), (1, 0, 2), (2, 1, 1)], ids=str)
def test_a_certificate_for_another_shape_is_refused(shape):
    instance = perturbed()
    found = optimum(instance.target, instance.draft, Delayed(*SHAPE))
    fields = certificate(*pair(instance), found)
    other = Instance(instance.target, instance.draft, Delayed(*shape)).as_dict()
    with pytest.raises(InvalidInput):
        check_certificate(fields | {"instance": other}, instance)


def test_a_law_on_paths_that_are_never_drafted_is_refused():
    half = RATIONAL.vector([["1/2", "1/2"]])
    never = Instance(TableProcess([half, half.repeat(2, axis=0)]), TableProcess([RATIONAL.vector([["1", "0"]])]))
    fields = law_certificate(*pair(never), Delayed(2, 0, 1), [[0], [0, 0]], [1, 0])
    assert check_certificate(fields) == (Fraction(3, 2), 2)
    with pytest.raises(InvalidInput, match="law on what is never drafted after trunk 0"):
        check_certificate(fields | {"law": ["1/2", "1/2"], "lower": "2", "gap": "0"})


@pytest.mark.parametrize("scheme", [None, {"name": "top_k", "K": 2, "L1": 0, "L2": 2}], ids=str)
def test_a_certificate_for_another_draft_scheme_is_refused(scheme):
    fields = law_certificate(*pair(perturbed()), Delayed(*SHAPE), PRICES, LAW)
    rows = {key: value for key, value in fields["instance"].items() if key != "scheme"}
    with pytest.raises(InvalidInput, match="draft scheme"):
        check_certificate(fields | {"instance": rows | ({"scheme": scheme} if scheme else {})})


def test_rows_deeper_than_the_trees_are_refused():
    fields, deep = law_certificate(*pair(perturbed()), Delayed(*SHAPE), PRICES, LAW), perturbed(depth=3)
    rows = Instance(deep.target, deep.draft, Delayed(*SHAPE)).as_dict()
    with pytest.raises(InvalidInput, match="depth: the certificate states 3, recomputed it is 2"):
        check_certificate(fields | {"instance": rows, "digest": deep.digest()})


def test_one_token_is_always_accepted():
    only = TableProcess([RATIONAL.vector([["1"]])] * 3)
    instance = Instance(only, only)
    found = optimum(only.tables, only.tables, Delayed(*SHAPE))
    assert check_certificate(certificate(*pair(instance), found), instance) == (3, 3)


@pytest.mark.parametrize("key", ["depth", "vocab_size"])
def test_numbers_beyond_all_memory_are_refused_with_one_line(key):
    fields = law_certificate(*pair(perturbed()), Delayed(*SHAPE), PRICES, LAW)
    with pytest.raises(InvalidInput, match=f"{key} above.*make it smaller") as caught:
        check_certificate(fields | {"instance": fields["instance"] | {key: 10**400}})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("digits", [1, 30, 98, 400])
def test_what_is_wrong_is_shown_whole_where_it_fits_a_line(digits):
    instance = perturbed()
    found = optimum(instance.target, instance.draft, Delayed(*SHAPE))
    fields = certificate(*pair(instance), found)
    number = "9" * digits
    with pytest.raises(InvalidInput) as caught:
        check_certificate(fields | {"upper": number})
    said = str(caught.value)
    assert fields["upper"] in said
    assert (f"states {number}, recomputed" in said) == (digits < 100)
    assert ("400 characters" in said) == (digits == 400)
    assert len(said) < 400
