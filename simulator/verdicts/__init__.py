"""Verdicts: from a law to lossless or refuted, the search for a smallest witness, what any verifier must satisfy."""
