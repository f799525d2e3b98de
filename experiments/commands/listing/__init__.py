"""`draftproof list`."""
