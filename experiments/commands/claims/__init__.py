"""`draftproof claims`."""
