"""Assertions for test suites of other projects."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from draftproof.simulator.audit import child, sent
from draftproof.simulator.audit.diagnosis.catalogue import diagnose, diagnose_corners
from draftproof.simulator.audit.diagnosis.evidence import Evidence
from draftproof.simulator.audit.followed import Audited
from draftproof.simulator.audit.instances import also_cases, default_cases
from draftproof.simulator.audit.interfaces import SelfDrafted, interface_named
from draftproof.simulator.audit.judge import TOLERANCE, Audit, Finding
from draftproof.simulator.audit.program import Program, as_program
from draftproof.simulator.audit.ragged import of_lengths
from draftproof.simulator.audit.rows import RowForm, kind_named
from draftproof.simulator.audit.said import said
from draftproof.simulator.audit.verdict import MOST_CALLS, Record, Request, run_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import Fails, InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.protocol import DraftScheme, TokenProcess, Verifier
from draftproof.simulator.verdicts.lossless import check
from draftproof.simulator.verdicts.standard import judge_of, standard_check

#: The attribute of a verifier that `lossless` decorated: its options.
DECORATED = "_draftproof_lossless"


def make_audit(
    function: Callable[..., Any],
    interface: str = "tree",
    library: str | None = None,
    arithmetic: str = "float64",
    logits: bool = False,
    batch: int = 1,
    keywords: Mapping[str, Any] | None = None,
    processing: str | Sampling = "",
    name: str | None = None,
    typed: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    tolerance: float = TOLERANCE,
    logprobs: bool = False,
) -> Audit:
    """The audit of a function; raises `InvalidInput` for settings that do not exist.

    interface: a name of `INTERFACES`, such as "tree" or "vllm". library: of the rows, "python", "numpy" or
    "torch" (default: that of the interface). arithmetic: "float64", "float32", or "rational" for rows of `Fraction`.
    keywords: further arguments of the function. processing: what it does to the rows itself, such as
    "temperature=.7,top_p=.9". typed, notes, logprobs: see `Audited`. tolerance: the largest bias that is lossless.
    """
    chosen = interface_named(interface)
    if isinstance(function, Program):
        chosen = as_program(chosen)
    rows = RowForm(library or chosen.library, kind_named(arithmetic), logits)
    if rows.library == "torch":  # imported before the first call, which it follows
        torch_module("rows in torch")
    label = str(name or getattr(function, "__name__", type(function).__name__))
    sampling = Sampling.parse(processing, "processing") if isinstance(processing, str) else processing
    if logprobs and not sampling.is_identity:
        raise InvalidInput(
            "log-probabilities are compared with the rows that are handed over; leave out the processing"
        )
    followed = Audited(
        function, chosen, rows, label, dict(keywords or {}), batch > 1, typed=typed or {}, notes=tuple(notes)
    )
    followed = replace(followed, logprobs=logprobs)
    return Audit(followed, sampling, batch, tolerance)


def judged(data: bytes) -> str | None:
    """The `refutation` of what `sent.packed` has packed."""
    arguments, options = sent.unpacked(data)
    return refutation(*arguments, **options)


def refutation(
    function: Callable[..., Any],
    target: TokenProcess | None = None,
    draft: TokenProcess | None = None,
    scheme: DraftScheme | None = None,
    cases: Sequence[str] | None = None,
    boundary: bool = False,
    max_runs: int = MOST_CALLS,
    tolerance: float = TOLERANCE,
    also: Sequence[str] = (),
    lengths: Sequence[int] = (),
    **options: Any,
) -> str | None:
    """Why a function, loaded under recording functions, is not lossless; None where it is. options: see `make_audit`.

    cases: names of default instances, None for all. tolerance: the largest bias, a total variation, that is lossless.
    boundary, max_runs: as in `draftproof.simulator.audit.verdict.Request`. also: "masked" adds an instance with tokens
    of probability zero, "reproducible" and "logprobs" ask these questions, too. lengths: of independent paths, in a
    batch of the path of each request.
    """
    audit = make_audit(function, tolerance=tolerance, logprobs="logprobs" in also, **options)
    if lengths:
        scheme = of_lengths(lengths, audit.audited.interface.multi_path, audit.batch)
    chosen = _cases(audit, target, draft, scheme, cases)
    chosen += also_cases(audit.audited.interface, scheme, also, chosen, audit.batch > 1)
    request = Request(audit.name, audit, chosen, boundary, max_runs, reproducible="reproducible" in also)
    record = run_audit(Record(request))
    return None if record.verdict.lossless else _message(record)


def _cases(
    audit: Audit,
    target: TokenProcess | None,
    draft: TokenProcess | None,
    scheme: DraftScheme | None,
    names: Sequence[str] | None,
) -> list[Case]:
    interface = audit.audited.interface
    if target is None and draft is None:
        made = default_cases(interface, scheme, names, audit.batch > 1, audit.audited.sorts)
        return made if names else audit.legal(made)
    if target is None or draft is None or names is not None:
        raise InvalidInput("give both target and draft, or neither and the names of cases")
    shape = scheme or (SelfDrafted(2) if interface.drafts else Delayed(2 if interface.multi_path else 1, 0, 2))
    return [Case("given", target, draft, title="the given instance", draft_scheme=shape)]


def _message(record: Record) -> str:
    audit, refuted = record.request.audit, record.verdict.refuted
    record.hypotheses = diagnose_corners(record.corners)
    if refuted is not None:
        record.hypotheses = diagnose(Evidence(audit, refuted, record.findings)) + record.hypotheses
    shown = [] if refuted is None else _witness(audit, refuted)
    return "\n".join([*said(record), *shown, *_defined(audit.audited.function), *audit.audited.log.constants])


def _witness(audit: Audit, refuted: Finding) -> list[str]:
    """The exact rows where the balance fails first; [] where only the requests of a batch depend on each other."""
    if refuted.first is None:
        return []
    context, instance, scheme = refuted.first.context, refuted.instance, refuted.scheme
    if refuted.row is not None:
        instance, scheme = audit.requests(instance, scheme)[refuted.row]
    rows = {"p": instance.target.row(context)}
    rows |= {"q": instance.draft.row(context)} if len(context) < scheme.depth else {}
    shown = [f"{name} = ({', '.join(map(str, row.tolist()))})" for name, row in rows.items()]
    return [f"witness: after {context}, {', '.join(shown)}"]


def _defined(function: Any) -> list[str]:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code.co_filename.startswith("<"):  # of no file
        return []
    return [f"defined at {Path(code.co_filename).name}:{code.co_firstlineno}"]


def assert_lossless(
    verifier: Verifier | Callable[..., Any],
    target: TokenProcess | None = None,
    draft: TokenProcess | None = None,
    scheme: DraftScheme | None = None,
    arithmetic: str | None = None,
    engine: str = "auto",
    **options: Any,
) -> None:
    """Raise `AssertionError` with the witness unless a verifier, or any function that is one, is found lossless.

    verifier: judged by `check` on the instance (rational unless `arithmetic` says otherwise). Without an instance it is
    judged by the standard check, on `scheme` alone if that is given. A plain function is audited: options such as
    `interface="chain"` say how it is called, see `refutation`, and without target and draft it is judged on the default
    instances. That is done in a process of its own, which judges what the file of the function says now.
    Raises `InvalidInput` for half an instance or an option that does not exist, `InvalidVerifier` and `TooLarge` where
    a function cannot be judged, and what `check` and `standard_check` raise.
    """
    if not isinstance(verifier, Verifier):
        if arithmetic is not None:
            options["arithmetic"] = arithmetic
        known = {**inspect.signature(refutation).parameters, **inspect.signature(make_audit).parameters}
        for name in sorted(options.keys() - known.keys()):
            raise InvalidInput(
                f"assert_lossless has no option {name}; arguments of the function: keywords={{{name!r}: ..}}"
            )
        if child.judging:
            return
        refuted = child.result_of(f"{__name__}:judged", *sent.packed(verifier, target, draft, scheme, **options))
        if refuted is not None:
            raise AssertionError(refuted)
        return
    numbers, whole = arithmetic or "rational", target is None and draft is None
    if options or (not whole and (target is None or draft is None or scheme is None)):
        wrong = f"it takes no {next(iter(options))}" if options else "give target, draft and scheme, or no instance"
        raise InvalidInput(f"{verifier.card.name} is a verifier: {wrong}")
    try:
        if target is None or draft is None or scheme is None:
            failed = standard_check(verifier, judge_of(verifier, numbers), scheme=scheme).failed
            checked = None if failed is None else failed[1]
        else:
            checked = check(verifier, target, draft, scheme, numbers, engine)
    except Fails as error:
        raise AssertionError(f"{verifier.card.name} fails: {error}") from error
    if checked is not None:
        checked.assert_lossless()


def lossless(**options: Any) -> Callable[[Any], Any]:
    """A decorator that makes a verifier a test of the pytest plugin and leaves it otherwise as it is.

    options: as for `assert_lossless`. The verifier: a function, or an object that can be called and has attributes.
    """

    def decorated(verifier: Any) -> Any:
        setattr(verifier, DECORATED, options)
        return verifier

    return decorated
