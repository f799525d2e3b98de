"""The face of draftproof for scripts and notebooks: `from draftproof import check, compare, bound, Delayed`.

Verifiers, processes and schemes may be objects, or text as on the command line. What is asked for is imported then.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftproof.experiments.api.arguments import from_model
    from draftproof.experiments.api.calls import assert_lossless, block_law, check, find_witness, tree_law
    from draftproof.experiments.api.comparing import bound, compare, frontier, optimum
    from draftproof.experiments.api.strings import check_strings, string_instance, string_optimum
    from draftproof.experiments.models.loop.generate_with import generate_with
    from draftproof.experiments.models.pair.drafts import make_draft
    from draftproof.simulator.coins import EnumeratingCoin, SamplingCoin
    from draftproof.simulator.drafts import (
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
        Sequoia,
        SpecBlock,
        SpecHub,
        SpecInferConfig,
        StochasticBeam,
        Stratified,
        Systematic,
        TopK,
        Topology,
        UserScheme,
        WithoutReplacement,
    )
    from draftproof.simulator.drafts.trees import DraftTree
    from draftproof.simulator.errors import DraftproofError, InvalidInput, InvalidVerifier, TooLarge, UnsupportedTree
    from draftproof.simulator.instances.called import CallableProcess
    from draftproof.simulator.instances.families import FAMILIES
    from draftproof.simulator.instances.instance import Instance
    from draftproof.simulator.instances.ngram import TextPair
    from draftproof.simulator.instances.processes import MarkovProcess, TableProcess, rationalise, tabulate
    from draftproof.simulator.instances.sampling import Sampling
    from draftproof.simulator.instances.softmax import from_softmax
    from draftproof.simulator.laws.estimator import TreeLaw
    from draftproof.simulator.laws.law import BlockLaw
    from draftproof.simulator.protocol import Card, Draws, Verdict
    from draftproof.simulator.strings.pair import StringPair
    from draftproof.simulator.strings.tokenizers import Tokenizer
    from draftproof.simulator.verdicts.conformance import checks_for
    from draftproof.simulator.verdicts.lossless import Check
    from draftproof.simulator.verdicts.witness import Witness
    from draftproof.verifiers import REGISTRY, make
    from draftproof.verifiers.strings import STRING_RULES

#: Where each name comes from.
_HOMES = {
    "draftproof.experiments.models.pair.drafts": ("make_draft",),
    "draftproof.experiments.models.loop.generate_with": ("generate_with",),
    "draftproof.experiments.api.calls": ("assert_lossless", "block_law", "check", "find_witness", "tree_law"),
    "draftproof.experiments.api.comparing": ("bound", "compare", "frontier", "optimum"),
    "draftproof.experiments.api.arguments": ("from_model",),
    "draftproof.experiments.api.strings": ("check_strings", "string_instance", "string_optimum"),
    "draftproof.simulator.coins": ("EnumeratingCoin", "SamplingCoin"),
    "draftproof.simulator.drafts": (
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
        "UserScheme",
        "Sequoia",
        "SpecBlock",
        "SpecHub",
        "SpecInferConfig",
        "StochasticBeam",
        "Stratified",
        "Systematic",
        "TopK",
        "Topology",
        "WithoutReplacement",
    ),
    "draftproof.simulator.drafts.trees": ("DraftTree",),
    "draftproof.simulator.errors": (
        "DraftproofError",
        "InvalidInput",
        "InvalidVerifier",
        "TooLarge",
        "UnsupportedTree",
    ),
    "draftproof.simulator.instances.families": ("FAMILIES",),
    "draftproof.simulator.instances.instance": ("Instance",),
    "draftproof.simulator.instances.ngram": ("TextPair",),
    "draftproof.simulator.instances.called": ("CallableProcess",),
    "draftproof.simulator.instances.processes": ("MarkovProcess", "TableProcess", "rationalise", "tabulate"),
    "draftproof.simulator.instances.sampling": ("Sampling",),
    "draftproof.simulator.instances.softmax": ("from_softmax",),
    "draftproof.simulator.laws.estimator": ("TreeLaw",),
    "draftproof.simulator.laws.law": ("BlockLaw",),
    "draftproof.simulator.protocol": ("Card", "Draws", "Verdict"),
    "draftproof.simulator.strings.pair": ("StringPair",),
    "draftproof.simulator.strings.tokenizers": ("Tokenizer",),
    "draftproof.simulator.verdicts.conformance": ("checks_for",),
    "draftproof.simulator.verdicts.lossless": ("Check",),
    "draftproof.simulator.verdicts.witness": ("Witness",),
    "draftproof.verifiers": ("REGISTRY", "make"),
    "draftproof.verifiers.strings": ("STRING_RULES",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "FAMILIES",
    "REGISTRY",
    "SCHEMES",
    "STRING_RULES",
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
    "OptTree",
    "Sampling",
    "SamplingCoin",
    "Sequoia",
    "SpecBlock",
    "SpecHub",
    "SpecInferConfig",
    "StochasticBeam",
    "Stratified",
    "StringPair",
    "Systematic",
    "TableProcess",
    "TextPair",
    "Tokenizer",
    "TooLarge",
    "TopK",
    "Topology",
    "TreeLaw",
    "UnsupportedTree",
    "UserScheme",
    "Verdict",
    "WithoutReplacement",
    "Witness",
    "assert_lossless",
    "block_law",
    "bound",
    "check",
    "check_strings",
    "checks_for",
    "compare",
    "find_witness",
    "from_model",
    "from_softmax",
    "frontier",
    "generate_with",
    "make",
    "make_draft",
    "optimum",
    "rationalise",
    "string_instance",
    "string_optimum",
    "tabulate",
    "tree_law",
]


def main() -> None:
    """The command line.

    What fails while the command is still being imported must not end as Python does, with the code of refuted.
    """
    try:
        from draftproof.experiments.cli import main as run  # noqa: PLC0415 - it takes long

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
