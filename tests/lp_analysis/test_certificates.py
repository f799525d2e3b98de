"""Certificates: accepted as made, refused with any number changed, refused for another instance, errors named."""

import pkgutil
import re
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from draftproof import lp_analysis
from draftproof.lp_analysis import certificate, check_certificate, checker, dumps, optimum
from draftproof.lp_analysis.checker import read_certificate
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import (
    Adaptive,
    Delayed,
    DySpec,
    Sequoia,
    SpecInferConfig,
    Stratified,
    Systematic,
    TopK,
    WithoutReplacement,
)
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import TableProcess
from tests.lp_analysis.cases import changed, instance_of, numbers, pair

#: Vocabulary and scheme.
DELAYED = [(V, Delayed(*shape)) for V, *shape in ((2, 2, 0, 2), (2, 3, 1, 1), (3, 2, 0, 1), (2, 1, 1, 1))]
OTHERS = [(2, WithoutReplacement(2, 0, 1)), (2, Adaptive(1, 0, 2)), (2, Stratified(2, 1, 1))]
ACCEPTED = [
    *DELAYED,
    *((3, Delayed(3, 0, 2)), (2, Delayed(1, 0, 0)), (3, Stratified(3, 0, 1, "number")), (2, Systematic(3, 1, 1))),
    *((3, WithoutReplacement(2, 0, 2)), (3, SpecInferConfig((2, 1))), (3, TopK(2, 1, 1)), (2, Adaptive(1, 0, 3))),
    *((3, Sequoia(4, 2, (2, 1, 1, 0, 0))), (2, DySpec(4))),
]
SHAPE = Delayed(2, 0, 2)
#: Python's own limit on the digits of whole numbers in texts; the command line lifts it.
DIGITS = 4300


def made(V, scheme, family="perturbed", gap=1e-3):
    """An instance, its bounds and their certificate."""
    instance = instance_of(V, scheme.depth, family)
    found = optimum(*pair(instance), scheme, gap=gap)
    return instance, found, certificate(*pair(instance), found)


@pytest.mark.parametrize(("V", "scheme"), ACCEPTED, ids=str)
def test_what_is_made_is_accepted(V, scheme, tmp_path):
    for family in ("perturbed", "zeros", "disjoint", "equal"):
        instance, found, fields = made(V, scheme, family)
        assert fields["instance"]["scheme"] == scheme.as_dict()
        assert check_certificate(fields, instance) == (found.lower, found.upper)
        (tmp_path / "bound.json").write_text(dumps(fields))
        assert check_certificate(read_certificate(tmp_path / "bound.json"), instance) == (found.lower, found.upper)


@pytest.mark.parametrize(("V", "scheme"), [*DELAYED, *OTHERS], ids=str)
def test_each_number_changed_is_refused_or_proves_the_same(V, scheme):
    instance, _, fields = made(V, scheme, family="dirichlet")
    bounds, same = check_certificate(fields), []
    places = list(numbers(fields))
    assert len(places) > 15
    for path, rise in product(places, (Fraction(1, 977), Fraction(1))):
        with suppress(InvalidInput):
            assert check_certificate(changed(fields, path, rise), instance) == bounds
            same.append(path)  # a price that no worth feels: the bound is recomputed and the same
    assert len(same) < len(places)
    # where one more branch or another shape has the same trees, the proof covers it
    assert {path[:2] for path in same if path[0] != "prices"} <= {("instance", "scheme")}


def test_a_deeper_instance_is_cut_to_the_trees():
    deep = instance_of(depth=4)
    found = optimum(*pair(deep), SHAPE)
    assert check_certificate(certificate(*pair(deep), found), deep) == (found.lower, found.upper)


#: A certificate, one error planted in it, and what the checker says; see `certificates`.
PLANTED = [
    ("plan", {"lower": None}, "lower"),
    ("plan", {"prices": "1"}, "prices must be lists"),
    ("plan", {"prices": [["-1", "0"], ["0"] * 4]}, "at least 0"),
    ("plan", {"prices": [["1/0", "0"], ["0"] * 4]}, "at least 0"),
    ("plan", {"prices": [["0"] * 4, ["0", "0"]]}, "prices must be lists"),
    ("plan", {"prices": [[0.5, "0"], ["0"] * 4]}, "as text"),
    ("plan", {"plan": {"weights": ["1"]}}, "weights and orders"),
    ("plan", {"plan": {"weights": ["1"], "orders": [[[False, True, 2, 3]]]}}, "no permutation"),
    ("plan", {"plan": {"weights": ["1"], "orders": [[]]}}, "no permutation of 4 paths for each of 1 trunks"),
    ("plan", {"plan": {"weights": ["1/2"], "orders": [[[0, 1, 2, 3]]]}}, "sum of the weights"),
    ("plan", {"format": "other"}, "format"),
    ("plan", {"extra": 1}, "has the keys"),
    ("plan", lambda fields: {"lower": fields["upper"] + "1"}, "lower: the certificate states"),
    ("plan", lambda fields: {"upper": fields["lower"]}, "upper: the certificate states"),
    ("plan", {"gap": "0"}, "gap: the certificate states"),
    ("plan", {"instance": {"vocab_size": 10**400}}, "vocab_size above.*make it smaller"),
    ("plan", lambda _: deeper(), "depth: the certificate states 3, recomputed it is 2"),
    ("other", {"instance": {"scheme": Delayed(2, 0, 2).as_dict()}}, "no permutation of 9 paths"),
    ("other", {"instance": {"scheme": None}}, "must name a draft scheme"),
    ("other", {"instance": {"scheme": SpecInferConfig((9, 9)).as_dict()}}, "more than 200,000 draft trees"),
    ("pieces", {"instance": {"scheme": Stratified(2, 0, 2, "number").as_dict()}}, "lower: the certificate states"),
]  # fmt: skip


def certificates(kind):
    if kind == "plan":
        return made(2, SHAPE, gap=1e-6)
    scheme = WithoutReplacement(2, 0, 2) if kind == "other" else Stratified(2, 0, 2)
    instance = instance_of(3, 2, *(() if kind == "other" else ("zeros", 3)))
    found = optimum(*pair(instance), scheme)
    return instance, found, certificate(*pair(instance), found)


def deeper():
    deep = instance_of(depth=3)
    return {"instance": Instance(*pair(deep), SHAPE).as_dict(), "digest": deep.digest()}


@pytest.mark.parametrize(("kind", "change", "message"), PLANTED)
def test_planted_errors_are_named_in_one_line(kind, change, message):
    """A change of `instance` is one of its fields; None takes a field away, but for `lower`."""
    _, _, fields = certificates(kind)
    change = change(fields) if callable(change) else change
    if "instance" in change:
        inside = fields["instance"] | change["instance"]
        change = change | {"instance": {key: value for key, value in inside.items() if value is not None}}
    with pytest.raises((InvalidInput, TooLarge), match=message) as caught:
        check_certificate({k: v for k, v in (fields | change).items() if v is not None or k == "lower"})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def others():
    """Instances near `instance_of()`: each differs from it in one way."""
    own, foreign = instance_of(), instance_of(seed=1)
    yield "target", Instance(foreign.target, own.draft)
    yield "draft", Instance(own.target, foreign.draft)
    for name in ("target", "draft"):
        for depth in range(len(getattr(own, name).tables)):
            tables = [table.copy() for table in getattr(own, name).tables]
            tables[depth][-1] = tables[depth][-1] + RATIONAL.vector([Fraction(1, 997), Fraction(-1, 997)])
            yield (
                f"one number of the {name} at depth {depth}",
                Instance(**{"target": own.target, "draft": own.draft, name: TableProcess(tables, name)}),
            )
    yield "the two swapped", Instance(TableProcess([*own.draft.tables, own.target.tables[2]]), own.target)
    yield "another vocabulary", instance_of(3)
    yield "too shallow", instance_of(depth=1)
    yield "deeper, other rows", instance_of(depth=3, seed=2)


@pytest.mark.parametrize(("difference", "other"), list(others()), ids=lambda value: value if type(value) is str else "")
def test_a_certificate_for_another_instance_is_refused_however_it_is_dressed(difference, other):
    instance, _, fields = made(2, SHAPE, gap=1e-6)
    with pytest.raises(InvalidInput):
        check_certificate(fields, other)
    dressed = fields | {"instance": Instance(other.target, other.draft, SHAPE).as_dict()}
    with pytest.raises(InvalidInput, match=r"digest|depth"):
        check_certificate(dressed, other)
    with suppress(InvalidInput):  # what is accepted with another digest is true of the other instance
        lower, upper = check_certificate(dressed | {"digest": other.digest()}, other)
        own = optimum(other.target, other.draft, SHAPE)
        assert lower <= own.upper
        assert own.lower <= upper
        assert (lower, upper) == check_certificate(fields, instance)
        assert difference.startswith("one number")


def test_a_certificate_is_not_made_for_another_instance_or_shape():
    instance, found, fields = certificates("plan")
    with pytest.raises(InvalidInput, match="another instance"):
        certificate(*pair(instance_of(seed=1)), found)
    for shape in (Delayed(3, 0, 2), Delayed(1, 0, 2), Delayed(2, 1, 1)):
        with pytest.raises(InvalidInput):
            check_certificate(fields | {"instance": Instance(*pair(instance), shape).as_dict()}, instance)


def test_rows_that_share_a_digest_are_compared_themselves(monkeypatch):
    instance, found, fields = certificates("plan")
    monkeypatch.setattr(Instance, "digest", lambda self: fields["digest"])
    assert check_certificate(fields, instance) == (found.lower, found.upper)
    for name in ("target", "draft"):
        tables = [table.copy() for table in getattr(instance, name).tables]
        tables[1][1] = tables[1][1][::-1]
        other = Instance(**{"target": instance.target, "draft": instance.draft, name: TableProcess(tables, name)})
        with pytest.raises(InvalidInput, match=f"{name} row 1 at depth 1 of this instance: the certificate states"):
            check_certificate(fields, other)


def test_one_token_is_always_accepted():
    only = TableProcess([RATIONAL.vector([["1"]])] * 3)
    instance = Instance(only, only)
    found = optimum(only.tables, only.tables, SHAPE)
    assert check_certificate(certificate(*pair(instance), found), instance) == (3, 3)


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
    fields = certificate(*pair(instance), found)
    assert len(fields["lower"].split("/")[0]) > DIGITS
    (tmp_path / "long.json").write_text(dumps(fields))
    assert check_certificate(read_certificate(tmp_path / "long.json"), instance) == (found.lower, found.upper)
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


@pytest.mark.parametrize("digits", [98, 400])
def test_what_is_wrong_is_shown_whole_where_it_fits_a_line(digits):
    _, _, fields = certificates("plan")
    with pytest.raises(InvalidInput) as caught:
        check_certificate(fields | {"upper": "9" * digits})
    assert fields["upper"] in str(caught.value)
    assert (f"states {'9' * digits}, recomputed" in str(caught.value)) == (digits < 100)
    assert len(str(caught.value)) < 400


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot read certificate"):
        read_certificate(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"certificate .*bad\.json is not JSON: .* at line 1"):
        read_certificate(tmp_path / "bad.json")


def test_the_checker_imports_no_solver_and_no_maker():
    source = Path(checker.__file__).read_text(encoding="utf-8")
    modules = set(re.findall(r"^(?:from|import) (\S+)", source, re.MULTILINE))
    # of files, of the rows one asks about, and of the draws of a scheme
    readers = {"files", "instances.instance", "instances.exact", "laws.drawing", "arithmetic", "protocol", "errors"}
    assert modules - sys.stdlib_module_names == {
        *("collections.abc", "flint"),
        *(f"draftproof.simulator.{name}" for name in readers),
    }


def test_the_checker_loads_no_solver():
    program = "import sys, draftproof.lp_analysis.checker; print(*{name.split('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "draftproof" in ran.stdout.split()
    assert not {"scipy", "highspy", "cvxpy"} & set(ran.stdout.split())


def test_every_name_of_the_package_is_what_it_says_after_all_its_modules_are_loaded():
    for module in pkgutil.iter_modules(lp_analysis.__path__):
        import_module(f"draftproof.lp_analysis.{module.name}")
        assert module.name not in lp_analysis.__all__  # it would stand in the place of what it offers
    for name in lp_analysis.__all__:
        found = getattr(lp_analysis, name)
        assert getattr(found, "__name__", name) == name
        assert not isinstance(found, ModuleType)
    assert set(lp_analysis.__all__) <= set(dir(lp_analysis))
    with pytest.raises(AttributeError, match="has no attribute 'none'"):
        lp_analysis.none  # noqa: B018 - asking is the test
