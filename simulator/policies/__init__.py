"""Policies: which action, a draft scheme with its verifier, each block takes, and what that is worth."""
