"""Theorems for every vocabulary size: rows of named tokens and of classes of tokens. See `docs/theory`."""
