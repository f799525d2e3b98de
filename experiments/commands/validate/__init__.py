"""`draftproof validate`."""
