"""`python -m experiments.studies.matched`."""

from experiments.cli import run_command
from experiments.studies.matched.command import main

run_command(main)
