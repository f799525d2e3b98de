"""One file a project: how its functions are called. Nothing of theirs is copied."""
