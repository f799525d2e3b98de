"""Verdicts: lossless or refuted by the law, the search for a smallest witness, conformance checks."""
