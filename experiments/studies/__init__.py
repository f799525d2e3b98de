"""Studies over many instances, each a command that can be resumed: `python -m draftproof.experiments.studies.NAME`."""
