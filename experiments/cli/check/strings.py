"""Rules for a draft and a target with different tokenizers: are they lossless, and how near to the best?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.answers import answers
from draftproof.experiments.grid.rows import mixture, row_id, versions
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.strings import StringsWorld, checked, find_rules, written
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.result import Column, Result, Table, hidden
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import bar, counted, remark
from draftproof.lp_analysis import Optimum, optimum
from draftproof.lp_analysis.problem import is_one_path
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.strings.check import StringRule
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


def strings_result(
    verifiers: Any, schemes: Sequence[DraftScheme], worlds: Sequence[World], resume: str | None
) -> Result:
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
    cells = [(name, scheme) for scheme in schemes for name in rules]
    sources = [world.source for world in worlds]
    remark(f"{counted(len(cells), 'row')}, {counted(sum(len(pair.roots(1)) for pair in pairs), 'root')} each")

    def name_of(cell: tuple[str, DraftScheme]) -> str:
        return row_id("string rule", sources, cell[1], cell[0])

    done = answers(cells, _rule_row, rules, pairs, kind="string rule", name=name_of, resume=resume)
    rows_done = [row for _, row in done.rows]
    best = {}
    for scheme in schemes if not done.missing else ():
        if bounds := _best(scheme, pairs):
            best[str(scheme)] = bounds
    rows = [{**row, "share": _share(row, best.get(row["scheme"]))} for row in rows_done]
    spellings = [{"scheme": scheme, "lower": lower, "upper": upper} for scheme, (lower, upper) in best.items()]
    notes = ["best on path: of any lossless verifier of the target tokens that the rule proposes."]
    notes += [
        f"of all spellings: share of {float(upper):.6f}, the optimum of lossless verifiers of the drafted text, "
        "however they spell what they accept of it."
        for _, upper in best.values()
    ]
    same_text = {row["verifier"] for row in rows if not row["lossless"] and not row["text_variation_float"]}
    notes += [f"{name}: the law of the first letters is kept" for name in same_text]
    notes += pairs[0].pair.remarks if len(pairs) == 1 else []
    tables = [Table.of(_ROWS, rows)]
    if witnesses := [row["witness"] for row in rows if row["witness"]]:
        tables.append(Table.of(_WITNESS, witnesses, title="witnesses", name="witness"))
    if spellings:
        tables.append(Table.of(_SPELLINGS, spellings, name="spellings", shown=False))
    code = 0 if all(row["lossless"] for row in rows) else 1
    return done.result(Result(f"{counted(len(rules), 'rule')} of two tokenizers", tables, notes, code))


def _share(row: Row, best: tuple[Fraction, Fraction] | None) -> float | None:
    """The part of the optimum over all spellings that a rule attains; None for one that does not see the text."""
    if best is None or not (row["sees_text"] and row["lossless"]):
        return None
    return float(row["block_efficiency_float"] / float(best[1]))


def _weighted(scheme: DraftScheme, worlds: Sequence[StringsWorld]) -> tuple[list[TextRoot], list[Fraction]]:
    weighted = [weighted_root for world in worlds for weighted_root in world.roots(scheme.depth)]
    return [root for root, _ in weighted], [weight / len(worlds) for _, weight in weighted]


def _rule_row(
    about: tuple[str, DraftScheme], rules: Mapping[str, StringRule | NamedVerifier], worlds: Sequence[StringsWorld]
) -> Row:
    """The row of a rule: means over the roots, lossless at all of them; the witness of a refutation."""
    name, scheme = about
    rule, (roots, weights) = rules[name], _weighted(scheme, worlds)
    checks = [checked(rule, root) for root in roots]
    keys = ("characters", "best", "token_variation", "text_variation")
    means = {key: mixture(weights, [getattr(one, key) for one in checks]) for key in keys}
    means["block_efficiency"] = mixture(weights, [one.tokens for one in checks])
    lossless = all(one.lossless for one in checks)
    row = {
        "kind": "string rule",
        "verifier": name,
        "scheme": str(scheme),
        "world": str(worlds[0]) + (f" and {len(worlds) - 1:,} more" if len(worlds) > 1 else ""),
        "instances": len(roots),
        "verdict": "LOSSLESS" if lossless else "REFUTED",
        "lossless": lossless,
        "control": isinstance(rule, StringRule) and rule.control,
        "sees_text": not isinstance(rule, StringRule) or rule.whole_text,
        "witness": None,
        "source": [world.source for world in worlds],
        "versions": versions(),
    }
    for key, value in means.items():
        row |= number_fields(key, value)
    if not lossless:
        wrong = next(root for root, one in zip(roots, checks, strict=True) if not one.lossless)
        [world] = [world for world in worlds if world.pair is wrong.pair]
        of_pair = [root for root in roots if root.pair is wrong.pair]
        row["witness"] = {"verifier": name, "world": str(world), **_shrunk(rule, of_pair)}
    return row


def _shrunk(rule: StringRule | NamedVerifier, roots: Sequence[TextRoot]) -> dict[str, Any]:
    """The first refutation with the fewest drafted tokens, then the fewest that are verified."""
    for drafted in range(1, roots[0].drafted + 1):
        for depth in range(1, roots[0].depth + 1):
            for root in roots:
                small = TextRoot(root.pair, root.history, drafted, depth)
                check = checked(rule, small)
                if not check.lossless:
                    return {"history": written(small), "drafted": drafted, "depth": depth, "fails": check.witness}
    raise AssertionError("the largest is refuted")


def _best(scheme: DraftScheme, worlds: Sequence[StringsWorld]) -> tuple[Fraction, Fraction] | None:
    """The optimum over all spellings, a mean over the histories; None where it is too large."""
    roots, weights = _weighted(scheme, worlds)
    with bar("optima", len(roots)) as tick:
        optima = []
        for root in roots:
            try:
                optima.append(spelled_optimum(root))
            except TooLarge as error:
                remark(f"without the optimum over all spellings: {error}")
                return None
            tick(1)
    lower, upper = (mixture(weights, [getattr(one, side) for one in optima]) for side in ("lower", "upper"))
    return Fraction(lower), Fraction(upper)


def spelled_optimum(root: TextRoot) -> Optimum:
    """Exact bounds on the tokens a target pass of every lossless verifier that sees the text of the draft.

    Such a verifier may accept any target tokens, at most `depth`, that spell a beginning of the text: the target scores
    all spellings in one pass. What it may accept of the target's own cut alone is `StringCheck.best`. Raises `TooLarge`
    above 20,000 paths.
    """
    rows = tabulate(root, root.depth - 1, RATIONAL, "target")
    return optimum(rows, rows, Spellings(root.proposed_text, root))
