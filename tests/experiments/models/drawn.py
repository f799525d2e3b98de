"""Schemes of every kind, each with a verifier that is lossless on it, and what a verifier is shown of their trees."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from draftproof.experiments.models.expect.tables import continued_rows
from draftproof.experiments.models.loop.caches import prompt_pass
from draftproof.experiments.models.loop.generation import pieces
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.corpus import sample
from draftproof.simulator import Delayed, DraftNode
from draftproof.simulator.drafts import (
    Adaptive,
    DynamicDepth,
    DySpec,
    DySpecPruned,
    DySpecThreshold,
    Eagle2,
    Greedy,
    OptTree,
    Rheo,
    RheoOwn,
    Sequoia,
    SpecBlock,
    SpecHub,
    SpecInferConfig,
    StochasticBeam,
    Stratified,
    Systematic,
    TopK,
    Topology,
    UserScheme,
    WithoutReplacement,
    lossless_for,
)
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import STANDALONE, make
from tests.experiments.models.laws import ROOT


class Twins:
    """Two independent paths, alike more often than not: a node may have one child drafted twice."""

    depth = 2

    def draw(self, draft, coin):
        first = [(coin.choose(draft.row(())),) for _ in range(2)]
        return [(*path, coin.choose(draft.row(path))) for path in first]


class Moody:
    """Drafts nothing every third time and asks for no row; else tokens of its own, whatever the draft says."""

    depth = 2

    def draw(self, draft, coin):
        if coin.flip(Fraction(1, 3)):
            return []
        even = [1] * draft.vocab_size
        return {(): (coin.choose(even),)} if coin.flip(Fraction(1, 2)) else [(coin.choose(even), coin.choose(even))]


#: (scheme, verifier): the verifier is lossless on the scheme, by its card or because it looks at no draft.
CASES = {
    "delayed": (Delayed(2, 1, 2), "traversal"),
    "specinfer_config": (SpecInferConfig((2, 2)), "specinfer"),
    "without_replacement": (WithoutReplacement(2, 0, 2), "traversal"),
    "top_k": (TopK(2, 0, 2), "nss"),
    "greedy": (Greedy(3, 1, 1), "layer_greedy"),
    "topology": (Topology((2, 2, 1, 0, 1, 0, 0)), "block_tree"),
    "adaptive": (Adaptive(1, 1, 3, Fraction(1, 2)), "block"),
    "dyspec": (DySpec(4), "traversal"),
    "dyspec_threshold": (DySpecThreshold(Fraction(1, 8), 3, 6), "rejection_without_replacement"),
    "sequoia": (Sequoia(5, 3, (3, 1, 0, 0, 1, 0)), "sequoia"),
    "opt_tree": (OptTree(5, Fraction(1, 20)), "nss"),
    "eagle2": (Eagle2(2, 3, 4), "nss"),
    "specblock": (SpecBlock(2, 2, 4), "nss"),
    "ddd": (DynamicDepth(2, 3, Fraction(2, 5)), "nss"),
    "spechub": (SpecHub(2), "spechub"),
    "dyspec_pruned": (DySpecPruned(2), "nss"),
    "stratified": (Stratified(2, 1, 2), "traversal"),
    "systematic": (Systematic(3, 0, 2), "hsd"),
    "rsd_s": (StochasticBeam(2, 2), "rejection_without_replacement"),
    "rheo": (Rheo(4, 3, 2), "rheo"),
    "rheo_own": (RheoOwn(3, 3, 2), "nss"),
    "twins": (UserScheme(Twins()), "specinfer"),
    "moody": (UserScheme(Moody()), "nss"),
}
PROMPTS = [[1], [2, 0, 1], [0, 1], [1, 2, 1, 0, 2], [2, 2, 2, 2], [0, 0, 1, 1, 2, 2, 0], [1, 1], [2]]


def claims(scheme):
    """The verifiers whose cards say that they are lossless on it; on somebody's own, one that needs no draft."""
    return [name for name in STANDALONE if scheme.name in lossless_for(make(name).card)] or ["nss"]


def text_after(loop, verifier, scheme, prompt, coin, most):
    """The text of so many tokens after one prompt."""
    written = pieces(loop, verifier, scheme, [prompt], coin, most, lambda _, tokens: len(tokens) >= most)
    return tuple(token for piece in written for token in piece.tokens)


def plain_text(pair, prompt, sampling, coin, tokens):
    """As many tokens, drawn one by one from the target, with its own cache and without masks of the loop."""
    row_of = partial(pair.sampled, "target", sampling=sampling, root=len(prompt))
    return sample(pair.target, prompt, tokens, coin, row_of)


class Recorder:
    """Verifies like another and keeps every node that it was shown, tree by tree."""

    def __init__(self, name):
        self.verifier, self.trees = make(name), []
        self.card = self.verifier.card

    def verify(self, root, coin):
        nodes = [root]
        for node in nodes:
            nodes += [node.child(token) for token in dict.fromkeys(node.children)]
        self.trees.append(nodes)
        return self.verifier.verify(root, coin)


class Watched:
    """A loop over some prompts at once: texts so far, the state, and every tree with the text that it grew after."""

    def __init__(self, pair, scheme, name, prompts, sampling):
        self.recorder = Recorder(name)
        self.loop, self.scheme = Loop(pair, sampling), scheme
        self.state = State.joined([self.loop.start(prompt) for prompt in prompts])
        self.texts = [list(prompt) for prompt in prompts]
        self.seen: list[tuple[list[int], list[DraftNode]]] = []
        self.blocks: list[Any] = []

    def run(self, steps, seed=0):
        coin = coin_for("numpy", seed)
        for _ in range(steps):
            self.recorder.trees.clear()
            blocks, self.state = self.loop.step(self.state, self.recorder, self.scheme, coin)
            self.seen += [(list(text), tree) for text, tree in zip(self.texts, self.recorder.trees, strict=True)]
            self.blocks += blocks
            for text, block in zip(self.texts, blocks, strict=True):
                text.extend(block.tokens)
        return self

    def rows_off(self):
        """The largest difference of a row of either model, at any node, from a plain pass over that node's own text."""
        asked = {}
        for text, nodes in self.seen:
            for node in nodes:
                for which, row in (("target", node.target), ("draft", node.draft)):
                    if row is not None:
                        whole = [*text, *node.context]
                        asked.setdefault((which, len(whole)), []).append((whole, row))
        pair, sampling = self.loop.pair, self.loop.sampling
        return max(
            float(
                np.abs(pair.rows(which, [text for text, _ in each], sampling).numpy() - [row for _, row in each]).max()
            )
            for (which, _), each in asked.items()
        )

    def caches_off(self):
        """The largest difference of what is remembered of any text from a cache that reads it at once."""
        pair = self.loop.pair
        return max(
            _off(model, kept, sequence, text)
            for model, kept in ((pair.target, self.state.target), (pair.draft, self.state.draft))
            for sequence, text in enumerate(self.texts)
        )


def _off(model, kept, sequence, text):
    held = kept.held[sequence]
    count = int(held.sum())
    if int(kept.lengths[sequence]) != count:
        return float("inf")
    fresh = prompt_pass(model, text[:count], "cpu")[1]
    return max(
        (
            float((ours[sequence][:, held] - new[0]).abs().max())
            for layer, anew in zip(kept.layers, fresh.layers, strict=False)
            for ours, new in zip(layer, anew, strict=True)
        ),
        default=0.0,
    )


def drafted_rows_off(pair, scheme, steps=6):
    """The largest difference of a row that was drafted from in many blocks, from a plain pass; and how many rows.

    Nothing is drafted in every third block, so that tokens wait for the draft.
    """
    loop, verifier = Loop(pair, Sampling()), make("traversal")
    state, text, differences = loop.start(ROOT), list(ROOT), []
    for seed in range(steps):
        for context, row in loop.drafted(state, scheme, coin_for("numpy", seed)).rows[0].known.items():
            differences.append(abs(row - continued_rows(pair, "draft", Sampling(), text, [context])[0]).max())
        drawn = Delayed(1, 0, 0) if seed % 3 == 1 else scheme
        (block,), state = loop.step(state, verifier, drawn, coin_for("numpy", seed))
        text += block.tokens
    assert len(text) >= len(ROOT) + steps
    return max(differences), len(differences)
