"""Arrows between our files point down the house only, and nowhere in a circle; imports inside functions count."""

import ast
import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("simulator", "verifiers", "lp_analysis", "experiments")

#: The house, the lowest layer first; the names of one line share a layer. A file stands in the layer of the longest
#: name that begins its own, and imports its own layer and those below it. A name that ends in "!" is that file alone:
#: the face of a package, which shows what stands in it.
HOUSE = """
    simulator.errors simulator.files simulator.protocol simulator.progress simulator.lazy simulator.shown
    simulator.origins
    simulator.raised simulator.generators simulator.counters
    simulator.arithmetic simulator.residual simulator.numbers
    simulator.vectors simulator.coins simulator.tables simulator.sampling_coin
    simulator.user_code simulator.structures
    simulator.changes
    simulator.drafts
    simulator.instances
    simulator.laws
    simulator.laws.structured
    simulator.verdicts
    simulator.policies simulator.strings

    simulator.theorems.proof.watch simulator.theorems.algebra.polynomials
    simulator.theorems.algebra.ratios simulator.theorems.algebra.regions
    simulator.theorems.proof.numbers simulator.theorems.algebra.oracle
    simulator.theorems.proof.coin simulator.theorems.algebra.oracle
    simulator.theorems
    simulator.symbolic.where
    simulator.symbolic.numbers
    simulator.symbolic.decide
    simulator.symbolic.arrays
    simulator.symbolic.sources
    simulator.symbolic.torch simulator.symbolic.triton
    simulator.symbolic
    simulator.audit.failures
    simulator.audit.rows
    simulator.audit.interfaces
    simulator.audit
    simulator.audit.diagnosis
    simulator.audit.verdict
    simulator.audit.said simulator.audit.function simulator.audit.pytest_plugin
    simulator.audit! simulator!
    verifiers
    verifiers.controls verifiers.lossy
    verifiers!
    lp_analysis.nodes
    lp_analysis.hitting
    lp_analysis.problem
    lp_analysis.orders
    lp_analysis.prices
    lp_analysis.bias_prices
    lp_analysis.single_step
    lp_analysis.solvers
    lp_analysis
    lp_analysis!
    experiments.shared experiments.runtime
    experiments.result
    experiments.inputs
    experiments.grid
    experiments.api
    experiments.claims
    experiments.models.pair.devices experiments.models.pair.tokenizers
    experiments.models.pair.loading
    experiments.models.pair
    experiments.models.loop
    experiments.models.expect
    experiments.models.measure
    experiments.models.selector
    experiments.models.validate
    experiments.models
    experiments.inputs.world_grammar
    experiments.verbs
    experiments.cli experiments.gallery
    experiments.cli!
    experiments
    experiments.pages
"""
LAYER = {name: layer for layer, line in enumerate(HOUSE.split("\n")) for name in line.split()}
Graph = Mapping[str, set[str]]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def layer_of(module: str) -> int:
    if module + "!" in LAYER:
        return LAYER[module + "!"]
    parts = module.split(".")
    return next(LAYER[name] for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in LAYER)


def imports(source: str, modules: set[str]) -> set[str]:
    """Those of `modules` that a source imports, anywhere but for type checkers alone."""
    found, for_types = set[str](), set[int]()
    for node in ast.walk(ast.parse(source)):  # a condition comes before what stands in it
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for_types |= {id(inner) for inner in ast.walk(node)}
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            module = str(node.module).removeprefix("draftproof.")
            names = {f"{node.module}.{alias.name}".removeprefix("draftproof.") for alias in node.names}
            found |= {name if name in modules else module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("draftproof.") for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # `import_module("..")` and the like
            found |= {node.value.removeprefix("draftproof.")}
    return found & modules


@pytest.fixture(scope="module")
def graph() -> Graph:
    files = {module_of(path): path for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    return {name: imports(path.read_text(encoding="utf-8"), set(files)) - {name} for name, path in files.items()}


def upward(graph: Graph) -> list[str]:
    return [f"{a} -> {b}" for a, below in sorted(graph.items()) for b in sorted(below) if layer_of(b) > layer_of(a)]


def circle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_layer_has_files(graph: Graph) -> None:
    used = {layer_of(module) for module in graph}
    assert used == set(LAYER.values())


def test_no_arrow_points_up(graph: Graph) -> None:
    assert upward(graph) == []


def test_bounds_know_no_verifier(graph: Graph) -> None:
    assert [f"{a} -> {b}" for a in graph for b in graph[a] if a.startswith("lp_") and b.startswith("verifiers")] == []


def test_nothing_imports_the_tests() -> None:
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    assert not [path for path in files if re.search(r"^ *(from|import) tests\b", path.read_text(), re.MULTILINE)]


def test_no_imports_in_a_circle(graph: Graph) -> None:
    assert circle(graph) == []


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("simulator.coins", "import draftproof.simulator.laws.law", True),
        ("simulator.drafts.trees", "def f():\n    from draftproof.simulator.verdicts.lossless import check", True),
        ("simulator.audit.rows", "from draftproof.simulator.audit.interfaces import chain", True),
        ("experiments.grid.rows", "from draftproof.experiments.cli import bound", True),
        (
            "experiments.grid.rows",
            "from importlib import import_module\nimport_module('draftproof.experiments.cli')",
            True,
        ),
        ("simulator.laws.law", "from draftproof.simulator import check", True),
        ("verifiers.block", "from draftproof.verifiers.lossy.ensemble import Ensemble", True),
        ("simulator.verdicts.lossless", "from draftproof.simulator.laws.structured import run", False),
        (
            "simulator.laws.law",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import draftproof.simulator.audit",
            False,
        ),
    ],
)
def test_an_arrow_up_is_seen_wherever_it_stands(graph: Graph, module: str, source: str, wrong: bool) -> None:
    changed = {**graph, module: imports(source, set(graph))}
    assert bool(upward(changed)) is wrong


def test_a_circle_is_seen(graph: Graph) -> None:
    changed = {**graph, "simulator.laws.law": graph["simulator.laws.law"] | {"simulator.laws.precision"}}
    assert "simulator.laws.precision" in circle(changed)
