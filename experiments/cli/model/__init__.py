"""`draftproof.model` and `draftproof model`: real models, what was predicted of them, and which tree is fastest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from time import perf_counter
from typing import Any, Literal

from draftproof.experiments.grid.store import check_store
from draftproof.experiments.inputs.schemes import Schemes, find_schemes
from draftproof.experiments.inputs.text import EMBEDDED
from draftproof.experiments.inputs.verifiers import NamedVerifier, Verifiers, as_verifiers, assert_distinct
from draftproof.experiments.inputs.world_grammar import models_request
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.result import Result
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.protocol import DraftScheme

_SELECTOR = ("selector",)
KINDS = ("pair", *HEADS, *_SELECTOR)
#: The kinds of `train` that take each parameter; the others are for all kinds.
OF_KINDS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("text", "recipe", "tokenizer", "vocab", "device"), ("pair",)),
    "world": (*HEADS, *_SELECTOR),
    "steps": ("pair", *HEADS),
    "places": ("specblock",),
    **dict.fromkeys(("verifier", "sampling", "K", "L1", "L2", "max_nodes", "cost", "trees", "exact"), _SELECTOR),
    "resume": _SELECTOR,
}


def train(
    verifier: str | None = None,
    /,
    world: str | None = None,
    *,
    kind: str = "pair",
    out: str | None = None,
    text: str = EMBEDDED,
    recipe: str = "small",
    tokenizer: str = "letters",
    vocab: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    device: str = "auto",
    places: int | None = None,
    sampling: str | Sequence[str] | None = None,
    K: int | str = "1..4",
    L1: int | str = "0..2",
    L2: int | str = "0..2",
    max_nodes: int | None = None,
    cost: str | None = None,
    trees: int = 16,
    exact: bool | None = None,
    resume: str | None = None,
) -> Result:
    """Train a pair of models, a head or a selector on text, and show how good it is. An existing one is reused.

    A pair is used as the world models:FOLDER, a head as its draft=KIND:FOLDER, a selector as the policy selector.

    Args:
        verifier: Of a selector (default specinfer).
        world: Models that a head or a selector is for: models:FOLDER or models:target=PATH,draft=PATH.
        kind: pair: a target and a smaller draft; eagle, eagle3, griffin, specblock: a draft of one or two layers on a
            target's features; selector: a network that chooses the tree of every block.
        out: Folder for what is made (default of a head: FOLDER/KIND, of a selector: FOLDER).
        text: A UTF-8 file that a pair is trained on.
        tokenizer: Of a pair: letters (frequent symbols and a rest token) or bpe (byte pairs).
        vocab: Tokens of a pair (default 8, bpe 2048, deep 64).
        steps: Training steps of a head or the target of a pair.
        resume: Store of the labels of a selector, kept and reused.

    Other Parameters:
        recipe: Of a pair; deep: a target of 64 layers and a draft of one.
        cost: Times for a selector, as draft=1,branch=.1,target=10,node=.1 or a file (default: measured).
        seed: Of weights and batches.
        device: Of a pair: auto (CUDA where there is one), cpu or cuda.
        places: Of specblock: the depths that one pass drafts (default 4).
        sampling: Of a selector: temperature and top_p, as temperature=.7; may be repeated.
        K: Branches of the shapes that a selector chooses from.
        L1: Their trunk lengths.
        L2: Their branch lengths.
        max_nodes: Only shapes of at most so many drafted tokens.
        trees: Sampled trees for each label of a selector that is not exact.
        exact: How its labels are computed (default: exactly where that takes milliseconds).
    """
    given = dict(locals())
    if kind not in KINDS:
        raise InvalidInput(f"unknown kind {kind!r}; choose {', '.join(KINDS)}")
    for name, parameter in signature(train).parameters.items():
        kinds = OF_KINDS.get(name, [kind])
        if kind not in kinds and given[name] != parameter.default:
            raise InvalidInput(f"{name} belongs to kind {' or '.join(kinds)}; leave it out")
    check_files([world, text, cost], {"resume": resume})
    _check_ranges(given, steps=(1, None), seed=(0, None), places=(1, 16), trees=(2, None))
    if kind != "pair" and world is None:
        raise InvalidInput(f"world is missing: the models that {kind} is for, as models:FOLDER or models:target=PATH")
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.cli.model import training

    if world is None:
        return training.pair_result(out, text, recipe, tokenizer, vocab, steps, seed, device)
    wanted = models_request(world)
    if (folder := out or wanted.folder) is None:
        raise InvalidInput(f"out is missing: the folder for the {kind} of these models")
    if kind != "selector":
        return training.head_result(kind, wanted, out or f"{folder}/{kind}", steps, seed, places)
    plan = training.plan_of(verifier or "specinfer", wanted, sampling, (K, L1, L2), max_nodes, cost, trees, seed, exact)
    with _kept("labels", resume):
        return training.selector_result(wanted, folder, plan, resume)


def validate(
    verifiers: Verifiers | None = None,
    /,
    world: str | None = None,
    scheme: Schemes | None = None,
    *,
    K: int | str | None = None,
    L1: int | str | None = None,
    L2: int | str | None = None,
    sampling: str | None = None,
    draft_sampling: str | None = None,
    told: str | None = None,
    blocks: int | None = None,
    policy: str | None = None,
    replace: str | Sequence[str] | None = None,
    lossy: str | Sequence[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    vectors: Literal["numpy", "torch"] = "numpy",
    resume: str | None = None,
    plot: str | None = None,
    times: str | None = None,
    dask: str | None = None,
) -> Result:
    """Predicted against measured on real models, and is the loop lossless? Exit 0: as predicted; 1: not; 2: bad input.

    Without a world a small pair is trained first. A verifier of yours is checked exactly on small instances before.

    Args:
        verifiers: Names from `list` or FILE.py:NAME (default: eight of them).
        world: models:FOLDER of `model train` or models:target=PATH,draft=PATH; keys: prompts=FILE, text=FILE,
            roots=4, context=16, device=cuda, dtype=bfloat16.
        scheme: As delayed:K=1..3,L2=2 (`list schemes` has all), or FILE.py:NAME.
        K: Branches, as 2 or 1..4.
        L1: Trunk lengths.
        L2: Branch lengths.
        sampling: How tokens are drawn from both, as temperature=.7,top_p=.9.
        blocks: Blocks of a verifier on a scheme (default: standard error 0.015).
        policy: What chooses the tree of every block: selector, its file, or FILE.py:NAME.
        quick: Less training, fewer blocks and roots.
        resume: Store of rows, kept and reused.
        plot: PNG of measured against predicted.

    Other Parameters:
        draft_sampling: How tokens are drawn from the draft, where otherwise: temperature=0, top_k=5, bits=4.
        told: The q that verifiers are told: sampled, draft, target, or a sampling.
        replace: NAME=OTHER runs OTHER with the predictions of NAME: a planted bias must be found. May be repeated.
        lossy: A verifier known to be lossy: its violations are no failure. May be repeated.
        seed: Of every run.
        vectors: What verifiers compute with; torch: on the device.
        times: File of measured times of passes, for `compare --cost FILE`.
        dask: Address of a Dask scheduler that computes the rows, as tcp://HOST:PORT.
    """
    given = dict(locals())
    _check_outputs(given, resume=resume, plot=plot, times=times)
    _check_ranges(given, blocks=(1, None), seed=(0, None))
    wanted = None if world is None else models_request(world)
    samplings = Samplings.of_options(sampling, draft_sampling, told)
    ranges = {"K": K, "L1": L1, "L2": L2}
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.measure.setting import setting
    from draftproof.experiments.models.pair.opened import open_pair

    roots = None if wanted is None else wanted.roots
    if policy is not None:
        from draftproof.experiments.models.validate import policy as of_policy

        for name in ("scheme", "told", "replace", "lossy", "quick", "resume", "plot", "times", "dask"):
            if given[name]:
                raise InvalidInput(f"policy goes without {name}; leave one of them out")
        request = of_policy.policy_request(policy, verifiers, None if wanted is None else wanted.folder, ranges)
        with open_pair(wanted, seed) as opened:
            roots_of_policy = opened.roots(roots, of_policy.ROOTS)
            where = setting(opened.pair, samplings, roots_of_policy, seed, vectors)
            return of_policy.policy_result(request, where, blocks)
    from draftproof.experiments.grid.machines import Machines
    from draftproof.experiments.models.measure.passes import measured_times
    from draftproof.experiments.models.measure.verifiers import exact_checks, measured_verifiers
    from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS
    from draftproof.experiments.models.validate import run, views
    from draftproof.experiments.models.validate.cells import GOAL, QUICK_GOAL, Effort

    named = _named(verifiers or run.VERIFIERS, resume)
    schemes = _schemes(scheme, ranges) or run.SHAPES
    tested = measured_verifiers(named, _texts(replace))
    checked = exact_checks({tested_one.label: tested_one.executed for tested_one in tested}, schemes)
    with _kept("rows", resume), open_pair(wanted, seed, quick) as opened:
        where = setting(opened.pair, samplings, opened.roots(roots, 2 if quick else 4), seed, vectors)
        effort = Effort(QUICK_GOAL if quick else GOAL, blocks)
        validation = run.Validation(where, tuple(tested), tuple(schemes), effort)
        report = run.run(validation, resume, _texts(lossy), checked, Machines(1, dask))
        measured = measured_times(opened.pair, CONTEXT_TOKENS, schemes) if times else None
    files = {times: measured.text(times)} if times and measured else {}
    return views.validation_result(report, plot, files)


def choose(
    verifiers: Verifiers | None = None,
    /,
    world: str | None = None,
    scheme: Schemes | None = None,
    *,
    K: int | str | None = None,
    L1: int | str | None = None,
    L2: int | str | None = None,
    sampling: str | None = None,
    draft_sampling: str | None = None,
    tokens: int = 32,
    rounds: int = 5,
    seconds: float | None = None,
    seed: int = 0,
    vectors: Literal["numpy", "torch"] = "numpy",
    clock: Literal["wall", "processor"] = "wall",
    resume: str | None = None,
    plot: str | None = None,
) -> Result:
    """Rank lossless verifiers and draft schemes by tokens a second, for these models on this machine.

    The baseline is `generate` of transformers, timed from call to return. Candidates are delayed trees and stratified
    branches of the same shapes, or the schemes given. A verifier of yours is checked exactly on small instances first.

    Args:
        verifiers: Names from `list` or FILE.py:NAME (default: six of them).
        world: models:FOLDER of `model train` or models:target=PATH,draft=PATH; keys: prompts=FILE, text=FILE,
            roots=8, context=16, bos=no, device=cuda, dtype=bfloat16. Without it a small pair is trained.
        scheme: As delayed:K=1..3,L2=2 (`list schemes` has all), or FILE.py:NAME.
        K: Branches, as 2 or 1..4.
        L1: Trunk lengths.
        L2: Branch lengths.
        sampling: How tokens are drawn from both, as temperature=.7,top_p=.9.
        seconds: Time limit, training apart.
        resume: Store of the texts, kept and reused.
        plot: PNG of the ranking.

    Other Parameters:
        draft_sampling: How tokens are drawn from the draft, where otherwise: temperature=0, top_k=5, bits=4.
        seed: Of every run.
        vectors: What verifiers compute with; torch: on the device.
        tokens: Tokens of a text, as far as the models have positions.
        rounds: Texts of the last candidates after each root.
        clock: processor: time of this process only, for models on one thread of a CPU.
    """
    given, started = dict(locals()), perf_counter()
    _check_outputs(given, resume=resume, plot=plot)
    _check_ranges(given, tokens=(4, None), rounds=(2, 10), seconds=(1, None), seed=(0, None))
    wanted = None if world is None else models_request(world)
    samplings = Samplings.of_options(sampling, draft_sampling)
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.measure import choose as work
    from draftproof.experiments.models.measure.writers import sampling_of
    from draftproof.experiments.models.pair.opened import open_pair

    named = _named(verifiers or work.VERIFIERS, resume)
    ranges = {"K": K, "L1": L1, "L2": L2}
    schemes: Sequence[DraftScheme] = _schemes(scheme, ranges) or work.SHAPES
    if scheme is None and not any(verifier.user_defined for verifier in named):  # which say that they take any scheme
        branching = [tree for tree in schemes if isinstance(tree, Delayed) and tree.K > 1]
        schemes = [*schemes, *(Stratified(tree.K, tree.L1, tree.L2) for tree in branching)]
    sampling_of(samplings)  # refuses what the baseline cannot do before models are read
    work.check_lossless(named, schemes, seconds)
    with _kept("texts", resume), open_pair(wanted, seed) as opened:
        started = perf_counter() if wanted is None else started
        roots = opened.roots(None if wanted is None else wanted.roots, work.Amount.roots)
        amount = work.Amount(len(roots.contexts), tokens, rounds, seconds)
        return work.choose(opened, named, schemes, samplings, amount, seed, vectors, clock, resume, started, plot)


def _check_outputs(given: Mapping[str, Any], **outputs: str | None) -> None:
    """Raise `InvalidInput`, before any work, where a file cannot be written or `resume` is no store of rows."""
    check_files([given[name] for name in given if name not in outputs], outputs)
    if outputs["resume"] is not None:
        check_store(outputs["resume"])


def _check_ranges(given: Mapping[str, Any], **ranges: tuple[int, int | None]) -> None:
    """Raise `InvalidInput` for a number that is given and outside of its range: at least, and at most."""
    for name, (least, most) in ranges.items():
        value = given[name]
        if value is not None and not (value >= least and (most is None or value <= most)):
            said = f"at least {least}" if most is None else f"{least} to {most}"
            raise InvalidInput(f"{name} {value}: give {said}")


def _named(verifiers: Verifiers, resume: str | None) -> list[NamedVerifier]:
    named = as_verifiers(verifiers)
    assert_distinct(named)
    if resume and (odd := [verifier.label for verifier in named if verifier.user_defined and not verifier.from_file]):
        raise InvalidInput(f"resume is for verifiers as text, not for the object {odd[0]}; leave it out")
    return named


def _schemes(scheme: Schemes | None, ranges: Mapping[str, Any]) -> list[DraftScheme]:
    """The schemes that are given; empty where none is."""
    return [] if scheme is None and not any(ranges.values()) else find_schemes(scheme, **ranges)


def _texts(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


@contextmanager
def _kept(what: str, resume: str | None) -> Iterator[None]:
    """Says after Ctrl-C where the rows so far are."""
    try:
        yield
    except KeyboardInterrupt:
        where = f"the {what} so far are kept in {resume}" if resume else f"--resume FILE would keep the {what}"
        remark(f"interrupted; {where}; no other file was written")
        raise
