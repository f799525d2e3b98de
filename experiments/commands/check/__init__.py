"""`draftproof check`."""
