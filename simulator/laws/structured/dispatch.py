"""Which structured engine runs: the one for the structure of the verifier."""

from __future__ import annotations

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.laws.structured.arrays import keep_freed_memory
from draftproof.simulator.laws.structured.continued import continued_law
from draftproof.simulator.laws.structured.declared import structure_of
from draftproof.simulator.laws.structured.layered import layered_law
from draftproof.simulator.laws.structured.leaf_to_root import leaf_to_root
from draftproof.simulator.laws.structured.paths import path_law
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.laws.structured.sinks import LawSink, MetricsSink, Sink
from draftproof.simulator.laws.structured.top_down import top_down
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.structures import Continued, Layered, LeafToRoot, OnePath


def run(verifier: Verifier, rows: RowSource, scheme: DraftScheme, sink: Sink) -> None:
    """Deliver the law of `verifier` to `sink` by the engine for its structure; raises `InvalidInput` without one."""
    keep_freed_memory()
    structure = structure_of(verifier, scheme)
    if structure is None or not isinstance(scheme, Delayed):
        raise InvalidInput(
            f"{verifier.card.name} offers no structured evaluation on {scheme}; use the engine enumerate"
        )
    if isinstance(structure, OnePath):
        if structure.only is not None:
            structure.only(scheme)
        path_law(structure, rows, scheme, sink)
    elif isinstance(structure, LeafToRoot):
        leaf_to_root(structure, rows, scheme, sink)
    elif isinstance(structure, Layered):
        layered_law(structure, rows, scheme, sink)
    elif isinstance(structure, Continued):
        continued_law(structure, rows, scheme, sink)
    else:
        top_down(structure, verifier.card, rows, scheme, sink)


def structured_law(
    verifier: Verifier, rows: RowSource, scheme: DraftScheme, progress: Progress | None = None
) -> BlockLaw:
    """The whole block law of one instance. progress: called with the number of contexts done."""
    sink = LawSink(rows, scheme.depth, progress)
    run(verifier, rows, scheme, sink)
    return sink.law()


def structured_metrics(
    verifier: Verifier, rows: RowSource, scheme: DraftScheme, progress: Progress | None = None
) -> Metrics:
    """Depth distribution and largest deviation of one instance, in little more memory than a chunk."""
    sink = MetricsSink(rows, scheme.depth, progress)
    run(verifier, rows, scheme, sink)
    return sink.metrics()
