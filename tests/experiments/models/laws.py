"""What the loop must sample: laws from tables of plain passes, and a test whether counts have them."""

from itertools import product

import numpy as np
from scipy.stats import chi2

from draftproof.experiments.models.loop.loop import BATCH
from draftproof.simulator import TableProcess, block_law
from draftproof.simulator.tables import context_index

SIZE = 3
ROOT = [1, 2, 0]
#: The tests that could fail by chance, some fifty, would with other seeds do so once in a thousand times in all.
LEVEL = 0.001 / 50


def tables(pair, which, depth, sampling):
    """The rows of every context after the root, by plain passes."""
    rows = []
    for length in range(depth + 1):
        contexts = [[*ROOT, *context] for context in product(range(SIZE), repeat=length)]
        given = pair.rows(which, contexts, sampling, root=len(ROOT)).numpy()
        rows.append(given / given.sum(1, keepdims=True))
    return TableProcess(rows, which)


def agrees(seen, law, level=LEVEL):
    """Whether counts have this law: Pearson's chi-square; what is expected below 10 times is counted together."""
    runs = sum(seen.values())
    often = [(seen[what], runs * mass) for what, mass in law.items() if runs * mass >= 10]
    rest = (runs - sum(count for count, _ in often), runs - sum(mean for _, mean in often))
    cells = often + [rest] * (rest[1] >= 1e-6 * runs)
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    return bool(statistic < chi2.ppf(1 - level, len(cells) - 1))


def law_of_blocks(verifier, pair, scheme, sampling):
    target, draft = (
        tables(pair, "target", scheme.depth, sampling),
        tables(pair, "draft", max(scheme.depth - 1, 0), sampling),
    )
    law = block_law(verifier, target, draft, scheme, "float64")
    return {
        (context, token): float(law.correction[depth][context_index(context, SIZE), token])
        for depth in range(scheme.depth + 1)
        for context in product(range(SIZE), repeat=depth)
        for token in range(SIZE)
    }


def law_of_texts(pair, length, sampling):
    """The target's law of the first tokens after the root."""
    process = tables(pair, "target", length - 1, sampling)
    return {
        text: float(np.prod([process.row(text[:place])[token] for place, token in enumerate(text)]))
        for text in product(range(SIZE), repeat=length)
    }


def many_texts(loop, verifier, scheme, root, runs, length, coin, batch=BATCH):
    """The first `length` tokens of each of `runs` independent runs, block after block: shape `(runs, length)`."""
    start = loop.start(root, max(length - 1, 0) * (scheme.depth + 1) + scheme.depth)
    texts = []
    for first in range(0, runs, batch):
        count = min(batch, runs - first)
        state = start.repeated(count)
        tokens = [[] for _ in range(count)]
        while min(map(len, tokens)) < length:  # finished runs continue with the others and are cut at the end
            blocks, state = loop.step(state, verifier, scheme, coin)
            for text, block in zip(tokens, blocks, strict=True):
                text.extend(block.tokens)
        texts += [each[:length] for each in tokens]
    return np.array(texts, dtype=np.int64).reshape(runs, length)
