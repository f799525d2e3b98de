"""`draftproof.prove` and `draftproof prove`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from draftproof.experiments.inputs.schemes import Schemes, find_schemes
from draftproof.experiments.inputs.verifiers import as_verifier
from draftproof.experiments.result import Result
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Verifier

#: Without a vocabulary size the balance is also checked at random points of this one: some bugs need a third token.
LARGER_VOCABULARY = 3


def prove(
    verifier: str | Verifier,
    /,
    scheme: Schemes | None = None,
    *,
    K: int | None = None,
    L1: int | None = None,
    L2: int | None = None,
    vocab: int | str | None = None,
    zeros: bool = False,
    free: str | Sequence[str] = (),
    equals: str | Verifier | None = None,
    dominates: str | Verifier | None = None,
    every_length: bool = False,
    formula: bool = False,
    certificate: str | None = None,
    resume: str | None = None,
    witness: str | None = None,
    max_trees: int = 1_000,
    jobs: int = 1,
    dask: str | None = None,
) -> Result:
    """Is VERIFIER lossless for all p and q of full support? Exit 0: proved; 1: refuted; 2: bad input; 3: open.

    Open: neither proved nor refuted, as the solver left some cells undecided or, with vocab any, as a sum over the
    drafts cannot be computed, or is not shown to be as claimed.

    Args:
        verifier: A name from `list` (ensemble:w=1/2 sets a parameter), or FILE.py:NAME.
        scheme: A draft scheme from `list schemes`, as topology:tree=2-1-0-0, or FILE.py:NAME.
        K: Branches of the scheme.
        L1: Length of its trunk.
        L2: Length of its branches.
        vocab: Vocabulary size V (2, with random points at V = 3, where none is given), or any: every size at once.
        zeros: Also for p and q with zero probabilities.
        equals: Prove that its block efficiency is that of this verifier (with vocab any: its law of verdicts).
        dominates: Prove that its block efficiency is never below that of this verifier (with vocab any: that every
            drafted prefix is kept at least as often).
        certificate: File of the certificate; `verify` checks it.

    Other Parameters:
        free: Prove it for every value of this parameter, every result of its `solver`, or all `weights`.
        every_length: With vocab any: prove what an induction needs for trees of every depth, too.
        formula: Block efficiency and acceptance on each cell.
        resume: Store of rows: a stored theorem, or step of one, is not proved again.
        witness: File of a refuting instance; where it is not given, a name made from the content.
        max_trees: Refuse shapes with more draft trees; with vocab any only for a witness.
        jobs: Number of processes, started where a proof takes more than a few seconds (with vocab any a single one).
        dask: Address of a Dask scheduler that computes the steps of a long proof, as tcp://HOST:PORT.
    """
    from draftproof.experiments.cli.prove import any_vocabulary, at_one_size
    from draftproof.experiments.cli.prove.request import Request
    from draftproof.experiments.grid.machines import Machines
    from draftproof.experiments.grid.store import Store
    from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS

    machines = Machines(jobs, dask)
    written = {"certificate": certificate, "resume": resume, "witness": witness}
    check_files([verifier, scheme, equals, dominates], written)
    if equals is not None and dominates is not None:
        raise InvalidInput("equals and dominates are theorems of their own; give one of them")
    kind, compared = (EQUALS, equals) if equals is not None else (DOMINATES, dominates)
    other = None if compared is None else as_verifier(compared)
    schemes = find_schemes(scheme, (), K, L1, L2)
    if len(schemes) > 1:
        raise InvalidInput(f"a theorem is about one scheme, not {len(schemes)}; take them one by one")
    free_names = (free,) if isinstance(free, str) else tuple(free or ())
    size = _size(vocab)
    request = Request(as_verifier(verifier), 2 if size is None else size, schemes[0], zeros, free_names, max_trees)
    others = [] if other is None else [replace(request, named=other)]
    if any(one.nameless for one in (request, *others)):
        _refuse(
            "an object of Python, which no file can name", {"certificate": certificate, "resume": resume, "dask": dask}
        )
        machines = Machines()
    if size is None:
        _refuse("vocab any", {"zeros": zeros, "free": free_names, "resume": resume, "formula": formula, "dask": dask})
        claim = kind if other else LOSSLESS
        return any_vocabulary.every_size_result(request, claim, other, every_length, certificate, witness)
    if every_length:
        raise InvalidInput("every_length goes with vocab any; leave it out, or take vocab any")
    store = Store(resume, at_one_size.KINDS)
    if other is not None:
        _refuse(kind, {"formula": formula, "free": free_names})
        related = at_one_size.relation_row(request, kind, other, certificate, machines, store)
        return at_one_size.relation_result(request, other, related, witness)
    larger = at_one_size.try_points(request, LARGER_VOCABULARY) if vocab is None and not free_names else None
    if larger is not None and not larger["holds"]:
        request = replace(request, vocab_size=LARGER_VOCABULARY)
    row = store.get(request.row_id())
    if row is None or certificate is not None or formula:
        row = at_one_size.theorem_row(request, formula, certificate, machines, store)
    return at_one_size.theorem_result(request, row, larger, witness)


def _size(vocab: int | str | None) -> int | None:
    """The vocabulary size, None for every size."""
    if vocab is None:
        return 2
    if vocab == "any":
        return None
    try:
        return int(vocab)
    except ValueError:
        raise InvalidInput(f"vocab {vocab!r} is neither a whole number nor `any`") from None


def _refuse(what: str, given: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for a parameter that means nothing for such a theorem."""
    for name, value in given.items():
        if value:
            raise InvalidInput(f"{name} is not for {what}; leave one of the two out")
