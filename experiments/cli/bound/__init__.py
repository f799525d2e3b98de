"""`draftproof.bound` and `draftproof bound`."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

from draftproof.experiments.inputs.schemes import Schemes, find_schemes
from draftproof.experiments.inputs.verifiers import Verifiers, as_verifiers
from draftproof.experiments.inputs.world_grammar import USUAL, Worlds, find_worlds
from draftproof.experiments.result import Result
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput


def bound(
    verifiers: Verifiers | None = None,
    /,
    world: Worlds = USUAL,
    scheme: Schemes | None = None,
    *,
    bias: str | float | Sequence[Any] | None = None,
    long_run: bool = False,
    K: int | str | None = None,
    L1: int | str | None = None,
    L2: int | str | None = None,
    sampling: str | None = None,
    draft_sampling: str | None = None,
    gap: float = 1e-6,
    seconds: float | None = None,
    method: Literal["auto", "levels", "columns"] = "auto",
    certificate: str | None = None,
    plot: str | None = None,
    resume: str | None = None,
    jobs: int = 1,
    dask: str | None = None,
) -> Result:
    """The best block efficiency of any lossless verifier, with a certificate; with bias, of any verifier at each bias.

    A row for each world and scheme, a mean over the roots of the world; with bias a row for each bias.

    Args:
        verifiers: With bias: lossy or lossless ones, held against the curve.
        world: p and q, as family:perturbed,s=1,vocab=4,seeds=0..9, text:topics,vocab=4, pair.json
            or models:target=PATH,draft=PATH.
        scheme: A draft scheme from `list schemes`, as topology:tree=2-1-0-0, or FILE.py:NAME.
        bias: The most tokens a block at these total variations of a block, as 0,.01,.05.
        long_run: The most tokens a block in the long run, each beginning where the last one ended (texts).
        K: Branches of the scheme, as 2 or 1..4.
        L1: Length of its trunk.
        L2: Length of its branches.
        certificate: File of what proves the bounds; several are numbered.
        resume: Store of rows, kept and reused.

    Other Parameters:
        sampling: How tokens are drawn from both, as temperature=.7,top_k=50.
        draft_sampling: How tokens are drawn from the draft, where otherwise.
        plot: Of bias: PNG of the curve and the verifiers.
        gap: Certified gap to reach.
        seconds: Stop the solver at each root after so many seconds.
        method: How the optimum is found.
        jobs: Number of processes, started where the bounds at the roots take more than a few seconds.
        dask: Address of a Dask scheduler that computes the bounds at each root, as tcp://HOST:PORT.
    """
    from draftproof.experiments.cli.bound.curve import curve_result
    from draftproof.experiments.cli.bound.long_run import long_run_result
    from draftproof.experiments.cli.bound.optimum import optimum_result
    from draftproof.experiments.cli.bound.programs import Run, programs_of
    from draftproof.experiments.grid.bounds import Goal
    from draftproof.experiments.grid.machines import Machines, refuse_objects

    if bias is None and (verifiers or plot):
        raise InvalidInput("verifiers and plot are for bias; add it, as in bias 0,.01,.05")
    not_of_long_run = {"bias": bias, "seconds": seconds, "dask": dask, "method": method}
    if long_run and (given := [name for name, value in not_of_long_run.items() if value not in (None, "auto")]):
        raise InvalidInput(f"the long run has no {given[0]}; leave it out")
    if bias is not None and method != "auto":
        raise InvalidInput("bias has one method; leave out method")
    if not gap > 0:
        raise InvalidInput(f"gap {gap:g} is not positive; take one as 1e-6")
    if seconds is not None and not seconds > 0:
        raise InvalidInput(f"seconds {seconds:g} is not positive; leave it out for no limit")
    by_text_alone = {"resume": resume is not None, "dask": dask is not None, "jobs": jobs > 1}
    refuse_objects(by_text_alone, {"verifiers": verifiers, "world": world, "scheme": scheme})
    biases = [] if bias is None else biases_of(bias)
    named = as_verifiers(verifiers) if verifiers else []
    run = Run(Machines(jobs, dask), resume, certificate, plot, [verifiers, world, scheme])
    check_files(run.inputs, {"certificate": certificate, "plot": plot, "resume": resume})
    lengths = {"K": K, "L1": L1, "L2": L2}
    if scheme is None and any(value is not None for value in lengths.values()):
        scheme = "delayed"  # and not the scheme of an instance file, which is taken where nothing is said
    worlds = find_worlds(world, sampling, draft_sampling)
    programs = programs_of(
        [(one_world, shape) for one_world in worlds for shape in find_schemes(scheme, [one_world], **lengths)]
    )
    if certificate and (
        user_defined := [program.scheme for program in programs if isinstance(program.scheme, UserScheme)]
    ):
        raise InvalidInput(
            f"a certificate holds its scheme, and {user_defined[0]} is defined elsewhere; leave out certificate"
        )
    if plot and len(programs) > 1:
        raise InvalidInput("plot shows one world and one scheme; leave out plot, or give one of each")
    if long_run:
        return long_run_result(programs, gap, run)
    if bias is None:
        return optimum_result(programs, Goal(gap, seconds, method), run)
    return curve_result(programs, biases, named, Goal(gap, seconds), run)


def biases_of(bias: Any) -> list[Fraction]:
    """Total variations from numbers, or texts with commas between them, in order; 0 is added. Raises `InvalidInput`."""
    from draftproof.lp_analysis.frontier_points import biased

    several = isinstance(bias, Sequence) and not isinstance(bias, str)
    listed = [text for given in (bias if several else [bias]) for text in _between_commas(given)]
    return sorted({Fraction(0), *map(biased, listed)})


def _between_commas(value: Any) -> list[Any]:
    return [text.strip() for text in value.split(",")] if isinstance(value, str) else [value]
