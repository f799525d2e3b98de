"""`draftproof model train --kind selector`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from draftproof.experiments.cli.train.options import SharedOptions
from draftproof.experiments.grid.groups import group_columns, interval_text
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.options import (
    Beginning,
    ContextLength,
    Draft,
    PromptFile,
    Resume,
    Samplings,
)
from draftproof.experiments.inputs.policies import shapes_of
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.errors import InvalidInput


def show(console: Console, report: dict[str, Any]) -> None:
    """Print the results on held-out roots and the chosen hyperparameters."""
    shares, how = report["roots"], report["hyperparameters"]
    table = Table(
        title=f"{report['verifier']}, V = {report['vocab_size']}, {len(report['actions'])} shapes, labels "
        f"{report['labels']}: {shares['held_out']} held-out {report['roots_of']} after "
        f"{shares['training']} to train on and {shares['validating']} to choose by",
        title_justify="left",
    )
    for name in ("sampling", "policy", "tokens per time", "over static", "95 %", "regret", "tokens a block", "used"):
        table.add_column(name, justify="left" if name in ("sampling", "policy") else "right")
    settings = report["settings"]
    for number, row in enumerate(report["rows"]):
        first = number == 0 or report["rows"][number - 1]["setting"] != row["setting"]
        if first and number:
            table.add_section()
        table.add_row(
            _sampling(settings[row["setting"]]) if first else "",
            row["policy"],
            f"{row['tokens_per_time']:.6g}",
            f"{row['over_static']:+.2%}",
            f"{row['over_static_low']:+.2%} to {row['over_static_high']:+.2%}",
            f"{row['regret']:.3%}",
            f"{row['tokens_per_block']:.5f}",
            str(row["used"]),
        )
    console.print(table)
    if "groups" in report["rows"][0]:
        console.print(groups_table(report["rows"]))
    bases = "; ".join(", ".join(map(str, base)) for base in report["base"])
    console.print(
        f"static: K, L1, L2 = {bases}, the best on the roots to train on. oracle: the best action of every root, "
        f"{_oracle(report['labels'])} used: the number of actions chosen.",
        soft_wrap=True,
    )
    console.print(
        f"chosen of {len(report['grid'])} networks: lambda {how['penalty']:g}, alpha {how['share']:g}, dropout "
        f"{how['dropout']:g}, AdamW at {how['rate']:g}, {how['epochs']} epochs ({how['gain']:+.2%} "
        "where it was chosen)",
        soft_wrap=True,
    )
    console.print(f"selector: {report['file']}", soft_wrap=True)


def groups_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Tokens per time by group of held-out prompts, one column a group."""
    table = Table(title="tokens per time by group of held-out prompts", title_justify="left", caption_justify="left")
    table.add_column("policy")
    group_columns(table, rows[0]["groups"])
    for number, row in enumerate(rows):
        if number and rows[number - 1]["setting"] != row["setting"]:
            table.add_section()
        table.add_row(row["policy"], *map(interval_text, row["groups"]))
    return table


def _oracle(labels: str) -> str:
    if labels == "exact":
        return "which no policy exceeds."
    return "by noisy labels, so its value and regret are biased upwards; the other figures are unbiased."


def _sampling(sampling: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in sampling.items() if value is not None)


_SHAPE: Any = {"rich_help_panel": "Of --kind selector: shapes to choose from"}
_HOW: Any = {"rich_help_panel": "Of --kind selector"}

BranchRange = Annotated[str, typer.Option("--K", help="Branches, as 2 or 1..4.", **_SHAPE)]
TrunkRange = Annotated[str, typer.Option("--L1", help="Trunk lengths.", **_SHAPE)]
LengthRange = Annotated[str, typer.Option("--L2", help="Branch lengths.", **_SHAPE)]
MaxNodes = Annotated[int | None, typer.Option(min=1, help="Only shapes of at most N drafted tokens.", **_SHAPE)]
Times = Annotated[
    str | None,
    typer.Option("--cost", help="Times as draft=1,branch=.1,target=10,node=.1 or a file (default: measured)."),
]
Roots = Annotated[
    int, typer.Option(min=1, help="Contexts of the text, or within texts after prompts; a fifth held out.", **_HOW)
]
Trees = Annotated[int, typer.Option(min=2, help="Sampled trees for each label that is not exact.", **_HOW)]
Exact = Annotated[
    bool | None,
    typer.Option(
        "--exact/--sampled",
        help="How labels are computed (default: exact where that takes milliseconds).",
        show_default=False,
        **_HOW,
    ),
]


@dataclass(frozen=True)
class SelectorOptions:
    """The options of `model train --kind selector` alone."""

    draft: Draft = None
    K: BranchRange = "1..4"
    L1: TrunkRange = "0..2"
    L2: LengthRange = "0..2"
    max_nodes: MaxNodes = None
    sampling: Samplings = None
    cost: Times = None
    prompts: PromptFile = None
    bos: Beginning = "auto"
    context: ContextLength = None
    roots: Roots = 400
    trees: Trees = 16
    exact: Exact = None
    resume: Resume = None


def train_selector(verifier: str, shared: SharedOptions, options: SelectorOptions) -> int:
    """Train a network that chooses the tree of every block for one verifier on a pair, and print its gain."""
    folder, target, resume = shared.folder, shared.target, options.resume
    store = Store(resume)
    if folder is None and target is None:
        raise InvalidInput(
            "no pair is named; give the folder of one that draftproof trained, --pair, or --target and --draft"
        )
    if (folder_out := shared.out or folder) is None:
        raise InvalidInput("--out is missing: the folder for the selector of these models")
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.pair.opened import PairRequest
    from draftproof.experiments.models.selector.training import Plan, train
    from draftproof.simulator.instances.sampling import Sampling

    wanted = PairRequest(
        folder,
        target,
        options.draft,
        shared.device,
        text=shared.text,
        prompts=options.prompts,
        bos=options.bos,
        context=options.context,
    )
    named = find_verifier(verifier)
    actions = shapes_of(options.K, options.L1, options.L2, options.max_nodes)
    samplings = list(dict.fromkeys(map(Sampling.parse, options.sampling or [""])))
    if others := sorted({name for sampling in samplings for name in sampling.settings} - {"temperature", "top_p"}):
        raise InvalidInput(f"--sampling: networks know temperature and top_p; leave out {', '.join(others)}")
    times = None if options.cost is None else time_model(options.cost)
    if times is not None:
        times.check(actions)
    console = console_for(shared.json_target)
    try:
        plan = Plan(
            *(named, tuple(actions), tuple(samplings), times),
            *(options.roots, options.trees, shared.seed, options.exact),
        )
        report = train(wanted, folder_out, plan, store)
    except KeyboardInterrupt:
        where = (
            f"; the labels computed so far are in {resume}" if resume else "; with --resume FILE the labels are saved"
        )
        remark(f"interrupted{where}; no other file was written")
        return INTERRUPTED
    show(console, report)
    write_json(shared.json_target, report)
    return 0
