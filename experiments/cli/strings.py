"""`draftproof strings`: rules for a draft and a target with different tokenizers, and the best that there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated, Any

import typer
from rich.table import Table

from draftproof.experiments.api.strings import checked, find_rule, spelled_optimum, string_instance
from draftproof.experiments.grid.rows import mixture
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.shared.output import check_files, number_fields, write_json, write_whole
from draftproof.experiments.shared.progress import Tick, bar, console_for, counted, duration, remark
from draftproof.simulator.arithmetic import exact_fraction
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.files import printable
from draftproof.simulator.strings.check import StringCheck, StringRule
from draftproof.simulator.strings.drafting import TextRoot
from draftproof.simulator.strings.pair import StringPair
from draftproof.verifiers.strings import STRING_RULES

#: Where none is named: the rules of the paper and of transformers, and the best verifier of the proposed path.
USUAL = (*(name for name, rule in STRING_RULES.items() if not rule.control), "block")
#: Most histories of a pair that a check goes through.
MOST_HISTORIES = 100
_PAIR: Any = {"rich_help_panel": "Pair of tokenizers"}
_DRAFT: Any = {"rich_help_panel": "Drafts"}
_OUT: Any = {"rich_help_panel": "Output"}

Seed = Annotated[int, typer.Option(min=0, help="A random pair.", **_PAIR)]
Pairs = Annotated[int, typer.Option(min=1, help="Means over so many random pairs, of this seed and the next.", **_PAIR)]
Letters = Annotated[str, typer.Option(help="Alphabet of random pairs.", **_PAIR)]
Vocab = Annotated[int, typer.Option(help="Their target tokens.", **_PAIR)]
DraftVocab = Annotated[int, typer.Option(help="Their draft tokens.", **_PAIR)]
Same = Annotated[bool, typer.Option("--same", help="The draft has the target's tokenizer.", **_PAIR)]
Canonical = Annotated[
    bool, typer.Option("--canonical", help="No side writes two tokens that its tokenizer cuts otherwise.", **_PAIR)
]


@dataclass(frozen=True)
class RandomPairs:
    """The options of random pairs."""

    seed: Seed = 0
    pairs: Pairs = 1
    letters: Letters = "ab"
    vocab: Vocab = 4
    draft_vocab: DraftVocab = 4
    same: Same = False
    canonical: Canonical = False

    def made(self) -> list[StringPair]:
        """The pairs."""
        sizes = self.letters, self.vocab, self.draft_vocab
        return [StringPair.random(self.seed + n, *sizes, self.same, self.canonical) for n in range(self.pairs)]


@dataclass(frozen=True)
class Roots:
    """The pairs after their histories. weights: of the roots, with sum 1."""

    roots: list[TextRoot]
    weights: list[Fraction]

    @property
    def pairs(self) -> list[StringPair]:
        """Every pair once."""
        return list(dict.fromkeys(root.pair for root in self.roots))

    def fields(self) -> list[dict[str, Any]]:
        """The roots as plain data."""
        numbers = {id(pair): number for number, pair in enumerate(self.pairs)}
        return [
            {"pair": numbers[id(root.pair)], "tokens": written(root), "weight": str(weight)}
            for root, weight in zip(self.roots, self.weights, strict=True)
        ]


def written(root: TextRoot) -> list[str]:
    """The history of a root as strings."""
    return [root.pair.target_tokens.tokens[token] for token in root.history]


def histories(pair: StringPair, length: int, after: str | None) -> dict[tuple[int, ...], Fraction]:
    """The target tokens before the block, with weights: those given, or all of a length with their law."""
    if after is not None:
        return {pair.target_tokens.numbers([token for token in after.split("|") if token]): Fraction(1)}
    size = pair.target.vocab_size
    if size**length > MOST_HISTORIES:
        raise TooLarge(f"{size}^{length} histories are more than {MOST_HISTORIES}; give a smaller --history")
    weights = {}
    for history in product(range(size), repeat=length):
        parts = (exact_fraction(pair.target.row(history[:i])[token]) for i, token in enumerate(history))
        if weight := math.prod(parts, start=Fraction(1)):
            weights[history] = weight
    return weights


def expected_seconds(root: TextRoot, rules: int, roots: int) -> float:
    """A rough time."""
    drafts = math.pow(len(root.pair.draft_tokens.tokens), root.drafted)
    contexts = math.pow(root.vocab_size, root.depth)
    rule = 0.005 + 1.5e-5 * drafts + 6e-6 * contexts * root.vocab_size
    return roots * (rules * rule + 0.005 + 1.8e-4 * drafts + 2e-4 * contexts)


def mean_fields(
    name: str, rule: StringRule | NamedVerifier, found: Sequence[StringCheck], weights: list[Fraction]
) -> dict[str, Any]:
    """The row of a rule: means over the roots; lossless at all of them."""
    keys = ("tokens", "characters", "best", "token_variation", "text_variation")
    means = {key: mixture(weights, [getattr(one, key) for one in found]) for key in keys}
    return {
        "rule": name,
        "control": isinstance(rule, StringRule) and rule.control,
        "sees_text": not isinstance(rule, StringRule) or rule.whole_text,
        "lossless": all(one.lossless for one in found),
        **{key: value for name, mean in means.items() for key, value in number_fields(name, mean).items()},
        "witness": None,
    }


def shrunk(rule: StringRule | NamedVerifier, roots: Sequence[TextRoot]) -> tuple[StringCheck, TextRoot]:
    """The first refutation with the fewest drafted tokens, then the fewest that are verified."""
    for drafted in range(1, roots[0].drafted + 1):
        for depth in range(1, roots[0].depth + 1):
            for root in roots:
                small = TextRoot(root.pair, root.history, drafted, depth)
                found = checked(rule, small)
                if not found.lossless:
                    return found, small
    raise AssertionError("the largest is refuted")


def bounds(roots: Sequence[TextRoot], weights: list[Fraction], tick: Tick) -> tuple[Fraction, Fraction] | None:
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


def table(rows: Sequence[dict[str, Any]], best: tuple[Fraction, Fraction] | None, title: str) -> Table:
    """One line a rule."""
    view = Table(title=title, title_justify="left", caption_justify="left")
    view.add_column("rule")
    view.add_column("lossless")
    for heading in ("tokens a pass", "characters a pass", "best on its path", "of all spellings"):
        view.add_column(heading, justify="right")
    for row in rows:
        numbers = [f"{row[f'{key}_float']:.6f}" for key in ("tokens", "characters", "best")]
        share = f"{row['tokens_float'] / float(best[1]):.2%}" if best and row["sees_text"] and row["lossless"] else ""
        view.add_row(row["rule"], "yes" if row["lossless"] else "REFUTED", *numbers, share)
    view.caption = "best on its path: of any lossless verifier of the target tokens that the rule proposes."
    if best is not None:
        view.caption += (
            f"\nof all spellings: share of {float(best[1]):.6f}, the optimum of lossless verifiers of the drafted\n"
            "text, however they spell what they accept of it."
        )
    return view


@opt.grouped(random=RandomPairs)
def strings(
    chosen: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RULE]...",
            help=f"{', '.join(STRING_RULES)}, or a verifier, which verifies the drafted text as the target cuts it. "
            f"Default: {', '.join(USUAL)}.",
        ),
    ] = None,
    *,
    instance: Annotated[str | None, typer.Option(help="JSON of two tokenizers and their rows.", **_PAIR)] = None,
    random: RandomPairs,
    drafted: Annotated[int, typer.Option(min=1, help="Tokens that the draft writes.", **_DRAFT)] = 3,
    depth: Annotated[int, typer.Option(min=1, help="Most proposed tokens that are verified.", **_DRAFT)] = 3,
    history: Annotated[
        int, typer.Option(min=0, help="After all histories of N target tokens, with their law.", **_DRAFT)
    ] = 1,
    after: Annotated[str | None, typer.Option(help="After this history alone, as a|ab.", **_DRAFT)] = None,
    json_target: opt.JsonTarget = None,
    save: Annotated[str | None, typer.Option(help="Write the pair to this file.", **_OUT)] = None,
    ordinary: Annotated[
        str | None,
        typer.Option(help="With --after: write the proposed path as an instance for other commands.", **_OUT),
    ] = None,
) -> int:
    """Draft and target with different tokenizers: is a rule lossless, and what does a target pass bring?

    Exact in rationals. Exit 1: a rule is refuted after some history.
    """
    check_files((instance,), {"--json": json_target, "--save": save, "--ordinary": ordinary})
    if ordinary is not None and after is None:
        raise InvalidInput("--ordinary writes one instance; give its history with --after, such as --after ''")
    if instance is not None and random != RandomPairs():
        raise InvalidInput(f"--instance {instance} is a pair; leave out the options of random ones")
    pairs = random.made() if instance is None else [StringPair.load(instance)]
    if len(pairs) > 1 and (save or ordinary):
        raise InvalidInput("--save and --ordinary write one pair; leave out --pairs")
    rules = {name: find_rule(name) for name in dict.fromkeys(chosen or USUAL)}
    weighted = [(pair, item) for pair in pairs for item in histories(pair, history, after).items()]
    at = Roots(
        [TextRoot(pair, before, drafted, depth) for pair, (before, _) in weighted],
        [weight / len(pairs) for _, (_, weight) in weighted],
    )
    seconds = expected_seconds(at.roots[0], len(rules), len(at.roots))
    remark(f"{counted(len(rules), 'rule')}, {counted(len(at.roots), 'root')}, {duration(seconds)}")
    rows, best = computed(rules, at)
    if save is not None:
        write_whole(save, pairs[0].dumps())
    if ordinary is not None:
        write_whole(ordinary, string_instance(pairs[0], written(at.roots[0]), drafted, depth).dumps())
    write_json(json_target, fields(at, rows, best))
    console = console_for(json_target)
    shown = f"{counted(drafted, 'token')} drafted, at most {depth} verified"
    console.print(table(rows, best, f"{_named(pairs, random)}\n{shown}"))
    for line in [*witness_lines(rows, len(pairs) > 1), *(pairs[0].remarks if len(pairs) == 1 else [])]:
        console.print(line, soft_wrap=True)
    for file in (save, ordinary):
        if file is not None:
            console.print(f"written: {printable(file)}", soft_wrap=True)
    return 0 if all(row["lossless"] for row in rows) else 1


def computed(
    rules: dict[str, StringRule | NamedVerifier], at: Roots
) -> tuple[list[dict[str, Any]], tuple[Fraction, Fraction] | None]:
    """The rows of the rules, with the witnesses of those that are refuted, and the optimum over all spellings."""
    rows = []
    with bar("strings", (len(rules) + 1) * len(at.roots)) as tick:
        for name, rule in rules.items():
            found = []
            for root in at.roots:
                found.append(checked(rule, root))
                tick(1)
            row = mean_fields(name, rule, found, at.weights)
            if not row["lossless"]:
                wrong = next(root for root, one in zip(at.roots, found, strict=True) if not one.lossless)
                small, root = shrunk(rule, [root for root in at.roots if root.pair is wrong.pair])
                place = {"pair": at.pairs.index(root.pair), "history": written(root)}
                row["witness"] = {**place, "drafted": root.drafted, "depth": root.depth, "text": small.witness}
            rows.append(row)
        return rows, bounds(at.roots, at.weights, tick)


def fields(at: Roots, rows: Sequence[dict[str, Any]], best: tuple[Fraction, Fraction] | None) -> dict[str, Any]:
    """The JSON of the command."""
    spellings = zip(("lower", "upper"), best or (None, None), strict=True)
    return {
        "pairs": [pair.as_dict() for pair in at.pairs],
        "drafted": at.roots[0].drafted,
        "depth": at.roots[0].depth,
        "histories": at.fields(),
        "rows": list(rows),
        "spellings": {key: item for name, value in spellings for key, item in number_fields(name, value).items()},
        "remarks": [pair.remarks for pair in at.pairs],
    }


def _named(pairs: Sequence[StringPair], random: RandomPairs) -> str:
    if len(pairs) > 1:
        kind = " canonical" if random.canonical else ""
        sizes = f"{random.vocab} target and {random.draft_vocab} draft tokens of {random.letters}"
        return f"{len(pairs)} random{kind} pairs, seed {random.seed} and the next, {sizes}"
    sides = (" ".join(tokenizer.tokens) for tokenizer in (pairs[0].target_tokens, pairs[0].draft_tokens))
    return "target {}; draft {}".format(*sides)


def witness_lines(rows: Sequence[dict[str, Any]], several: bool) -> list[str]:
    """Where each refuted rule fails."""
    lines = []
    for row in rows:
        if found := row["witness"]:
            where = f" of pair {found['pair'] + 1}" if several else ""
            lines.append(f"{row['rule']}, {counted(found['drafted'], 'token')} drafted{where}: {found['text']}")
            if not row["text_variation_float"]:
                lines.append(f"{row['rule']}: the law of the first letters is kept")
    return lines
