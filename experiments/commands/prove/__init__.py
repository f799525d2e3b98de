"""`draftproof prove`."""
