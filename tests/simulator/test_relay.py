"""A function that is asked for its runs has the law of its runs here; a change between two requests is seen."""

import json

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.drafts._parts import Part
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import NoFunction
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.protocol import Verdict
from draftproof.simulator.relay import FEW, Relay, Runner

#: Coins of one run: more runs than are asked for at once.
COINS = 6


def law(chance) -> tuple[dict[int, fmpq], int]:
    """The law of a function whose coins have these chances after so many requests, and the number of requests."""
    instance = FAMILIES["dirichlet"].instance(2, 1, np.random.default_rng(0), 20)
    root = DraftTree({(): (0,)}).root(instance.target, instance.draft)
    requests = 0

    def verify(roots, coin, told):
        return [Verdict((), sum(coin.flip(chance(requests)) for _ in range(COINS)) % 2)]

    def ask(request):
        nonlocal requests
        requests += 1
        return json.loads(json.dumps(runner.reply(request)))

    runner = Runner(lambda settings: verify)
    relay = Relay(ask)
    masses: dict[int, fmpq] = {}
    for [verdict], mass in outcomes(lambda coin: relay.run((root,), coin, {}, (root,), {}), RATIONAL):
        masses[verdict.correction] = masses.get(verdict.correction, fmpq(0)) + mass
    return masses, requests


def test_the_law_is_that_of_all_runs() -> None:
    assert FEW < 2**COINS
    found, requests = law(lambda _: fmpq(1, 3))
    assert found == {0: (1 + fmpq(1, 3) ** COINS) / 2, 1: (1 - fmpq(1, 3) ** COINS) / 2}
    assert requests > 1


def test_what_changes_between_two_requests_is_no_function() -> None:
    with pytest.raises(NoFunction, match="two runs with the same answers"):
        law(lambda requests: fmpq(1, 2 + requests))


def test_the_other_process_sees_the_laws_of_branches() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(0), 20)
    for pieces in ({}, {(): (Part(0, 2), Part(1, 2))}):
        root = DraftTree.from_paths((), [(0, 1), (0, 2)], pieces).root(instance.target, instance.draft)
        seen = []

        def verify(roots, coin, told, seen=seen):
            seen.append(roots[0])
            return [Verdict((), 0)]

        runner = Runner(lambda settings, verify=verify: verify)
        relay = Relay(lambda request, runner=runner: json.loads(json.dumps(runner.reply(request))))
        relay.run((root,), EnumeratingCoin(RATIONAL), {}, (root,), {})
        for ours, theirs in ((root, seen[0]), (root.child(0), seen[0].child(0))):
            assert [law.tolist() for law in theirs.laws] == [law.tolist() for law in ours.laws]
            assert [law is theirs.draft for law in theirs.laws] == [law is ours.draft for law in ours.laws]
