"""The options that commands share. A dataclass is a group of options, which a command takes as one parameter."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from draftproof.experiments.inputs.verifiers import Settings
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.errors import InvalidInput


def grouped(
    annotations: Mapping[str, Any] | None = None, **groups: type
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A decorator: a parameter of the command with the name of a group becomes one option for each field of the group.

    annotations: replacements for annotations of fields, by name, where a command documents an option differently.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        options: list[Parameter] = []
        parameters = signature(command, eval_str=True).parameters
        for parameter in parameters.values():
            name = parameter.name
            options += _fields(groups[name], annotations or {}) if name in groups else [parameter]

        @wraps(command)
        def run(**values: Any) -> int:
            made = {
                name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
                for name, group in groups.items()
                if name in parameters
            }
            return command(**made, **values)

        run.__signature__ = Signature([option.replace(kind=Parameter.KEYWORD_ONLY) for option in options])  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


def _fields(group: Any, annotations: Mapping[str, Any]) -> list[Parameter]:
    hints = {**get_type_hints(group, include_extras=True), **annotations}
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in dataclasses.fields(group)
    ]


def fields_given(group: Any) -> dict[str, Any]:
    """The options of a group that differ from their defaults, by flag."""
    return {
        f"--{field.name.replace('_', '-')}": value
        for field in dataclasses.fields(group)
        if (value := getattr(group, field.name)) != field.default
    }


#: How `--sampling` and options like it are written.
SAMPLING = "temperature=.7, top_k=50, top_p=.9, min_p=.05, typical_p=.95, repetition_penalty=1.2"

_OUT = "Output"

Resume = Annotated[
    str | None, typer.Option(help="Store of rows: kept as they come, reused next time.", rich_help_panel=_OUT)
]
JsonTarget = Annotated[
    str | None, typer.Option("--json", help="JSON to a file, or - for stdout.", rich_help_panel=_OUT)
]
_PAIR = "Pair of models"
PairFolder = Annotated[
    str | None,
    typer.Option("--pair", help="Folder of `model train`; measurements make it first.", rich_help_panel=_PAIR),
]
Target = Annotated[
    str | None, typer.Option("--target", help="A causal model of transformers: path or name.", rich_help_panel=_PAIR)
]
Draft = Annotated[
    str | None,
    typer.Option(
        "--draft",
        help="Its draft, over the same tokens; or lookup, ngram:order=4, early:layers=2, eagle:FOLDER.",
        rich_help_panel=_PAIR,
    ),
]
PromptFile = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        help='JSONL of prompts, in place of roots of a text: {"text": ..} or {"messages": [..]}, and maybe "group".',
        rich_help_panel=_PAIR,
    ),
]
Beginning = Annotated[
    str,
    typer.Option(
        "--bos",
        help="The token for the beginning of a text stands first: auto (as the tokenizer says), yes or no.",
        rich_help_panel=_PAIR,
    ),
]
ContextLength = Annotated[
    int | None,
    typer.Option(
        "--context",
        min=1,
        help="Tokens of a root of a text (default 16); of a prompt the last so many (default: all).",
        rich_help_panel=_PAIR,
    ),
]
#: How masks are written there.
_MASKS = (
    "no_repeat_ngram_size=3, eos=2, min_new_tokens=1, stop_strings=01|11, table=01-!/1-0 or, at the end, regex=(01|2)*"
)
_DRAWN = (
    f"How tokens are drawn from both: any of {SAMPLING}; and masks: {_MASKS}, where tokens "
    "are called as in the text, else by their numbers (10 is a, 11 is b, ..)"
)
Sampling = Annotated[str | None, typer.Option(help=f"{_DRAWN}; temperature=0 is greedy.")]
DraftSampling = Annotated[
    str | None,
    typer.Option(help="How tokens are drawn from the draft, where otherwise: temperature=0, top_k=5, bits=4, ..."),
]
Told = Annotated[
    str | None,
    typer.Option(
        help="The q that verifiers are told: sampled (what the drafts are drawn from), draft (as the model gives it), "
        "target (sampled as the target), or as --sampling."
    ),
]
Samplings = Annotated[list[str] | None, typer.Option("--sampling", help=f"{_DRAWN}; may be repeated.")]


def check_jobs(jobs: int | None) -> None:
    """Raise `InvalidInput` for a number of processes that is none."""
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs {jobs}: give at least 1")


def choose_settings(
    arithmetic: str, engine: str, max_runs: int, max_memory: float, backend: str, jobs: int = 1, steady: bool = False
) -> Settings:
    """The settings from options; raises `InvalidInput` for an unknown backend or arithmetic, or two that contradict."""
    devices = {"numpy": None, "torch": "cpu", "cuda": "cuda"}
    if backend not in devices:
        raise InvalidInput(f"unknown backend {backend!r}; choose {', '.join(devices)}")
    if arithmetic_named(arithmetic).exact and devices[backend]:
        raise InvalidInput(f"backend {backend} holds no rationals; use arithmetic float64, or use backend numpy")
    return Settings(arithmetic, engine, max_runs, max_memory * 2**30, devices[backend], jobs, steady)
