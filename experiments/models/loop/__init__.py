"""The speculative loop: draft, read with the target in one pass, verify, trim."""
