"""The table of commands that write is whole: no command, and no option that names what is written, is missing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import typer

from draftproof.experiments import cli
from tests.experiments.faults.conftest import ROOT
from tests.experiments.faults.writers import OUTPUTS, WRITERS

#: Options with text that names nothing that is written.
READ = {
    *("--instance", "--text", "--family", "--root", "--scheme", "--tree", "--confidence", "--arithmetic", "--engine"),
    *(
        "--backend",
        "--free",
        "--equals",
        "--dominates",
        "--verify",
        "--interface",
        "--library",
        "--argument",
        "--coins",
    ),
    *("--cases", "--lengths", "--cost", "--method", "--precision", "--tokenizer", "--device", "--replace", "--lossy"),
    *("--vectors", "--target", "--draft", "--dtype", "--K", "--L1", "--L2", "--sampling"),
    *("--store", "--dask"),  # a database of its own kind, whose faults test_sweep.py has
    "--folder",  # one that is there, for instances that are written whole
    "--sampling",
    "--clock",
    "--recipe",
    "--policy",
    "--pair",  # a folder that is there, or one that is made as `train --out` makes it
}


def programs() -> Iterator[tuple[tuple[str, ...], typer.Typer]]:
    """How each command and each study begins, and what it is."""
    for name, command in typer.main.get_command(cli.program()).commands.items():  # type: ignore[attr-defined]
        yield (name,), command
    for path in sorted((ROOT / "experiments/studies").rglob("*.py")):
        if "run_command(" not in path.read_text(encoding="utf-8"):
            continue
        module = ".".join(("draftproof", *path.relative_to(ROOT).with_suffix("").parts))
        source = importlib.import_module(module.replace("__main__", "command"))
        alone = typer.Typer()
        alone.command()(source.main)
        yield ("-m", module.removesuffix(".__main__")), typer.main.get_command(alone)


def options_with_text(command: object) -> list[str]:
    return [
        each.opts[0]
        for each in command.params  # type: ignore[attr-defined]
        if each.opts[0].startswith("--") and not each.is_flag and each.type_descriptor.annotation is str
    ]


def test_every_option_that_names_a_file_to_write_is_in_the_table():
    found = dict(programs())
    assert ("compare",) in found
    assert ("-m", "draftproof.experiments.studies.speed") in found
    for begins, command in found.items():
        options = options_with_text(command)
        assert "--json" in options, begins
        assert set(options) <= {*OUTPUTS, *READ}, begins
        written = {flag for flag in options if flag in OUTPUTS}
        tried = [writer for writer in WRITERS.values() if writer.arguments[: len(begins)] == begins]
        assert {flag for writer in tried for flag in writer.outputs} == written, begins


def test_the_table_has_nothing_that_is_no_command():
    begins = set(dict(programs()))
    assert {writer.arguments[: 2 if writer.arguments[0] == "-m" else 1] for writer in WRITERS.values()} == begins
    assert Path(__file__).is_relative_to(ROOT)
