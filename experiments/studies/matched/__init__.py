"""Verifiers on equal terms, as the tables of a paper: the sweep and the tables of its rows."""
