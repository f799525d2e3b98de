"""Loops whose numbers come from generators of torch, each made from a seed and a place."""

import streams
import torch


def _number(seed):
    return torch.rand((), dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).item()


def windows(target, draft, prompt, new_tokens, seed=5):
    return streams.generate(target, draft, prompt, new_tokens, lambda at: _number(seed * 1000 + at), 3)


def overlap(target, draft, prompt, new_tokens, seed=5):
    return streams.generate(target, draft, prompt, new_tokens, lambda at: _number(seed * 1000 + at), 2)


def constant(target, draft, prompt, new_tokens):
    return streams.generate(target, draft, prompt, new_tokens, lambda at: _number(1000 + at), 3)


def unseeded(target, draft, prompt, new_tokens):
    generator = torch.Generator()

    def number(at):
        return torch.rand((), dtype=torch.float64, generator=generator).item()

    return streams.generate(target, draft, prompt, new_tokens, number, 3)


def seeded_by_the_system(target, draft, prompt, new_tokens):
    generator = torch.Generator()
    generator.seed()

    def number(at):
        return torch.rand((), dtype=torch.float64, generator=generator).item()

    return streams.generate(target, draft, prompt, new_tokens, number, 3)


def of_the_module(target, draft, prompt, new_tokens):
    torch.manual_seed(0)
    return streams.generate(target, draft, prompt, new_tokens, lambda at: torch.rand((), dtype=torch.float64).item(), 3)
