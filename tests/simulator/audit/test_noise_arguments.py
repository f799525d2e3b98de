"""Random numbers among the arguments, known by the names of parameters: no adapter, each with its wrong twin."""

import numpy as np
import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.interfaces._call import NOISE_KINDS, kind_of


def raced(weights, noise):
    return int(np.argmax(np.where(weights > 0, weights / noise, -1)))


def shifted(weights, gumbel):
    return int(np.argmax([np.log(w) + g if w > 0 else -np.inf for w, g in zip(weights, gumbel, strict=True)]))


def inverse(weights, coin):
    edges = np.cumsum(weights)
    return int(np.searchsorted(edges / edges[-1], coin, side="right"))


def verify(tokens, q, p, uniforms, sample, residual=True):
    for i, token in enumerate(tokens):
        if uniforms[i] * q[i, token] >= p[i, token]:
            return i, sample(np.maximum(p[i] - q[i], 0) if residual else p[i])
    return len(tokens), sample(p[len(tokens)])


def exponential(residual):
    def function(tokens, q, p, uniform_samples, exponential_noise):
        return verify(tokens, q, p, uniform_samples, lambda row: raced(row, exponential_noise), residual)

    return function


def gumbel(residual):
    def function(tokens, q, p, uniform_probs, *, gumbels):
        return verify(tokens, q, p, uniform_probs, lambda row: shifted(row, gumbels), residual)

    return function


def final(residual):
    def function(tokens, q, p, coins, bonus_uniform=None):
        return verify(tokens, q, p, coins, lambda row: inverse(row, bonus_uniform), residual)

    return function


def flat(residual):
    def function(draft_token_ids, draft_probs, target_probs, uniform_rand, gumbel_noise):
        kept, last = verify(
            draft_token_ids,
            draft_probs,
            target_probs,
            uniform_rand,
            lambda row: shifted(row, gumbel_noise[0]),
            residual,
        )
        return [[*draft_token_ids[:kept], last]]

    return function


@pytest.mark.one_in(4)
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize(
    ("make", "interface"), [(exponential, "chain"), (gumbel, "chain"), (final, "chain"), (flat, "coins")]
)
def test_functions_that_get_their_noise(make, interface, residual):
    audit = make_audit(make(residual), interface, library="numpy")
    cases = default_cases(audit.audited.interface, None, ["three_tokens", "zeros", "ragged"])
    assert all(audit.judge(each.instance, each.scheme).lossless for each in cases) is residual


def test_one_row_of_noise_for_two_requests_makes_them_depend_on_each_other():
    def wrong(tokens, q, p, lengths, uniforms, exponential):
        return [
            verify(tokens[b][: lengths[b]], q[b], p[b], uniforms[b], lambda row: raced(row, exponential[0]))
            for b in range(len(tokens))
        ]

    def right(tokens, q, p, lengths, uniforms, exponential):
        return [
            verify(tokens[b][: lengths[b]], q[b], p[b], uniforms[b], lambda row, b=b: raced(row, exponential[b]))
            for b in range(len(tokens))
        ]

    for function, lossless in ((right, True), (wrong, False)):
        audit = make_audit(function, "chain", library="numpy", batch=2)
        [case] = default_cases(audit.audited.interface, None, ["context"], batch=True)
        assert audit.judge(case.instance, case.scheme).lossless is lossless


def test_names_of_rows_are_no_names_of_noise():
    assert not {"q", "p", "tokens", "temperature", "draft_probs", "seed"} & NOISE_KINDS.keys()
    assert [kind_of(name) for name in ("Uniforms", "uniform_", "gumbels", "q", "probs")] == [
        "uniforms", "uniforms", "gumbel", None, None,
    ]  # fmt: skip


def test_the_report_says_how_it_was_called():
    audit = make_audit(gumbel(True), "chain", library="numpy", name="mine")
    [case] = default_cases(audit.audited.interface, None, ["equal"])
    audit.judge(case.instance, case.scheme)
    assert audit.audited.adapter == (
        "called as mine(tokens, q, p, uniform_probs, gumbels), rows as numpy float64; "
        "uniform_probs: a uniform number for every draft; gumbels: a Gumbel number for every token"
    )
