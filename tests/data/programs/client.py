"""A verifier that answers an audit through a pipe: `client.py [numbers] [bug]`."""

import json
import random
import sys


def pick(row, number):
    for token, weight in enumerate(row):
        number -= weight
        if number < 0:
            return token
    return max(token for token, weight in enumerate(row) if weight > 0)


def verify(tokens, q, p, uniforms, final):
    for i, token in enumerate(tokens):
        if uniforms[i] >= p[i][token] / q[i][token]:
            left = p[i] if "bug" in sys.argv else [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return [*tokens[:i], pick(left, final * sum(left))]
    return [*tokens, pick(p[-1], final)]


for line in sys.stdin:
    asked = json.loads(line)
    uniforms = asked["uniforms"] if "numbers" in sys.argv else [random.random() for _ in asked["tokens"]]
    final = asked["final_uniform"] if "numbers" in sys.argv else random.random()
    answer = verify(asked["tokens"], asked["q"], asked["p"], uniforms, final)
    print(json.dumps({"id": asked["id"], "tokens": answer}), flush=True)
