"""Processes, draft schemes, coins, laws and the exact engine: everything a verifier is judged with.

A verifier is always passed in, never looked up. This package imports no other room of the project.
"""

from simulator.coins import EnumeratingCoin, SamplingCoin, outcomes
from simulator.errors import DraftproofError, InvalidInput, InvalidVerifier, TooLarge, UnsupportedTree
from simulator.families import FAMILIES
from simulator.instance import Instance
from simulator.law import BlockLaw, Violation
from simulator.lossless import Check, assert_lossless, block_law, check
from simulator.ngram import TextPair
from simulator.processes import CallableProcess, MarkovProcess, TableProcess, rationalise, tabulate
from simulator.protocol import Card, Coin, DraftNode, DraftScheme, Source, TokenProcess, Verdict, Verifier
from simulator.schemes import SCHEMES, Delayed
from simulator.trees import DraftTree

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
    "outcomes",
    "rationalise",
    "tabulate",
]
