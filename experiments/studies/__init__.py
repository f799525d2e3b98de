"""Studies over many instances: worlds for `draftproof sweep`, and what `draftproof report` shows of them."""
