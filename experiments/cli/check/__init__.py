"""`draftproof.check` and `draftproof check`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from draftproof.experiments.grid.rows import row_id
from draftproof.experiments.inputs.schemes import Schemes, find_schemes, scheme_spec
from draftproof.experiments.inputs.strings import are_rules
from draftproof.experiments.inputs.verifiers import (
    USUAL as USUAL_VERIFIERS,
)
from draftproof.experiments.inputs.verifiers import (
    NamedVerifier,
    Settings,
    Verifiers,
    as_verifiers,
    choose_settings,
)
from draftproof.experiments.inputs.world_grammar import USUAL, Worlds, find_worlds
from draftproof.experiments.result import Result
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput

T = TypeVar("T")


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
    resume: str | None = None,
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
        witness: File of the witness of a single check; where it is not given, a name made from the content.
        resume: Store of rows, kept and reused.
        jobs: Number of processes, started where several checks take more than a few seconds.
        dask: Address of a Dask scheduler that checks the verifiers on the schemes, as tcp://HOST:PORT.
    """
    from draftproof.experiments.cli.answers import answers
    from draftproof.experiments.cli.check import conformance
    from draftproof.experiments.cli.check.views import CONFORMANCE, result_of
    from draftproof.experiments.grid.machines import Machines, refuse_objects

    machines = Machines(jobs, dask)
    check_files([verifiers, world, scheme], {"witness": witness, "resume": resume})
    settings = choose_settings(arithmetic, engine, max_runs, max_memory, backend)
    sampled = {"sampling": sampling, "draft_sampling": draft_sampling, "told": told}
    lengths = {"K": K, "L1": L1, "L2": L2}
    ours = {"seconds": seconds, "witness": witness, "dask": dask}
    if seconds is not None and not seconds >= 0:
        raise InvalidInput(f"seconds {seconds:g}: give a time of the standard check that is not negative")
    if are_rules(verifiers):
        from draftproof.experiments.cli.check.strings import strings_result

        _enumerated("two tokenizers", settings)
        _refuse_beside("rules of two tokenizers", {**ours, "precision": precision})
        worlds = find_worlds("strings" if world is None else world, **sampled)
        return strings_result(verifiers, find_schemes(scheme, worlds, **lengths), worlds, resume)
    named = as_verifiers(USUAL_VERIFIERS) if verifiers in ("all", ["all"]) else as_verifiers(verifiers)
    away = {"resume": resume is not None, "dask": dask is not None, "jobs": jobs > 1}
    refuse_objects(away, {"verifiers": verifiers, "world": world, "scheme": scheme})
    count = conformance.random_instances(world[0] if isinstance(world, list) and len(world) == 1 else world)
    if count is not None:
        _refuse_beside(CONFORMANCE, {**lengths, **sampled, **ours, "precision": precision})
    if precision is not None:
        from draftproof.experiments.cli.check.precision import EXACT, precision_result

        _refuse_beside("precision", ours)
        exact = _enumerated("precision", settings)
        worlds = find_worlds(EXACT if world is None else world, **sampled)
        return precision_result(precision, named, find_schemes(scheme, worlds, **lengths), worlds, exact, resume)
    from draftproof.experiments.cli.check import standard, work

    if count is not None:
        listed: Sequence[Any] = conformance.columns_of(scheme, named, count, _enumerated(CONFORMANCE, settings))
        source: Any = {CONFORMANCE: count}
        compute: Callable[..., Any] = conformance.on_conformance
        shared: tuple[Any, ...] = (count,)
    elif world is None and (own := _own_schemes(scheme, {**lengths, **sampled})):
        listed = own
        limit = 20.0 if seconds is None else seconds
        source, compute, shared = {"standard": limit}, standard.on_standard_set, (settings, limit)
    elif seconds is not None:
        raise InvalidInput("seconds is the time of the standard check; leave it out, or the world and the scheme")
    else:
        worlds = find_worlds(USUAL if world is None else world, **sampled)
        listed = find_schemes(scheme, worlds, **lengths)
        source, compute = [one.source for one in worlds], work.on_worlds
        shared = (worlds, settings, len(named) * len(listed) == 1)

    cells = _cells(named, listed, witness)
    name = partial(_name, source, settings)
    done = answers(cells, compute, *shared, kind="check", name=name, resume=resume, machines=machines)
    rows = [(verifier, row) for (verifier, _), row in done.rows]
    return done.result(result_of(rows, witness, saved=count is None))


def _cells(
    verifiers: Sequence[NamedVerifier], schemes: Sequence[T], witness: str | None
) -> list[tuple[NamedVerifier, T]]:
    """The checks; raises `InvalidInput` for one file of the witnesses of several."""
    cells = [(named, scheme) for named in verifiers for scheme in schemes]
    if witness is not None and len(cells) > 1:
        raise InvalidInput(
            f"witness is the file of one check, not of {len(cells)}; leave it out, or take them one by one"
        )
    return cells


def _name(source: Any, settings: Settings, cell: tuple[NamedVerifier, Any]) -> str:
    """The id of the row of a verifier on a scheme, on all schemes (None), or on a scheme with cases of its own."""
    named, shape = cell
    text = "" if shape is None else shape[0] if isinstance(shape, tuple) else scheme_spec(shape)
    computed = {"arithmetic": settings.arithmetic, "engine": settings.engine, "device": settings.device}
    return row_id("check", [source, text], None, named.identity, **computed)


def _own_schemes(scheme: Any, others: Mapping[str, Any]) -> Sequence[UserScheme | None] | None:
    """The schemes of the standard check: those of the user, or all of ours ([None]); None where others are named."""
    if any(value is not None for value in others.values()):
        return None
    if scheme is None:
        return [None]
    schemes = find_schemes(scheme)
    own = [one for one in schemes if isinstance(one, UserScheme)]
    return own if len(own) == len(schemes) else None


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
