"""`draftproof bound`."""
