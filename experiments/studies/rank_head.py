"""A trained rank head against the rule of the scheme `specblock`: tokens a block of naive sampling, exactly.

`python -m draftproof.experiments.studies.rank_head --pair runs/pair8 --head runs/pair8/specblock2`

The head reads the state of a place of the drafter and four numbers of its row, and predicts the probabilities that the
next token is the likeliest, among the next three, among the next six, or none of these ([2605.07243], co-trained there;
here the drafter is trained before). Trees have the same number of nodes by every rule; on a tree that is a function of
the draft naive sampling brings 1 + the target's probability of all nodes.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Annotated, Any

import numpy as np
import torch
import typer

from draftproof.experiments.inputs.text import EMBEDDED
from draftproof.experiments.models.pair.corpus import read_corpus
from draftproof.experiments.models.pair.pair import Pair, load_folder
from draftproof.experiments.models.pair.unrolled import blocks
from draftproof.experiments.shared.progress import bar, console_for
from draftproof.simulator.drafts.specblock import WIDTHS
from draftproof.simulator.protocol import Context

WINDOW, BATCH, ROOT = 128, 8, 48
#: Blocks of two places, and nodes of the trees.
TREES = ((1, 6), (2, 6), (2, 12), (2, 24))


class Drafter:
    """The drafter with its head. classes: first and last rank of each, from 0 on; the last class is all others."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.head, self.places = pair, pair.draft, int(pair.draft.places)
        ends = [0, *(width for width in WIDTHS if width < pair.vocab_size)]
        self.classes = [*pairwise(ends), (ends[-1], pair.vocab_size)]
        self._states: list[torch.Tensor] = []
        self.head.register_forward_hook(lambda _, __, output: self._states.append(output.hidden_states[0].detach()))
        torch.manual_seed(seed)
        width = self.head.config.hidden_size + 4
        self.rank = torch.nn.Sequential(
            torch.nn.Linear(width, 64), torch.nn.SiLU(), torch.nn.Linear(64, len(self.classes))
        )

    def train(self, tokens: torch.Tensor, steps: int, seed: int, tick: Callable[[int], None]) -> float:
        """Cross-entropy to the target's masses of the classes, in nats, in the last fifth of the steps."""
        optimizer, generator = torch.optim.AdamW(self.rank.parameters(), lr=3e-3), np.random.default_rng(seed)
        losses, size = list[float](), self.places
        begun = torch.arange(0, WINDOW - 2 * size, 2 * size)
        entries = torch.ones(WINDOW, dtype=torch.long)
        entries[begun] = size
        there = (entries.cumsum(0) - entries)[begun][:, None] + torch.arange(size)
        for _ in range(steps):
            starts = torch.as_tensor(generator.integers(0, len(tokens) - WINDOW, BATCH))
            windows = tokens[starts[:, None] + torch.arange(WINDOW)]
            with torch.no_grad(), self.head.watching() as seen:
                rows = self.pair.target(windows, use_cache=False).logits.softmax(-1)
                self._states.clear()
                _, first, second = blocks(self.head, windows, self.head.taken(seen[0]), begun)
            later = self._states[1].view(BATCH, len(begun), 2 * size - 1, -1)[:, :, size - 1 :]
            loss = torch.zeros(())
            for logits, states, at in (
                (first, self._states[0][:, there], begun),
                (second, later, begun + size),
            ):
                places = at[:, None] + torch.arange(size)
                right = (logits.argmax(-1) == windows[:, places + 1]).float()
                valid = torch.nn.functional.pad(right[..., :-1], (1, 0), value=1.0).cumprod(-1)
                said = self._said(states, logits).log_softmax(-1)
                crossed = -(self._masses(logits, rows[:, places]) * said).sum(-1)
                loss = loss + (valid * crossed).sum() / valid.sum() / 2
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(float(loss.detach()))
            tick(1)
        return float(np.mean(losses[-max(1, steps // 5) :]))

    def _masses(self, logits: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        ranked = rows.gather(-1, torch.argsort(logits, dim=-1, descending=True, stable=True))
        return torch.stack([ranked[..., first:last].sum(-1) for first, last in self.classes], -1)

    def _said(self, states: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        chances = logits.softmax(-1)
        top = chances.topk(min(WIDTHS[-1], chances.shape[-1]), -1).values
        entropy = -(chances * logits.log_softmax(-1)).sum(-1, keepdim=True)
        numbers = [top[..., :1], top[..., :4].sum(-1, keepdim=True), top.sum(-1, keepdim=True), entropy]
        found: torch.Tensor = self.rank(torch.cat([states, *numbers], -1))
        return found

    def nodes(self, root: torch.Tensor, contexts: Sequence[Context]) -> dict[Context, Any]:
        """For each context its likeliest tokens, their probabilities, those of the classes, and the target's row."""
        self._states.clear()
        given = torch.tensor(contexts, dtype=torch.long).reshape(len(contexts), -1)
        logits = self.head.continued(root, given)
        states = self._states[-1][:, -self.places :][:, given.shape[1] % self.places].expand(len(contexts), -1)
        said = self._said(states, logits).softmax(-1).double().numpy()
        chances = logits.softmax(-1).double()
        order = torch.argsort(chances, dim=-1, descending=True, stable=True)[:, : WIDTHS[-1]]
        targets = self.pair.rows("target", [[*root[0].tolist(), *context] for context in contexts]).numpy()
        drafts = chances.gather(-1, order).numpy()
        return {each: (order[at].numpy(), drafts[at], said[at], targets[at]) for at, each in enumerate(contexts)}

    def block(self, root: torch.Tensor, tree: tuple[int, int], rule: Any, known: dict[Context, Any]) -> float:
        """Tokens a block of naive sampling on the tree of a rule: a function of a node to its children's values."""
        count, nodes = tree
        layer: list[tuple[Context, float]] = [((), 1.0)]
        grown = list[tuple[Context, float]]()
        for _ in range(count * self.places):
            if missing := [context for context, _ in layer if context not in known]:
                known |= self.nodes(root, missing)
            children = [
                ((*context, int(token)), value * float(part))
                for context, value in layer
                for token, part in zip(known[context][0], rule(self.classes, *known[context]), strict=False)
            ]
            grown += children
            layer = sorted(children, key=lambda each: -each[1])[:nodes]
        best = sorted(grown, key=lambda each: (-each[1], len(each[0])))[:nodes]
        return 1.0 + sum(
            float(np.prod([known[context[:depth]][3][token] for depth, token in enumerate(context)]))
            for context, _ in best
        )


def covering(share: float, by_head: bool) -> Callable[..., Any]:
    """The fewest of 1, 4 or 10 children with this mass, by the row or by the head; the likeliest alone if none have."""

    def rule(classes: Any, order: Any, drafts: Any, said: Any, _: Any) -> Any:
        widths = [last for _, last in classes if last <= WIDTHS[-1]]
        masses = np.cumsum(said) if by_head else [drafts[:width].sum() for width in widths]
        return drafts[: next((width for width, mass in zip(widths, masses, strict=False) if mass >= share), 1)]

    return rule


def likeliest_class(classes: Any, order: Any, drafts: Any, said: Any, _: Any) -> Any:
    """As many children as the likeliest class of the head says; one where that is none of them."""
    last = classes[int(said.argmax())][1]
    return drafts[: last if last <= WIDTHS[-1] else 1]


def by_classes(classes: Any, order: Any, drafts: Any, said: Any, _: Any) -> Any:
    """Ten children, with the head's probability of their class, shared out as the row does."""
    parts = [drafts[first:last] for first, last in classes]
    return np.concatenate([chance * part / max(part.sum(), 1e-12) for chance, part in zip(said, parts, strict=True)])


RULES: Mapping[str, Callable[..., Any]] = {
    "the row: the fewest that have 3/4": covering(0.75, False),
    "the row: the fewest that have 9/10": covering(0.9, False),
    "the head: its likeliest class": likeliest_class,
    "the head: the fewest that have 3/4": covering(0.75, True),
    "the head: the fewest that have 9/10": covering(0.9, True),
    "ten children, best by the row": lambda classes, order, drafts, said, row: drafts,
    "ten children, best by the head": by_classes,
    "ten children, best by the target": lambda classes, order, drafts, said, row: row[order],
}


def main(
    folder: Annotated[str, typer.Option("--pair", help="Folder of a trained pair.")],
    head: Annotated[str, typer.Option(help="Folder of a specblock head for its target.")],
    steps: Annotated[int, typer.Option(min=1, help="Training steps of the rank head.")] = 250,
    roots: Annotated[int, typer.Option(min=2, help="Contexts of held-out text.")] = 48,
) -> int:
    """Compare rules for the number of children of a node of SpecBlock's trees, at equal numbers of nodes."""
    torch.set_num_threads(1)
    pair = load_folder(folder, "cpu", draft=f"specblock:{head}")
    corpus, drafter = read_corpus(EMBEDDED), Drafter(pair, 0)
    with bar("training the rank head", steps) as tick:
        loss = drafter.train(torch.tensor(pair.encode(corpus.training)), steps, 1, tick)
    held_out, found = pair.encode(corpus.held_out), {(name, tree): list[float]() for name in RULES for tree in TREES}
    with bar("contexts", roots) as tick, torch.no_grad():
        for place in np.linspace(ROOT, len(held_out) - 1, roots).astype(int):
            root, known = torch.tensor([held_out[place - ROOT : place]]), dict[Context, Any]()
            for (name, tree), means in found.items():
                means.append(drafter.block(root, tree, RULES[name], known))
            tick(1)
    out = console_for(None)
    out.print(f"V = {pair.vocab_size}, {drafter.places} places, rank head: {loss:.3f} nats after {steps} steps")
    out.print("| children of a node | " + " | ".join(f"{blocks}, {nodes}" for blocks, nodes in TREES) + " |")
    usual = next(iter(RULES))
    for name in RULES:
        cells = []
        for tree in TREES:
            gains = np.array(found[name, tree]) - np.array(found[usual, tree])
            half = 1.96 * gains.std(ddof=1) / sqrt(roots)
            cells.append(f"{np.mean(found[name, tree]):.3f} ({gains.mean():+.3f} ± {half:.3f})")
        out.print(f"| {name} | {' | '.join(cells)} |", soft_wrap=True)
    return 0


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
