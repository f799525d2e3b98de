"""`draftproof.check` and `draftproof check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from draftproof.experiments.inputs.schemes import Schemes, find_schemes
from draftproof.experiments.inputs.strings import are_rules
from draftproof.experiments.inputs.verifiers import (
    NamedVerifier,
    Settings,
    Verifiers,
    as_verifiers,
    choose_settings,
    chosen_verifiers,
)
from draftproof.experiments.inputs.world_grammar import USUAL, Worlds, find_worlds
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.result import Result
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, UnsupportedTree
from draftproof.simulator.protocol import DraftScheme

if TYPE_CHECKING:
    from draftproof.experiments.cli.check.views import Found


def check(
    verifiers: Verifiers,
    /,
    world: Worlds | None = None,
    scheme: Schemes | None = None,
    *,
    K: int | str | None = None,
    L1: int | str | None = None,
    L2: int | str | None = None,
    sampling: str | None = None,
    draft_sampling: str | None = None,
    told: Any = None,
    arithmetic: Literal["rational", "float64"] = "rational",
    precision: str | None = None,
    engine: Literal["auto", "enumerate", "structured"] = "auto",
    backend: Literal["numpy", "torch", "cuda"] = "numpy",
    max_runs: int = 20_000_000,
    max_memory: float = 4.0,
    seconds: float | None = None,
    witness: str | None = None,
    jobs: int = 1,
    dask: str | None = None,
) -> Result:
    """Is VERIFIER lossless? Exit 0: on every instance; 1: refuted; 2: bad input; 3: only by its structure, no proof.

    Without a world and a scheme, on the standard set: every scheme that its card declares, many small shapes.

    Args:
        verifiers: Names from `list` (ensemble:w=1/2 sets a parameter), FILE.py:NAME, or all; of two tokenizers
            union, tli, slem, uag, slrs.
        world: p and q, as family:perturbed,s=1,vocab=4,seeds=0..99, text:topics,vocab=4, pair.json,
            grid:denominator=4,vocab=2, models:target=PATH,draft=PATH or strings:seeds=0..9 (two
            tokenizers); conformance: the instances on which what cards declare is tested, of the schemes
            that are named or all.
        scheme: A draft scheme from `list schemes`, as topology:tree=2-1-0-0, or FILE.py:NAME.
        K: Branches of the scheme, as 2 or 1..4.
        L1: Length of its trunk.
        L2: Length of its branches.

    Other Parameters:
        sampling: How tokens are drawn from both, as temperature=.7,top_k=50.
        draft_sampling: How tokens are drawn from the draft, where otherwise.
        told: The q that verifiers are told: sampled, draft, target, or a sampling; in Python also a third process.
        arithmetic: float64 proves nothing, and takes larger instances.
        precision: The exact bias of verifiers that compute in float64, float32, float16 or bfloat16 (several: a,b).
        engine: How laws are computed.
        backend: What float64 computes with.
        max_runs: Refuse to enumerate more runs.
        max_memory: Refuse structured work of more GiB.
        seconds: Time of the standard check (20 where it is not given).
        witness: File of a witness; where it is not given, a name made from the content.
        jobs: Number of processes, started where several checks take more than a few seconds.
        dask: Address of a Dask scheduler that checks the verifiers on the schemes, as tcp://HOST:PORT.
    """
    from draftproof.experiments.cli.check.views import CONFORMANCE, result_of
    from draftproof.experiments.grid.machines import Machines, refuse_objects

    machines = Machines(jobs, dask)
    text = world[0] if isinstance(world, list) and len(world) == 1 else world
    check_files([verifiers, world, scheme], {"witness": witness})
    settings = choose_settings(arithmetic, engine, max_runs, max_memory, backend)
    sampled = {"sampling": sampling, "draft_sampling": draft_sampling, "told": told}
    lengths = {"K": K, "L1": L1, "L2": L2}
    if seconds is not None and not seconds >= 0:
        raise InvalidInput(f"seconds {seconds:g}: give a time of the standard check that is not negative")
    if are_rules(verifiers):
        from draftproof.experiments.cli.check.strings import strings_result

        _enumerated("two tokenizers", settings)
        alone = {"seconds": seconds, "witness": witness, "precision": precision, "dask": dask}
        _refuse_beside("rules of two tokenizers", alone)
        worlds = find_worlds("strings" if world is None else world, **sampled)
        return strings_result(verifiers, find_schemes(scheme, worlds, **lengths), worlds)
    named = chosen_verifiers(None) if verifiers in ("all", ["all"]) else as_verifiers(verifiers)
    away = {"dask": dask is not None, "jobs": jobs > 1}
    refuse_objects(away, {"verifiers": verifiers, "world": world, "scheme": scheme})
    if isinstance(text, str) and text.partition(":")[0] == CONFORMANCE:
        from draftproof.experiments.cli.check.conformance import on_conformance

        _refuse_beside(
            CONFORMANCE, {**lengths, **sampled, "seconds": seconds, "witness": witness, "precision": precision}
        )
        _refuse_beside(CONFORMANCE, {"dask": dask})
        return result_of(on_conformance(named, scheme, text, _enumerated(CONFORMANCE, settings)), None)
    if precision is not None:
        from draftproof.experiments.cli.check.precision import EXACT, precision_result

        _refuse_beside("precision", {"seconds": seconds, "witness": witness, "dask": dask})
        exact = _enumerated("precision", settings)
        worlds = find_worlds(EXACT if world is None else world, **sampled)
        return precision_result(precision, named, find_schemes(scheme, worlds, **lengths), worlds, exact)
    if world is None and all(value is None for value in (*lengths.values(), *sampled.values())):
        schemes = [None] if scheme is None else find_schemes(scheme)
        if all(each is None or isinstance(each, UserScheme) for each in schemes):
            from draftproof.experiments.cli.check.standard import on_standard_set

            limit = 20.0 if seconds is None else seconds
            pairs = [(each, made) for each in named for made in schemes]
            return result_of(machines.ordered(on_standard_set, pairs, settings, limit), witness)
    if seconds is not None:
        raise InvalidInput("seconds is the time of the standard check; leave it out, or the world and the scheme")
    worlds = find_worlds(USUAL if world is None else world, **sampled)
    cells = [(each, shape) for each in named for shape in find_schemes(scheme, worlds, **lengths)]
    return result_of(machines.ordered(_on_worlds, cells, worlds, settings, len(cells) > 1), witness)


def _enumerated(what: str, settings: Settings) -> Settings:
    """The settings for runs that are enumerated exactly; raises `InvalidInput` for settings of other ones."""
    if settings.arithmetic != "rational" or settings.engine == "structured":
        raise InvalidInput(f"{what}: laws are enumerated in rational arithmetic; leave out arithmetic and engine")
    return replace(settings, engine="enumerate")


def _refuse_beside(what: str, given: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for a parameter that means nothing beside this one."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(f"{name} means nothing beside {what}; leave one of the two out")


def _on_worlds(
    named: NamedVerifier, scheme: DraftScheme, worlds: Sequence[World], settings: Settings, beside_others: bool
) -> Found:
    """A check; beside others, a verifier that is not defined on the scheme does not end them."""
    from draftproof.experiments.cli.check.views import Found, words
    from draftproof.experiments.cli.check.work import on_worlds

    try:
        return on_worlds(named, scheme, worlds, settings)
    except (UnsupportedTree, InvalidVerifier) as error:
        if not beside_others:
            raise
        row = {"scheme": str(scheme), "verdict": words("undefined", settings.arithmetic), "fails": str(error)}
        return Found(named, "undefined", row)
