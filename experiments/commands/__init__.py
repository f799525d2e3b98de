"""The commands, one a file: what `draftproof.experiments.cli` puts on the command line."""
