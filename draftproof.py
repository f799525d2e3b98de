"""The face of draftproof for scripts and notebooks: `from draftproof import check, compare, bound, Delayed`.

Verifiers, processes and schemes may be objects, or text as on the command line. What is asked for is imported then.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.models.drafts.making import make_draft
    from experiments.models.drop_in.generate_with import generate_with
    from experiments.models.loop.monitor import Monitor
    from experiments.surface.bounding import bound, optimum
    from experiments.surface.calls import assert_lossless, block_law, check, find_witness, tree_law
    from experiments.surface.comparing import compare
    from experiments.surface.models import from_model
    from simulator.coins import EnumeratingCoin, SamplingCoin
    from simulator.drafts import (
        SCHEMES,
        Adaptive,
        AdaptiveDropping,
        Delayed,
        DynamicDepth,
        DySpec,
        DySpecPruned,
        DySpecThreshold,
        Eagle2,
        Greedy,
        OptTree,
        Own,
        Sequoia,
        SpecHub,
        SpecInferConfig,
        TopK,
        Topology,
        WithoutReplacement,
    )
    from simulator.drafts.trees import DraftTree
    from simulator.errors import DraftproofError, InvalidInput, InvalidVerifier, TooLarge, UnsupportedTree
    from simulator.instances.called import CallableProcess
    from simulator.instances.families import FAMILIES
    from simulator.instances.instance import Instance
    from simulator.instances.ngram import TextPair
    from simulator.instances.processes import MarkovProcess, TableProcess, rationalise, tabulate
    from simulator.instances.softmax import from_softmax
    from simulator.laws.estimator import TreeLaw
    from simulator.laws.law import BlockLaw
    from simulator.protocol import Card, Draws, Verdict
    from simulator.verdicts.conformance import checks_for
    from simulator.verdicts.lossless import Check
    from simulator.verdicts.witness import Witness
    from verifiers import REGISTRY, make

#: Where each name comes from.
_HOMES = {
    "experiments.models.drafts.making": ("make_draft",),
    "experiments.models.drop_in.generate_with": ("generate_with",),
    "experiments.models.loop.monitor": ("Monitor",),
    "experiments.surface.bounding": ("bound", "optimum"),
    "experiments.surface.calls": ("assert_lossless", "block_law", "check", "find_witness", "tree_law"),
    "experiments.surface.comparing": ("compare",),
    "experiments.surface.models": ("from_model",),
    "simulator.coins": ("EnumeratingCoin", "SamplingCoin"),
    "simulator.drafts": (
        "SCHEMES",
        "Adaptive",
        "AdaptiveDropping",
        "Delayed",
        "DySpec",
        "DySpecPruned",
        "DySpecThreshold",
        "DynamicDepth",
        "Eagle2",
        "Greedy",
        "OptTree",
        "Own",
        "Sequoia",
        "SpecHub",
        "SpecInferConfig",
        "TopK",
        "Topology",
        "WithoutReplacement",
    ),
    "simulator.drafts.trees": ("DraftTree",),
    "simulator.errors": ("DraftproofError", "InvalidInput", "InvalidVerifier", "TooLarge", "UnsupportedTree"),
    "simulator.instances.families": ("FAMILIES",),
    "simulator.instances.instance": ("Instance",),
    "simulator.instances.ngram": ("TextPair",),
    "simulator.instances.called": ("CallableProcess",),
    "simulator.instances.processes": ("MarkovProcess", "TableProcess", "rationalise", "tabulate"),
    "simulator.instances.softmax": ("from_softmax",),
    "simulator.laws.estimator": ("TreeLaw",),
    "simulator.laws.law": ("BlockLaw",),
    "simulator.protocol": ("Card", "Draws", "Verdict"),
    "simulator.verdicts.conformance": ("checks_for",),
    "simulator.verdicts.lossless": ("Check",),
    "simulator.verdicts.witness": ("Witness",),
    "verifiers": ("REGISTRY", "make"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "FAMILIES",
    "REGISTRY",
    "SCHEMES",
    "Adaptive",
    "AdaptiveDropping",
    "BlockLaw",
    "CallableProcess",
    "Card",
    "Check",
    "Delayed",
    "DraftTree",
    "DraftproofError",
    "Draws",
    "DySpec",
    "DySpecPruned",
    "DySpecThreshold",
    "DynamicDepth",
    "Eagle2",
    "EnumeratingCoin",
    "Greedy",
    "Instance",
    "InvalidInput",
    "InvalidVerifier",
    "MarkovProcess",
    "Monitor",
    "OptTree",
    "Own",
    "SamplingCoin",
    "Sequoia",
    "SpecHub",
    "SpecInferConfig",
    "TableProcess",
    "TextPair",
    "TooLarge",
    "TopK",
    "Topology",
    "TreeLaw",
    "UnsupportedTree",
    "Verdict",
    "WithoutReplacement",
    "Witness",
    "assert_lossless",
    "block_law",
    "bound",
    "check",
    "checks_for",
    "compare",
    "find_witness",
    "from_model",
    "from_softmax",
    "generate_with",
    "make",
    "make_draft",
    "optimum",
    "rationalise",
    "tabulate",
    "tree_law",
]

#: Our packages, each with a word that only ours has: others on the package index have the same names.
_OURS = {
    "simulator": "DraftproofError",
    "verifiers": "STANDALONE",
    "lp_analysis": "single_step_optimum",
    "experiments": "experiments.surface",
}


def namesake() -> str | None:
    """A line about another package that stands where one of ours should be; None if there is none."""
    folder = Path(__file__).resolve().parent
    for name, word in _OURS.items():
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        ours = origin is not None and origin.parent.parent == folder and word in origin.read_text(encoding="utf-8")
        if not ours:
            place = "is missing" if origin is None else f"is another package, {origin.parent}"
            return (
                f"the package {name!r} that Python finds {place}; draftproof needs its own: install draftproof in a "
                f"virtual environment without the other, or put {folder} first on PYTHONPATH"
            )
    return None


def main() -> None:
    """The command line; exit 2 where another package bears the name of one of ours.

    What fails while the command is still being imported must not end as Python does, with the code of refuted.
    """
    if _problem is not None:
        sys.stderr.write(f"draftproof: {_problem}\n")
        sys.exit(2)
    try:
        from experiments.cli import main as run  # noqa: PLC0415 - after the packages are known to be ours

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(70)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_problem = namesake()
if _problem is not None and Path(sys.argv[0]).stem != "draftproof":  # the command says it without a traceback
    raise ImportError(_problem)

if __name__ == "__main__":
    main()
