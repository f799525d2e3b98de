"""A Python function behind a pipe, as an engine's own program would be: `serve.py FILE.py FUNCTION LIBRARY`."""

import inspect
import json
import runpy
import sys
from types import SimpleNamespace

import numpy as np

function = runpy.run_path(sys.argv[1])[sys.argv[2]]
library = sys.argv[3]


def array(value):
    if library == "numpy" and isinstance(value, list):
        return np.array(value)
    if library == "torch" and isinstance(value, list):
        import torch

        return torch.tensor(value, dtype=torch.int64 if value and isinstance(value[0], int) else torch.float64)
    return value


def keyed(pairs):
    return {tuple(prefix): array(row) for prefix, row in pairs}


def node(given, context=()):
    below = {int(token): node(child, (*context, int(token))) for token, child in given["children"].items()}
    drafted = tuple(given["drafted"])
    rows = {"target": given["target"], "draft": given["draft"], "laws": (given["draft"],) * len(drafted)}
    return SimpleNamespace(context=context, children=drafted, child=lambda token: below[int(token)], **rows)


def tokens_of(result, path):
    if hasattr(result, "tolist"):
        result = result.tolist()
    if not isinstance(result, tuple):
        return [int(token) for token in result if token >= 0]
    accepted, correction = result
    accepted = path[: int(accepted)] if not hasattr(accepted, "__len__") else accepted
    return [*map(int, accepted), int(correction)]


for line in sys.stdin:
    asked = json.loads(line)
    number = asked.pop("id")
    if "root" in asked:
        tokens = tokens_of(function(node(asked["root"])), ())
    elif "paths" in asked:
        tokens = tokens_of(function(list(map(tuple, asked["paths"])), keyed(asked["p"]), keyed(asked["q"])), ())
    elif "draft_probs" in asked:
        *asked["target_probs"], bonus = asked["target_probs"]
        names = inspect.signature(function).parameters
        given = {**asked, "bonus_probs": [bonus]}
        tokens = tokens_of(function(**{name: array(given[name]) for name in names})[0], ())
    else:
        tokens = tokens_of(function(*(array(asked[name]) for name in ("tokens", "q", "p"))), asked["tokens"])
    print(json.dumps({"id": number, "tokens": tokens}), flush=True)
