"""Rejection kernels in Triton: token by token with `tl.rand`, and block verification with coins in memory."""

import random

import torch
import triton
import triton.language as tl


@triton.jit
def token_kernel(tokens, q, p, noise, out, count, seed, V: tl.constexpr, B: tl.constexpr, weak: tl.constexpr):
    columns = tl.arange(0, B)
    inside = columns < V
    place = 0
    going = True
    while going & (place < count):
        token = tl.load(tokens + place)
        here = tl.load(p + place * V + token)
        there = tl.load(q + place * V + token)
        if tl.rand(seed, place) * there < here:
            tl.store(out + place, token)
            place += 1
        else:
            going = False
    row = tl.load(p + place * V + columns, mask=inside, other=0.0)
    if not going:
        row = tl.maximum(row - tl.load(q + place * V + columns, mask=inside, other=0.0), 0.0)
        if weak:
            row = tl.load(p + place * V + columns, mask=inside, other=0.0)
    race = row / tl.load(noise + columns, mask=inside, other=1.0)
    tl.store(out + place, tl.argmax(race, axis=0))


def token_by_token(tokens, q, p, weak):
    count, size = q.shape
    noise = torch.empty(size, dtype=p.dtype).exponential_()
    out = torch.full((count + 1,), -1, dtype=torch.int64)
    seed = random.getrandbits(31)
    token_kernel[(1,)](tokens, q, p, noise, out, count, seed, V=size, B=triton.next_power_of_2(size), weak=weak)
    return out


def right(tokens, q, p):
    return token_by_token(tokens.cuda(), q.to("cuda:0").contiguous(), p.to(torch.device("cuda")), False)


def wrong(tokens, q, p):
    return token_by_token(tokens, q.contiguous(), p, True)


@triton.jit
def block_kernel(tokens, q, p, coins, noise, out, count, V: tl.constexpr, B: tl.constexpr, capped: tl.constexpr):
    columns = tl.arange(0, B)
    inside = columns < V
    weight = 1.0
    best = 0
    kept = 1.0
    for place in range(count):
        token = tl.load(tokens + place)
        weight = weight * tl.load(p + place * V + token) / tl.load(q + place * V + token)
        if capped:
            weight = tl.minimum(weight, 1.0)
        stop = tl.minimum(weight, 1.0)
        if place < count - 1:
            row = tl.load(p + (place + 1) * V + columns, mask=inside, other=0.0)
            spare = tl.sum(
                tl.maximum(weight * row - tl.load(q + (place + 1) * V + columns, mask=inside, other=0.0), 0.0)
            )
            stop = spare / tl.maximum(spare + 1 - stop, 1e-30)
        if tl.load(coins + place) < stop:
            best = place + 1
            kept = tl.minimum(weight, 1.0)
    row = tl.load(p + best * V + columns, mask=inside, other=0.0)
    if best < count:
        row = tl.maximum(kept * row - tl.load(q + best * V + columns, mask=inside, other=0.0), 0.0)
    for place in range(best):
        tl.store(out + place, tl.load(tokens + place))
    race = row / tl.load(noise + columns, mask=inside, other=1.0)
    tl.store(out + best, tl.argmax(race, axis=0))


def block(tokens, q, p, capped):
    count, size = q.shape
    coins = torch.rand(count, dtype=p.dtype, pin_memory=True, device="cuda")
    noise = torch.empty(size, dtype=p.dtype).exponential_()
    out = torch.full((count + 1,), -1, dtype=torch.int64)
    block_kernel[(1,)](tokens, q, p, coins, noise, out, count, V=size, B=triton.next_power_of_2(size), capped=capped)
    return out


def right_block(tokens, q, p):
    return block(tokens, q, p, True)


def wrong_block(tokens, q, p):
    return block(tokens, q, p, False)
