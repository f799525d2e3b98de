"""The commands, one a file: what `experiments.cli` puts on the command line."""
