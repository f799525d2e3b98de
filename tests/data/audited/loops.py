"""Whole generation loops on models that are functions; what the wrong ones do wrong shows after the first block."""

import random


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def rest(p, q):
    excess = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return excess if sum(excess) > 0 else p


def block(target, draft, text, length, leftover=()):
    """The tokens of one block; leftover: drafts that an earlier block has made."""
    drafted = list(leftover)
    while len(drafted) < length:
        drafted.append(pick(draft([*text, *drafted])))
    rows = [target([*text, *drafted[:i]]) for i in range(len(drafted) + 1)]  # one pass over all drafts
    for i, token in enumerate(drafted):
        p, q = rows[i], draft([*text, *drafted[:i]])
        if random.random() * q[token] >= p[token]:
            return [*drafted[:i], pick(rest(p, q))], drafted[i + 1 :]
    return [*drafted, pick(rows[-1])], []


def right(target, draft, prompt, new_tokens, length=2):
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        text += block(target, draft, text, length)[0]
    return text


def varying(target, draft, prompt, new_tokens):
    """More drafts after a block without rejection, fewer after another one, and the last block is cut."""
    text, length = list(prompt), 1
    while len(text) < len(prompt) + new_tokens:
        found, left = block(target, draft, text, length)
        length = min(2, length + 1) if not left and len(found) > length else 1
        text += found
    return text[: len(prompt) + new_tokens]


def without_bonus(target, draft, prompt, new_tokens):
    """The token after a block without rejection is thrown away, which costs time only."""
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        found, _ = block(target, draft, text, 1)
        text += found[:1]
    return text


def remembering(target, draft, prompt, new_tokens):
    """Rows are kept by the text that they follow."""
    rows = {}

    def kept(name, model):
        return lambda text: rows.setdefault((name, tuple(text)), model(text))

    return right(kept("p", target), kept("q", draft), prompt, new_tokens)


def leftover(target, draft, prompt, new_tokens):
    """Drafts behind a rejected one are kept for the next block, whose text is another one."""
    text, left = list(prompt), []
    while len(text) < len(prompt) + new_tokens:
        found, left = block(target, draft, text, 2, left)
        text += found
    return text


def early(target, draft, prompt, new_tokens):
    """Rows of the draft model are kept by their place: then they are its rows, and nothing is wrong."""
    rows = {}
    return right(target, lambda text: rows.setdefault(len(text), draft(text)), prompt, new_tokens, 1)


def stale(target, draft, prompt, new_tokens):
    """Rows of the target are kept by their place, also after a rejection."""
    rows = {}
    return right(lambda text: rows.setdefault(len(text), target(text)), draft, prompt, new_tokens, 1)


def state(target, draft, prompt, new_tokens):
    """After the first rejection tokens are taken as they are drafted."""
    text, trusted = list(prompt), False
    while len(text) < len(prompt) + new_tokens:
        if trusted:
            text.append(pick(draft(text)))
            continue
        found, _ = block(target, draft, text, 1)
        trusted = len(found) == 1
        text += found
    return text


def same_coin(target, draft, prompt, new_tokens):
    """Every block begins with the same seed."""
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        generator = random.Random(5)
        row = target(text)
        text.append(generator.choices(range(len(row)), weights=row)[0])
    return text


def recent(target, draft, prompt, new_tokens):
    """Later blocks forget the prompt and what stands before the last token."""
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        seen = text if len(text) == len(prompt) else [*prompt, text[-1]]
        text += block(target, draft, seen, 1)[0]
    return text


def only_new(target, draft, prompt, new_tokens):
    return right(target, draft, prompt, new_tokens)[len(prompt) :]


def short(target, draft, prompt, new_tokens):
    return right(target, draft, prompt, new_tokens)[: len(prompt) + 1]


def foreign(target, draft, prompt, new_tokens):
    return target([9])


def unprompted(target, draft, prompt, new_tokens):
    return target([0, 0, 1])
