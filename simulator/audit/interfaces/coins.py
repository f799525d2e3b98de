"""The coins interface: FUNCTION gets its random numbers as arguments, and a ragged batch as flat arrays.

It asks for what it wants by the names of its parameters, `n` being the number of drafted tokens of all requests:
draft_token_ids `(n,)`; cu_num_draft_tokens `(B,)`, cumulative; num_draft_tokens `(B,)`; max_spec_len, a number;
draft_probs `(n, V)`; target_probs `(n, V)`, or `(n + B, V)` with the bonus row of each request last where no bonus
parameter is asked for; bonus_probs `(B, V)`; bonus_token_ids `(B,)`, drawn from the bonus rows beforehand;
uniforms `(n,)`, final_uniforms `(B,)`: uniform coins in [0, 1); noise `(B, V)`: exponential coins of rate 1; gumbel
`(B, V)`: minus the logarithm of such ones. Other usual names of these are known too; see `noise`.
"""

import inspect
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, keys_of, kind_of, random_argument, read_block
from draftproof.simulator.audit.interfaces.chain import by_request
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftNode, Verdict

Paths = list[list[DraftNode]]


def _uniforms(call: Call, *shape: int) -> Any:
    return call.coins.uniforms(shape, library=call.rows.library, dtype=call.rows.dtype)


def _targets(call: Call, paths: Paths) -> Any:
    bonus_apart = any(name.startswith("bonus") for name in _asked(call.function))
    nodes = [node for path in paths for node in (path[:-1] if bonus_apart else path)]
    return call.rows.array([node.target for node in nodes])


def _count(paths: Paths) -> int:
    return sum(len(path) - 1 for path in paths)


_ARGUMENTS: dict[str, Callable[[Call, Paths], Any]] = {
    "draft_token_ids": lambda call, paths: call.rows.integers([t for path in paths for t in path[-1].context]),
    "cu_num_draft_tokens": lambda call, paths: call.rows.integers(list(accumulate(len(path) - 1 for path in paths))),
    "num_draft_tokens": lambda call, paths: call.rows.integers([len(path) - 1 for path in paths]),
    "max_spec_len": lambda call, paths: max(len(path) - 1 for path in paths),
    "draft_probs": lambda call, paths: call.rows.array([node.draft for path in paths for node in path[:-1]]),
    "target_probs": _targets,
    "bonus_probs": lambda call, paths: call.rows.array([path[-1].target for path in paths]),
    "bonus_token_ids": lambda call, paths: call.rows.integers([call.coin.choose(path[-1].target) for path in paths]),
    "uniforms": lambda call, paths: _uniforms(call, _count(paths)),
    "final_uniforms": lambda call, paths: _uniforms(call, len(paths)),
    "noise": lambda call, paths: random_argument(call, "noise", (len(paths),), 0, len(paths[0][0].target)),
    "gumbel": lambda call, paths: random_argument(call, "gumbel", (len(paths),), 0, len(paths[0][0].target)),
}


def _known(name: str) -> str | None:
    """The argument that a parameter of this name is; None for none."""
    return name if name in _ARGUMENTS else kind_of(name)


def _asked(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that a function wants; raises `InvalidInput` where they cannot be read."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidInput(
            "the coins interface reads the names of the parameters; wrap the function in Python"
        ) from None
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _call(call: Call) -> list[Verdict]:
    paths = [first_path(root) for root in call.nodes]
    arguments: dict[str, Any] = {}
    given = {*call.keywords, *(keys_of(call.function) if call.rows.library == "jax" else ())}
    for name, parameter in inspect.signature(call.function).parameters.items() if _asked(call.function) else ():
        if name in given:
            continue
        known = _known(name)
        if known is not None:
            arguments[name] = _ARGUMENTS[known](call, paths)
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise InvalidInput(f"the coins interface has no argument {name!r}; it knows {', '.join(_ARGUMENTS)}")
    result = call(**arguments)
    wants = f"the coins interface wants {COINS.returns}"
    return [
        read_block(_as_list(item), path[-1].context, wants)
        for item, path in zip(by_request(_as_list(result), len(paths)), paths, strict=True)
    ]


def _as_list(requests: Any) -> Any:
    return list(requests) if isinstance(requests, tuple) else requests  # never a pair: always whole outputs


COINS = Interface(
    name="coins",
    takes=f"by parameter name: {', '.join(_ARGUMENTS)}",
    returns="the output tokens of each request, shape (B, longest + 1), -1 where there is none",
    call=_call,
    batches=True,
    library="numpy",
)
