"""`draftproof.vectors` and `draftproof vectors`: what a verifier must do on small instances, for tests in any language.

The file has the instances of an audit as its interface hands them over, with answers that are computed exactly. Its
first line has its version and the JSON Schema of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, islice, pairwise
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.experiments.result import Column, Result, Table
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.audit import RowForm, default_cases, interface_named, kind_named
from draftproof.simulator.audit.batches import requests_of
from draftproof.simulator.audit.interfaces import Call, Interface
from draftproof.simulator.audit.interfaces._call import nodes_of
from draftproof.simulator.audit.program import Arguments, plain
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import DraftNode, Verdict
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.verifiers import make

#: The version of the format: a line that is read otherwise gets another one.
VERSION = 1
#: Draft trees of each case, and calls with given numbers on each.
TREES, CALLS = 4, 6
#: The largest number that generators of 53 bits return.
LARGEST = 1 - 2.0**-53
#: Numbers beside a bound are this far from it; those that are closer than a quarter of it are not asked for, since
#: rounding decides there.
MARGIN = 2.0**-20
_MATCHING = {"sample and match": ("nss", ""), "sample and match after top-k": ("nss", "top_k=2")}
#: The rules, by name: a verifier and how the target is sampled; of one path, and of several.
RULES = {
    False: {"token by token": ("naive", ""), "block verification": ("block", ""), **_MATCHING},
    True: {"recursive rejection": ("specinfer", ""), "traversal": ("traversal", ""), **_MATCHING},
}
#: Verifiers of one path that take one number for each draft and a last one.
_NUMBERED = ("naive", "nss")
#: The names of the numbers for drafts, and of the last ones, by interface.
_TAKEN = {"chain": ("uniforms", "final_uniform"), "coins": ("uniforms", "final_uniforms")}
_TOKENS = {"type": "array", "items": {"type": "integer"}}
_MASSES = {
    "type": "array",
    "items": {"type": "array", "prefixItems": [_TOKENS, {"type": "string"}, {"type": "number"}]},
}
#: The JSON Schema of all lines but the first.
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["kind", "case", "rule", "arguments"],
    "properties": {
        "kind": {"enum": ["law", "numbers"], "description": "a law to compare frequencies with; one call, its answer"},
        "case": {"type": "string", "description": "what p and q are like"},
        "rule": {"enum": list(dict.fromkeys(name for rules in RULES.values() for name in rules))},
        "arguments": {"type": "object", "description": "what the interface hands over; numbers as float64"},
        "exact": {"type": "object", "description": "the same with probabilities as fractions"},
        "processing": {"type": "string", "description": "what the rule does to the rows of p first"},
        "accepted": {
            "description": "drafted prefixes, each with the probability that all of it is accepted",
            **_MASSES,
        },
        "blocks": {"description": "accepted tokens and correction, each block with its probability", **_MASSES},
        "tokens": {"type": "array", "description": "the answer; in a batch a list for each request"},
    },
}


def vectors(*, interface: str = "chain", cases: str | Sequence[str] | None = None) -> Result:
    """Instances with exact answers for tests in any language: -o FILE.jsonl writes them.

    Each line has the arguments of a call. Of kind law: the exact probabilities of all accepted prefixes and blocks. Of
    kind numbers: the random numbers, and the answer to them.

    Args:
        interface: How a verifier is called: chain, tree, paths, posterior, coins, vllm, sglang or sglang-chain.
        cases: Only these instances: context,zeros,..
    """
    chosen = interface_named(interface)
    names = [part.strip() for part in cases.split(",")] if isinstance(cases, str) else cases
    shapes = default_cases(chosen, None, names)
    lines = list(_lines(chosen, shapes))
    first = {"kind": "header", "draftproof_vectors": VERSION, "interface": interface, "schema": SCHEMA}
    counts = Counter((line["rule"], line["kind"]) for line in lines)
    kinds = ("law", "numbers")
    rows = [{"rule": rule, **{kind: counts[rule, kind] for kind in kinds}} for rule in RULES[chosen.multi_path]]
    shown = [Column("rule"), *(Column(kind, "count") for kind in kinds)]
    tables = [
        Table.whole((), [first, *lines], shown=False),
        Table.of(shown, rows, title="vectors of each kind", name="counts"),
    ]
    return Result(f"vectors for the {interface} interface, version {VERSION}", tables)


def _lines(interface: Interface, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    for case in cases:
        scheme, rows = case.scheme, case.instance.converted(RATIONAL, case.scheme.depth)
        for rule, (name, text) in RULES[interface.multi_path].items():
            if text and rows.vocab_size <= 2:
                continue
            judged = replace(rows, target=Sampling.parse(text, "processing").instance(rows).target)
            about = {"case": case.title, "rule": rule, **({"processing": text} if text else {})}
            for tree, _ in islice(drawn_trees(scheme, rows.draft, RATIONAL), TREES):
                handed, root = (tree.root(own.target, own.draft) for own in (rows, judged))
                yield {"kind": "law", **about, **_law(interface, handed, root, name)}
                for asked, answers in _numbered(interface, name, [handed], [root]):
                    yield {"kind": "numbers", **about, "arguments": asked, "tokens": answers[0]}
        if interface.batches and interface.ragged and not interface.multi_path:
            yield from _batches(interface, case, rows)


def _batches(interface: Interface, case: Case, rows: Instance) -> Iterator[dict[str, Any]]:
    """Calls of two requests of different lengths with given numbers, by rules that do not process rows."""
    drawn = [
        next(drawn_trees(shape, own.draft, RATIONAL))[0].root(own.target, own.draft)
        for own, shape in requests_of(rows, case.scheme, 2)
    ]
    for rule, (name, text) in RULES[False].items():
        for asked, answers in _numbered(interface, "" if text else name, drawn, drawn):
            yield {"kind": "numbers", "case": case.title, "rule": rule, "arguments": asked, "tokens": answers}


class _Given:
    """Numbers in place of coins, of each request one for every draft and a last one: asked for first and second."""

    def __init__(self, numbers: Sequence[Sequence[float]]) -> None:
        self._drafted = [list(own[:-1]) for own in numbers]
        self._left = iter((self._drafted, [own[-1] for own in numbers]))

    def numbers(self, kind: str, shape: Any, library: str = "python", dtype: Any = None) -> Any:
        """Those of drafts, one after the other or padded by request, then the last ones."""
        given = next(self._left)
        if given is self._drafted:
            if len(shape) == 1:
                return [number for own in self._drafted for number in own]
            return [[*own, *[0.5] * (shape[1] - len(own))] for own in self._drafted]
        return given if shape else given[0]


def _arguments(
    interface: Interface, nodes: Sequence[DraftNode], arithmetic: str, numbers: Sequence[Sequence[float]] = ()
) -> dict[str, Any]:
    """The arguments of a call by name, as JSON has them."""
    asked = Arguments(interface, _TAKEN[interface.name] if numbers else (), len(nodes))
    form, coin = RowForm("python", kind_named(arithmetic)), SamplingCoin(np.random.default_rng(0))
    call = Call(asked, tuple(nodes), form, _Given(numbers), coin, batched=len(nodes) > 1)
    replace(interface, results=lambda *_: nodes, read=lambda *_: Verdict((), 0)).call(call)
    return {name: plain(value) for name, value in call.made.items()}


def _law(interface: Interface, handed: DraftNode, root: DraftNode, name: str) -> dict[str, Any]:
    """The arguments on a draft tree, and the exact probabilities of what a verifier accepts and returns."""
    verifier, masses = make(name), dict[tuple[int, ...], Fraction]()
    asked = _arguments(interface, [handed], "float64")
    for verdict, mass in outcomes(lambda coin: verifier.verify(root, coin), RATIONAL):
        block = (*verdict.accepted, verdict.correction)
        if "bonus_token_ids" in asked and len(block) == len(first_path(root)):  # drawn beforehand, and handed over
            block = (*verdict.accepted, asked["bonus_token_ids"][0][0])
        masses[block] = masses.get(block, Fraction(0)) + Fraction(as_python(mass))
    accepted = {
        node.context: sum(mass for block, mass in masses.items() if block[:-1][: len(node.context)] == node.context)
        for node in nodes_of(root)[1:]
    }
    exact = _arguments(interface, [handed], "rational")
    return {"arguments": asked, "exact": exact, "accepted": _shown(accepted), "blocks": _shown(masses)}


def _shown(masses: Mapping[tuple[int, ...], Any]) -> list[list[Any]]:
    return [[list(tokens), str(Fraction(mass)), float(mass)] for tokens, mass in masses.items()]


class _Numbers:
    """A coin that decides by given numbers, one for each draft and a last one, which a correction takes.

    An event happens where its number is below its probability; what is chosen is the first one whose weight and those
    before it sum to more than the number's share of all weights. close: whether rounding could have decided.
    """

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers, self._last, self._flipped = iter(numbers), numbers[-1], False
        self.close = False

    def flip(self, probability: Any) -> bool:
        self._flipped = True
        return self._is_below(next(self._numbers), probability)

    def choose(self, weights: Any) -> int:
        number, total = self._last if self._flipped else next(self._numbers), sum(weights, fmpq(0))
        reached = enumerate(accumulate(weights))
        return next(token for token, weight in reached if self._is_below(number, weight / total))

    def _is_below(self, number: float, bound: fmpq) -> bool:
        exact = fmpq(*number.as_integer_ratio())
        self.close |= 0 < bound < 1 and abs(exact - bound) < fmpq(*(MARGIN / 4).as_integer_ratio())
        return bool(exact < bound)


def _numbered(
    interface: Interface, name: str, handed: Sequence[DraftNode], roots: Sequence[DraftNode]
) -> Iterator[tuple[dict[str, Any], list[list[int]]]]:
    """Arguments with numbers, and a verifier's answers to them, for an interface that takes numbers."""
    if interface.name not in _TAKEN or name not in _NUMBERED:
        return
    generator = np.random.default_rng(len(roots))
    for call in range(CALLS):
        numbers = [_some_numbers(generator, call, first_path(root)) for root in roots]
        coins = [_Numbers(own) for own in numbers]
        verdicts = [make(name).verify(root, coin) for root, coin in zip(roots, coins, strict=True)]
        if not any(coin.close for coin in coins):
            answers = [[*verdict.accepted, verdict.correction] for verdict in verdicts]
            yield _arguments(interface, handed, "float64", numbers), answers


def _some_numbers(generator: Any, call: int, path: Sequence[DraftNode]) -> list[float]:
    """A number for each node of a path: all 0, all the largest, then some of these, some beside the bound, any."""
    if call < 2:
        return [(0.0, LARGEST)[call]] * len(path)
    bounds = [float(node.target[below.context[-1]] / node.draft[below.context[-1]]) for node, below in pairwise(path)]
    beside = [[bound + side for side in (-MARGIN, MARGIN) if 0 < bound + side < 1] for bound in bounds]
    choices = ([0.0, LARGEST, *chosen, generator.random(), generator.random()] for chosen in [*beside, []])
    return [float(generator.choice(choice)) for choice in choices]
