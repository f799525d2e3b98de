"""The options that commands share. A dataclass is a group of options, which a command takes as one parameter."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from draftproof.experiments.inputs.schemes import find_scheme, planned, whole
from draftproof.experiments.inputs.verifiers import Settings
from draftproof.experiments.inputs.worlds import FileWorld, World
from draftproof.simulator.arithmetic import arithmetic_named, parse_fraction
from draftproof.simulator.drafts import SCHEMES, scheme_from_dict
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme


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

_SHAPE = "Scheme"
_HOW = "How to compute"
_OUT = "Output"

Scheme = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(SCHEMES)} (default delayed), as NAME:key=value,..; or FILE.py:NAME.", rich_help_panel=_SHAPE
    ),
]
Tree = Annotated[
    str | None, typer.Option(help="Scheme topology: children of each node, as 2,1,0,0.", rich_help_panel=_SHAPE)
]
Branches = Annotated[int | None, typer.Option("--K", help="Branches (default 2).", rich_help_panel=_SHAPE)]
Trunk = Annotated[int | None, typer.Option("--L1", help="Trunk length (default 0).", rich_help_panel=_SHAPE)]
Branch = Annotated[int | None, typer.Option("--L2", help="Branch length (default 2).", rich_help_panel=_SHAPE)]
Confidence = Annotated[
    str | None, typer.Option(help="Scheme adaptive: stop after a token below it.", rich_help_panel=_SHAPE)
]
MaxRuns = Annotated[int, typer.Option(min=1, help="Refuse to enumerate more runs.", rich_help_panel=_HOW)]
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


@dataclass(frozen=True)
class Shape:
    """The options that say which draft scheme; `with_groups` gives them to a command."""

    scheme: Scheme = None
    tree: Tree = None
    confidence: Confidence = None
    K: Branches = None
    L1: Trunk = None
    L2: Branch = None

    @property
    def lengths(self) -> dict[str, int]:
        """Those of K, L1 and L2 that are given."""
        return {key: value for key in ("K", "L1", "L2") if (value := getattr(self, key)) is not None}

    def build(self) -> DraftScheme:
        """The scheme, where it does not depend on an instance."""
        return build_scheme(self.scheme or "delayed", self.tree, self.confidence, **self.lengths)


def choose_settings(
    arithmetic: str, engine: str, max_runs: int, max_memory: float, backend: str, jobs: int = 1, steady: bool = False
) -> Settings:
    """The settings from options; raises `InvalidInput` for an unknown backend or arithmetic, or two that contradict."""
    devices = {"numpy": None, "torch": "cpu", "cuda": "cuda"}
    if backend not in devices:
        raise InvalidInput(f"unknown backend {backend!r}; choose {', '.join(devices)}")
    if arithmetic_named(arithmetic).exact and devices[backend]:
        raise InvalidInput(f"--backend {backend} holds no rationals; add --arithmetic float64 or use --backend numpy")
    return Settings(arithmetic, engine, max_runs, max_memory * 2**30, devices[backend], jobs, steady)


def build_scheme(spec: str, tree: str | None, confidence: str | None, **shape: int) -> DraftScheme:
    """A scheme from its name or text and its flags; raises `InvalidInput` for a flag that the scheme does not have."""
    given: dict[str, Any] = dict(shape)
    if tree is not None:
        given["tree"] = tuple(whole(count, f"--tree {tree!r}") for count in tree.split(","))
    if confidence is not None:
        given["confidence"] = parse_fraction(confidence)
    return find_scheme(spec, given)


def choose_scheme(shape: Shape, problem: World | None) -> DraftScheme:
    """The scheme from the flags; parameters without a flag come from the instance file, else from the defaults."""
    name, given = shape.scheme, shape.lengths
    if isinstance(problem, FileWorld):
        base = problem.instance.scheme
        if name is None and not given and "scheme" in problem.instance.about:
            meant = problem.instance.about["scheme"]
            raise InvalidInput(f"{problem.path} is meant for the scheme {meant}; add --scheme {meant}")
        if base is not None and name in (None, base.name):
            return _changed(base, shape)
        if name in (None, "delayed") and "L2" not in given and problem.instance.depth < 2:
            given["L2"] = max(problem.instance.depth - given.get("L1", 0), 0)
            given.setdefault("K", 2 if given["L2"] else 1)
    made = build_scheme(name or "delayed", shape.tree, shape.confidence, **given)
    return planned(made, problem) if problem is not None else made


def _changed(base: DraftScheme, shape: Shape) -> DraftScheme:
    """The scheme of an instance file with the parameters that flags change."""
    flags = {"tree": shape.tree, "confidence": shape.confidence}
    if not shape.lengths and not any(value is not None for value in flags.values()):
        return base
    changed = build_scheme(base.name, shape.tree, shape.confidence).as_dict()
    flagged = {key: changed[key] for key, value in flags.items() if value is not None}
    made: DraftScheme = scheme_from_dict({**base.as_dict(), **shape.lengths, **flagged})
    return made
