"""Certificates: accepted as made, refused with any number changed, refused for another instance."""

import ast
import copy
import json
import pkgutil
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from draftproof import lp_analysis
from draftproof.lp_analysis import certificate, check_certificate, check_file, checker, dumps, law_certificate, optimum
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess

SHAPES = [(2, 2, 0, 2), (2, 3, 1, 1), (3, 2, 0, 1), (2, 1, 1, 1)]


def made(shape, family="perturbed", seed=0, gap=1e-3):
    V, K, L1, L2 = shape
    instance = FAMILIES[family].instance(V, L1 + L2, np.random.default_rng(seed), denominator=64)
    return instance, optimum(instance.target, instance.draft, Delayed(K, L1, L2), gap=gap)


def pair(instance):
    return instance.target, instance.draft


def both(shape, **how):
    """The certificate with a plan and the one with a law."""
    instance, found = made(shape, **how)
    law = found.plan.selection([table.astype(float) for table in instance.draft.tables])[-1]
    yield instance, found, certificate(*pair(instance), found)
    yield instance, found, law_certificate(*pair(instance), Delayed(*shape[1:]), found.prices, law)


def numbers(value, path=()):
    """The place of every number in nested data: whole numbers, and texts that hold a fraction."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from numbers(part, (*path, i))
    elif type(value) is int or path[-1] == "digest" or (isinstance(value, str) and value[:1].isdigit()):
        yield path


def changed(fields, path, rise):
    """A copy with this number raised by `rise`; a digest gets another last digit."""
    result = copy.deepcopy(fields)
    place = result
    for step in path[:-1]:
        place = place[step]
    old = place[path[-1]]
    if path[-1] == "digest":
        place[path[-1]] = old[:-1] + ("0" if old[-1] != "0" else "1")
    else:
        place[path[-1]] = old + 1 if type(old) is int else str(Fraction(old) + rise)
    return result


@pytest.mark.parametrize("shape", [*SHAPES, (3, 3, 0, 2), (2, 1, 0, 0)], ids=str)
@pytest.mark.parametrize("family", ["perturbed", "zeros", "disjoint", "equal"])
def test_what_is_made_is_accepted(shape, family, tmp_path):
    for instance, found, fields in both(shape, family=family):
        lower, upper = check_certificate(fields, instance)
        assert upper == found.upper
        assert lower == found.lower or "law" in fields
        assert abs(lower - found.lower) < Fraction(1, 10**12)  # a law that went through float64
        assert check_certificate(json.loads(json.dumps(fields))) == (lower, upper)
        (tmp_path / "bound.json").write_text(dumps(fields))
        assert check_file(tmp_path / "bound.json", instance) == (lower, upper)


@pytest.mark.parametrize("rise", [Fraction(1, 977), Fraction(1)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_number_changed_is_refused_or_proves_the_same(shape, rise):
    for instance, _, fields in both(shape, family="dirichlet"):
        bounds, same = check_certificate(fields), []
        places = list(numbers(fields))
        assert len(places) > 15
        for path in places:
            with suppress(InvalidInput):
                assert check_certificate(changed(fields, path, rise), instance) == bounds
                same.append(path)  # a price that no worth feels: the bound is recomputed and the same
        assert len(same) < len(places) / 2
        others = {path for path in same if path[0] != "prices"}
        assert others <= {("instance", "scheme", "K")}  # where one more branch does not help, the proof covers it


def test_a_deeper_instance_is_cut_to_the_trees():
    deep = FAMILIES["perturbed"].instance(2, 4, np.random.default_rng(0))
    found = optimum(deep.target, deep.draft, Delayed(2, 0, 2))
    assert check_certificate(certificate(*pair(deep), found), deep) == (found.lower, found.upper)


def test_better_bounds_cannot_be_claimed():
    instance, found = made((2, 2, 0, 2))
    fields = certificate(*pair(instance), found)
    for key, value in (("lower", found.upper), ("upper", found.lower), ("gap", Fraction(0))):
        with pytest.raises(InvalidInput, match=f"{key}: the certificate states"):
            check_certificate(fields | {key: str(value + (found.gap == 0))}, instance)
    with pytest.raises(InvalidInput, match="another instance"):
        certificate(*pair(made((2, 2, 0, 2), seed=1)[0]), found)


def test_laws_outside_the_base_polytope_are_refused():
    instance, found = made((2, 2, 0, 1))
    law = [str(Fraction(1)), "0"]
    fields = law_certificate(*pair(instance), Delayed(2, 0, 1), found.prices, [0.5, 0.5])
    with pytest.raises(InvalidInput, match="more often than they are drafted"):
        check_certificate(fields | {"law": law}, instance)
    with pytest.raises(InvalidInput, match="law on trunk 0"):
        check_certificate(fields | {"law": ["1/2", "1/4"]}, instance)


@pytest.mark.parametrize(
    ("draft", "law"),
    [
        (["1/2", "1/2"], ["1/8", "7/8"]),  # the second path alone; both together are selected as often as drafted
        (["3/4", "1/8", "1/8"], ["1/2", "1/4", "1/4"]),  # a path that is rare, not one that is chosen most
    ],
    ids=["by r/q", "not by r"],
)
def test_laws_that_only_their_order_by_ratio_finds_out_are_refused(draft, law):
    row = RATIONAL.vector([draft])
    instance = Instance(TableProcess([row, row.repeat(len(draft), axis=0)]), TableProcess([row]))
    fields = law_certificate(
        *pair(instance), Delayed(2, 0, 1), [[0], [0] * len(draft)], [float(Fraction(x)) for x in draft]
    )
    kept = sum(min(Fraction(x), Fraction(y)) for x, y in zip(draft, law, strict=True))
    lower = 1 + kept
    with pytest.raises(InvalidInput, match="some paths of trunk 0 more often than they are drafted"):
        check_certificate(fields | {"law": law, "lower": str(lower), "gap": str(2 - lower)}, instance)


def test_rows_that_share_a_digest_are_compared_themselves(monkeypatch):
    instance, found = made((2, 2, 0, 2))
    fields = certificate(*pair(instance), found)
    monkeypatch.setattr(Instance, "digest", lambda self: fields["digest"])
    assert check_certificate(fields, instance) == (found.lower, found.upper)
    for name in ("target", "draft"):
        tables = [table.copy() for table in getattr(instance, name).tables]
        tables[1][1] = tables[1][1][::-1]
        other = Instance(**{"target": instance.target, "draft": instance.draft, name: TableProcess(tables, name)})
        with pytest.raises(InvalidInput, match=f"{name} row 1 at depth 1 of this instance: the certificate states"):
            check_certificate(fields, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": None}, "lower"),
        ({"prices": "1"}, "prices must be lists"),
        ({"prices": [["-1", "0"], ["0"] * 4]}, "at least 0"),
        ({"prices": [["1/0", "0"], ["0"] * 4]}, "at least 0"),
        ({"prices": [["nan", "0"], ["0"] * 4]}, "exact numbers"),
        ({"prices": [["0"] * 4, ["0", "0"]]}, "prices must be lists"),
        ({"prices": [[0.5, "0"], ["0"] * 4]}, "as text"),
        ({"plan": {"weights": ["1"]}}, "weights and orders"),
        ({"plan": {"weights": ["1"], "orders": [[[0, 1, 2, 2]]]}}, "no permutation"),
        ({"plan": {"weights": ["1"], "orders": [[[False, True, 2, 3]]]}}, "no permutation"),
        ({"plan": {"weights": ["1"], "orders": [[]]}}, "no permutation of 4 paths for each of 1 trunks"),
        ({"plan": {"weights": ["1/2"], "orders": [[[0, 1, 2, 3]]]}}, "sum of the weights"),
        ({"format": "other"}, "format"),
        ({"extra": 1}, "has the keys"),
    ],
)
def test_malformed_files_are_refused_with_one_line(change, message):
    instance, found = made((2, 2, 0, 2))
    with pytest.raises(InvalidInput, match=message) as caught:
        check_certificate(certificate(*pair(instance), found) | change, instance)
    assert "\n" not in str(caught.value)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot read certificate"):
        check_file(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"certificate .*bad\.json is not JSON: .* at line 1"):
        check_file(tmp_path / "bad.json")


def test_the_checker_imports_no_solver_and_no_maker():
    source = Path(checker.__file__).read_text(encoding="utf-8")
    modules = {
        name
        for node in ast.walk(ast.parse(source))
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in getattr(node, "names", [])]
        )
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    foreign = {name for name in modules if name.split(".")[0] not in sys.stdlib_module_names}
    # of files, of the rows one asks about, and of the draws of a scheme
    readers = {"files", "instances.instance", "instances.exact", "laws.drawing", "arithmetic", "protocol", "errors"}
    assert foreign == {"flint", *(f"draftproof.simulator.{name}" for name in readers)}


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
