"""The options that say which instance a command works on, and the problem that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
import typer

from draftproof.experiments.inputs.options import (
    Beginning,
    ContextLength,
    Draft,
    DraftSampling,
    PairFolder,
    PromptFile,
    Sampling,
    Shape,
    Target,
    Told,
    grouped,
)
from draftproof.experiments.inputs.text import EMBEDDED, TOPICS, read_counted
from draftproof.experiments.inputs.verifiers import family_spec
from draftproof.experiments.inputs.worlds import FamilyWorld, FileWorld, TextWorld, World
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES, family_named
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.sampling import Samplings

_WHERE = "Instance"

InstanceFile = Annotated[str | None, typer.Option("--instance", help="An instance file.", rich_help_panel=_WHERE)]
TextFile = Annotated[
    str | None,
    typer.Option(
        "--text",
        help=f"n-gram pair from a UTF-8 file, or {TOPICS}: the counts that come along. With models: where roots are.",
        rich_help_panel=_WHERE,
    ),
]
Family = Annotated[
    str | None,
    typer.Option(help=f"Synthetic: {', '.join(FAMILIES)}; parameters as perturbed:s=1.", rich_help_panel=_WHERE),
]
Vocab = Annotated[
    int | None,
    typer.Option(
        help="Vocabulary size V (default 3; of models all, or 8 where they have more than 32).",
        rich_help_panel=_WHERE,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the family.", rich_help_panel=_WHERE)]
TargetOrder = Annotated[int | None, typer.Option(help="Order m of the target (default 3).", rich_help_panel=_WHERE)]
DraftOrder = Annotated[int | None, typer.Option(help="Order n of the draft (default 1).", rich_help_panel=_WHERE)]
RootText = Annotated[
    str | None,
    typer.Option(
        "--root", help="Text before the root (default: the 8 most frequent contexts).", rich_help_panel=_WHERE
    ),
]
Roots = Annotated[
    int | None,
    typer.Option(
        "--roots",
        min=1,
        help="Most frequent contexts of a text (default 8); of models: contexts of a text (4), or prompts (16).",
        rich_help_panel=_WHERE,
    ),
]
Denominator = Annotated[
    int | None,
    typer.Option(
        help="Common denominator of all probabilities (default 65536; 20 with --instances, audits 16; 2^52 of models).",
        rich_help_panel=_WHERE,
    ),
]


@dataclass(frozen=True)
class Given:
    """The options that say which instance; `with_groups` gives them to a command."""

    instance: InstanceFile = None
    text: TextFile = None
    family: Family = None
    vocab: Vocab = None
    seed: Seed = 0
    target_order: TargetOrder = None
    draft_order: DraftOrder = None
    root: RootText = None
    roots: Roots = None
    denominator: Denominator = None
    pair: PairFolder = None
    target: Target = None
    draft: Draft = None
    prompts: PromptFile = None
    bos: Beginning = "auto"
    context: ContextLength = None
    sampling: Sampling = None
    draft_sampling: DraftSampling = None
    told: Told = None

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The files that are read, for `check_files`."""
        return self.instance, self.text, self.prompts

    @property
    def options(self) -> list[str]:
        """The words of a command line with these options."""
        chosen = [(part.name, value) for part in fields(self) if (value := getattr(self, part.name)) != part.default]
        return [word for name, value in chosen for word in ("--" + name.replace("_", "-"), str(value))]

    @property
    def samplings(self) -> Samplings:
        """How tokens are drawn; raises `InvalidInput` for values out of range."""
        return Samplings.of_options(self.sampling, self.draft_sampling, self.told, "--")

    @property
    def models(self) -> bool:
        """Whether the instance comes from models."""
        return any((self.pair, self.target, self.draft))


def with_groups(**annotations: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A decorator: the command's parameter `given` becomes the options of `Given`, its `shape` those of `Shape`.

    annotations: of options, by name, where a command documents another default or takes several values.
    """
    return grouped({"denominator": Denominator, **annotations}, given=Given, shape=Shape)


def choose_problem(given: Given, told: bool = False) -> World:
    """The source of instances that the options describe; raises `InvalidInput` for those that contradict each other."""
    if given.told is not None and not told:
        raise InvalidInput(
            "--told plants a mistake in what verifiers are told; it is for check, compare, depths, audit and validate"
        )
    if given.models:
        return _pair_problem(given)
    of_models = {"--prompts": given.prompts, "--bos": None if given.bos == "auto" else given.bos}
    _refuse({**of_models, "--context": given.context}, "is for models; add --pair, or --target and --draft")
    problem = _written_problem(given)
    if isinstance(problem, FileWorld) and problem.instance.draft.told is not None and not told:
        raise InvalidInput(f"{given.instance} has the key told, which is for check, compare, depths and audit")
    return replace(problem, samplings=given.samplings)


def _written_problem(given: Given) -> FileWorld | FamilyWorld | TextWorld:
    sources = {"--instance": given.instance, "--text": given.text, "--family": given.family}
    named = [flag for flag, value in sources.items() if value]
    if len(named) > 1:
        raise InvalidInput(f"{named[0]} and {named[1]} both say where the instance comes from; give one of them")
    orders = {
        "--target-order": given.target_order,
        "--draft-order": given.draft_order,
        "--root": given.root,
        "--roots": given.roots,
    }
    if given.text is None:
        _refuse(orders, f"belongs to a text; add --text FILE or --text {TOPICS}")
    if given.instance is not None:
        sizes = {"--vocab": given.vocab, "--denominator": given.denominator}
        _refuse(sizes, f"has no effect on --instance {given.instance}; leave it out")
        instance = Instance.load(given.instance)
        if instance.draft.told is not None:
            _refuse(
                {"--told": given.told}, f"is for rows without the key told, which {given.instance} has; leave it out"
            )
        return FileWorld(given.instance, instance)
    size = 3 if given.vocab is None else given.vocab
    grain = 2**16 if given.denominator is None else given.denominator
    if given.text is not None:
        return _text_problem(given, given.text, size, grain)
    name, parameters = family_spec(given.family or "dirichlet")
    family_named(name).instance(
        size, 0, np.random.default_rng(given.seed), grain, RATIONAL, **parameters
    )  # fails now rather than later
    return FamilyWorld(name, size, given.seed, grain, parameters)


def _refuse(options: Mapping[str, object], why: str) -> None:
    for flag, value in options.items():
        if value is not None:
            raise InvalidInput(f"{flag} {why}")


def _text_problem(given: Given, text: str, size: int, grain: int) -> TextWorld:
    order = 3 if given.target_order is None else given.target_order
    draft = min(1, order) if given.draft_order is None else given.draft_order
    pair = TextPair(read_counted(text), size, order, draft, grain)
    root = given.root
    if root is None:
        return TextWorld(text, pair, count=8 if given.roots is None else given.roots)
    if given.roots is not None:
        raise InvalidInput("--root gives one context, --roots a number of them; give one of the two")
    context = pair.root_of(root)
    if pair.show(context) != root[-order:] * (order > 0):
        remark(f"root {root!r} is taken as {pair.show(context)!r}: · stands for every symbol outside the alphabet")
    return TextWorld(text, pair, root)


def _pair_problem(given: Given) -> World:
    others = {
        "--instance": given.instance,
        "--family": given.family,
        "--target-order": given.target_order,
        "--draft-order": given.draft_order,
    }
    _refuse(others, "has no effect on an instance from models; leave it out")
    if given.root is not None and given.roots is not None:
        raise InvalidInput("--root gives one context, --roots a number of them; give one of the two")
    if given.root is not None and given.prompts is not None:
        raise InvalidInput("--root gives one context, --prompts a file of them; give one of the two")
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.expect.problem import pair_problem
    from draftproof.experiments.models.pair.opened import PairRequest, load_wanted

    where: dict[str, Any] = {"prompts": given.prompts, "bos": given.bos, "context": given.context}
    wanted = PairRequest(given.pair, given.target, given.draft, text=given.text or EMBEDDED, **where)
    opened = load_wanted(wanted)
    return pair_problem(opened, given.samplings, given.vocab, given.roots, given.root, given.denominator)
