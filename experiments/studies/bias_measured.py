"""What lossy verifiers write on a trained pair, through `generate_with`, against their predicted tokens and bias.

`draftproof train --out runs/pair4 --vocab 4 --steps 300` makes a pair;
`python -m draftproof.experiments.studies.bias_measured --pair runs/pair4` measures on it.

From each root many texts of one block are written. The prediction is exact, from the rows of both models. The measured
bias is that of the event which the predicted law makes most too likely: its share among the blocks, each continued by
the target, less its probability under the target. So its mean is the bias, without the noise that a distance between
counts has. The monitor watches longer texts of the same verifier.
"""

from collections.abc import Sequence
from itertools import product
from math import sqrt
from typing import Annotated, Any

import numpy as np
import typer

from draftproof.experiments.api.arguments import as_verifier
from draftproof.experiments.grid.report.section import Section, lines_of, text
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import bar, console_for
from draftproof.lp_analysis.bias_measures import block_variation, outputs
from draftproof.lp_analysis.nodes import prefix_masses
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.processes import TableProcess, context_index
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.verdicts.lossless import block_law

VERIFIERS = (
    "block",
    "ensemble:w=19/20",
    "ensemble:w=1/2",
    "threshold",
    "typical",
    "budgeted:eps=1/20",
    "budgeted:eps=1/5",
)
#: Tokens of each text that the monitor watches, and the probability of a false alarm.
LENGTH, LEVEL = 250, 1e-3
#: Of these texts; those of one block have others.
SEED = 7


def tables_of(pair: Any, which: str, root: Sequence[int], depth: int, V: int) -> TableProcess:
    """The rows of every context of up to `depth` tokens after the root, by plain passes."""
    rows = []
    for length in range(depth + 1):
        contexts = [[*root, *context] for context in product(range(V), repeat=length)]
        found = np.asarray(pair.rows(which, contexts, Sampling(), root=len(root)), np.float64)
        rows.append(found / found.sum(axis=1, keepdims=True))
    return TableProcess(rows, which)


def written(pair: Any, spec: str, scheme: Delayed, root: Sequence[int], runs: int, seed: int) -> list[Any]:
    """The first block of so many texts, by `generate` of transformers."""
    import torch

    from draftproof.experiments.models.loop.generate_with import generate_with

    first: dict[int, Any] = {}
    ours = generate_with(
        spec, scheme, seed=seed, lossy=True, each_block=lambda piece: first.setdefault(piece.text, piece.block)
    )
    prompts = torch.tensor([list(root)] * runs)
    pair.target.generate(
        prompts, assistant_model=pair.draft, custom_generate=ours, do_sample=True, max_new_tokens=1,
        attention_mask=torch.ones_like(prompts),
    )  # fmt: skip
    return list(first.values())


def alarm(pair: Any, spec: str, scheme: Delayed, root: Sequence[int], texts: int) -> tuple[bool, float]:
    """Whether the monitor refutes what is written, and the logarithm to base 10 of its e-process a thousand tokens."""
    import torch

    from draftproof.experiments.models.loop.generate_with import generate_with
    from draftproof.experiments.models.loop.sequential import Monitor

    monitor = Monitor(LEVEL)
    ours = generate_with(spec, scheme, seed=SEED, lossy=True, monitor=monitor)
    prompts = torch.tensor([list(root)] * texts)
    pair.target.generate(
        prompts, assistant_model=pair.draft, custom_generate=ours, do_sample=True, max_new_tokens=LENGTH,
        attention_mask=torch.ones_like(prompts),
    )  # fmt: skip
    return monitor.refuted, monitor.log_value / np.log(10) / monitor.tokens * 1000


def measured(pair: Any, spec: str, scheme: Delayed, roots: Sequence[Sequence[int]], runs: int) -> dict[str, Any]:
    """Predicted and measured tokens and bias, means over the roots, with standard errors of the measured ones."""
    V, L = pair.vocab_size, scheme.depth
    rows = []
    for number, root in enumerate(roots):
        target, draft = (tables_of(pair, which, root, L, V) for which in ("target", "draft"))
        law = block_law(as_verifier(spec).verifier, target, draft, scheme, "float64")
        wanted = prefix_masses(target.tables, L + 1)
        above = outputs(law, target.tables)[L + 1] > wanted[L + 1]
        share = [above.astype(float)]  # of the event, after each context
        for table in reversed(target.tables):
            share.insert(0, (table * share[0].reshape(table.shape)).sum(axis=1))
        blocks = written(pair, spec, scheme, root, runs, 1000 * number)
        tokens = np.array([block.depth + 1 for block in blocks])
        events = np.array([share[len(block.tokens)][context_index(block.tokens, V)] for block in blocks])
        predicted = float(law.block_efficiency), float(block_variation(law, target.tables))
        found = tokens.mean(), tokens.var() / runs, events.mean() - share[0][0], events.var() / runs
        rows.append([*predicted, *found])
    tokens, bias, own, spread, excess, noise = np.mean(rows, axis=0).tolist()
    count = len(roots)
    return {
        "verifier": spec, "tokens": tokens, "written": own, "tokens_error": sqrt(spread / count),
        "bias": bias, "found": excess, "bias_error": sqrt(noise / count),
    }  # fmt: skip


def main(
    pair: Annotated[str, typer.Option(help="A folder of `draftproof train`; a small vocabulary.")],
    depth: Annotated[int, typer.Option("--L2", min=1, help="Drafted tokens of the path.")] = 3,
    roots: Annotated[int, typer.Option(min=1, help="Roots, of six random tokens.")] = 4,
    runs: Annotated[int, typer.Option(min=2, help="Blocks written from each root.")] = 2000,
    watched: Annotated[int, typer.Option(min=1, help="Texts that the monitor watches.")] = 8,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
    markdown: Annotated[str | None, typer.Option("--markdown", help="Markdown table.")] = None,
) -> int:
    """Tokens and bias that are predicted for lossy verifiers, and what `generate_with` writes."""
    from draftproof.experiments.models.pair.pair import load_folder

    check_files((), {"--json": json_target, "--markdown": markdown})
    models, scheme = load_folder(pair, "cpu"), Delayed(1, 0, depth)
    generator = np.random.default_rng(0)
    starts = [generator.integers(models.vocab_size, size=6).tolist() for _ in range(roots)]
    rows = []
    with bar("verifiers", len(VERIFIERS)) as tick:
        for spec in VERIFIERS:
            row = measured(models, spec, scheme, starts, runs)
            row["alarm"], row["rate"] = alarm(models, spec, scheme, starts[0], watched)
            rows.append(row)
            tick(1)
    lines = list(lines_of(table(rows)))
    console_for(json_target).print("\n".join(lines), markup=False)
    write_json(json_target, rows)
    if markdown:
        write_whole(markdown, "\n".join(lines) + "\n")
    return 0


def table(rows: Sequence[dict[str, Any]]) -> Section:
    """Predicted beside measured numbers."""
    headings = ("verifier", "tokens", "written", "bias", "found", "monitor", "log10 of its value a 1,000 tokens")
    lines = [
        [
            *map(
                text,
                (f"`{row['verifier']}`", f"{row['tokens']:.4f}", f"{row['written']:.4f} +- {row['tokens_error']:.4f}"),
            ),
            *map(text, (f"{row['bias']:.4f}", f"{row['found']:.4f} +- {row['bias_error']:.4f}")),
            *map(text, ("alarm" if row["alarm"] else "", f"{row['rate']:.2f}")),
        ]
        for row in rows
    ]
    return Section("measured", "Predicted and written", headings, lines)


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
