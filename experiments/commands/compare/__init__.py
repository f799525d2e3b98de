"""`draftproof compare`."""
