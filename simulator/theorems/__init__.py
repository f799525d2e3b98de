"""Theorems: what a verifier does at a shape for all p and q, by exact functions on cells that cover them."""
