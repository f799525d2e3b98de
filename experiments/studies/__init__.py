"""Studies over many instances: each is one command, `python -m experiments.studies.NAME`, and can be resumed."""
