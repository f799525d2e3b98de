"""Drafts and targets with different tokenizers: checks of rules, the optimum, and the pair as an ordinary instance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from draftproof.experiments.inputs.verifiers import NamedVerifier, as_verifier, from_file
from draftproof.lp_analysis import Optimum
from draftproof.lp_analysis import optimum as solve
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, UnknownName
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.strings.check import StringCheck, StringRule, check_rule, judged, path_law
from draftproof.simulator.strings.drafting import Spellings, TextRoot, with_end
from draftproof.simulator.strings.pair import StringPair
from draftproof.simulator.verdicts.lossless import block_law
from draftproof.verifiers import REGISTRY
from draftproof.verifiers.strings import STRING_RULES

#: Tokens that are drafted, and those of the path that are verified, where nothing else is said.
DRAFTED = DEPTH = 3
#: The rule that proposes the whole text as the target cuts it.
PROPOSING = STRING_RULES["slrs"]


def find_rule(spec: str) -> StringRule | NamedVerifier:
    """A rule by name, or a verifier of the registry, which verifies the path that the drafted text proposes."""
    if spec in STRING_RULES:
        return STRING_RULES[spec]
    if from_file(spec):
        raise InvalidInput(
            f"{spec} is user-defined: save the ordinary instance of the pair, and check the verifier on that"
        )
    name = spec.partition(":")[0]
    if name not in REGISTRY:
        raise UnknownName(f"unknown rule {name!r}; known: {', '.join(STRING_RULES)}, or a verifier such as block")
    named = as_verifier(spec)
    if named.verifier.card.name == "optimum":
        raise InvalidInput("optimum is planned for one instance; the best verifier of a path is block")
    return named


def string_root(
    pair: StringPair | str | Path | int, history: Sequence[str] = (), drafted: int = DRAFTED, depth: int = DEPTH
) -> TextRoot:
    """A pair after a history. pair: an object, the path of a file, or the seed of a random pair."""
    if isinstance(pair, (str, Path)):
        pair = StringPair.load(pair)
    elif isinstance(pair, int):
        pair = StringPair.random(pair)
    return TextRoot(pair, pair.target_tokens.numbers(history), drafted, depth)


def checked(rule: StringRule | NamedVerifier, root: TextRoot) -> StringCheck:
    """The verdict on a rule, or on a verifier of the registry, after the history of the root."""
    if isinstance(rule, StringRule):
        return check_rule(rule, root)
    path = path_law(PROPOSING.candidates(root), root.vocab_size)
    instance = with_end(root, path)
    assert instance.scheme is not None
    law = block_law(rule.verifier, instance.target, instance.draft, instance.scheme)
    return judged(rule.label, root, law, path, instance.target, len(path.masses))


def check_strings(
    rule: str,
    pair: StringPair | str | Path | int,
    history: Sequence[str] = (),
    drafted: int = DRAFTED,
    depth: int = DEPTH,
) -> StringCheck:
    """Whether a rule for two tokenizers keeps the target's law of tokens, and what a target pass brings; exact.

    rule: `"union"`, `"tli"`, `"slem"`, `"uag"`, `"slrs"`, a negative control of `STRING_RULES`, or a verifier of the
    registry such as `"block"`, which verifies the drafted text as the target's tokenizer cuts it. pair: a `StringPair`,
    the path of its file, or the seed of a random one. history: target tokens that are written before the block, as
    strings. drafted: tokens that the draft writes. depth: at most so many of the proposed tokens are verified.
    Raises `InvalidInput`, `TooLarge` or `UnknownName`.
    """
    return checked(find_rule(rule), string_root(pair, history, drafted, depth))


def string_optimum(
    pair: StringPair | str | Path | int,
    history: Sequence[str] = (),
    drafted: int = DRAFTED,
    depth: int = DEPTH,
    gap: float = 1e-6,
) -> Optimum:
    """Exact bounds on the tokens a target pass of every lossless verifier that sees the text of the draft.

    Such a verifier may accept any target tokens, at most `depth`, that spell a beginning of the text: the target scores
    all spellings in one pass. What it may accept of the target's own cut alone is `StringCheck.best`. Arguments as for
    `check_strings`. Raises `TooLarge` above 20,000 paths.
    """
    return spelled_optimum(string_root(pair, history, drafted, depth), gap)


def spelled_optimum(root: TextRoot, gap: float = 1e-6) -> Optimum:
    """See `string_optimum`."""
    rows = tabulate(root, root.depth - 1, RATIONAL, "target")
    return solve(rows, rows, Spellings(root.proposed_text, root), gap=gap)


def string_instance(
    pair: StringPair | str | Path | int,
    history: Sequence[str] = (),
    drafted: int = DRAFTED,
    depth: int = DEPTH,
    rule: str = PROPOSING.name,
) -> Instance:
    """The pair as an ordinary instance, for every verifier, bound and frontier: one vocabulary, one path of `depth`.

    Its tokens are those of the target and, as the last, the end of the proposed path, which the target never writes.
    The draft has the law of the path that `rule` proposes; several paths are several texts of the draft. Arguments as
    for `check_strings`. A block has the law that it has with two tokenizers.
    """
    found = find_rule(rule)
    if not isinstance(found, StringRule):
        raise InvalidInput(f"{rule} proposes nothing itself; give one of {', '.join(STRING_RULES)}")
    root = string_root(pair, history, drafted, depth)
    made = with_end(root, path_law(found.candidates(root), root.vocab_size))
    tokens = [*root.pair.target_tokens.tokens, "(end)"]
    about = {"tokens": tokens, "rule": rule, "drafted": drafted, "history": list(history)}
    return Instance(made.target, made.draft, made.scheme, about)
