"""Verifiers and loops that mask their rows by themselves; in the wrong ones a mask is that of another place.

The grammar is the table `01-/-10`: in state 0 tokens 0 and 1 may follow, in state 1 tokens 1 and 2.
"""

import random

MOVES = ({0: 0, 1: 1}, {1: 1, 2: 0})
END, SHORTEST = 2, 2


def masked(row, allowed):
    kept = [value if allowed is None or token in allowed else 0 for token, value in enumerate(row)]
    return [value / sum(kept) for value in kept]


def by_grammar(state):
    """The tokens that may follow; all after a token that was not allowed."""
    return None if state is None else MOVES[state]


def next_state(state, token):
    return None if state is None else MOVES[state].get(token)


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def rest(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def verify(tokens, q, p, masks):
    """masks: of the rows of `p`, from the states."""
    states = [0]
    for token in tokens:
        states.append(next_state(states[-1], token))
    p = [masked(row, allowed) for row, allowed in zip(p, masks(states), strict=True)]
    q = [masked(row, by_grammar(state)) for row, state in zip(q, states, strict=False)]
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            return i, pick(rest(p[i], q[i]))
    return len(tokens), pick(p[-1])


def right(tokens, q, p):
    return verify(tokens, q, p, lambda states: [by_grammar(state) for state in states])


def late(tokens, q, p):
    return verify(tokens, q, p, lambda states: [by_grammar(state) for state in [0, *states[:-1]]])


def once(tokens, q, p):
    return verify(tokens, q, p, lambda states: [by_grammar(0)] * len(states))


def bonus(tokens, q, p):
    return verify(tokens, q, p, lambda states: [*map(by_grammar, states[:-1]), None])


def loop(target, draft, prompt, new_tokens, length, allowed, moved, kept):
    """kept: from the states of the drafts and the place of a rejection to the state that the correction is added to."""
    text, state = list(prompt), moved(None, None)
    while len(text) < len(prompt) + new_tokens:
        states, drafted, q = [state], [], []
        for _ in range(length):
            q.append(masked(draft([*text, *drafted]), allowed(states[-1])))
            drafted.append(pick(q[-1]))
            states.append(moved(states[-1], drafted[-1]))
        p = [masked(target([*text, *drafted[:i]]), allowed(states[i])) for i in range(length + 1)]
        for i, token in enumerate(drafted):
            if random.random() * q[i][token] >= p[i][token]:
                last = pick(rest(p[i], q[i]))
                text, state = [*text, *drafted[:i], last], moved(kept(states, i), last)
                break
        else:
            last = pick(p[-1])
            text, state = [*text, *drafted, last], moved(states[-1], last)
    return text


def grammar(state, token):
    return 0 if token is None else next_state(state, token)


def counted(state, token):
    """How many tokens there are, and whether the text has ended."""
    return (0, False) if token is None else (state[0] + 1, state[1] or token == END)


def by_length(state):
    count, ended = state
    return {END} if ended else {0, 1} if count < SHORTEST else None


def rolled_back(states, i):
    return states[i]


def right_loop(target, draft, prompt, new_tokens, length=1):
    return loop(target, draft, prompt, new_tokens, length, by_grammar, grammar, rolled_back)


def stale_loop(target, draft, prompt, new_tokens, length=1):
    return loop(target, draft, prompt, new_tokens, length, by_grammar, grammar, lambda states, i: states[-1])


def right_blocks(target, draft, prompt, new_tokens):
    return right_loop(target, draft, prompt, new_tokens, 2)


def stale_blocks(target, draft, prompt, new_tokens):
    return stale_loop(target, draft, prompt, new_tokens, 2)


def rejected_blocks(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, 2, by_grammar, grammar, lambda states, i: states[i + 1])


def right_counter(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, 1, by_length, counted, rolled_back)


def stale_counter(target, draft, prompt, new_tokens):
    return loop(
        target, draft, prompt, new_tokens, 1, by_length, counted, lambda states, i: (states[-1][0], states[i][1])
    )
