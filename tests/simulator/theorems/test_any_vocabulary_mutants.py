"""Mutants of block verification and traversal: none that enumeration refutes is proved for every vocabulary size.

A mutant is a file of its own: the code of a verifier and of all functions that it calls, with one change of
`tests/mutants/places.py`. The heavy test takes every fifth one.
"""

import ast
import importlib.util
import inspect
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("cosmic_ray")

from draftproof.simulator import residual, vectors
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError, TooLarge
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.theorems.any_vocabulary.theorem import Theorem
from draftproof.simulator.theorems.proof.judging import LOSSLESS
from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.verifiers import block, traversal
from tests.mutants.places import mutants_of
from tests.quick import quick

#: `vectors.excess` without a question about types, which a proof refuses in a file of one's own.
EXCESS = """
def excess(p, q, weight=1):
    return positive_part(weight * p - q)
"""
#: `traversal._given_not` without a look at the identity of laws, which a file of one's own may not take.
GIVEN_NOT = """
def _given_not(token, drafts):
    return [(draft, without(law, token) if law[token] > 0 else law) for draft, law in drafts]
"""
#: By verifier: its module, and what it calls, callees first.
PARTS: dict[str, tuple[Any, ...]] = {
    "block": (
        EXCESS, residual.residual, residual.capped, block.leftover, block.stop_probability, block.block_verify,
        block.Block,
    ),
    "traversal": (
        EXCESS, vectors.without, residual.capped, GIVEN_NOT, traversal._visit,
        traversal.Traversal,
    ),
}  # fmt: skip
HEADER = """
from __future__ import annotations
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Draws, Source, Verdict
from draftproof.simulator.residual import positive_part
from draftproof.simulator.vectors import scalar
from draftproof.verifiers.specinfer import flattest_first
"""
#: Methods that are never reached.
UNUSED = ("structure",)
#: What is written otherwise: a file of one's own may not look up tokens by their hash.
OTHERWISE = {
    "list(dict.fromkeys(node.children))": "[t for n, t in enumerate(node.children) if t not in node.children[:n]]",
}
#: Per verifier the shape of most mutants, and the one that is tried where that does not refute them.
SHAPES = {"block": (Delayed(1, 0, 2),), "traversal": (Delayed(1, 0, 2), Delayed(2, 0, 1))}
#: Seconds of the processor after which a proof is given up.
MOST_SECONDS = 15


class _Reached(ast.NodeTransformer):
    """Without docstrings, annotations of arguments, and what is not reached."""

    def visit(self, node: ast.AST) -> Any:
        if getattr(node, "name", None) in UNUSED:
            return None
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        return self.generic_visit(node)


@cache
def source(name: str) -> str:
    """A verifier with all that it calls, as one file."""
    text = "\n".join(part if isinstance(part, str) else inspect.getsource(part) for part in PARTS[name])
    text = ast.unparse(_Reached().visit(ast.parse(text)))
    for old, new in OTHERWISE.items():
        text = text.replace(old, new)
    return text


def mutants(name: str, folder: Path) -> list[str]:
    """The text of every mutant, each once."""
    (folder / f"{name}.py").write_text(source(name))
    return list(dict.fromkeys(mutant.mutated for mutant in mutants_of(folder, f"{name}.py")))


def difference(name: str, text: str) -> str:
    """The first line that was changed, before and after."""
    pairs = zip(source(name).splitlines(), text.splitlines(), strict=False)
    before, after = next(((a, b) for a, b in pairs if a != b), ("", ""))
    return f"{before.strip()}  ->  {after.strip()}"


def load(text: str, folder: Path, number: int, kind: str) -> Any:
    """The verifier of a text."""
    path = folder / f"mutant_{kind}_{number}.py"
    path.write_text(HEADER + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, kind.capitalize())()


def lossless_at_points(verifier: Any, scheme: Delayed) -> str:
    """ "" where enumeration finds it lossless at points of V = 2, 3, 4, ties among them; else what it finds."""
    for size, most in ((2, 8), (3, 8), (4, 1)):
        shape, random = Shape(size, scheme), Random(size)
        for number in range(most):
            instance = shape.instance(random_point(shape, random, (6, 30, 9, 4)[number % 4]))
            try:
                law = enumerate_law(verifier, instance.target, instance.draft, scheme)
            except DraftproofError as error:
                return f"invalid at V = {size}: {type(error).__name__}"
            if law.max_deviation(instance.target) != 0:
                return f"lossy at V = {size}"
    return ""


def proof(verifier: Any, scheme: Delayed) -> str:
    """proved, not proved, given up, or refused with what."""
    begin = time.process_time()

    def within(_: Any) -> None:
        if time.process_time() - begin > MOST_SECONDS:
            raise TooLarge("given up")

    theorem = Theorem(LOSSLESS, scheme, verifier)
    try:
        proved = all(theorem.step(depth, within).proved for depth in theorem.depths)
    except DraftproofError as error:
        return "given up" if "given up" in str(error) else f"refused: {type(error).__name__}"
    except Exception as error:  # a crash is a result of this test, too
        return f"CRASH: {type(error).__name__}: {error}"
    return "proved" if proved else "not proved"


def judge(kind: str, number: int, text: str, folder: Path) -> tuple[str, str, str]:
    """What enumeration and the proof say of a mutant, and the shape."""
    try:
        verifier = load(text, folder, number, kind)
    except Exception as error:
        return f"no module: {type(error).__name__}", "", ""
    for number_of_shape, scheme in enumerate(SHAPES[kind]):
        found = lossless_at_points(verifier, scheme)
        if found or not number_of_shape:  # a proof at two drafts takes long: only of what is lossy there
            claim = proof(verifier, scheme)
        if found or claim != "proved":
            break
    return found or "lossless", claim, str(scheme)


#: Places among all mutants of those that are judged in the fast suite.
QUICK = {"block": (0, 21), "traversal": (9, 45)}


@pytest.mark.parametrize("kind", quick(PARTS, ["block"]))
def test_no_lossy_mutant_of_a_few_is_proved(kind, tmp_path):
    every = mutants(kind, tmp_path)
    for number in QUICK[kind]:
        found, claim, _ = judge(kind, number, every[number], tmp_path)
        assert (found, claim) == ("lossy at V = 2", "not proved"), difference(kind, every[number])


@pytest.mark.heavy
@pytest.mark.parametrize("kind", PARTS)
def test_no_lossy_mutant_is_proved(kind, tmp_path):
    assert judge(kind, 0, source(kind), tmp_path)[:2] == ("lossless", "proved")  # what the mutants are made of
    every = mutants(kind, tmp_path)
    assert len(every) >= 90
    counts: Counter[tuple[str, str]] = Counter()
    for number, text in enumerate(every[::5], start=1):
        found, claim, _ = judge(kind, number, text, tmp_path)
        assert not (claim == "proved" and found != "lossless"), difference(kind, text)
        assert not claim.startswith("CRASH"), (claim, difference(kind, text))
        counts[found.split(" at ")[0].split(":")[0], claim.split(":")[0]] += 1
    assert counts["lossy", "not proved"] > len(every) // 20
