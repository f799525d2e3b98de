"""Verifiers on equal terms, as the tables of a paper: the sweep, and what its rows say."""
