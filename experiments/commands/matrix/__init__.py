"""`draftproof matrix`."""
