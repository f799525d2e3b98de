"""How long blocks take in the loop: passes once for all verifiers, verification of each on the same trees.

Passes do not depend on who verifies, so a scheme needs no texts for each. In one turn every verifier runs on each tree
and is timed by itself, and the text goes on with the verdict of the quickest. That one alone writes the text of the
next turn, in which passes are timed: after the work of many verifiers they take up to half as long again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draftproof.experiments.models.loop.autoregressive import autoregressive
from draftproof.experiments.models.loop.coins import part_seed, text_seed
from draftproof.experiments.models.loop.generation import Generation, generate
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.validation.contest import Setting
from draftproof.experiments.shared.names import NamedVerifier
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.laws.enumeration import guarded
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Verdict, Verifier

#: Blocks of a text with all verifiers, and of one with the quickest alone.
BLOCKS, ALONE = 4, 8
#: Texts of a scheme, half of them of either kind, beside the first two, which warm up.
TEXTS = 16
#: Tokens of a text without drafts.
TOKENS = 32
#: Calls after which a verifier that takes longer than the rest of a block is timed no more.
ENOUGH = 8


class Together:
    """Verifies with several verifiers, the quickest first; the verdict is that of the first.

    Which one is first does not depend on the tree, so it is lossless if all are. A verifier that does not take the
    trees is left out for good. seconds: of each call, by label.
    """

    def __init__(self, players: Sequence[NamedVerifier], watch: Stopwatch) -> None:
        self.players, self.resting = list(players), set[str]()
        self.seconds: dict[str, list[float]] = {each.label: [] for each in players}
        self._watch = watch

    @property
    def card(self) -> Card:
        """That of the first."""
        return self.players[0].verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """See `Verifier`; raises `UnsupportedTree` where none takes the tree."""
        verdict = None
        for each in [each for each in self.players if each.label not in self.resting]:
            run = guarded(each.verifier, root)
            began = self._watch.now()
            try:
                with named_errors(each.label):
                    found = run(coin)
            except UnsupportedTree:
                self.players.remove(each)
                continue
            self.seconds[each.label].append(self._watch.now() - began)
            verdict = verdict or found
        if verdict is None:
            raise UnsupportedTree("none of the verifiers takes these trees")
        return verdict

    def sort(self, most: float) -> None:
        """Put the quickest first; who takes longer than `most` seconds and is known well rests, but for the first."""
        self.players.sort(key=lambda each: self.mean(each.label))
        known = [each.label for each in self.players[1:] if len(self.seconds[each.label]) >= ENOUGH]
        self.resting |= {label for label in known if self.mean(label) > most}

    def mean(self, label: str) -> float:
        """Seconds of a call, the first one left out where there are others."""
        times = self.seconds[label]
        return float(np.mean(times[1:] or times or [0.0]))

    def quick(self, label: str) -> float:
        """Likewise of the quickest quarter."""
        times = self.seconds[label]
        return float(np.quantile(times[1:] or times, 0.25))


@dataclass(frozen=True)
class Text:
    """A text of one verifier: its blocks, draft passes, and the seconds of all but prompt and verification."""

    blocks: int
    draft_passes: int
    seconds: float

    @property
    def block(self) -> float:
        """The seconds of a block."""
        return self.seconds / self.blocks


class Rehearsal:
    """What blocks of one scheme take, text after text."""

    def __init__(self, setting: Setting, scheme: DraftScheme, players: Sequence[NamedVerifier]) -> None:
        self.scheme = scheme
        self.texts: list[Text] = []
        self._setting, self._together = setting, Together(players, Stopwatch(setting.pair.device))
        self._named, self._alone = tuple(players), False

    @property
    def players(self) -> list[NamedVerifier]:
        """The verifiers that take the trees, in the order in which they were given, whatever they take."""
        return [each for each in self._named if each in self._together.players]

    def write(self) -> None:
        """One more text, of either kind in turn and at first of both; raises what verifiers raise."""
        first = not self.texts
        if first or not self._alone:
            self._written(self._together, BLOCKS)
        if first or self._alone:
            self._write_alone()
        self._alone = first or not self._alone

    def _write_alone(self) -> None:
        made = self._written(self._together.players[0].verifier, ALONE)
        seconds = made.elapsed - made.seconds["prompt"] - made.seconds["verify"]
        self.texts.append(Text(len(made.blocks), sum(block.passes for block in made.blocks), seconds))
        self._together.sort(self.shared)

    def _written(self, verifier: Verifier, blocks: int) -> Generation:
        number, setting = len(self.texts), self._setting
        root = setting.roots[number % len(setting.roots)]
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, verifier, self.scheme, root, setting.warp, coin
        return generate(*given, blocks=blocks, vectors=setting.vectors)

    @property
    def timed(self) -> list[Text]:
        """The texts but the first, where there are others."""
        return self.texts[1:] or self.texts

    @property
    def shared(self) -> float:
        """Seconds of a block but verification: the median text, which a moment of something else does not move."""
        return float(np.median([text.block for text in self.timed]))

    @property
    def draft_passes(self) -> float:
        """Of a block."""
        return sum(text.draft_passes for text in self.timed) / sum(text.blocks for text in self.timed)

    def verifying(self, named: NamedVerifier) -> float:
        """Seconds of a verification."""
        return self._together.mean(named.label)

    def block(self, named: NamedVerifier) -> float:
        """Seconds of a block."""
        return self.shared + self.verifying(named)

    def quick(self, named: NamedVerifier) -> float:
        """Seconds of a block where all goes as quickly as in the quickest quarter of the texts and of the calls."""
        shared = np.quantile([text.block for text in self.timed], 0.25)
        return float(shared) + self._together.quick(named.label)


class PlainRehearsal:
    """The same for plain generation, where a block is a token."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._seconds = setting, list[float]()

    def write(self) -> None:
        """One more text, from the next root."""
        number, setting = len(self._seconds), self._setting
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, setting.roots[number % len(setting.roots)], setting.warp, coin, TOKENS
        made = autoregressive(*given, vectors=setting.vectors)
        self._seconds.append((made.elapsed - made.seconds["prompt"]) / TOKENS)

    @property
    def rate(self) -> float:
        """Tokens a second of the median text."""
        return 1 / float(np.median(self._seconds[1:] or self._seconds))


def rehearse(rehearsals: Sequence[Rehearsal | PlainRehearsal], texts: int, progress: Tick | None = None) -> None:
    """So many texts of each more, in turn, that what else the machine does slows all; progress: of texts."""
    for turn in range(texts):
        for each in rehearsals if turn // 2 % 2 == 0 else reversed(rehearsals):
            each.write()
            if progress:
                progress(1)
