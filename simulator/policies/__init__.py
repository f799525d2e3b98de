"""Policies, which choose the action of every block, a draft scheme with its verifier."""
