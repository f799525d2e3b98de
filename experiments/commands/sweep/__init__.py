"""`draftproof sweep`."""
