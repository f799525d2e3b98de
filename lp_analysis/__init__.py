"""Bounds over all lossless verifiers. No bound is implemented yet.

This package may import the core of `simulator` and never `verifiers`.
"""
