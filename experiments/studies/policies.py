"""The gain from choosing the shape of every block: rules, learners, oracle and best policy, for each verifier.

`python -m draftproof.experiments.studies.policies --resume runs/policies.db --plot runs/policies.png`

Worlds are n-gram pairs of the committed topics, where every value is exact. One row a world and a verifier; a second
run computes only what is missing, and several runs can share one file.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Executor, Task, rows_of, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.latency import TimeModel, time_model
from draftproof.experiments.inputs.policies import at_temperature, shapes, world_of
from draftproof.experiments.inputs.sources import TextProblem
from draftproof.experiments.inputs.text import TOPICS, topics_table
from draftproof.experiments.models.policies.fitted import state_scalars
from draftproof.experiments.models.policies.rivals import RIVALS, choices
from draftproof.experiments.shared.output import check_files, write_json, write_pages
from draftproof.experiments.shared.progress import INTERRUPTED, cut_short
from draftproof.experiments.studies import policies_views
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.policies.value import static_values, value
from draftproof.verifiers import make


@dataclass(frozen=True)
class Place:
    """A world: n-grams of the topics at a temperature of both models. depth: of the deepest shape."""

    vocab_size: int
    target_order: int
    draft_order: int
    temperature: float
    depth: int

    def world(self) -> MarkovPair:
        """Its chains, in float64."""
        pair = TextPair(topics_table(), self.vocab_size, self.target_order, self.draft_order)
        world = world_of(TextProblem(TOPICS, pair), FLOAT64)
        sides = [at_temperature(side, self.temperature) for side in (world.target, world.draft)]
        return MarkovPair(sides[0], sides[1], world.window)

    def __str__(self) -> str:
        orders = f"orders {self.target_order} and {self.draft_order}"
        return f"V = {self.vocab_size}, {orders}, temperature {self.temperature:g}"


PLACES = (
    Place(4, 3, 1, 1.0, 4),
    Place(4, 3, 1, 0.6, 4),
    Place(4, 3, 1, 1.5, 4),
    Place(8, 2, 1, 1.0, 3),
)
#: One world of thousands of states, for a verifier whose laws collapse to states; without learners.
LARGE = Place(12, 3, 1, 1.0, 4)
VERIFIERS = ("naive_tree", "specinfer", "khisti", "block", "traversal", "path_transport", "layer_transport")
#: Times of a target pass, in draft passes; a branch more adds a tenth to a draft pass, a node to a target pass.
TARGET_TIMES = (4, 10, 30)
#: Seconds of one core that a row takes at V = 4 and depth 4, as measured; others take less.
SECONDS = {"layer_transport": 90, "path_transport": 40, "traversal": 15}
#: Of three branches this is the longest, so that every verifier can be computed.
LONGEST_OF_THREE = 2


def times(target: float) -> TimeModel:
    """The time model of the study."""
    return time_model(f"draft=1,branch=.1,target={target},node=.1")


def schemes(depth: int) -> list[Delayed]:
    """Shapes of one to three branches down to this depth."""
    sizes = range(depth + 1)
    listed = shapes({"K": [1, 2, 3], "L1": sizes, "L2": sizes}, None)
    return [s for s in listed if s.depth <= depth and (s.K < 3 or s.L2 <= LONGEST_OF_THREE)]


def ladder(place: Place, verifier: str) -> dict[str, Any]:
    """The value of every policy on one n-gram pair with one verifier, at each time of a target pass."""
    world = place.world()
    actions = [Action(scheme, make(verifier)) for scheme in schemes(place.depth)]
    tables = world.tables(actions, lambda _: 1)
    learns = world.window > world.order
    X = state_scalars(world) if learns else None
    by_time = {}
    for target in TARGET_TIMES:
        model = times(target)
        timed = tables.at_times(lambda action, model=model: model.time(action.scheme.as_dict()))  # type: ignore[misc]
        by_time[str(target)] = _rates(timed, X)
    return {"states": world.states, "actions": len(actions), "times": by_time}


def _rates(tables: Tables, X: Any) -> dict[str, Any]:
    rates: dict[str, Any] = {}
    for name, rival in RIVALS.items():
        if rival.learner and X is None:
            continue
        choice, unseen = choices(rival, tables, X)
        result = value(tables, choice, name)
        rates[name] = {"rate": float(result.rate), "tokens": float(result.tokens), "used": result.used}
        if unseen is not None:
            rates[name]["held_out"] = float(value(tables, unseen, name).rate)
    statics = {str(each.scheme): float(v.rate) for each, v in zip(tables.actions, static_values(tables), strict=True)}
    return {"rivals": rates, "statics": statics}


def identity(place: Place, verifier: str) -> str:
    """Hash of what defines a row."""
    of = {"study": "policies 1", "verifier": verifier, **asdict(place)}
    return strong_id({**of, "package": versions()["draftproof"], "text": topics_table().digest})


def compute(about: tuple[Place, str]) -> dict[str, Any]:
    """A row."""
    place, verifier = about
    started = time.process_time()
    row = {"world": str(place), "verifier": verifier, **ladder(place, verifier)}
    seconds = round(time.process_time() - started, 2)
    return {**row, "strong_id": identity(place, verifier), "versions": versions(), "seconds": seconds}


def tasks() -> list[Task[tuple[Place, str]]]:
    """All rows, the quick ones first."""
    timed = [(place, name, SECONDS.get(name, 5)) for name in VERIFIERS for place in PLACES]
    timed.append((LARGE, "specinfer", 120))
    listed = [Task((identity(place, name),), (place, name), seconds) for place, name, seconds in timed]
    return sorted(listed, key=lambda task: task.seconds or 0)


def main(
    resume: Annotated[str | None, typer.Option(help="Store of rows: kept as they come, reused next time.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Only so many rows, the quick ones.")] = None,
    plot_file: Annotated[str | None, typer.Option("--plot", help="PNG of the gains.")] = None,
    markdown_file: Annotated[str | None, typer.Option("--markdown", help="Markdown tables and figures.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """The exact values of policies on n-gram worlds."""
    from draftproof.experiments.shared.progress import console_for

    check_files((), {"--resume": resume, "--plot": plot_file, "--markdown": markdown_file, "--json": json_target})
    wanted, kept = tasks()[:first], Store(resume)
    complete = run(wanted, kept, Executor(compute))
    rows = rows_of(wanted, kept)
    if not rows:
        return INTERRUPTED
    console = console_for(json_target)
    console.print(policies_views.markdown(rows))
    if not complete:
        return cut_short(len(rows), len(wanted), "rows", resume)
    write_json(json_target, {"rows": rows})
    write_pages(
        console, markdown_file, lambda: policies_views.markdown(rows), plot_file, lambda: policies_views.figure(rows)
    )
    return 0


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
