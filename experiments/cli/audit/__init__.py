"""`draftproof.audit` and `draftproof audit`."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature, unwrap
from pathlib import Path
from typing import Any, Literal, ParamSpec

from draftproof.experiments.inputs.schemes import Schemes
from draftproof.experiments.inputs.world_grammar import Worlds
from draftproof.experiments.result import Interrupted, Result
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import INTERRUPTED
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

P = ParamSpec("P")


def _in_a_process_of_its_own(verb: Callable[P, Result]) -> Callable[P, Result]:
    """In Python an audit runs in the process that judges functions; the command has one of its own already."""

    @wraps(verb)
    def run(*arguments: P.args, **options: P.kwargs) -> Result:
        from draftproof.simulator.audit import child, sent

        given = signature(verb).bind(*arguments, **options)  # raises the error of a wrong option
        if child.judging:  # while code of the user is imported there
            return Result("an audit within an audit, which is not carried out")
        function, *rest = given.args or (None,)
        made: Result = child.result_of(f"{__name__}:_audited", *sent.packed(function, *rest, **given.kwargs))
        return made

    return run


def _audited(data: bytes) -> Result:
    """The result of an audit whose arguments `sent.packed` has packed."""
    from draftproof.simulator.audit import sent

    arguments, options = sent.unpacked(data)
    made: Result = unwrap(audit)(*arguments, **options)
    return made


@_in_a_process_of_its_own
def audit(
    function: str | Callable[..., Any] | None = None,
    /,
    world: Worlds | None = None,
    scheme: Schemes | None = None,
    *,
    K: int | None = None,
    L1: int | None = None,
    L2: int | None = None,
    lengths: str | Sequence[int] | None = None,
    cases: str | Sequence[str] | None = None,
    also: str | Sequence[str] | None = None,
    interface: str = "tree",
    library: Literal["python", "numpy", "torch"] | None = None,
    logits: bool = False,
    argument: str | Sequence[str] | Mapping[str, Any] | None = None,
    batch: int = 1,
    processing: str | None = None,
    boundary: bool = False,
    tolerance: float = 1e-6,
    sample: int | None = None,
    sampling: str | None = None,
    draft_sampling: str | None = None,
    told: Any = None,
    arithmetic: Literal["float64", "float32", "rational"] = "float64",
    max_runs: int = 2_000_000,
    shrink_seconds: float = 60,
    level: float = 1e-6,
    seed: int = 0,
    gallery: str | None = None,
    witness: str | None = None,
    resume: str | None = None,
    program: str | None = None,
    numbers: str | Sequence[str] | None = None,
    answer_seconds: float = 30,
) -> Result:
    """Is FUNCTION, somebody else's verifier, lossless? Exit 0: on every instance; 1: refuted; 2: not judged.

    With sample a refusal is followed by a test on real random numbers. Exit 1: refuted, or some calls fail; 2: no bias
    found, no proof.

    Args:
        function: FILE.py:FUNCTION, or an installed MODULE:FUNCTION.
        world: p and q, as family:dirichlet,seeds=0..9 or pair.json, in place of default instances.
        scheme: A draft scheme from `list schemes`, as topology:tree=2-1-0-0, or FILE.py:NAME.
        K: Branches of the scheme.
        L1: Length of its trunk.
        L2: Length of its branches.
        interface: How it is called: tree, chain, paths, posterior, coins, step, loop, transformers, vllm, vllm-v2,
            sglang, sglang-chain, eagle or tensorrt-llm.
        argument: Another argument, NAME=VALUE, or what the code reads, self.NAME=VALUE, global.NAME=VALUE.
        batch: Requests in one call.
        tolerance: The largest bias that passes: a total variation; 1e-2 for an engine of 16 bits.
        sample: Calls at most, where no answer is exact.
        program: A command that is asked in place of FUNCTION.

    Other Parameters:
        library: Rows as lists of Python, of numpy or of torch (where it is not given, as the interface has them).
        lengths: Paths of these lengths: 2,1; in a batch one for each request.
        cases: Only these default instances: context,zeros,..
        also: To add: masked (an instance with tokens of probability zero, as logits -inf), reproducible (do tokens of
            a request depend on its neighbours in a batch?), logprobs (are those beside the tokens the target's?).
        logits: Pass rows as natural logarithms.
        processing: How the function itself processes rows, as temperature=.7,top_k=50.
        boundary: Also try random numbers at the ends of their range.
        sampling: How tokens are drawn from both, as temperature=.7,top_k=50.
        draft_sampling: How tokens are drawn from the draft, where otherwise.
        told: The q that the function is told: sampled, draft, target, or a sampling; in Python also a third process.
        arithmetic: Rows in float64, float32 or rational.
        max_runs: Refuse to make more calls.
        shrink_seconds: Seconds of the search for the smallest witness of a refutation; 0 keeps the refuted instance.
        level: Of sample: the largest probability that a lossless function is refuted.
        seed: Of the random numbers of sample.
        gallery: Audit a public project again from its checkout, or all in a folder of checkouts: FUNCTION is then an
            entry of `list gallery`, or nothing for all. Exit 1: not as recorded.
        witness: File of a witness; where it is not given, a name made from the content.
        resume: Store of the counts of sample, from which the same command goes on if it was killed.
        numbers: Random numbers that the program takes, as uniforms,final_uniform; without them it draws its own.
        answer_seconds: Seconds in which the program must answer.
    """
    given = dict(locals())
    if gallery is not None:
        from draftproof.experiments.gallery.measuring import measure

        _refuse_beside_gallery(given)
        return measure(None if function is None else str(function), Path(gallery))
    if not 0 < level < 1:
        raise InvalidInput(f"level {level}: give the largest probability of a false alarm, such as 1e-6")
    if sample is not None and sample < 1:
        raise InvalidInput(f"sample {sample}: give the number of calls, at least 1")
    if resume is not None and sample is None:
        raise InvalidInput("resume keeps the counts of samples; give sample, too (an exact audit starts anew)")
    if seed < 0:
        raise InvalidInput(f"seed {seed}: give a whole number from 0 on")
    if not shrink_seconds >= 0:
        raise InvalidInput(f"shrink_seconds {shrink_seconds:g}: give a time, or 0 to keep the refuted instance")
    from draftproof.experiments.cli.audit import plan, sampled, views
    from draftproof.experiments.cli.audit.work import Report, carry_out
    from draftproof.experiments.grid.store import Store
    from draftproof.simulator.audit.verdict import NOT_JUDGED, Request

    check_files([function, world], {"witness": witness, "resume": resume})
    chain = Sampling.parse(processing or "", "processing")
    chain.assert_row_wise()
    options: dict[str, Any] = {"interface": interface, "library": library, "logits": logits, "batch": batch}
    options |= {"logprobs": "logprobs" in plan.listed(also)}
    options |= {"arithmetic": arithmetic, "processing": chain.text, "tolerance": tolerance}
    with plan.loaded(function, program, numbers, answer_seconds, argument or [], **options) as audited:
        wanted = {name: given[name] for name in signature(plan.Instances).parameters}
        instances = plan.Instances(**wanted)
        spec = audited.name if program is None and not isinstance(function, str) else str(function or program)
        chosen, reproducible = instances.chosen(audited), "reproducible" in plan.listed(also)
        request = Request(spec, audited, chosen, boundary, max_runs, instances.samplings, reproducible)
        report, is_object = Report(request), spec == audited.name
        try:
            carry_out(report, shrink_seconds)
        except KeyboardInterrupt:
            raise Interrupted(views.audit_result(report, witness, is_object)) from None
        except NOT_JUDGED as error:
            if sample is None:
                raise
            result = sampled.sampled_result(sampled.sample(request, str(error), sample, level, seed, Store(resume)))
            if result.verdict == INTERRUPTED:
                raise Interrupted(result) from None
            return result
        return views.audit_result(report, witness, is_object)


def _refuse_beside_gallery(given: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for a parameter that is given beside a checkout of the gallery."""
    for name, parameter in signature(audit).parameters.items():
        if name not in ("function", "gallery") and given[name] not in (parameter.default, []):
            raise InvalidInput(f"gallery audits an entry as it was recorded; leave out {name}")
