"""The papers whose claims are tested and that no verifier or scheme is taken from, by key, as in the bibliography."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: What the bibliography does not have.
FURTHER: Mapping[str, str] = MappingProxyType(
    {
        "thomas2026dynamic": (
            "Thomas, Kitanovski, Goldblum, Pal. Dynamic delayed tree expansion for improved multi-path speculative "
            "decoding. 2026, arXiv:2602.16994."
        ),
        "draftproof": "This project: what its own pages say.",
        "arxiv2026optimal": "arXiv:2604.25925, 2026; known here from what others say about it.",
    }
)
PAPERS: Mapping[str, str] = MappingProxyType({**BIBLIOGRAPHY, **FURTHER})
