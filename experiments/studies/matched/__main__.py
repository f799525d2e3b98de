"""`python -m draftproof.experiments.studies.matched`."""

from draftproof.experiments.cli import run_command
from draftproof.experiments.studies.matched.command import main

run_command(main)
