"""One file for each project: adapters that call its functions. No code of theirs is copied."""
