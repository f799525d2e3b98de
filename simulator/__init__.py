"""Processes, draft schemes, coins, laws and the exact engine: everything a verifier is judged with.

A verifier is always passed in, never looked up. This package imports no other room of the project.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.drafts import SCHEMES, Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import DraftproofError, InvalidInput, InvalidVerifier, TooLarge, UnsupportedTree
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.processes import MarkovProcess, rationalise, tabulate
from draftproof.simulator.instances.softmax import from_softmax
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Source, TokenProcess, Verdict, Verifier
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.tables import TableProcess

if TYPE_CHECKING:
    from draftproof.simulator.audit.function import assert_lossless
    from draftproof.simulator.verdicts.lossless import Check, block_law, check

__all__ = [
    "FAMILIES",
    "SCHEMES",
    "BlockLaw",
    "CallableProcess",
    "Card",
    "Check",
    "Coin",
    "Delayed",
    "DraftNode",
    "DraftScheme",
    "DraftTree",
    "DraftproofError",
    "EnumeratingCoin",
    "Instance",
    "InvalidInput",
    "InvalidVerifier",
    "MarkovProcess",
    "SamplingCoin",
    "Source",
    "TableProcess",
    "TextPair",
    "TokenProcess",
    "TooLarge",
    "UnsupportedTree",
    "Verdict",
    "Verifier",
    "Violation",
    "assert_lossless",
    "block_law",
    "check",
    "from_softmax",
    "outcomes",
    "rationalise",
    "tabulate",
]


#: What waits until it is asked for, since the engines take as long to import as all else.
_LATER = {
    "assert_lossless": "draftproof.simulator.audit.function",
    **dict.fromkeys(("Check", "block_law", "check"), "draftproof.simulator.verdicts.lossless"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value
