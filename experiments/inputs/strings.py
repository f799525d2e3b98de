"""A target and a draft with different tokenizers as a world, and the rules that verify across them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from draftproof.experiments.inputs.verifiers import NamedVerifier, as_verifier, from_file
from draftproof.experiments.inputs.worlds import AS_THEY_ARE
from draftproof.experiments.shared.progress import counted
from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.numbers import exact_fraction
from draftproof.simulator.protocol import Context
from draftproof.simulator.strings.check import StringCheck, StringRule, check_rule, judged, path_law
from draftproof.simulator.strings.drafting import TextRoot, with_end
from draftproof.simulator.strings.pair import StringPair
from draftproof.simulator.verdicts.lossless import block_law
from draftproof.verifiers import REGISTRY, UnknownName
from draftproof.verifiers.strings import STRING_RULES

#: The rule that proposes the whole text as the target cuts it.
PROPOSING = STRING_RULES["slrs"]
#: Most histories of a pair that a check goes through.
MOST_HISTORIES = 100


@dataclass(frozen=True)
class StringsWorld:
    """A pair with two tokenizers, after target tokens that are written already.

    drafted: tokens that the draft writes. history: so many tokens before the block, all of them with their law; after:
    these tokens alone, as strings with `|` between them. Its cases are ordinary instances, of the target's tokens and,
    as the last, the end of the proposed path, which the target never writes. Their draft has the law of the path that
    the target's tokenizer cuts the drafted text into; several paths are several texts of the draft.
    """

    pair: StringPair
    drafted: int = 3
    history: int = 1
    after: str | None = None
    samplings: Samplings = AS_THEY_ARE

    kind: ClassVar[str] = "strings"

    def __post_init__(self) -> None:
        if not self.samplings.is_identity:
            raise InvalidInput(
                "tokens of strings are drawn as their rows say; leave out sampling, draft_sampling and told"
            )

    @property
    def vocab_size(self) -> int:
        """With the end."""
        return self.pair.target.vocab_size + 1

    @property
    def lengths(self) -> dict[str, int]:
        """The usual tree: one path of as many tokens as are drafted."""
        return {"K": 1, "L1": 0, "L2": self.drafted}

    @property
    def source(self) -> dict[str, Any]:
        """See `World`: the pair stands there by its hash."""
        written = {"history": self.history} if self.after is None else {"after": self.after}
        digest = hashlib.sha256(self.pair.dumps().encode()).hexdigest()[:16]
        return {"strings": digest, "drafted": self.drafted, **written}

    @cached_property
    def histories(self) -> dict[Context, Fraction]:
        """The target tokens before the block, with weights; raises `TooLarge` above 100."""
        tokenizer, size = self.pair.target_tokens, self.pair.target.vocab_size
        if self.after is not None:
            return {tokenizer.numbers([token for token in self.after.split("|") if token]): Fraction(1)}
        if size**self.history > MOST_HISTORIES:
            raise TooLarge(f"{size}^{self.history} histories are more than {MOST_HISTORIES}; give a smaller history")
        weights = {}
        for history in product(range(size), repeat=self.history):
            parts = (exact_fraction(self.pair.target.row(history[:i])[token]) for i, token in enumerate(history))
            if weight := math.prod(parts, start=Fraction(1)):
                weights[history] = weight
        return weights

    def roots(self, depth: int) -> list[tuple[TextRoot, Fraction]]:
        """The pair after each history, with weights of sum 1; of the proposed tokens at most `depth` are verified."""
        return [(TextRoot(self.pair, one, self.drafted, depth), weight) for one, weight in self.histories.items()]

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        made = []
        for root, weight in self.roots(max(depth, 1)):
            instance = with_end(root, path_law(PROPOSING.candidates(root), root.vocab_size))
            made.append(Case("|".join(written(root)), instance.target, instance.draft, weight))
        return made

    def __str__(self) -> str:
        before = f"after {counted(self.history, 'token')}" if self.after is None else f"after {self.after or 'nothing'}"
        sides = (" ".join(side.tokens) for side in (self.pair.target_tokens, self.pair.draft_tokens))
        return "strings, target {}; draft {}".format(*sides) + f"; {counted(self.drafted, 'token')} drafted {before}"


def strings_world(
    name: str,
    samplings: Samplings,
    *,
    seeds: int | None = None,
    letters: str | None = None,
    vocab: int | None = None,
    draft_vocab: int | None = None,
    same: bool | None = None,
    canonical: bool | None = None,
    drafted: int = 3,
    history: int = 1,
    after: str | None = None,
) -> StringsWorld:
    """The world of a text: of the file NAME, or a random pair; see `StringPair.random`."""
    sizes = {"letters": letters, "target_size": vocab, "draft_size": draft_vocab, "same": same, "canonical": canonical}
    given = {key: value for key, value in {"seed": seeds, **sizes}.items() if value is not None}
    if name and given:
        raise InvalidInput(f"{name} is a pair of tokenizers; leave out the keys of random ones")
    pair = StringPair.load(name) if name else StringPair.random(**given)  # type: ignore[arg-type]
    return StringsWorld(pair, drafted, history, after, samplings)


def written(root: TextRoot) -> list[str]:
    """The history of a root as strings."""
    return [root.pair.target_tokens.tokens[token] for token in root.history]


def are_rules(verifiers: Any) -> bool:
    """Whether a rule is named, alone or among verifiers."""
    return any(isinstance(verifier, str) and verifier in STRING_RULES for verifier in _listed(verifiers))


def find_rules(verifiers: Any) -> dict[str, StringRule | NamedVerifier]:
    """Rules, and verifiers of the registry, by their texts."""
    return {str(verifier): find_rule(verifier) for verifier in _listed(verifiers)}


def _listed(verifiers: Any) -> Sequence[Any]:
    return verifiers if isinstance(verifiers, Sequence) and not isinstance(verifiers, str) else [verifiers]


def find_rule(spec: Any) -> StringRule | NamedVerifier:
    """A rule by name, or a verifier of the registry, which verifies the path that the drafted text proposes."""
    if isinstance(spec, str) and spec in STRING_RULES:
        return STRING_RULES[spec]
    name = str(spec).partition(":")[0]
    if not isinstance(spec, str) or from_file(spec):
        raise InvalidInput(f"{spec} is your own and no rule of two tokenizers; check it without the rules beside it")
    if name not in REGISTRY:
        raise UnknownName(f"unknown rule {name!r}; known: {', '.join(STRING_RULES)}, or a verifier such as block")
    named = as_verifier(spec)
    if named.verifier.card.name == "optimum":
        raise InvalidInput("optimum is planned for one instance; the best verifier of a path is block")
    return named


def checked(rule: StringRule | NamedVerifier, root: TextRoot) -> StringCheck:
    """The verdict on a rule, or on a verifier of the registry, after the history of the root."""
    if isinstance(rule, StringRule):
        return check_rule(rule, root)
    path = path_law(PROPOSING.candidates(root), root.vocab_size)
    instance = with_end(root, path)
    assert instance.scheme is not None
    law = block_law(rule.verifier, instance.target, instance.draft, instance.scheme)
    return judged(root, law, path, instance.target)
