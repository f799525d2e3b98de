"""The cost of an exact evaluation, estimated before it runs: numbers in memory and contexts to visit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import comb, inf, log2

from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.structured.declared import declared_for
from draftproof.simulator.laws.structured.top_down import CHUNK
from draftproof.simulator.protocol import DraftScheme, TokenProcess, Verifier
from draftproof.simulator.structures import Continued, Layered, LeafToRoot, TopDown, declared
from draftproof.simulator.tables import context_count

#: Bytes that a run may take by default.
MEMORY = 4 * 2**30
#: Bytes a number takes: an exact one is a pointer and an object of two small integers.
BYTES = {True: 64, False: 8}
#: Full laws are kept up to this many bytes, fewer where states collapse and shapes can share work.
FULL_LAW = {False: 2**28, True: 2**20}

#: Evaluations of more steps are refused, by whether they are exact: some ten minutes of either kind.
STEPS = {True: 3e7, False: 3e9}

LAW, METRICS, COLLAPSED = "full law", "streamed", "collapsed"


@dataclass(frozen=True)
class Work:
    """A way to evaluate a shape. mode: `full law`, `streamed` or `collapsed`. steps: contexts, or states of nodes."""

    structure: str
    mode: str
    steps: float
    bytes: float

    @property
    def engine(self) -> str:
        """What ran, for people and rows."""
        return f"structured ({self.structure})" if self.mode == LAW else f"structured ({self.structure}, {self.mode})"


def structured_work(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: Arithmetic,
    memory: float = MEMORY,
) -> Work:
    """The fullest evaluation that fits into `memory` bytes; raises `TooLarge` with the nearest shape that fits."""
    work = _fitting(verifier, target, draft, scheme, arithmetic, memory)
    if work is not None:
        return work
    assert isinstance(scheme, Delayed)
    fits = deepest(scheme, lambda s: _fitting(verifier, target, draft, s, arithmetic, memory) is not None)
    nearest = f"the nearest shape that fits is {fits}" if fits else "lower V"
    most = most_steps(verifier, arithmetic)
    modes = _modes(verifier, target, draft, scheme, arithmetic)
    cheapest = min(modes, key=lambda mode: (max(mode.steps, most), mode.bytes))
    if cheapest.steps > most:
        count = f"{cheapest.steps:.1e}" if cheapest.steps < inf else "1.0e+300 or more"
        why = f"{count} {arithmetic.name} steps, more than {most:.0e}"
        raises = ""
    else:
        why = f"{_gib(cheapest.bytes)}, more than {_gib(memory)}"
        raises = ", or allow more memory"
    weighs = cheapest.structure != "top-down" and isinstance(target, MarkovProcess)
    state = "; its weights depend on the whole path, so that its state does not collapse" if weighs else ""
    raise TooLarge(f"at V = {target.vocab_size} this needs about {why}{state}; {nearest}{raises}")


def deepest(scheme: Delayed, fits: Callable[[Delayed], bool]) -> Delayed | None:
    """The deepest shape within `scheme` that fits, of those the one of most drafted tokens; None if there is none.

    fits: something that holds for every shape within one for which it holds.
    """
    depth = bisect_left(range(scheme.depth + 1), True, key=lambda depth: not fits(Delayed(1, 0, depth))) - 1
    if depth < 0:
        return None
    shapes = [Delayed(1, 0, depth)]
    for L1 in range(max(0, depth - scheme.L2), min(scheme.L1, depth - 1) + 1):
        length = depth - L1
        more = bisect_left(range(2, scheme.K + 1), True, key=partial(_refused, fits, L1, length))
        shapes += [Delayed(1 + more, L1, length)] if more else []
    return max(shapes, key=lambda shape: shape.nodes)


def _refused(fits: Callable[[Delayed], bool], L1: int, L2: int, K: int) -> bool:
    return not fits(Delayed(K, L1, L2))


def steps(verifier: Verifier, scheme: Delayed, vocab_size: int) -> float:
    """Contexts, times the paths that may be alive or the calls of `branch`, or states of nodes that are visited."""
    structure = declared_for(verifier, scheme)
    if isinstance(structure, LeafToRoot):
        return _states(scheme, vocab_size)
    if isinstance(structure, Layered):
        return _layers(scheme, vocab_size)
    contexts = context_count(vocab_size, scheme.depth + 1) / max(vocab_size - 1, 1)
    if isinstance(structure, Continued):  # every context from all starts above it, with two numbers of paths
        return contexts * (1 + (scheme.K - 1) * max(scheme.L2 - 1, 0)) * scheme.K**2
    several = isinstance(structure, TopDown) and not verifier.card.single_path
    return contexts * (_calls(verifier, scheme.K, vocab_size) or scheme.K if several else 1)


def most_steps(verifier: Verifier, arithmetic: Arithmetic) -> float:
    """The limit in `STEPS`; a call of `branch` is as slow in floats as in exact numbers."""
    return STEPS[arithmetic.exact or _calls(verifier, 1, 2) > 0 or isinstance(declared(verifier), Layered)]


def _layers(scheme: Delayed, size: int) -> float:
    """An upper bound on the states of layers, each counted as a hundred contexts, which take as long."""
    layers = [size**scheme.L1 * comb(size**level + scheme.K - 1, scheme.K) for level in range(scheme.L2)]
    return 100.0 * float(min(sum(layers), 10**300)) if layers else 1.0


def _calls(verifier: Verifier, paths: int, size: int) -> float:
    """Calls of `branch` at one context for every number of paths; 0 for a verifier that has a child law."""
    structure = declared(verifier)
    if not isinstance(structure, TopDown) or structure.child_law is not None:
        return 0.0
    if verifier.card.exchangeable:
        return float(min(comb(size + paths, paths) - 1, 10**300))
    return sum(context_count(size, k) for k in range(1, paths + 1))


def _gib(number: float) -> str:
    if number < 2**28:
        return f"{number / 2**20:,.1f} MiB"
    return f"{number / 2**30:,.1f} GiB" if number < 2**60 else f"2^{log2(number) - 30:.0f} GiB"


def _fitting(
    verifier: Verifier,
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    arithmetic: Arithmetic,
    memory: float,
) -> Work | None:
    modes = _modes(verifier, target, draft, scheme, arithmetic)
    for work in modes:
        collapses = any(other.mode == COLLAPSED for other in modes)
        room = min(memory, FULL_LAW[collapses]) if work.mode == LAW else memory
        if work.bytes <= room and work.steps <= most_steps(verifier, arithmetic):
            return work
    return None


def _modes(
    verifier: Verifier, target: TokenProcess, draft: TokenProcess, scheme: DraftScheme, arithmetic: Arithmetic
) -> list[Work]:
    """Every way to evaluate, the most informative first."""
    structure = declared_for(verifier, scheme)
    assert structure is not None
    assert isinstance(scheme, Delayed)
    size, entry_bytes = target.vocab_size, BYTES[arithmetic.exact]
    rows = context_count(size, scheme.depth + 1) * size / max(size - 1, 1)  # entries of all tables of depth L
    markov = isinstance(target, MarkovProcess) and isinstance(draft, MarkovProcess)
    tables = rows * (1 + 1 / size) * entry_bytes
    working = _chunks(scheme, size) * entry_bytes
    visited = steps(verifier, scheme, size)
    if isinstance(structure, LeafToRoot):
        working = visited * (3 * size + 10) * entry_bytes
    if isinstance(structure, Continued):
        working += rows * (3 * scheme.K + 10) * entry_bytes
    streamed = working if markov else tables + working
    judged = tables + 5 * rows * entry_bytes + working  # the law, and both sides of its balance
    modes = [Work(structure.name, LAW, visited, judged), Work(structure.name, METRICS, visited, streamed)]
    if markov and isinstance(structure, TopDown):
        order = max(target.order, draft.order)  # type: ignore[attr-defined]
        numbers = context_count(size, order + 1) * entry_bytes
        states = context_count(size, order) * (max(scheme.depth, 1) + _calls(verifier, scheme.K, size))
        modes.insert(1, Work(structure.name, COLLAPSED, states, numbers * (scheme.K + 4) ** 2))
    return modes


def _chunks(scheme: Delayed, size: int) -> float:
    """Numbers in the chunks in memory at once: one of every depth, and the intermediate arrays of the deepest."""
    widest = [min(context_count(size, depth + 1), max(CHUNK, size)) for depth in range(scheme.depth)]
    return (scheme.K + 4) * (sum(widest) + 4 * max(widest, default=1.0))


def _states(scheme: Delayed, size: int) -> float:
    """States of nodes that a leaf-to-root evaluation visits, if every token can be drafted everywhere."""
    total, contexts = 0.0, 1.0
    entries = [0.0, 1.0]  # by paths, for one context
    for depth in range(scheme.depth):
        if depth == scheme.L1:
            entries = [0.0] * scheme.K + [sum(entries)]
        stage, children = entries, [0.0] * len(entries)  # by paths left, and by paths through the child
        for rejected in range(min(len(entries) - 1, size) + 1):
            total += contexts * sum(stage)
            # any number of the paths may go through the next child; all of them where it is the last token
            at_least = stage if rejected == size - 1 else list(accumulate(reversed(stage)))[::-1]
            children = [have + least * (size - rejected) / size for have, least in zip(children, at_least, strict=True)]
            done = [sum(stage[1:])] if rejected == size - 1 else at_least[1:]
            stage = [size_done * (size - rejected) for size_done in done] + [0.0] * (len(stage) - len(done))
        contexts, entries = contexts * size, [0.0, *children[1:]]
        if total > 1e18:
            return inf
    return total + contexts * sum(entries)
