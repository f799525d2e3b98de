"""Verifiers that their authors declare lossy: each says what it promises instead, and tests check that exactly."""
