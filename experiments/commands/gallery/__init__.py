"""`draftproof gallery`."""
