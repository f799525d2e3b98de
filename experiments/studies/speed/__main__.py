"""`python -m experiments.studies.speed`."""

from experiments.cli import run_command
from experiments.studies.speed.command import main

if __name__ == "__main__":
    run_command(main)
