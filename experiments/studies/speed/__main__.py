"""`python -m draftproof.experiments.studies.speed`."""

from draftproof.experiments.cli import run_command
from draftproof.experiments.studies.speed.command import main

if __name__ == "__main__":
    run_command(main)
