"""Whole loops with causal models of transformers: a cache that is cropped or not, assisted generation, a tree mask."""

import torch
from transformers.cache_utils import DynamicCache


def loop(target, draft, prompt, new_tokens, crop):
    text, cache = prompt, DynamicCache(config=target.config)
    p = target(text, past_key_values=cache).logits[:, -1].softmax(-1)
    while text.shape[1] < prompt.shape[1] + new_tokens:
        q = draft(text).logits[:, -1].softmax(-1)
        drafted = torch.multinomial(q, 1)
        after = target(drafted, past_key_values=cache).logits[:, -1].softmax(-1)
        token = drafted.item()
        if torch.rand((), dtype=p.dtype) * q[0, token] < p[0, token]:
            text, p = torch.cat([text, drafted], 1), after
            continue
        if crop:
            cache.crop(-1)
        rest = (p - q).clamp(min=0)
        token = torch.multinomial(rest / rest.sum(), 1)
        text = torch.cat([text, token], 1)
        p = target(token, past_key_values=cache).logits[:, -1].softmax(-1)
    return text


def right(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, True)


def wrong(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, False)


def assisted(target, draft, prompt, new_tokens):
    draft.generation_config.num_assistant_tokens = 1
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0
    return target.generate(prompt, assistant_model=draft, do_sample=True, top_k=0, max_new_tokens=new_tokens)


def heated(target, draft, prompt, new_tokens):
    draft.generation_config.num_assistant_tokens = 1
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0
    return target.generate(
        prompt, assistant_model=draft, do_sample=True, top_k=0, temperature=0.5, max_new_tokens=new_tokens
    )


def masked(target, draft, prompt, new_tokens):
    # Two branches in one pass, each of which sees the prompt and itself.
    n = prompt.shape[1]
    both = torch.tensor([[*prompt[0].tolist(), 0, 1]])
    mask = torch.zeros(1, 1, n + 2, n + 2, dtype=torch.float64).masked_fill(
        torch.ones(n + 2, n + 2).triu(1).bool(), float("-inf")
    )
    mask[0, 0, n + 1, n] = float("-inf")
    places = torch.tensor([[*range(n), n, n]])
    rows = target(both, attention_mask=mask, position_ids=places).logits[0].softmax(-1)
    first = int(torch.multinomial(rows[n - 1], 1))
    return [*prompt[0].tolist(), first, int(torch.multinomial(rows[n + first], 1))]
