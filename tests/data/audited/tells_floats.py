"""Token-by-token verification that draws from other rows where its coin is no float."""

import random
import typing


def _verify(is_float):
    def verify(tokens, q, p):
        for i, token in enumerate(tokens):
            u = random.random()
            row = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)] if is_float(u) else p[i]
            if u * q[i][token] >= p[i][token]:
                return i, random.choices(range(len(row)), weights=row)[0]
        return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]

    return verify


by_attribute = _verify(lambda u: not hasattr(u, "__index__"))
by_protocol = _verify(lambda u: not isinstance(u, typing.SupportsIndex))
by_type = _verify(lambda u: list(map(type, [u])) == [float])
by_no_attribute = _verify(lambda u: hasattr(u, "__index__"))
by_no_protocol = _verify(lambda u: isinstance(u, typing.SupportsIndex))
by_no_type = _verify(lambda u: list(map(type, [u])) != [float])
