"""Programs that mask rows by themselves: those with planted bugs, and their corrected twins; `handed` masks nothing.

They follow the grammar `01-/-10` (in state 0 tokens 0 and 1 may follow, in state 1 tokens 1 and 2), the loops with a
counter a shortest length of two tokens. In the wrong ones a mask is that of another place, is missing, or has seen
drafts that were rejected.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Row: TypeAlias = Sequence[float]

_MOVES = ({0: 0, 1: 1}, {1: 1, 2: 0})
_END, _SHORTEST = 2, 2


def _masked(row: Row, allowed: Any) -> list[float]:
    kept = [value if allowed is None or token in allowed else 0 for token, value in enumerate(row)]
    return [value / sum(kept) for value in kept]


def _by_grammar(state: int | None) -> dict[int, int] | None:
    """The tokens that may follow; all after a token that was not allowed."""
    return None if state is None else _MOVES[state]


def _next_state(state: int | None, token: int) -> int | None:
    return None if state is None else _MOVES[state].get(token)


def _pick(row: Row) -> int:
    return random.choices(range(len(row)), weights=row)[0]


def _rest(p: Row, q: Row) -> list[float]:
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def _verify(
    tokens: Sequence[int],
    q: Sequence[Row],
    p: Sequence[Row],
    masks: Callable[[list[Any]], list[Any]],
    raw: bool = False,
    state: int | None = 0,
) -> tuple[int, int]:
    """masks: of the rows of `p`, from the states; raw: whether corrections after a rejection have none.

    state: the first one, None for no masks.
    """
    states: list[Any] = [state]
    for token in tokens:
        states.append(_next_state(states[-1], token))
    target = [_masked(row, allowed) for row, allowed in zip(p, masks(states), strict=True)]
    draft = [_masked(row, _by_grammar(state)) for row, state in zip(q, states, strict=False)]
    for i, x in enumerate(tokens):
        if random.random() * draft[i][x] >= target[i][x]:
            return i, _pick(_rest(p[i] if raw else target[i], draft[i]))
    return len(tokens), _pick(target[-1])


def right(tokens: Any, q: Any, p: Any) -> Any:
    """Token-by-token verification with the mask of every row at its place."""
    return _verify(tokens, q, p, lambda states: [_by_grammar(state) for state in states])


def handed(tokens: Any, q: Any, p: Any) -> Any:
    """Token-by-token verification with the rows as they are handed over."""
    return _verify(tokens, q, p, lambda states: states, state=None)


def late(tokens: Any, q: Any, p: Any) -> Any:
    """The rows of p have the masks of one position earlier."""
    return _verify(tokens, q, p, lambda states: [_by_grammar(state) for state in [0, *states[:-1]]])


def once(tokens: Any, q: Any, p: Any) -> Any:
    """The mask of the first row is put on all rows of p."""
    return _verify(tokens, q, p, lambda states: [_by_grammar(0)] * len(states))


def bonus(tokens: Any, q: Any, p: Any) -> Any:
    """The token after the last draft is drawn without its mask."""
    return _verify(tokens, q, p, lambda states: [*map(_by_grammar, states[:-1]), None])


def correction(tokens: Any, q: Any, p: Any) -> Any:
    """The token after a rejection is drawn from p without its mask."""
    return _verify(tokens, q, p, lambda states: [_by_grammar(state) for state in states], raw=True)


def _loop(
    target: Any, draft: Any, prompt: Any, new_tokens: int, length: int, allowed: Any, moved: Any, kept: Any
) -> list[int]:
    """kept: from the states of the drafts and the place of a rejection to the state that the correction is added to."""
    text: list[int] = list(prompt)
    state = moved(None, None)
    while len(text) < len(prompt) + new_tokens:
        states: list[Any] = [state]
        drafted: list[int] = []
        q: list[list[float]] = []
        for _ in range(length):
            q.append(_masked(draft([*text, *drafted]), allowed(states[-1])))
            drafted.append(_pick(q[-1]))
            states.append(moved(states[-1], drafted[-1]))
        p = [_masked(target([*text, *drafted[:i]]), allowed(states[i])) for i in range(length + 1)]
        for i, token in enumerate(drafted):
            if random.random() * q[i][token] >= p[i][token]:
                last = _pick(_rest(p[i], q[i]))
                text, state = [*text, *drafted[:i], last], moved(kept(states, i), last)
                break
        else:
            last = _pick(p[-1])
            text, state = [*text, *drafted, last], moved(states[-1], last)
    return text


def _grammar(state: Any, token: Any) -> Any:
    return 0 if token is None else _next_state(state, token)


def _counted(state: Any, token: Any) -> Any:
    """How many tokens there are, and whether the text has ended."""
    return (0, False) if token is None else (state[0] + 1, state[1] or token == _END)


def _by_length(state: Any) -> Any:
    count, ended = state
    return {_END} if ended else {0, 1} if count < _SHORTEST else None


def _rolled_back(states: Any, i: int) -> Any:
    return states[i]


def right_loop(target: Any, draft: Any, prompt: Any, new_tokens: int, length: int = 1) -> Any:
    """Blocks of one draft, with masks that go back to the last accepted token after a rejection."""
    return _loop(target, draft, prompt, new_tokens, length, _by_grammar, _grammar, _rolled_back)


def stale_loop(target: Any, draft: Any, prompt: Any, new_tokens: int, length: int = 1) -> Any:
    """The masks keep a rejected draft in the next block."""
    return _loop(target, draft, prompt, new_tokens, length, _by_grammar, _grammar, lambda states, i: states[-1])


def right_blocks(target: Any, draft: Any, prompt: Any, new_tokens: int) -> Any:
    """As `right_loop`, with blocks of two drafts."""
    return right_loop(target, draft, prompt, new_tokens, 2)


def stale_blocks(target: Any, draft: Any, prompt: Any, new_tokens: int) -> Any:
    """As `stale_loop`, with blocks of two drafts."""
    return stale_loop(target, draft, prompt, new_tokens, 2)


def rejected_blocks(target: Any, draft: Any, prompt: Any, new_tokens: int) -> Any:
    """Of two drafts the masks keep the rejected one and not those after it."""
    return _loop(target, draft, prompt, new_tokens, 2, _by_grammar, _grammar, lambda states, i: states[i + 1])


def right_counter(target: Any, draft: Any, prompt: Any, new_tokens: int) -> Any:
    """The shortest length counts the tokens of the text."""
    return _loop(target, draft, prompt, new_tokens, 1, _by_length, _counted, _rolled_back)


def stale_counter(target: Any, draft: Any, prompt: Any, new_tokens: int) -> Any:
    """The counter of tokens keeps a rejected draft."""
    return _loop(
        target, draft, prompt, new_tokens, 1, _by_length, _counted, lambda states, i: (states[-1][0], states[i][1])
    )
