"""Rules for a draft and a target with different tokenizers: are they lossless, and how near to the best?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from draftproof.experiments.grid.rows import mixture, versions
from draftproof.experiments.inputs.strings import StringsWorld, checked, find_rules, written
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.result import Column, Interrupted, Result, Table, hidden
from draftproof.experiments.shared.progress import INTERRUPTED, Tick, bar, counted, remark
from draftproof.lp_analysis import Optimum, optimum
from draftproof.lp_analysis.problem import is_one_path
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.strings.check import StringCheck, StringRule
from draftproof.simulator.strings.drafting import Spellings, TextRoot

_ROWS = (
    Column("verifier", title="rule"),
    Column("scheme"),
    Column("verdict", "verdict"),
    Column("world"),
    Column("block_efficiency", "exact", "tokens a pass"),
    Column("characters", "exact", "letters a pass"),
    Column("best", "exact", "best on path"),
    Column("share", "percent", "of all spellings"),
    *hidden("token_variation", "text_variation", kind="exact"),
    *hidden("instances", "lossless", "control", "sees_text", "source", "versions"),
)
_WITNESS = (
    Column("verifier", title="rule"),
    Column("drafted", "count", "tokens drafted"),
    Column("fails"),
    *hidden("depth", "history", "world"),
)
_SPELLINGS = (Column("scheme"), Column("lower", "exact"), Column("upper", "exact"))


def strings_result(verifiers: Any, schemes: Sequence[DraftScheme], worlds: Sequence[World]) -> Result:
    """The rows of rules, means over the histories of all worlds; lossless is what holds after each of them.

    verifiers: rules, and verifiers of the registry, which verify the path of the text. schemes: of one path; of the
    proposed tokens as many as it is deep are verified. Raises `InvalidInput` for a scheme of several paths.
    """
    rules = find_rules(verifiers)
    pairs = [world for world in worlds if isinstance(world, StringsWorld)]
    if len(pairs) < len(worlds):
        raise InvalidInput("rules of two tokenizers are for worlds such as strings:seeds=0..9; leave out the others")
    for scheme in schemes:
        if not is_one_path(scheme):
            raise InvalidInput(f"a rule of two tokenizers proposes one path, not {scheme}; give K=1")
    rows: list[dict[str, Any]] = []
    witnesses: list[dict[str, Any]] = []
    spellings: list[dict[str, Any]] = []
    title, finished = f"{counted(len(rules), 'rule')} of two tokenizers", False
    with suppress(KeyboardInterrupt):
        for scheme in schemes:
            best = _on_scheme(rules, scheme, pairs, rows, witnesses)
            spellings += [] if best is None else [{"scheme": str(scheme), "lower": best[0], "upper": best[1]}]
        finished = True
    notes = ["best on path: of any lossless verifier of the target tokens that the rule proposes."]
    notes += [
        f"of all spellings: share of {float(each['upper']):.6f}, the optimum of lossless verifiers of the drafted "
        "text, however they spell what they accept of it."
        for each in spellings
    ]
    kept = {row["verifier"] for row in rows if not row["lossless"] and not row["text_variation"]}
    notes += [f"{name}: the law of the first letters is kept" for name in kept]
    notes += pairs[0].pair.remarks if len(pairs) == 1 else []
    tables = [Table.of(_ROWS, rows)]
    if witnesses:
        tables.append(Table.of(_WITNESS, witnesses, title="witnesses", name="witness"))
    if spellings:
        tables.append(Table.of(_SPELLINGS, spellings, name="spellings", shown=False))
    if not finished:
        title = f"UNFINISHED, no verdict on other rules and schemes: {title}"
        raise Interrupted(Result(title, tables, notes, INTERRUPTED))
    return Result(title, tables, notes, 0 if all(row["lossless"] for row in rows) else 1)


def _on_scheme(
    rules: dict[str, StringRule | NamedVerifier],
    scheme: DraftScheme,
    worlds: Sequence[StringsWorld],
    rows: list[dict[str, Any]],
    witnesses: list[dict[str, Any]],
) -> tuple[Fraction, Fraction] | None:
    """Add the rows of the rules, and the witnesses of those that are refuted; the optimum over all spellings."""
    weighted = [(world, *each) for world in worlds for each in world.roots(scheme.depth)]
    roots = [root for _, root, _ in weighted]
    weights = [weight / len(worlds) for *_, weight in weighted]
    remark(f"{counted(len(rules), 'rule')}, {counted(len(roots), 'root')}")
    about = {
        "scheme": str(scheme),
        "world": str(worlds[0]) + (f" and {len(worlds) - 1:,} more" if len(worlds) > 1 else ""),
        "instances": len(roots),
        "source": [world.source for world in worlds],
        "versions": versions(),
    }
    before = len(rows)
    with bar("strings", (len(rules) + 1) * len(roots)) as tick:
        for name, rule in rules.items():
            found = []
            for root in roots:
                found.append(checked(rule, root))
                tick(1)
            rows.append({**about, **_row(name, rule, found, weights)})
            if not rows[-1]["lossless"]:
                wrong = next(place for place, one in enumerate(found) if not one.lossless)
                of_pair = [(world, root) for world, root, _ in weighted if world is weighted[wrong][0]]
                witnesses.append({"verifier": name, "world": str(of_pair[0][0]), **_shrunk(rule, of_pair)})
        best = _best(roots, weights, tick)
    for row in rows[before:]:
        if best is not None and row["sees_text"] and row["lossless"]:
            row["share"] = float(row["block_efficiency"]) / float(best[1])
    return best


def _row(
    name: str, rule: StringRule | NamedVerifier, found: Sequence[StringCheck], weights: list[Fraction]
) -> dict[str, Any]:
    """The row of a rule: means over the roots; lossless at all of them."""
    keys = ("characters", "best", "token_variation", "text_variation")
    lossless = all(one.lossless for one in found)
    return {
        "verifier": name,
        "verdict": "LOSSLESS" if lossless else "REFUTED",
        "lossless": lossless,
        "control": isinstance(rule, StringRule) and rule.control,
        "sees_text": not isinstance(rule, StringRule) or rule.whole_text,
        "block_efficiency": mixture(weights, [one.tokens for one in found]),
        **{key: mixture(weights, [getattr(one, key) for one in found]) for key in keys},
    }


def _shrunk(rule: StringRule | NamedVerifier, of_pair: Sequence[tuple[StringsWorld, TextRoot]]) -> dict[str, Any]:
    """The first refutation with the fewest drafted tokens, then the fewest that are verified."""
    first = of_pair[0][1]
    for drafted in range(1, first.drafted + 1):
        for depth in range(1, first.depth + 1):
            for _, root in of_pair:
                small = TextRoot(root.pair, root.history, drafted, depth)
                found = checked(rule, small)
                if not found.lossless:
                    return {"history": written(small), "drafted": drafted, "depth": depth, "fails": found.witness}
    raise AssertionError("the largest is refuted")


def _best(roots: Sequence[TextRoot], weights: list[Fraction], tick: Tick) -> tuple[Fraction, Fraction] | None:
    """The optimum over all spellings, a mean over the histories; None where it is too large."""
    found = []
    for root in roots:
        try:
            found.append(spelled_optimum(root))
        except TooLarge as error:
            remark(f"without the optimum over all spellings: {error}")
            return None
        tick(1)
    lower, upper = (mixture(weights, [getattr(one, side) for one in found]) for side in ("lower", "upper"))
    return Fraction(lower), Fraction(upper)


def spelled_optimum(root: TextRoot) -> Optimum:
    """Exact bounds on the tokens a target pass of every lossless verifier that sees the text of the draft.

    Such a verifier may accept any target tokens, at most `depth`, that spell a beginning of the text: the target scores
    all spellings in one pass. What it may accept of the target's own cut alone is `StringCheck.best`. Raises `TooLarge`
    above 20,000 paths.
    """
    rows = tabulate(root, root.depth - 1, RATIONAL, "target")
    return optimum(rows, rows, Spellings(root.proposed_text, root))
