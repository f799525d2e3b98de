"""`draftproof choose`."""
