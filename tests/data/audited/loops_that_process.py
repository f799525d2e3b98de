"""Whole loops that process rows or end texts, and steps that draft by themselves, right and wrong."""

from itertools import pairwise

import numpy as np

EOS = 1


def _draw(row):
    return int(np.random.choice(len(row), p=row / row.sum()))


def _plain(target, prompt, new_tokens, processed):
    """Text without any draft. processed: the row that a token comes from, given the row and the text."""
    text = [int(x) for x in prompt]
    while len(text) < len(prompt) + new_tokens:
        text.append(_draw(processed(np.array(target(text), dtype=float), text)))
    return text


def _squared(row, seen):
    row[sorted({*seen})] **= 2
    return row


def _without_repeats(row, seen):
    row[sorted({b for a, b in pairwise(seen) if seen and a == seen[-1]})] = 0
    return row


def penalty(target, draft, prompt, new_tokens):
    return _plain(target, prompt, new_tokens, _squared)


def penalty_of_new(target, draft, prompt, new_tokens):
    return _plain(target, prompt, new_tokens, lambda row, text: _squared(row, text[len(prompt) :]))


def bigrams(target, draft, prompt, new_tokens):
    return _plain(target, prompt, new_tokens, _without_repeats)


def bigrams_of_new(target, draft, prompt, new_tokens):
    return _plain(target, prompt, new_tokens, lambda row, text: _without_repeats(row, text[len(prompt) :]))


def of_transformers(target, draft, prompt, new_tokens):
    return target.generate(prompt, do_sample=True, top_k=0, repetition_penalty=2.0, max_new_tokens=new_tokens)


def ended_by_transformers(target, draft, prompt, new_tokens):
    return target.generate(prompt, do_sample=True, top_k=0, max_new_tokens=new_tokens)


def _speculative(target, draft, prompt, new_tokens, looks):
    """One draft a block; looks: whether it looks for the end among accepted drafts."""
    text = [int(x) for x in prompt]
    while len(text) < len(prompt) + new_tokens:
        q, p = np.asarray(draft(text)), np.asarray(target(text))
        x = _draw(q)
        if np.random.random() * q[x] < p[x]:
            text.append(x)
            if looks and x == EOS:
                break
            text.append(_draw(np.asarray(target(text))))
        else:
            text.append(_draw(np.maximum(p - q, 0)))
        if text[-1] == EOS:
            break
    return text


def stops(target, draft, prompt, new_tokens):
    return _speculative(target, draft, prompt, new_tokens, True)


def stops_at_the_first(target, draft, prompt, new_tokens):
    """Plain sampling that looks for the end in the whole text."""
    text = [int(x) for x in prompt]
    while EOS not in text and len(text) < len(prompt) + new_tokens:
        text.append(_draw(np.asarray(target(text))))
    return text


def pads(target, draft, prompt, new_tokens):
    text = stops(target, draft, prompt, new_tokens)
    return text + [EOS] * (len(prompt) + new_tokens - len(text))


def goes_on(target, draft, prompt, new_tokens):
    return _speculative(target, draft, prompt, new_tokens, False)


def stops_early(target, draft, prompt, new_tokens):
    """Ends a text at any token after the first one."""
    return stops(target, draft, prompt, new_tokens)[: len(prompt) + 1]


def two_drafts(p, q):
    np.argsort(np.asarray(q(())))
    x = _draw(np.asarray(q(())))
    drafted = (x, _draw(np.asarray(q((x,)))))
    for i, x in enumerate(drafted):
        target, draft = np.asarray(p(drafted[:i])), np.asarray(q(drafted[:i]))
        if np.random.random() * draft[x] >= target[x]:
            return [*drafted[:i], _draw(np.maximum(target - draft, 0))]
    return [*drafted, _draw(np.asarray(p(drafted)))]


def two_drafts_cut(p, q):
    """Its bonus token is one of the five likeliest."""
    block = two_drafts(p, q)
    if len(block) < 3:
        return block
    row = np.array(p(tuple(block[:2])), dtype=float)
    row[np.argsort(row)[:-5]] = 0
    return [*block[:2], _draw(row)]
