"""The ways of writing a text that `model choose` compares, timed from call to return of `generate` of transformers.

Plain `generate` is the baseline. It is compared with its assisted generation with the draft model, and with every
verifier on its scheme, called through `generate_with`. All write after the same roots, with the same sampling, with
caches, and exactly as many tokens as asked for: stop tokens are ignored.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch

from draftproof.experiments.inputs.verifiers import Combination
from draftproof.experiments.models.loop.generate_with import Generating
from draftproof.experiments.models.loop.generation import Piece
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import text_seed
from draftproof.experiments.models.measure.rounds import Turn
from draftproof.experiments.models.measure.setting import Setting
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context

#: The ways of writing without a verifier of this project.
GENERATE, ASSISTED = "generate", "assisted generation"
#: A way of writing: one of these, or a verifier on a scheme.
Way: TypeAlias = str | Combination


def sampling_of(sampling: Sampling) -> dict[str, Any]:
    """The arguments of `generate` for this sampling; none is left to its default."""
    others = [name for name in ("bits", "ties", "eos", "table", "regex") if name in sampling.settings]
    if others:
        raise InvalidInput(
            f"generate of transformers, the baseline, does not sample with {sampling}; leave out {', '.join(others)}"
        )
    of_text = ("repetition_penalty", "no_repeat_ngram_size")
    given = {name: value for name in of_text if (value := getattr(sampling, name)) is not None}
    if sampling.greedy:
        return {"do_sample": False, **given}
    top_p = 1.0 if sampling.top_p is None else sampling.top_p
    given |= {name: value for name in ("min_p", "typical_p") if (value := getattr(sampling, name)) is not None}
    return {
        "do_sample": True,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k or 0,
        "top_p": top_p,
        **given,
    }


def timed_text(setting: Setting, way: Way, tokens: int, round_seed: int, number: int) -> Turn:
    """Write one text after root `number` and time it. Plain ways count each token as a block."""
    root, seed = setting.roots[number], text_seed(round_seed, number)
    if isinstance(way, str):
        more = {"assistant_model": setting.pair.draft} if way == ASSISTED else {}
        return Turn(tokens, tokens, _timed_generate(setting, root, tokens, seed, **more))
    named, scheme = way
    with named_errors(named.label):
        pieces: list[Piece] = []
        drawn = setting.sampling.of("draft").text
        ours = Generating(named.verifier, scheme, seed, setting.vectors, pieces.append, draft_sampling=drawn)
        seconds = _timed_generate(setting, root, tokens, seed, draft=setting.pair.draft, custom_generate=ours)
        block_tokens = sum(piece.block.depth + 1 for piece in pieces)
        return Turn(block_tokens, len(pieces), seconds)


def _timed_generate(setting: Setting, root: Context, tokens: int, seed: int, **more: Any) -> float:
    """The seconds of a call of `generate`."""
    pair, watch = setting.pair, Stopwatch(setting.pair.device)
    ids = torch.tensor([root], device=pair.device)
    asked = {"max_new_tokens": tokens, "use_cache": True, **sampling_of(setting.sampling), **more}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        started = watch.now()
        text = pair.target.generate(ids, attention_mask=torch.ones_like(ids), **asked)
        seconds = watch.now() - started
    assert text.shape[1] == len(root) + tokens
    return seconds


def missing_assisted(setting: Setting) -> str | None:
    """In words why assisted generation of transformers cannot use this draft; None where it can."""
    missing = f"{ASSISTED} of transformers is not measured"
    if setting.pair.reads_features("draft"):
        return f"{missing}: it has no place for a draft that reads features"
    try:
        timed_text(setting, ASSISTED, 1, 0, 0)
    except Exception as error:  # of transformers, about a draft that it does not take
        return f"{missing}: {type(error).__name__}: {str(error).splitlines()[0]}"
    return None
