"""Rejection kernels whose loads say nothing about masked lanes: left out afterwards, or read all the same."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(tokens, q, p, noise, out, count, V: tl.constexpr, B: tl.constexpr, read: tl.constexpr):
    columns = tl.arange(0, B)
    inside = columns < V
    drafted = tl.load(tokens + columns, mask=columns < count).to(tl.int64)
    place = 0
    going = True
    while going & (place < count):
        token = tl.sum(tl.where(columns == place, drafted, 0), axis=0)
        if tl.rand(7, place) * tl.load(q + place * V + token) < tl.load(p + place * V + token):
            tl.store(out + place, token)
            place += 1
        else:
            going = False
    row = tl.load(p + place * V + columns, mask=inside)
    if not going:
        row = tl.maximum(row - tl.load(q + place * V + columns, mask=inside), 0.0)
    used = inside & (row > 0.0)
    race = (row / tl.load(noise + columns, mask=inside)).to(tl.float64)
    race = tl.where(used | ((columns >= V) & read), race, 0.0)
    tl.store(out + place, tl.argmax(race, axis=0))


def verify(tokens, q, p, read):
    count, size = q.shape
    noise = torch.empty(size, dtype=p.dtype).exponential_()
    out = torch.full((count + 1,), -1, dtype=torch.int64)
    kernel[(1,)](tokens, q.contiguous(), p, noise, out, count, V=size, B=triton.next_power_of_2(size), read=read)
    return out


def right(tokens, q, p):
    return verify(tokens, q, p, False)


def wrong(tokens, q, p):
    return verify(tokens, q, p, True)
