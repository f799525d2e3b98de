"""What `model train` makes, and how good it is."""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.experiments.grid.groups import GROUPS_NOTE, group_columns
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.policies import shapes_of
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.pair.corpus import read_corpus
from draftproof.experiments.models.pair.devices import choose_device
from draftproof.experiments.models.pair.folder import make_pair
from draftproof.experiments.models.pair.head_training import PLANS, make_head
from draftproof.experiments.models.pair.opened import PairRequest, suitable_threads
from draftproof.experiments.models.pair.pair import load_pair
from draftproof.experiments.models.pair.training import choose_recipe
from draftproof.experiments.models.selector.training import Plan
from draftproof.experiments.models.selector.training import train as train_selector
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import bar
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

#: The default number of roots of a selector.
ROOTS = 400
_REUSED = "it was there already and was not trained again"


def pair_result(
    out: str | None,
    text: str,
    recipe: str,
    tokenizer: str,
    vocab: int | None,
    steps: int | None,
    seed: int,
    device: str,
) -> Result:
    """Train a small target and a smaller draft."""
    if out is None:
        raise InvalidInput("out is missing: the folder for the pair")
    where = choose_device(device)
    chosen = choose_recipe(read_corpus(text), tokenizer, vocab, seed, steps, recipe)
    record, reused = make_pair(chosen, out, where)
    configuration, bits = record["configuration"], record["bits_per_character"]
    rows = [
        {"model": role, "bits": bits[role], "parameters": record["parameters"][role], "steps": record["steps"][role]}
        for role in ("target", "draft")
    ]
    rows += [{"model": f"n-grams of order {order}", "bits": bits[f"ngram{order}"]} for order in (3, 1)]
    columns = [Column("model"), Column("bits", "exact", "bits per character")]
    columns += [Column("parameters", "count"), Column("steps", "count")]
    rare = ", rare symbols as one token" if configuration["tokenizer"] == "letters" else ""
    notes = [
        f"text {record['text']} (sha256 {record['text_hash']}), trained on {record['device']}",
        f"bits are those on the last {record['characters']['held_out']:,} characters, held out{rare}",
        f"the target after {record['sample']['prompt']!r}: {record['sample']['text']!r}",
        *([_REUSED] if reused else []),
        f"use it: --world models:{out}",
    ]
    about = f"{configuration['tokenizer']}, V = {configuration['vocab_size']}, seed {configuration['seed']}"
    tables = [Table.of(columns, rows), Table.whole([], [record], name="record", shown=False)]
    return Result(f"pair in {out}: {about}", tables, notes)


def head_result(kind: str, wanted: PairRequest, out: str, steps: int | None, seed: int, places: int | None) -> Result:
    """Train a head on a target's features: a draft of one or two layers."""
    places = 4 if kind == "specblock" and places is None else places
    steps = PLANS[kind].steps if steps is None else steps
    corpus = read_corpus(wanted.text)
    target = load_pair(wanted.target or f"{wanted.folder}/target", None, wanted.device, wanted.dtype)
    with suitable_threads(target.target), bar("training the head", steps) as tick:
        record, reused = make_head(target, corpus, kind, steps, seed, out, tick, places)
    columns = [
        Column("folder"),
        Column("parameters", "count"),
        Column("steps", "count"),
        Column("loss_bits_per_token", "exact", "cross-entropy to the target's rows, bits a token"),
    ]
    models = wanted.folder or f"target={wanted.target}"
    notes = [*([_REUSED] if reused else []), f"use it: --world models:{models},draft={kind}:{out}"]
    return Result(f"{kind} head in {out}", [Table.whole(columns, [{"folder": out, **record}])], notes)


def plan_of(
    verifier: str,
    wanted: PairRequest,
    sampling: str | Sequence[str] | None,
    shapes: tuple[int | str, int | str, int | str],
    max_nodes: int | None,
    cost: str | None,
    trees: int,
    seed: int,
    exact: bool | None,
) -> Plan:
    """What a selector is trained for; raises `InvalidInput`."""
    actions = shapes_of(*shapes, max_nodes)
    texts = [sampling] if isinstance(sampling, str) else sampling or [""]
    samplings = list(dict.fromkeys(map(Sampling.parse, texts)))
    if others := sorted({name for drawn in samplings for name in drawn.settings} - {"temperature", "top_p"}):
        raise InvalidInput(f"sampling: networks know temperature and top_p; leave out {', '.join(others)}")
    times = None if cost is None else time_model(cost)
    if times is not None:
        times.check(actions)
    roots = ROOTS if wanted.roots is None else wanted.roots
    return Plan(find_verifier(verifier), tuple(actions), tuple(samplings), times, roots, trees, seed, exact)


def selector_result(wanted: PairRequest, folder: str, plan: Plan, resume: str | None) -> Result:
    """Train a network that chooses the tree of every block for one verifier on a pair."""
    report = train_selector(wanted, folder, plan, Store(resume))
    samplings = [
        ", ".join(f"{name} {value:g}" for name, value in setting.items() if value is not None)
        for setting in report["settings"]
    ]
    rows = [
        {
            **row,
            "sampling": samplings[row["setting"]],
            "interval": f"{row['over_static_low']:+.2%} to {row['over_static_high']:+.2%}",
        }
        for row in report.pop("rows")
    ]
    columns = [
        Column("sampling"),
        Column("policy"),
        Column("tokens_per_time", "exact", "tokens per time"),
        Column("over_static", "percent", "over static"),
        Column("interval", title="95 %"),
        Column("regret", "percent"),
        Column("tokens_per_block", "exact", "tokens a block"),
        Column("used", "count"),
    ]
    tables, how, shares = [Table.whole(columns, rows)], report["hyperparameters"], report["roots"]
    grouped = "groups" in rows[0]
    if grouped:
        listed = [row | group for row in rows for group in row["groups"]]
        of_groups = [Column("sampling"), Column("policy"), *group_columns("tokens per time")]
        title = "tokens per time by group of held-out prompts"
        tables.append(Table.of(of_groups, listed, title=title, name="groups"))
    tables.append(Table.whole([], [report], name="about", shown=False))
    oracle = "by noisy labels, so its value and regret are biased upwards; the other figures are unbiased."
    if report["labels"] == "exact":
        oracle = "which no policy exceeds."
    bases = "; ".join(", ".join(map(str, base)) for base in report["base"])
    notes = [
        f"static: K, L1, L2 = {bases}, the best on the roots to train on. oracle: the best action of every root, "
        f"{oracle} used: the number of actions chosen.",
        f"chosen of {len(report['grid'])} networks: lambda {how['penalty']:g}, alpha {how['share']:g}, dropout "
        f"{how['dropout']:g}, AdamW at {how['rate']:g}, {how['epochs']} epochs "
        f"({how['gain']:+.2%} where it was chosen)",
        *([GROUPS_NOTE] if grouped else []),
        f"selector: {report['file']}",
    ]
    about = (
        f"{report['verifier']}, V = {report['vocab_size']}, {len(report['actions'])} shapes, labels "
        f"{report['labels']}: {shares['held_out']} held-out {report['roots_of']} after "
        f"{shares['training']} to train on and {shares['validating']} to choose by"
    )
    return Result(about, tables, notes)
