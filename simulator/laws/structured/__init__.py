"""Exact engines that do not enumerate: the law of a block from the structure of the verifier, polynomial in `V**L`."""

from __future__ import annotations

from draftproof.simulator.laws.structured.declared import structure_of
from draftproof.simulator.laws.structured.dispatch import run, structured_law, structured_metrics
from draftproof.simulator.laws.structured.guard import assert_structure_agrees
from draftproof.simulator.laws.structured.rows import MarkovRows, RowSource, TableRows
from draftproof.simulator.laws.structured.sinks import LawSink, MetricsSink

__all__ = [
    "LawSink",
    "MarkovRows",
    "MetricsSink",
    "RowSource",
    "TableRows",
    "assert_structure_agrees",
    "run",
    "structure_of",
    "structured_law",
    "structured_metrics",
]
