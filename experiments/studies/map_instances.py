"""The instances of the map of trees: pairs of processes at a given distance and sampling temperature.

Rows are made in float64, sampled at the temperature, and rounded to multiples of `2^-16`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from draftproof.experiments.inputs.text import TOPICS, read_counted
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.processes import TableProcess, rationalise

#: How the draft differs from the target, with the values tried: strength of noise on the logits, another temperature of
#: the logits, the order of an n-gram model.
KINDS: dict[str, tuple[float, ...]] = {
    "perturbed": (0.0, 0.25, 0.5, 1.0, 2.0, 4.0),
    "tempered": (1.5, 3.0),
    "n-gram": (2, 1, 0),
}
TEMPERATURES = (0.25, 0.5, 1.0, 2.0)
#: Order of the n-gram target, and spread of random logits.
ORDER, SPREAD = 3, 2.0
#: A pair of models after a root of its text; its value is the number of the root.
TRAINED = "trained"
DENOMINATOR = 2**16


@dataclass(frozen=True)
class MapInstance:
    """One pair of processes. kind: a key of `KINDS`, or `TRAINED`; value: one of its values.

    seed: of random rows; for n-grams the rank of the root context by frequency. rows: those of a trained pair at
    temperature 1.
    """

    kind: str
    value: float
    temperature: float
    seed: int
    vocab_size: int
    depth: int
    rows: Instance | None = None

    @property
    def about(self) -> dict[str, Any]:
        """The fields that identify it in its row; a trained pair has the hash of its rows."""
        names = ("kind", "value", "temperature", "seed", "vocab_size", "depth")
        digest = {} if self.rows is None else {"instance": self.rows.digest()}
        return {name: getattr(self, name) for name in names} | digest

    def instance(self) -> Instance:
        """The exact rows, to the depth."""
        target, draft = self._logits()
        rows = [
            [rationalise(_softmax(x / self.temperature), DENOMINATOR, RATIONAL) for x in y] for y in (target, draft)
        ]
        return Instance(TableProcess(rows[0], "target"), TableProcess(rows[1][: self.depth], "draft"))

    def _logits(self) -> tuple[list[Any], list[Any]]:
        """Logits of target and draft, `[d]` of shape `(V**d, V)`."""
        if self.rows is not None:
            return _logs(self.rows.target.tables), _logs(self.rows.draft.tables)
        if self.kind == "n-gram":
            pair = _pair(self.vocab_size, int(self.value))
            root = pair.frequent_roots(self.seed + 1)[-1][0]
            tables = [process.converted(FLOAT64, "rows") for process in pair.processes(root)]
            target, draft = (_logs([table.table(depth) for depth in range(self.depth + 1)]) for table in tables)
            return target, draft
        generator = np.random.default_rng((self.seed, self.vocab_size))  # the same for every strength of noise
        shapes = [(self.vocab_size**depth, self.vocab_size) for depth in range(self.depth + 1)]
        target = [SPREAD * generator.standard_normal(shape) for shape in shapes]
        noise = [generator.standard_normal(shape) for shape in shapes]
        if self.kind == "perturbed":
            return target, [x + self.value * z for x, z in zip(target, noise, strict=True)]
        return target, [x / self.value for x in target]


def trained_instances(folder: str, vocab_size: int, depth: int, roots: int) -> Iterator[MapInstance]:
    """The instances of a folder of `train`, at every temperature; raises `InvalidInput` for a pair of another size."""
    from draftproof.experiments.models.expect.problem import pair_problem
    from draftproof.experiments.models.pair.opened import PairRequest, load_wanted
    from draftproof.simulator.instances.sampling import Sampling

    opened = load_wanted(PairRequest(folder))
    if opened.pair.vocab_size != vocab_size:
        raise InvalidInput(
            f"{folder} has {opened.pair.vocab_size} tokens, the instances of the map {vocab_size}; "
            f"draftproof train --vocab {vocab_size} --out FOLDER makes such a pair"
        )
    cases = pair_problem(opened, Sampling(), vocab_size, roots).roots(depth, FLOAT64)
    for number, case in enumerate(cases):
        rows = Instance.of(case.target, case.draft, depth, FLOAT64)
        yield from (MapInstance(TRAINED, number, t, 0, vocab_size, depth, rows) for t in TEMPERATURES)


def distance(floats: Instance, depth: int) -> float:
    """The mean total variation of `p` and `q` at depths `0..depth-1`, over contexts drawn from the target."""
    mass, total = np.ones(1), 0.0
    for level in range(depth):
        p, q = floats.target.tables[level], floats.draft.tables[level]
        total += float((mass * abs(p - q).sum(axis=1) / 2).sum())
        mass = (mass[:, np.newaxis] * p).reshape(-1)
    return total / depth


@cache
def _pair(vocab_size: int, order: int) -> TextPair:
    return TextPair(read_counted(TOPICS), vocab_size, ORDER, order)


def _logs(tables: Sequence[Any]) -> list[Any]:
    with np.errstate(divide="ignore"):  # a probability of 0 is 0 at every temperature
        return [np.log(table) for table in tables]


def _softmax(logits: Any) -> Any:
    scaled = np.exp(logits - logits.max(axis=1, keepdims=True))
    return scaled / scaled.sum(axis=1, keepdims=True)
