"""The gain from choosing a delayed tree for every block, by rules, learned rules and the best policy, by verifier.

`python -m draftproof.experiments.studies.policies --resume runs/policies.db --plot runs/policies.png`

Worlds are n-gram pairs of the text `topics`, where every value is exact. One row for each world and verifier; a second
run computes only what is missing, and several runs can share one store.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Executor, Task
from draftproof.experiments.inputs.latency import TimeModel, time_model
from draftproof.experiments.inputs.options import grouped
from draftproof.experiments.inputs.policies import markov_pair_of, shapes
from draftproof.experiments.inputs.sources import TextProblem
from draftproof.experiments.inputs.text import TOPICS, topics_table
from draftproof.experiments.models.policies.baselines import BASELINES, choices
from draftproof.experiments.models.policies.fitted import state_scalars
from draftproof.experiments.studies import StudyFiles, Views, conduct
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.policies.value import static_values, value
from draftproof.verifiers import make

#: Baselines from simple to best; those that learn also have a value on held-out states.
LADDER = ("entropy", "tree", "linear", "boosting", "ratio", "greedy", "best")


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Every table for which there are rows."""
    parts = [
        *(_ladder(rows, target) for target in _targets(rows)),
        _across(rows),
        _temperatures(rows),
    ]
    return "\n".join(part for part in parts if part)


def _table(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    cells = [list(headings), ["---"] * len(headings), *map(list, lines)]
    return f"### {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def _targets(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(target for row in rows for target in row["times"]))


def _gain(rate: float, static: float) -> str:
    return f"{rate / static - 1:+.2%}"


def _ladder(rows: Sequence[dict[str, Any]], target: str) -> str:
    """Tokens per time of the best static action, and the gain of each baseline over it (held out in brackets)."""
    lines = []
    for row in sorted(rows, key=lambda row: row["world"]):
        rates = row["times"][target]["baselines"]
        static = rates["static"]["rate"]
        cells = [row["world"], f"`{row['verifier']}`", f"{static:.5f}"]
        for name in LADDER:
            entry = rates.get(name)
            held = f" ({_gain(entry['held_out'], static)})" if entry and "held_out" in entry else ""
            cells.append(_gain(entry["rate"], static) + held if entry else "")
        lines.append([*cells, str(rates["best"]["used"])])
    headings = ["world", "verifier", "static", *LADDER, "used by best"]
    return _table(f"A target pass takes {target} draft passes", headings, lines)


def _across(rows: Sequence[dict[str, Any]]) -> str:
    """The best policy of each verifier against the best static action of traversal, and against its best policy."""
    lines = []
    known = {(row["world"], row["verifier"]): row for row in rows}
    for (world, verifier), row in sorted(known.items()):
        baseline = known.get((world, "traversal"))
        if baseline is None or verifier == "traversal":
            continue
        cells = [world, f"`{verifier}`"]
        for target, entry in row["times"].items():
            mine, other = entry["baselines"], baseline["times"][target]["baselines"]
            cells.append(
                f"{_gain(mine['static']['rate'], other['static']['rate'])}, "
                f"{_gain(mine['best']['rate'], other['static']['rate'])}, "
                f"{_gain(mine['best']['rate'], other['best']['rate'])}"
            )
        lines.append(cells)
    headings = ["world", "verifier", *(f"t_p = {target}" for target in _targets(rows))]
    title = "Against traversal: static against static, best policy against static, best policy against best policy"
    return _table(title, headings, lines)


def _temperatures(rows: Sequence[dict[str, Any]]) -> str:
    """Gains over one action for all temperatures, with equally many tokens at each: best actions and policies."""
    lines = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["world"].partition(", temperature")[0], row["verifier"]), []).append(row)
    for (world, verifier), group in sorted(groups.items()):
        if len(group) < 2:
            continue
        cells = [world, f"`{verifier}`"]
        for target in group[0]["times"]:
            parts = [row["times"][target] for row in group]
            one = max(_mean([part["statics"][name] for part in parts]) for name in parts[0]["statics"])
            each = _mean([max(part["statics"].values()) for part in parts])
            best = _mean([part["baselines"]["best"]["rate"] for part in parts])
            cells.append(f"{_gain(each, one)}, {_gain(best, one)}")
        lines.append(cells)
    headings = ["world", "verifier", *(f"t_p = {target}" for target in _targets(rows))]
    return _table(
        "Over one action for all three temperatures: the best for each temperature, the best policy", headings, lines
    )


def _mean(rates: Sequence[float]) -> float:
    """Tokens per time where every world writes equally many tokens: the harmonic mean."""
    return len(rates) / sum(1 / rate for rate in rates)


def _drawn(worlds: Sequence[str]) -> str:
    """The world of the figure: the one with the most verifiers, preferably at temperature 1."""
    return max(worlds, key=lambda world: (worlds.count(world), world.endswith("temperature 1"), world < "V = 5"))


def figure(rows: Sequence[dict[str, Any]]) -> bytes:
    """The ladder of each verifier in one world at ten draft passes."""
    pyplot = matplotlib_pyplot()
    board, axes = pyplot.subplots(figsize=(6, 4.6), layout="constrained")
    drawn = _drawn([row["world"] for row in rows])
    ladders = [row for row in rows if row["world"] == drawn]
    steps = ("static", "entropy", "tree", "boosting", "greedy", "best")
    for number, row in enumerate(ladders):
        rates = row["times"]["10"]["baselines"] if "10" in row["times"] else {}
        points = [100 * (rates[step]["rate"] / rates["static"]["rate"] - 1) for step in steps if step in rates]
        axes.plot(range(len(points)), points, **line_style(number), label=row["verifier"])
    axes.set_xticks(range(len(steps)), steps)
    axes.set_ylabel("tokens per time over the best static action, %")
    axes.set_title("What is known, and what it is worth: 10 draft passes, depth up to 4", loc="left")
    style_axes(axes)
    if axes.has_data():
        axes.legend(frameon=False, fontsize=8)
    return as_png(board, 110)


@dataclass(frozen=True)
class Place:
    """A world: n-grams of `topics`, both sampled at a temperature. depth: of the deepest delayed tree."""

    vocab_size: int
    target_order: int
    draft_order: int
    temperature: float
    depth: int

    def world(self) -> MarkovPair:
        """Its chains, in float64."""
        pair = TextPair(topics_table(), self.vocab_size, self.target_order, self.draft_order)
        return markov_pair_of(TextProblem(TOPICS, pair, samplings=Samplings(self.temperature)), FLOAT64)

    def __str__(self) -> str:
        orders = f"orders {self.target_order} and {self.draft_order}"
        return f"V = {self.vocab_size}, {orders}, temperature {self.temperature:g}"


PLACES = (
    Place(4, 3, 1, 1.0, 4),
    Place(4, 3, 1, 0.6, 4),
    Place(4, 3, 1, 1.5, 4),
    Place(8, 2, 1, 1.0, 3),
)
#: One world of thousands of states, for a verifier whose law depends on states only; without learned rules.
LARGE = Place(12, 3, 1, 1.0, 4)
VERIFIERS = ("naive_tree", "specinfer", "khisti", "block", "traversal", "path_transport", "layer_transport")
#: Times of a target pass, in draft passes; a branch more adds a tenth to a draft pass, a node to a target pass.
TARGET_TIMES = (4, 10, 30)
#: Measured seconds of a row at V = 4 and depth 4, on one core; other verifiers take less.
SECONDS = {"layer_transport": 90, "path_transport": 40, "traversal": 15}
#: The longest branches of trees with three branches, so that every verifier can be computed.
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
    for name, baseline in BASELINES.items():
        if baseline.learner and X is None:
            continue
        choice, unseen = choices(baseline, tables, X)
        result = value(tables, choice, name)
        rates[name] = {"rate": float(result.rate), "tokens": float(result.tokens), "used": result.used}
        if unseen is not None:
            rates[name]["held_out"] = float(value(tables, unseen, name).rate)
    statics = {str(each.scheme): float(v.rate) for each, v in zip(tables.actions, static_values(tables), strict=True)}
    return {"baselines": rates, "statics": statics}


def identity(place: Place, verifier: str) -> str:
    """The `strong_id` of a row."""
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
    """The tasks of all rows, the quick ones first."""
    timed = [(place, name, SECONDS.get(name, 5)) for name in VERIFIERS for place in PLACES]
    timed.append((LARGE, "specinfer", 120))
    listed = [Task((identity(place, name),), (place, name), seconds) for place, name, seconds in timed]
    return sorted(listed, key=lambda task: task.seconds or 0)


@grouped(files=StudyFiles)
def main(
    first: Annotated[int | None, typer.Option(min=1, help="Only so many rows, the quick ones.")] = None,
    *,
    files: StudyFiles,
) -> int:
    """The exact values of policies on n-gram worlds."""
    files.check()
    views = Views(markdown, lambda rows: {"rows": rows}, markdown, figure)
    return conduct(tasks()[:first], Executor(compute), files, views, "row")


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
