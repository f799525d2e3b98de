"""`draftproof.vectors` and `draftproof vectors`: what a verifier must do on small instances, for tests in any language.

The file has the instances of an audit as its interface hands them over, with answers that are computed exactly. Its
first line has its version and the JSON Schema of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from draftproof.simulator.audit.program import Arguments, as_program, plain
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import DraftNode
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.verifiers import make

#: The version of the format: a line that is read otherwise gets another one.
VERSION = 1
#: Draft trees of each case, and calls with given numbers on each.
TREES, CALLS = 4, 6
#: The largest number that generators of 53 bits return.
LARGEST = 1 - 2.0**-53
#: Numbers this close to a bound are not asked for, since rounding decides there.
MARGIN = 2.0**-20
_MATCH, _TOP = "sample and match", "sample and match after top-k"
#: The rules, by name: a verifier and how the target is sampled; of one path, and of several.
RULES = {
    False: {
        "token by token": ("naive", ""),
        "block verification": ("block", ""),
        _MATCH: ("nss", ""),
        _TOP: ("nss", "top_k=2"),
    },
    True: {
        "recursive rejection": ("specinfer", ""),
        "traversal": ("traversal", ""),
        _MATCH: ("nss", ""),
        _TOP: ("nss", "top_k=2"),
    },
}
_MASS = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}
_TOKENS = {"type": "array", "items": {"type": "integer"}}
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
            "type": "array",
            "description": "drafted prefixes, each with the probability that all of it is accepted",
            "items": {"type": "array", "prefixItems": [_TOKENS, *_MASS["prefixItems"]]},
        },
        "blocks": {
            "type": "array",
            "description": "accepted tokens and correction, each block with its probability",
            "items": {"type": "array", "prefixItems": [_TOKENS, *_MASS["prefixItems"]]},
        },
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
    counts = [
        {"rule": rule, **{kind: sum((each["rule"], each["kind"]) == (rule, kind) for each in lines) for kind in _KINDS}}
        for rule in RULES[chosen.multi_path]
    ]
    shown = [Column("rule"), *(Column(kind, "count") for kind in _KINDS)]
    tables = [
        Table.whole((), [first, *lines], shown=False),
        Table.of(shown, counts, title="vectors of each kind", name="counts"),
    ]
    return Result(f"vectors for the {interface} interface, version {VERSION}", tables)


_KINDS = ("law", "numbers")


def _lines(interface: Interface, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    for case in cases:
        scheme, rows = case.scheme, case.instance.converted(RATIONAL, case.scheme.depth)
        for rule, (name, text) in RULES[interface.multi_path].items():
            sampling = Sampling.parse(text, "processing")
            if text and rows.vocab_size <= 2:
                continue
            judged = replace(rows, target=sampling.instance(rows).target)
            for tree, _ in islice(drawn_trees(scheme, rows.draft, RATIONAL), TREES):
                handed, root = (tree.root(each.target, each.draft) for each in (rows, judged))
                about = {"case": case.title, "rule": rule, **({"processing": text} if text else {})}
                yield {"kind": "law", **about, **_law(interface, handed, root, name)}
                for asked, answers in _numbered(interface, rule.replace(_TOP, _MATCH), [handed], [root]):
                    yield {"kind": "numbers", **about, "arguments": asked, "tokens": answers[0]}
        yield from _batches(interface, case)


def _batches(interface: Interface, case: Case) -> Iterator[dict[str, Any]]:
    """Calls of two requests of different lengths with given numbers."""
    if not interface.batches or interface.multi_path or not interface.ragged:
        return
    drawn = [
        next(drawn_trees(scheme, own.draft, RATIONAL))[0].root(own.target, own.draft)
        for own, scheme in requests_of(case.instance.converted(RATIONAL, case.scheme.depth), case.scheme, 2)
    ]
    for rule in _ANSWERS:
        for asked, answers in _numbered(interface, rule, drawn, drawn):
            yield {"kind": "numbers", "case": case.title, "rule": rule, "arguments": asked, "tokens": answers}


class _Given:
    """Numbers in place of coins, of each request one for every draft and a last one: asked for first and second."""

    def __init__(self, numbers: Sequence[Sequence[float]]) -> None:
        self._drafted = [list(each[:-1]) for each in numbers]
        self._left = iter((self._drafted, [each[-1] for each in numbers]))

    def numbers(self, kind: str, shape: Any, library: str = "python", dtype: Any = None) -> Any:
        """Those of drafts, one after the other or padded by request, then the last ones."""
        given = next(self._left)
        if given is self._drafted:
            flat = [number for each in self._drafted for number in each]
            return [each + [0.5] * (shape[1] - len(each)) for each in self._drafted] if len(shape) == 2 else flat
        return given if shape else given[0]


def _arguments(
    interface: Interface, nodes: Sequence[DraftNode], arithmetic: str, numbers: Sequence[Sequence[float]] | None
) -> dict[str, Any]:
    """The arguments of a call by name, as JSON has them."""
    batched = len(nodes) > 1
    asked = Arguments(interface, () if numbers is None else _TAKEN[interface.name], len(nodes))
    form = RowForm("python", kind_named(arithmetic))
    given = _Given(numbers or [])
    call = Call(asked, tuple(nodes), form, given, SamplingCoin(np.random.default_rng(0)), batched)
    handed: Any = replace(as_program(interface), read=lambda call, result, wants: result).call(call)
    return {name: plain(value) for name, value in handed.items()}


def _law(interface: Interface, handed: DraftNode, root: DraftNode, name: str) -> dict[str, Any]:
    """The arguments on a draft tree, and the exact probabilities of what a verifier accepts and returns."""
    verifier, masses = make(name), dict[tuple[int, ...], Fraction]()
    asked = _arguments(interface, [handed], "float64", None)
    for verdict, mass in outcomes(lambda coin: verifier.verify(root, coin), RATIONAL):
        block = (*verdict.accepted, verdict.correction)
        if "bonus_token_ids" in asked and len(block) == len(first_path(root)):  # drawn beforehand, and handed over
            block = (*verdict.accepted, asked["bonus_token_ids"][0][0])
        masses[block] = masses.get(block, Fraction(0)) + Fraction(as_python(mass))
    prefixes = [node.context for node in nodes_of(root)[1:]]
    accepted = {
        prefix: sum(mass for block, mass in masses.items() if block[:-1][: len(prefix)] == prefix)
        for prefix in prefixes
    }
    return {
        "arguments": asked,
        "exact": _arguments(interface, [handed], "rational", None),
        "accepted": _shown(accepted),
        "blocks": _shown(masses),
    }


def _shown(masses: Mapping[tuple[int, ...], Any]) -> list[list[Any]]:
    return [[list(tokens), str(Fraction(mass)), float(mass)] for tokens, mass in masses.items()]


def _numbered(
    interface: Interface, rule: str, handed: Sequence[DraftNode], roots: Sequence[DraftNode]
) -> Iterator[tuple[dict[str, Any], list[list[int]]]]:
    """Arguments with numbers, and the answers to them, for a rule and an interface that takes numbers."""
    if interface.name not in _TAKEN or rule not in _ANSWERS:
        return
    generator = np.random.default_rng(len(roots))
    paths = [first_path(root) for root in roots]
    for call in range(CALLS):
        numbers = [[_number(generator, call, path, place) for place in range(len(path))] for path in paths]
        answers = [_ANSWERS[rule](path, own) for path, own in zip(paths, numbers, strict=True)]
        shifted = [
            [[min(max(number + side * MARGIN / 4, 0), LARGEST) for number in own] for own in numbers]
            for side in (-1, 1)
        ]
        if any([_ANSWERS[rule](*each) for each in zip(paths, other, strict=True)] != answers for other in shifted):
            continue
        yield _arguments(interface, handed, "float64", numbers), answers


def _number(generator: Any, call: int, path: Sequence[DraftNode], place: int) -> float:
    """The number for a place of a path: all 0, all the largest, then some of these, some beside the bound, any."""
    if call < 2:
        return (0.0, LARGEST)[call]
    bounds: list[float] = []
    if place < len(path) - 1:
        token = path[place + 1].context[-1]
        bound = float(path[place].target[token] / path[place].draft[token])
        bounds = [bound + side for side in (-MARGIN, MARGIN) if 0 < bound + side < 1]
    return float(generator.choice([0.0, LARGEST, *bounds, generator.random(), generator.random()]))


def _token_by_token(path: Sequence[DraftNode], numbers: Sequence[float]) -> list[int]:
    """A draft is accepted where its number is below p / q; a correction is `_picked` from (p - q)+."""
    for place, (node, after) in enumerate(pairwise(path)):
        token = after.context[-1]
        if not fmpq(*numbers[place].as_integer_ratio()) * node.draft[token] < node.target[token]:
            left = [max(p - q, fmpq(0)) for p, q in zip(node.target, node.draft, strict=True)]
            return [*node.context, _picked(left, numbers[-1])]
    return [*path[-1].context, _picked(list(path[-1].target), numbers[-1])]


def _sample_and_match(path: Sequence[DraftNode], numbers: Sequence[float]) -> list[int]:
    """At every place a token is `_picked` from p; the first one that is not the drafted one is the correction."""
    for node, number in zip(path, numbers, strict=True):
        token = _picked(list(node.target), number)
        block = [*node.context, token]
        if tuple(block) not in [each.context for each in path]:
            return block
    return block


def _picked(weights: Sequence[Any], number: float) -> int:
    """The first token whose weight and those before it sum to more than the number's share of all weights."""
    wanted = fmpq(*number.as_integer_ratio()) * sum(weights, fmpq(0))
    return next(token for token, reached in enumerate(accumulate(weights)) if reached > wanted)


_ANSWERS: dict[str, Callable[[Sequence[DraftNode], Sequence[float]], list[int]]] = {
    "token by token": _token_by_token,
    _MATCH: _sample_and_match,
}
#: The names of the numbers for drafts, and of the last ones, by interface.
_TAKEN = {"chain": ("uniforms", "final_uniform"), "coins": ("uniforms", "final_uniforms")}
