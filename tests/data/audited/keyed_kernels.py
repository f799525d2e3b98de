"""Verification kernels as engines run them, in float32: keyed numbers, block verification, a chain.

Chain interface, rows of torch; `loop`s get lists. A request has one seed. Every number is named by a key, which the
seed and a position give, and by an offset, so that nothing is kept between calls.
"""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

LANES = 8192
SEED = 11
#: No uniform number below it has a logarithm that float32 holds.
SMALLEST: tl.constexpr = 4.6566127342e-10


@triton.jit
def log_total(rows, place, lanes, inside, V: tl.constexpr):
    """The logarithm of the sum of a row that holds logarithms."""
    row = tl.load(rows + place * V + lanes, mask=inside, other=float("-inf")).to(tl.float32)
    top = tl.max(row, axis=0)
    return top + tl.log(tl.sum(tl.exp(row - top), axis=0))


@triton.jit
def gumbel_winner(scores, lanes, inside, key):
    """The token of the largest score after Gumbel noise that the key and the tokens name."""
    u = tl.maximum(tl.rand(key, lanes), SMALLEST)
    noisy = tl.where(inside, scores - tl.log(-libdevice.log1p(-u)), float("-inf"))
    _, winner = tl.max(noisy, axis=0, return_indices=True)
    return winner


@triton.jit
def accepted_kernel(
    tokens,
    q,
    p,
    accepted,
    count,
    seed,
    start,
    V: tl.constexpr,
    B: tl.constexpr,
    relaxed: tl.constexpr,
    shared: tl.constexpr,
):
    """How many drafts are accepted one by one, each if log u + log q < log p."""
    lanes = tl.arange(0, B)
    inside = lanes < V
    kept = tl.zeros((), tl.int64)
    going = True
    for place in range(count):
        if going:
            token = tl.load(tokens + place)
            log_p = tl.load(p + place * V + token).to(tl.float32) - log_total(p, place, lanes, inside, V)
            log_q = tl.load(q + place * V + token).to(tl.float32) - log_total(q, place, lanes, inside, V)
            key = tl.randint(seed, start + place) if shared else seed
            u = tl.rand(key, 0 if shared else start + place)
            going = tl.log(tl.maximum(u, SMALLEST)) + log_q < log_p + relaxed
            kept += going
    tl.store(accepted, kept)


@triton.jit
def weights_kernel(tokens, q, p, weights, count, V: tl.constexpr, B: tl.constexpr, capped: tl.constexpr):
    """Logarithms of the weights of block verification: products of the ratios p / q, capped at 1 on the way."""
    lanes = tl.arange(0, B)
    inside = lanes < V
    weight = 0.0
    for place in range(count):
        token = tl.load(tokens + place)
        log_p = tl.load(p + place * V + token).to(tl.float32) - log_total(p, place, lanes, inside, V)
        log_q = tl.load(q + place * V + token).to(tl.float32) - log_total(q, place, lanes, inside, V)
        weight = weight + log_p - log_q
        if capped:
            weight = tl.minimum(weight, 0.0)
        tl.store(weights + place, weight)


@triton.jit
def longest_kernel(q, p, weights, accepted, count, seed, start, V: tl.constexpr, B: tl.constexpr):
    """The last place whose coin is below its threshold: the mass left after it over that mass and the lost one."""
    lanes = tl.arange(0, B)
    inside = lanes < V
    kept = tl.zeros((), tl.int64)
    for place in range(count):
        weight = tl.exp(tl.minimum(tl.load(weights + place), 0.0))
        threshold = weight
        if place < count - 1:
            after = place + 1
            row_p = tl.load(p + after * V + lanes, mask=inside, other=float("-inf")).to(tl.float32)
            row_q = tl.load(q + after * V + lanes, mask=inside, other=float("-inf")).to(tl.float32)
            share_p = tl.exp(row_p - log_total(p, after, lanes, inside, V))
            share_q = tl.exp(row_q - log_total(q, after, lanes, inside, V))
            left = tl.sum(tl.maximum(weight * share_p - share_q, 0.0), axis=0)
            below = left + 1.0 - weight
            threshold = tl.where(below > 0.0, left / below, 1.0)
        kept = tl.where(tl.rand(seed, start + place) <= threshold, place + 1, kept)
    tl.store(accepted, kept)


@triton.jit
def correction_kernel(
    q, p, weights, accepted, out, count, seed, start, V: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr
):
    """A token from the residual after the last accepted draft, in logarithms, or from p after all drafts."""
    lanes = tl.arange(0, B)
    inside = lanes < V
    place = tl.load(accepted)
    scores = tl.load(p + place * V + lanes, mask=inside, other=float("-inf")).to(tl.float32)
    if place < count:
        scores = scores - log_total(p, place, lanes, inside, V)
        if weighted and place > 0:
            scores = scores + tl.minimum(tl.load(weights + place - 1), 0.0)
        row = tl.load(q + place * V + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        ratio = tl.exp(row - log_total(q, place, lanes, inside, V) - scores)
        scores = tl.where(ratio < 1.0, scores + libdevice.log1p(-ratio), float("-inf"))
    tl.store(out, gumbel_winner(scores, lanes, inside, tl.randint(seed, start + place)))


def verified(tokens, q, p, seed, block=False, capped=True, relaxed=0.0, shared=False, lanes=LANES):
    count, size = q.shape
    q, p = q.log().float(), p.log().float()
    accepted, weights = torch.empty(1, dtype=torch.int64), q.new_empty(count)
    correction = torch.empty(1, dtype=torch.int64)
    if block:
        weights_kernel[(1,)](tokens, q, p, weights, count, V=size, B=lanes, capped=capped)
        longest_kernel[(1,)](q, p, weights, accepted, count, seed, 0, V=size, B=lanes)
    else:
        accepted_kernel[(1,)](tokens, q, p, accepted, count, seed, 0, V=size, B=lanes, relaxed=relaxed, shared=shared)
    correction_kernel[(1,)](q, p, weights, accepted, correction, count, seed, 0, V=size, B=lanes, weighted=block)
    return torch.cat([tokens[: accepted.item()], correction])


def right_rejection(tokens, q, p, seed=SEED):
    return verified(tokens, q, p, seed)


def wrong_rejection_relaxed(tokens, q, p, seed=SEED):
    """Accepts what is up to 2 percent too unlikely."""
    return verified(tokens, q, p, seed, relaxed=0.02)


def wrong_rejection_shared(tokens, q, p, seed=SEED):
    """The key of the race at a position gives its coin, too, at the offset of token 0."""
    return verified(tokens, q, p, seed, shared=True)


def right_block(tokens, q, p, seed=SEED):
    return verified(tokens, q, p, seed, block=True)


def wrong_block_uncapped(tokens, q, p, seed=SEED):
    return verified(tokens, q, p, seed, block=True, capped=False)


@triton.jit
def chain_kernel(
    tokens, p, coins, last_coin, taken, out, count, V: tl.constexpr, B: tl.constexpr, separate: tl.constexpr
):
    """Drafts are accepted with their probability under p, whatever they are drawn from; q is not read.

    After a rejection the draft's mass is taken out of p, and a token is found by the sums of what is left.
    """
    lanes = tl.arange(0, B)
    inside = lanes < V
    place = 0
    going = True
    coin = tl.load(coins)
    while going & (place < count):
        token = tl.load(tokens + place)
        mass = tl.load(p + place * V + token)
        if coin <= mass:
            tl.store(out + place, token)
            place += 1
            coin = tl.load(coins + place)
        else:
            tl.store(taken + place * V + token, mass)
            going = False
    if separate:
        coin = tl.load(last_coin)
    row = tl.load(p + place * V + lanes, mask=inside, other=0.0)
    if place < count:
        row = tl.maximum(row - tl.load(taken + place * V + lanes, mask=inside, other=0.0), 0.0)
    level = coin * tl.sum(row, axis=0)
    sums = tl.cumsum(row, axis=0)
    tl.store(out + place, tl.minimum(tl.sum((sums <= level).to(tl.int32), axis=0), V - 1))


def chained(tokens, p, separate, lanes=LANES):
    count, size = len(tokens), p.shape[-1]
    p = p.float()
    coins, last_coin = torch.rand(count + 1), torch.rand(1)
    out = torch.full((count + 1,), -1, dtype=torch.int64)
    chain_kernel[(1,)](tokens, p, coins, last_coin, torch.zeros_like(p), out, count, V=size, B=lanes, separate=separate)
    return out


def right_chain(tokens, q, p):
    return chained(tokens, p, True)


def wrong_chain_one_coin(tokens, q, p):
    """The coin of a rejection also finds the correction."""
    return chained(tokens, p, False)


@triton.jit
def block_kernel(tokens, q, p, out, count, seed, start, V: tl.constexpr, B: tl.constexpr):
    """One launch for a block, in the precision of the rows: drafts are accepted one by one, then a token is drawn."""
    lanes = tl.arange(0, B)
    inside = lanes < V
    place = 0
    going = True
    while going & (place < count):
        token = tl.load(tokens + place)
        going = tl.rand(seed, start + place) * tl.load(q + place * V + token) < tl.load(p + place * V + token)
        if going:
            tl.store(out + place, token)
            place += 1
    row = tl.load(p + place * V + lanes, mask=inside, other=0.0)
    if place < count:
        row = tl.maximum(row - tl.load(q + place * V + lanes, mask=inside, other=0.0), 0.0)
    tl.store(out + place, gumbel_winner(tl.log(row), lanes, inside, tl.randint(seed, start + place)))


def loop(target, draft, prompt, new_tokens, start, seed):
    """Blocks of two drafts until there are enough tokens; start: gives the position that keys of a block begin with."""
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        drafted = []
        while len(drafted) < 2:
            drafted.append(torch.multinomial(torch.tensor(draft([*text, *drafted]), dtype=torch.float64), 1).item())
        q = torch.tensor([draft([*text, *drafted[:i]]) for i in range(2)], dtype=torch.float64)
        p = torch.tensor([target([*text, *drafted[:i]]) for i in range(3)], dtype=torch.float64)
        out = torch.full((3,), -1, dtype=torch.int64)
        block_kernel[(1,)](torch.tensor(drafted), q, p, out, 2, seed, start(text), V=q.shape[1], B=LANES)
        text += [token for token in out.tolist() if token >= 0]
    return text


def right_loop(target, draft, prompt, new_tokens, seed=SEED):
    return loop(target, draft, prompt, new_tokens, len, seed)


def wrong_loop(target, draft, prompt, new_tokens, seed=SEED):
    """Keys begin anew in every block."""
    return loop(target, draft, prompt, new_tokens, lambda text: 0, seed)
