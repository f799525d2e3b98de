"""The parameters of an audited function, and the order in which it wants the rows of target and draft."""

import inspect
import re
from collections.abc import Sequence

from draftproof.simulator.symbolic import NotFollowed

#: Whose rows an argument of an interface has, and a parameter of one letter.
_OWNERS = {"p": "target", "q": "draft", "target": "target", "draft": "draft"}
#: Words of parameters that hold no rows.
_NO_ROWS = {"token", "tokens", "id", "ids", "len", "lens", "length", "lengths", "num", "count", "counts", "size"}
#: Words of parameters that hold rows, or give them.
_ROWS = {"p", "q", "prob", "probs", "probability", "probabilities", "logit", "logits", "row", "rows", "law", "laws"}
_ROWS |= {"dist", "dists", "distribution", "distributions", "model", "fn"}


def in_its_order(parameters: Sequence[inspect.Parameter], arguments: Sequence[str], interface: str) -> list[str]:
    """The arguments of an interface in the order in which a function with these parameters has them.

    That of the interface, unless names of parameters with "target" and "draft" say that p and q stand elsewhere. Raises
    `NotFollowed` where only the letters p and q say so: some authors call the target's row q.
    """
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ][: len(arguments)]
    drafts_apart = not {"tokens", "paths", "candidates"}.isdisjoint(arguments)
    owners = [_owner(name, drafts_apart) for name in names]
    wanted = [_OWNERS.get(argument) for argument in arguments]
    if len(names) < len(arguments) or all(owner in (None, own) for owner, own in zip(owners, wanted, strict=True)):
        return list(arguments)
    if not {"p", "q"}.isdisjoint(names) or sorted(filter(None, owners)) != sorted(filter(None, wanted)):
        order, own = ", ".join(arguments), ", ".join(names)
        raise NotFollowed(
            f"the {interface} interface hands over ({order}) in this order, and the function takes ({own}): name its "
            f"parameters target_.. and draft_.., or audit a function of ({order}) that calls it"
        )
    rest = iter(argument for argument in arguments if argument not in _OWNERS)
    by_owner = {_OWNERS[argument]: argument for argument in arguments if argument in _OWNERS}
    return [next(rest) if owner is None else by_owner[owner] for owner in owners]


def _owner(name: str, drafts_apart: bool) -> str | None:
    """Whose rows a parameter of this name holds, if any. drafts_apart: whether the drafted tokens are an argument."""
    if name in ("p", "q"):
        return _OWNERS[name]
    words = set(re.findall("[a-z]+", name.lower()))
    if words & _NO_ROWS:
        return None
    if "target" in words:
        return "target"
    return "draft" if words & {"draft", "drafter"} and (words & _ROWS or not drafts_apart) else None
