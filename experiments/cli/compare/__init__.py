"""`draftproof.compare` and `draftproof compare`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from draftproof.experiments.grid.groups import GROUPS_NOTE
from draftproof.experiments.inputs.schemes import Schemes, find_schemes
from draftproof.experiments.inputs.verifiers import Verifiers, as_verifiers, assert_distinct, choose_settings
from draftproof.experiments.inputs.world_grammar import USUAL, Worlds, find_worlds, single_worlds
from draftproof.experiments.inputs.worlds import GridWorld, told_note
from draftproof.experiments.result import Column, Interrupted, Result, Table
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import cut_short, duration
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, cut
from draftproof.simulator.protocol import DraftScheme

if TYPE_CHECKING:
    from draftproof.experiments.cli.compare.planning import Cell, Place, Plan
    from draftproof.experiments.cli.compare.policies import PolicyRequest
    from draftproof.experiments.grid.store import Row
    from draftproof.experiments.inputs.latency import TimeModel

#: The side of a comparison where each block begins where the last one ended.
LONG_RUN = "long-run"
#: Most rows of a comparison: its plan holds all of them in memory.
MOST_ROWS = 5_000_000


def compare(
    verifiers: Verifiers | None = None,
    /,
    world: Worlds | None = None,
    scheme: Schemes | None = None,
    *,
    K: int | str | None = None,
    L1: int | str | None = None,
    L2: int | str | None = None,
    budget: int | None = None,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    sampling: str | Sequence[str] | None = None,
    draft_sampling: str | None = None,
    told: Any = None,
    by: str | None = None,
    optimum: bool | None = None,
    cost: str | None = None,
    arithmetic: Literal["rational", "float64"] = "float64",
    engine: Literal["auto", "enumerate", "structured"] = "auto",
    backend: Literal["numpy", "torch", "cuda"] = "numpy",
    max_runs: int = 20_000_000,
    max_memory: float = 4.0,
    most_runs: int | None = None,
    most_steps: int | None = None,
    most_paths: int | None = None,
    jobs: int = 1,
    dask: str | None = None,
    resume: str | None = None,
    plot: str | None = None,
    plan: bool = False,
    allow_code: bool = False,
) -> Result:
    """Exact block efficiency of verifiers over worlds and schemes, each checked for losslessness on the way.

    Args:
        verifiers: From `list` (default: all), FILE.py:NAME; policies, as static; or FILE.toml.
        world: p and q, as family:perturbed,s=1,vocab=4,seeds=0..9, text:topics, pair.json, models:FOLDER.
        scheme: As delayed:K=1..3,L2=2 (`list schemes` has all), or FILE.py:NAME.
        K: Branches, as 2 or 1..4.
        L1: Trunk lengths.
        L2: Branch lengths.
        sampling: As temperature=.7,top_k=50; may be repeated.
        by: More tables: depth, root, long-run (of texts), or depth,root.
        cost: Times, as draft=1,branch=.1,target=10 or a JSON file.
        arithmetic: float64 proves nothing, and takes larger instances.
        jobs: Number of processes.
        resume: Store of rows, kept and reused.

    Other Parameters:
        budget: Only shapes of exactly so many drafted tokens.
        max_nodes: Only shapes of at most so many drafted tokens.
        max_depth: Only shapes of at most so many tokens on a path.
        draft_sampling: How tokens are drawn from the draft, where otherwise.
        told: The q that verifiers are told: sampled, draft, target, or a sampling; in Python also a third process.
        optimum: The optimum, and the gap to it (where it is quick, if not given).
        plot: PNG of the delay curve.
        engine: How laws are computed.
        backend: What float64 computes with.
        max_runs: Refuse to enumerate more runs.
        max_memory: Refuse structured work of more GiB.
        most_runs: Leave out rows of more enumerated runs.
        most_steps: Leave out rows of more steps of a structured engine.
        most_paths: Leave out optima over more paths.
        dask: Address of a Dask scheduler that computes the rows, as tcp://HOST:PORT.
        plan: Only say how many rows there are and how long they take.
        allow_code: Run the Python files that FILE.toml names.
    """
    given = dict(locals())
    from draftproof.experiments.cli.compare import by_tables
    from draftproof.experiments.cli.compare.policies import RANGES, split, wanted_policies
    from draftproof.experiments.cli.compare.work import compute_all
    from draftproof.experiments.cli.compare.world_file import merged
    from draftproof.experiments.grid.machines import Machines
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.inputs.latency import time_model

    if (file := _only_toml(verifiers)) is not None:
        if plan and allow_code:
            raise InvalidInput(f"plan runs no code that {file} names; leave out plan, or allow_code")
        check_files([file], {"resume": resume, "plot": plot})
        given = merged(given, file, compare)
        return compare(given.pop("verifiers"), **given)
    check_files([verifiers, world, scheme, cost], {"resume": resume, "plot": plot})
    sides = set(by.split(",")) if by else set()
    if not sides <= {"depth", "root", LONG_RUN}:
        raise InvalidInput(f"by {by}: give depth, root, {LONG_RUN}, or several as depth,root")
    given["verifiers"], policies = split(verifiers)
    given["steady_state"] = LONG_RUN in sides
    made = _plan(given | (RANGES if policies and not any((K, L1, L2, scheme)) else {}))
    machines = Machines(jobs, dask)
    if LONG_RUN in sides:
        by_tables.check_states(made)
    costs = time_model(cost) if cost else None
    if costs:
        costs.check(made.schemes)
    wanted = wanted_policies(policies, made, costs)
    _refuse_together(made, policies, plot, told, LONG_RUN in sides)
    cells = made.cells()
    needed = [*cells, *(by_tables.depth_cells(made) if "depth" in sides else ())]
    if plan:
        return _planned(made, needed, Store(resume) if resume else {})
    store = Store(resume, ("law", "bound", "failure"))
    try:
        compute_all(made, needed, store, machines)
    except KeyboardInterrupt:
        done = [cell for cell in needed if cell.strong_id in store]
        cut_short(len(done), len(needed), "rows", resume)
        if any(cell.verifier for cell in done):
            shown = [cell for cell in cells if cell.strong_id in store]
            raise Interrupted(_result(made, shown, done, store, sides, costs)) from None
        raise
    return _result(made, cells, needed, store, sides, costs, wanted, plot)


def _result(
    plan: Plan,
    cells: Sequence[Cell],
    with_rows: Sequence[Cell],
    store: Mapping[str, Row],
    sides: Collection[str],
    costs: TimeModel | None,
    policies: PolicyRequest | None = None,
    plot: str | None = None,
) -> Result:
    """The tables of the rows of these cells. found: all cells that have rows."""
    from draftproof.experiments.cli.compare import by_tables, views
    from draftproof.experiments.cli.compare.policies import policy_rows

    rows, first = views.table_rows(plan, cells, store, costs), plan.places[0].world
    failures = [row["error"] for row in rows if row["kind"] == "failure"]
    if failures and policies:  # a policy chooses among rows of every shape
        raise InvalidVerifier(failures[0])
    chosen = policy_rows(policies, [row["law"] for row in rows]) if policies else []
    more = [*views.by_root(rows)] if "root" in sides else []
    more += [by_tables.depth_table(plan, rows, with_rows, store)] if "depth" in sides else []
    notes = [*views.notes(rows), *([by_tables.DEPTH_NOTE] if "depth" in sides else [])]
    if LONG_RUN in sides:
        more.append(by_tables.long_run_table(plan, rows))
        notes += [by_tables.LONG_RUN_NOTE] if more[-1].shown else []
    notes += [GROUPS_NOTE] if getattr(first, "groups", ()) else []
    notes += dict.fromkeys(note for place in plan.places if (note := told_note(place.world)))
    others = f" and {len(plan.places) - 1:,} more" if len(plan.places) > 1 else ""
    title = f"{first}{others}, {plan.settings.arithmetic}"
    picture = views.picture(rows, title) if plot else b""
    if plot and not picture:
        notes.append(f"{plot} was not drawn: there is no delayed tree, or no verifier that is lossless on it")
    files = {plot: picture} if plot and picture else {}
    return Result(title, [*_tables(plan, rows, chosen), *more, views.roots(rows)], notes, files=files)


def _tables(plan: Plan, rows: Sequence[Row], policies: Sequence[Row]) -> Iterator[Table]:
    """The tables that show themselves where they say something."""
    from draftproof.experiments.cli.compare import views

    yield views.comparison(rows)
    timed = any("time" in row for row in rows)
    if len(plan.places) == 1 and (timed or len(rows) > views.MOST_SHOWN):
        yield views.best(rows)
    if policies:
        yield views.policies(policies)
    if groups := getattr(plan.places[0].world, "groups", ()):  # of prompts
        yield views.by_group(rows, groups)


def _only_toml(verifiers: Verifiers | None) -> str | None:
    """The file of parameters, where that is given in place of verifiers."""
    listed = verifiers if isinstance(verifiers, (list, tuple)) else [verifiers]
    texts = [text for text in listed if isinstance(text, str)]
    if not any(text.endswith(".toml") for text in texts):
        return None
    if len(texts) > 1:
        raise InvalidInput(f"{' '.join(texts)}: a file of parameters goes alone; name the verifiers in it")
    return texts[0]


def _only_texts(name: str, given: Any) -> list[str]:
    """One or several texts, each once; raises `InvalidInput` for anything else. name: of the parameter."""
    listed = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
    for text in listed:
        if not isinstance(text, str):
            raise InvalidInput(f"{name} {cut(repr(text))}: give a text, or several")
    return list(dict.fromkeys(listed))


def _plan(given: Mapping[str, Any]) -> Plan:
    """Worlds, verifiers, schemes and settings of a comparison; raises `InvalidInput`."""
    from draftproof.experiments.cli.compare.planning import Limits, Place, Plan
    from draftproof.experiments.grid.machines import refuse_objects

    worlds = single_worlds(USUAL if given["world"] is None else given["world"])
    samplings: Sequence[str | None] = _only_texts("sampling", given["sampling"]) or [None]
    sampled = {name: given[name] for name in ("draft_sampling", "told")}
    others = tuple(
        word
        for name, value in sampled.items()
        if isinstance(value, str)
        for word in ("--" + name.replace("_", "-"), value)
    )

    def place(given_world: Any, sampling: str | None) -> Place:
        [world] = find_worlds([given_world], sampling, **sampled)
        if isinstance(world, GridWorld):
            raise InvalidInput("a grid is for check, which judges each of its instances; compare averages over roots")
        return Place(world, given_world if isinstance(given_world, str) else None, sampling, others)

    named = None if given["verifiers"] is None else as_verifiers(given["verifiers"])
    assert_distinct(named or ())
    first = place(worlds[0], samplings[0])
    schemes = _schemes(given, [first])
    if not schemes:
        wanted = [f"{name} {given[name]}" for name in ("budget", "max_nodes", "max_depth") if given[name] is not None]
        raise InvalidInput(f"no shape in the ranges has {', '.join(wanted)}; widen K, L1 or L2")
    settings = choose_settings(
        given["arithmetic"],
        given["engine"],
        given["max_runs"],
        given["max_memory"],
        given["backend"],
        given["jobs"],
        given["steady_state"],
    )
    limits = Limits(given["most_runs"], given["most_steps"], given["most_paths"])
    plan = Plan([first], named, schemes, settings, given["optimum"], limits)
    count = len(worlds) * len(samplings) * len(schemes) * len(plan.verifiers)
    if count > MOST_ROWS:
        raise InvalidInput(f"{count:,} rows are more than {MOST_ROWS:,}; make the ranges smaller")
    away = {"resume": given["resume"] is not None, "dask": given["dask"] is not None, "jobs": given["jobs"] > 1}
    refuse_objects(away, {name: given[name] for name in ("verifiers", "world", "scheme")})
    singles = [(one_world, sampling) for sampling in samplings for one_world in worlds]
    plan.places = [first, *(place(*single) for single in singles[1:])]
    plan.schemes = _schemes(given, plan.places) if len(singles) > 1 else schemes
    return plan


def _schemes(given: Mapping[str, Any], places: Sequence[Place]) -> list[DraftScheme]:
    """The schemes on these worlds, without those that are too large."""
    lengths = {name: given[name] for name in ("K", "L1", "L2")}
    made = find_schemes(given["scheme"], [place.world for place in places], **lengths)
    budget, most_nodes, deepest = (given[name] for name in ("budget", "max_nodes", "max_depth"))
    return [
        shape
        for shape in made
        if budget in (None, shape.nodes)
        and (most_nodes is None or shape.nodes <= most_nodes)
        and (deepest is None or shape.depth <= deepest)
    ]


def _refuse_together(plan: Plan, policies: Sequence[str], plot: str | None, told: Any, steady: bool) -> None:
    """Raise `InvalidInput` for parameters that mean nothing together."""
    if policies and told is not None:
        raise InvalidInput(f"{policies[0]} goes without told, which makes verifiers lossy; leave one of them out")
    if policies and steady:
        raise InvalidInput(
            f"{policies[0]} is valued at roots, not in the long run of by {LONG_RUN}; leave one of them out"
        )
    for name in [*policies[:1], *(["plot"] if plot else [])]:
        if len(plan.places) > 1:
            raise InvalidInput(f"{name} is about one world, not {len(plan.places):,}; leave it out, or give one")


def _planned(plan: Plan, cells: Sequence[Cell], store: Mapping[str, Any]) -> Result:
    """How many rows a comparison has and how long they take."""
    missing = [cell for cell in cells if cell.strong_id not in store]
    seconds = sum(cell.cost.seconds for cell in missing) / max(1, min(plan.settings.jobs, len(missing)))
    row = {"rows": len(cells), "missing": len(missing), "seconds": round(seconds, 2), "time": duration(seconds)}
    row["left_out"] = [f"{label} on {scheme}" for label, schemes in plan.left_out.items() for scheme in schemes]
    columns = [Column("rows", "count"), Column("missing", "count", "to compute"), Column("time")]
    columns += [Column("seconds", shown=False), Column("left_out", shown=False)]
    return Result(f"a plan; jobs {plan.settings.jobs}", [Table.of(columns, [row])])
