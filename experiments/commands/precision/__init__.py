"""`draftproof precision`."""
