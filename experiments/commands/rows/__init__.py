"""`draftproof rows`."""
