"""Batches: every request by itself, and the requests together."""

import random
from fractions import Fraction

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import CallableProcess, Delayed, InvalidInput, InvalidVerifier, assert_lossless, check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import default_cases, interface_named, make_audit
from draftproof.simulator.audit.batches import mirrored, requests_of
from draftproof.simulator.audit.neighbours import unlike_neighbours
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance

CASES = {case.name: case for case in default_cases(interface_named("chain"), batch=True)}


def test_dependence_is_the_number_computed_by_hand():
    # One token each, p = (1/3, 2/3), q = (2/3, 1/3): draft 0 is accepted where the coin is below 1/2. With one coin for
    # both requests, P(0, 0) = (2/3)^2 1/2 = 2/9 instead of 1/9; all four cells are off by 1/9, so that TV is 2/9. The
    # second request has its tokens in reverse order, where draft 1 is the one that may be rejected.
    def shared(tokens, q, p, lengths):
        coin = random.random()
        found = []
        for (token,), [draft], [target, _] in zip(tokens, q, p, strict=True):
            accepted = coin < target[token] / draft[token]
            rest = [max(a - b, 0) for a, b in zip(target, draft, strict=True)]
            last = 0  # after an accepted token; after a rejected one the residual has one token
            found.append((int(accepted), last if accepted else rest.index(max(rest))))
        return found

    target = CallableProcess(2, lambda context: ["1/3", "2/3"] if context == () else ["1", "0"])
    draft = CallableProcess(2, lambda context: ["2/3", "1/3"])
    instance = Instance.of(target, draft, 1, RATIONAL)
    audit = make_audit(shared, "chain", arithmetic="rational", batch=2)
    assert audit.judge(instance, Delayed(1, 0, 1)).dependence == Fraction(2, 9)


def test_requests_of_a_batch_differ_in_rows_and_lengths():
    instance = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(0), 20)
    (first, long), (second, short) = requests_of(instance, Delayed(1, 0, 2), 2)
    assert (long.depth, short.depth) == (2, 1)
    assert first is instance
    for context in ((), (0,), (2, 1)):
        renamed = tuple(2 - token for token in context)
        assert second.target.row(context).tolist() == instance.target.row(renamed).tolist()[::-1]
    assert mirrored(mirrored(instance)).digest() == instance.digest()


def test_a_batch_brings_the_tokens_of_all_its_requests(planted):
    case = CASES["context"]
    audit = make_audit(planted("noise_arguments", "right_batch"), "chain", "numpy", batch=2)
    found = audit.judge(case.instance, case.scheme)
    by_request = [
        check(verifiers.make("naive"), own.instance.target, own.instance.draft, own.scheme).block_efficiency
        for own in audit.by_request(case)
    ]
    assert by_request[0] != by_request[1]
    assert found.dependence == pytest.approx(0, abs=1e-12)  # a product of some dozen floats
    assert found.efficiencies == pytest.approx([float(tokens) for tokens in by_request])
    assert found.block_efficiency == pytest.approx(float(sum(by_request)) / 2)


def test_batch_needs_an_interface_and_a_result_for_every_request(planted):
    with pytest.raises(InvalidInput, match="one request at a time"):
        make_audit(lambda root: None, "tree", batch=2)
    with pytest.raises(InvalidVerifier, match="one result for each of 2 requests"):
        assert_lossless(lambda *rows: [(0, 0)], interface="chain", cases=["context"], batch=2)


@pytest.mark.parametrize("request_of", [0, 1])
def test_every_request_is_looked_at_beside_other_neighbours(request_of):
    def of_neighbour(tokens, q, p, lengths):
        return [(0, int(tokens[1 - place][0]) if place == request_of else 0) for place in range(2)]

    told = unlike_neighbours(make_audit(of_neighbour, "chain", batch=2), CASES["context"])
    assert f"request {request_of} gets" in str(told)


def test_state_between_batches_is_noticed():
    calls = []

    def counts(tokens, q, p, lengths):
        calls.append(len(calls))
        return [(0, len(calls) % 2)] * len(tokens)

    case = CASES["context"]
    with pytest.raises(InvalidVerifier, match="without state"):
        make_audit(counts, "chain", batch=2).check_state(case.instance, case.scheme)
