"""Which scheme and verifier for a pair: what each could bring at best, and which are therefore worth measuring.

A candidate brings `E / T` tokens a second: `E` is its block efficiency after contexts of texts, `T` the seconds of a
block in the loop, from a rehearsal. At best it brings the upper end of `E`, or where `E` is not known what no lossless
verifier exceeds (`most`), over blocks as quick as the quickest quarter. That is a rule for what to measure, no proof:
times are those of few texts, and the best prediction is one of many. `E` is computed for verifiers whose verification
is short beside the passes; of the others for those that could still be the fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from draftproof.experiments.models.loop.autoregressive import autoregressive
from draftproof.experiments.models.loop.coins import part_seed, text_seed
from draftproof.experiments.models.speed.expected import Expectations, Expected
from draftproof.experiments.models.speed.rehearsal import Rehearsal
from draftproof.experiments.models.validation.contest import Setting, contestants
from draftproof.experiments.shared.names import NamedVerifier, Player
from draftproof.experiments.shared.progress import Tick
from draftproof.experiments.shared.schemes import shape_name
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput, UnsupportedTree
from draftproof.simulator.protocol import Context, DraftScheme

#: Contexts from each root after which block efficiency is asked for, each the end of a text of its own.
STARTS = 4
#: Times are noisy: only what is this far below the best prediction is left out.
ROOM = 0.95
#: Verification that takes at most this share of the rest of a block is short.
SHORT = 0.25
#: For estimates of the work: the share of the drafts that could be accepted which are accepted.
USUAL = 0.8


@dataclass(frozen=True)
class Candidate:
    """A verifier on a scheme. cap: tokens a block that none exceeds; expected: None where it was not worth computing.

    block, quick: seconds of a block, on average and in the quickest quarter; shared: of the former, all but verifying.
    """

    named: NamedVerifier
    scheme: DraftScheme
    cap: float
    expected: Expected | None
    block: float
    quick: float
    shared: float
    draft_passes: float

    @property
    def player(self) -> Player:
        """Who plays on what."""
        return self.named, self.scheme

    @property
    def tokens(self) -> float:
        """Of a block, at most; of an estimate its upper end."""
        return self.cap if self.expected is None else min(self.cap, self.expected.high)

    @property
    def most(self) -> float:
        """Tokens a second at best."""
        return self.tokens / self.quick

    @property
    def predicted(self) -> float:
        """Tokens a second; 0 where nobody knows."""
        return 0.0 if self.expected is None else self.expected.mean / self.block

    @property
    def guessed(self) -> float:
        """The same before `E` is known: for estimates of the work."""
        return self.usual / self.block

    @property
    def usual(self) -> float:
        """Tokens of a block, guessed."""
        return 1 + USUAL * (self.cap - 1)

    @property
    def short(self) -> bool:
        """Whether verification is short beside the rest of a block."""
        return self.block - self.shared <= SHORT * self.shared

    def __str__(self) -> str:
        return f"{self.named.label} on {self.scheme}"


def rehearsals(
    setting: Setting, verifiers: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], progress: Tick | None = None
) -> list[Rehearsal]:
    """One for every scheme that a verifier is for, by its card and by its answer, after its first text.

    Raises `InvalidInput` where there is none, and what verifiers raise.
    """
    found, all_players = [], contestants(verifiers, {})
    for scheme in schemes:
        players = [each.played for each in all_players if each.plays_on(scheme)]
        if players:
            made = Rehearsal(setting, scheme, players)
            try:
                made.write()
                found.append(made)
            except UnsupportedTree:
                pass
        if progress:
            progress(1)
    if not found:
        names, trees = ", ".join(each.label for each in verifiers), ", ".join(map(shape_name, schemes))
        raise InvalidInput(f"{names}: none of them takes any of the trees ({trees}); name others")
    return found


def assert_declared(verifiers: Sequence[NamedVerifier]) -> None:
    """Raises `InvalidInput` for those of the list that claim to be lossless on no drafts at all.

    What a file holds need not claim anything: it is found out on the tables.
    """
    lossy = [each.label for each in verifiers if not each.from_file and not lossless_for(each.verifier.card)]
    if lossy:
        raise InvalidInput(
            f"{', '.join(lossy)}: declared lossless on no drafts; choose among verifiers that keep the target's "
            "distribution"
        )


def in_time(verifiers: Sequence[NamedVerifier], vocab_size: int) -> tuple[list[NamedVerifier], list[NamedVerifier]]:
    """Those whose cards say that one call takes under a second at this `V`, and the others.

    Raises `InvalidInput` where there are only others.
    """
    late = [each for each in verifiers if (each.verifier.card.max_vocab or vocab_size) < vocab_size]
    if len(late) == len(verifiers):
        names = ", ".join(each.label for each in late)
        raise InvalidInput(
            f"{names}: a call takes more than a second at V = {vocab_size}, their cards say; name others"
        )
    return [each for each in verifiers if each not in late], late


def contexts_of(setting: Setting, tokens: int) -> list[Context]:
    """Where blocks may begin: within texts of the target after the roots, the same for all candidates."""
    found = []
    for number, root in enumerate(setting.roots):
        for place in range(STARTS):
            coin = setting.coin(text_seed(part_seed(setting.seed, 0), STARTS * number + place))
            length = max((2 * place + 1) * tokens // (2 * STARTS), 1)
            text = autoregressive(setting.pair, root, setting.warp, coin, length, vectors=setting.vectors).tokens
            found.append((*root, *text))
    return found


def unweighed(rehearsed: Sequence[Rehearsal], expectations: Expectations) -> list[Candidate]:
    """All candidates without their block efficiency."""
    found = []
    for each in rehearsed:
        cap = expectations.most(each.scheme)
        for named in each.players:
            times = each.block(named), each.quick(named), each.shared
            found.append(Candidate(named, each.scheme, cap, None, *times, each.draft_passes))
    return found


def weighed(
    candidates: Sequence[Candidate],
    expectations: Expectations,
    everything: bool = False,
    progress: Tick | None = None,
) -> list[Candidate]:
    """The candidates, with their block efficiency where they could be the fastest, or for `everything`."""
    first = [each for each in candidates if each.short or everything] or [
        min(candidates, key=lambda each: each.block / each.cap)
    ]
    known = _asked(first, expectations, progress)
    best = max(each.predicted for each in known)
    rest = [each for each in candidates if each not in first]
    worth = [each for each in rest if could_win(each, best)]
    return [*known, *_asked(worth, expectations, progress), *(each for each in rest if each not in worth)]


def could_win(candidate: Candidate, best: float) -> bool:
    """Whether it may bring more than what brings `best` tokens a second as predicted."""
    return candidate.most >= ROOM * best


def split(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Those worth measuring, the best prediction first, and those left out."""
    best = max(each.predicted for each in candidates)
    worth = [each for each in candidates if each.expected is not None and could_win(each, best)]
    return sorted(worth, key=lambda each: -each.predicted), [each for each in candidates if each not in worth]


def _asked(candidates: Sequence[Candidate], expectations: Expectations, progress: Tick | None) -> list[Candidate]:
    found = expectations.of([each.player for each in candidates], progress)
    return [replace(each, expected=expected) for each, expected in zip(candidates, found, strict=True)]
