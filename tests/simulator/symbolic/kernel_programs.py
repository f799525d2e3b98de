"""Random Triton kernels, as the text of a file: loads, masks, `tl.rand`, reductions, choices, branches and loops."""

import random

WIDTH = 4
HEAD = """import torch
import triton
import triton.language as tl

INF = float("inf")


@triton.jit
def kernel(out, noise, row, seed, count, B: tl.constexpr, INF: tl.constexpr):
    columns = tl.arange(0, B)
    inside = columns < count
    x = tl.load(noise + columns, mask=inside, other={other})
    w = tl.load(row + columns)
    s = tl.load(noise)
"""
TAIL = """

def run():
    noise = torch.empty({width}, dtype=torch.{dtype}).{noise}_()
    out = torch.full(({slots},), -1, dtype=torch.int64)
    seed = int(torch.randint(2**31, ()))
    kernel[(1,)](out, noise, torch.tensor({row}, dtype=torch.{dtype}), seed, {count}, B={width}, INF=INF)
    return out.tolist()
"""
#: A vector of vectors `a` and `b`, constants `c` and `d`.
VECTORS = (
    "{a} * {c}", "{a} + {b}", "{a} - {b}", "1 - {a}", "tl.maximum({a}, {b})", "tl.minimum({a}, {c})", "w / {a}",
    "{a} / w", "tl.where(inside, {a}, {d})", "tl.where(columns == {i}, {d}, {a})", "tl.where({a} < {c}, {b}, {d})",
    "tl.log({a})", "tl.rand(seed, columns)", "tl.rand(seed, columns + {i})", "tl.cumsum({a}, axis=0)", "tl.abs({a})",
    "tl.sqrt(tl.abs({a}))", "{a}.to(tl.float32)", "tl.log(w) - tl.log({a})",
)  # fmt: skip
SCALARS = (
    "tl.sum({a}, axis=0)", "tl.max({a}, axis=0)", "tl.min({a}, axis=0)", "tl.load(noise + {i})", "s * {c}",
    "tl.rand(seed, count + {i})", "1 - s", "tl.sum(tl.where(columns == {i}, {a}, 0.0), axis=0)",
    "tl.load(row + {i}) / s",
)  # fmt: skip
WHOLE = (
    "tl.argmax({a}, axis=0)", "tl.argmin({a}, axis=0)", "tl.sum(({a} < {c}).to(tl.int32), axis=0)",
    "(s < {c}).to(tl.int32)", "tl.where(s > {c}, 1, 0)",
    # One pair only: the volume that four pairs and an order among them span takes minutes.
    "tl.sum((tl.where(columns == {i}, {a}, {c}) < {b}).to(tl.int32), axis=0)",
)  # fmt: skip
BLOCKS = (
    # Acceptance, place by place.
    """place = 0
going = True
while going & (place < count):
    if tl.rand(seed, count + place) * {c} < tl.load(row + place):
        place += 1
    else:
        going = False
tl.store(out + {slot}, place)
""",
    # A running product, and a branch on it.
    """weight = 1.0
kept = 0
for place in range(count):
    weight = tl.minimum(weight * tl.load(row + place) / {c}, 1.0)
    if tl.load(noise + place) < weight:
        kept = place + 1
tl.store(out + {slot}, kept)
""",
    # A walk along the sum.
    """left = s * {c}
token = 0
for place in range(count - 1):
    left = left - tl.load(row + place)
    if left >= 0:
        token = place + 1
tl.store(out + {slot}, token)
""",
    """if s < {c}:
    s = s * 0.5
else:
    s = {d} - s
tl.store(out + {slot}, (s < {c} / 2).to(tl.int32))
""",
)


def source(seed: int) -> str:
    """The text of the file whose function `run` launches one kernel and gives what it stored."""
    make = random.Random(seed)
    vectors, lines, slot = ["x", "w"], [], 0

    def filled(text: str) -> str:
        a, b = make.choice(vectors), make.choice(vectors)
        d = make.choice(("0.0", "0.5", "1.0", "INF", "-INF"))
        return text.format(a=a, b=b, c=round(make.uniform(0.1, 1.2), 3), d=d, i=make.randrange(WIDTH), slot=slot)

    for _ in range(make.randint(2, 5)):
        kind = make.random()
        if kind < 0.4:
            name = f"v{len(vectors)}"
            lines.append(f"{name} = {filled(make.choice(VECTORS))}")
            vectors.append(name)
        elif kind < 0.6:
            lines.append(f"s = {filled(make.choice(SCALARS))}")
        elif kind < 0.8:
            lines.append(f"tl.store(out + {slot}, {filled(make.choice(WHOLE))})")
            slot += 1
        else:
            lines += filled(make.choice(BLOCKS)).splitlines()
            slot += 1
    if not slot or make.random() < 0.3:
        lines.append(f"tl.store(out + {slot}, {filled(WHOLE[slot % 2])})")
        slot += 1
    body = "".join(f"    {line}\n" for line in lines)
    row = [round(make.uniform(0.05, 1), 3) for _ in range(WIDTH)]
    head = HEAD.replace("{other}", make.choice(("0.0", "1.0", "INF", "-INF")))
    noise, dtype = make.choice(("uniform", "exponential")), make.choice(("float32", "float64"))
    count = make.randint(2, WIDTH)
    return head + body + TAIL.format(width=WIDTH, dtype=dtype, noise=noise, slots=slot, row=row, count=count)
