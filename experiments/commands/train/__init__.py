"""`draftproof train`."""
