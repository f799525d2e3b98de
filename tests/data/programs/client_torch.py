"""A verifier in torch that answers an audit through a pipe: `client_torch.py [--device cuda] [--bug]`."""

import argparse
import json
import sys

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--bug", action="store_true")
options = parser.parse_args()
torch.set_num_threads(1)
here = {"device": options.device, "dtype": torch.float64}


def pick(row, number):
    if number is None:
        return int(torch.multinomial(row, 1))
    ends = torch.cumsum(row, 0)
    return int(torch.searchsorted(ends, torch.tensor([number], **here) * ends[-1], right=True).clamp(max=len(row) - 1))


def verify(tokens, q, p, uniforms=None, final_uniform=None):
    p = torch.tensor(p, **here)
    accepted = 0
    if tokens:
        q, drafted = torch.tensor(q, **here), torch.tensor(tokens, device=options.device)
        numbers = torch.rand(len(tokens), **here) if uniforms is None else torch.tensor(uniforms, **here)
        ratios = (p[:-1].gather(1, drafted[:, None]) / q.gather(1, drafted[:, None]))[:, 0]
        accepted = int((numbers < ratios).cumprod(0).sum())
    row = p[accepted]
    if accepted < len(tokens) and not options.bug:
        row = (row - q[accepted]).clamp(min=0)
    return [*tokens[:accepted], pick(row, final_uniform)]


for line in sys.stdin:
    asked = json.loads(line)
    number = asked.pop("id")
    print(json.dumps({"id": number, "tokens": verify(**asked)}), flush=True)
