"""Negative controls: verifiers with one known bug each, which every check must refute."""
