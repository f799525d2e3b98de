"""Checks of the certificates of `prove`, without a search.

A certificate is data and executes nothing: verifiers of the registry and draft schemes of this package are found by the
names in it, code of a file only where the command names that file.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from draftproof.experiments.cli.prove import any_vocabulary, at_one_size
from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.cli.verify.check_certificate import Checker
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier, from_file
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.any_vocabulary.certificate import FORMAT as ANY_VOCABULARY
from draftproof.simulator.theorems.proof.certificate import FORMAT as AT_ONE_SIZE
from draftproof.simulator.theorems.proof.certificate import checked
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS
from draftproof.simulator.theorems.proof.theorem import Proof, fields_of


def check_at_one_size(fields: dict[str, Any], code: Sequence[str], max_trees: int) -> dict[str, Any]:
    """Whether a verifier is lossless as stated, or related to another one, as fields for JSON and notes.

    code: `FILE.py:NAME` of the command.
    """
    request, kind = _request(fields, code, max_trees), fields.get("kind")
    if kind not in (LOSSLESS, EQUALS, DOMINATES):
        raise InvalidInput(f"its kind is {cut(repr(kind))}, not {LOSSLESS}, {EQUALS} or {DOMINATES}")
    named = [request.named] if kind == LOSSLESS else [request.named, _verifier(fields, "other", code)]
    subjects, (shape, *_) = zip(*(replace(request, named=one).subject_and_shape() for one in named), strict=True)
    request.trees(shape)
    with named_errors(f" {kind} ".join(one.label for one in named)):
        check = checked(fields, kind, subjects, shape)
    judged = check.theorem
    if isinstance(judged, Proof):
        label = request.named.verifier.card.name if request.free else request.named.label
        claim = f"{label}: LOSSLESS {at_one_size.about_text(shape, len(subjects[0].parameters))}"
        counts = fields_of(judged)
        said = f"{counts['runs']} runs at its points, {counts['solver_questions']} queries of the solver, "
        said += f"{judged.identities} identities"
    else:
        claim = f"{named[0].label} {at_one_size.RELATION[kind]} {named[1].label} {at_one_size.about_text(shape, 0)}"
        counts = {"cells": judged.cells, "certified": judged.certified, "solved": judged.solved}
        said = f"{judged.cells} cells, {judged.certified} by multiplication only, {judged.solved} by the solver"
    return {"valid": check.valid, "reason": check.reason, **counts, "notes": [claim, check.reason, said]}


def check_any_vocabulary(fields: dict[str, Any], code: Sequence[str], max_trees: int) -> dict[str, Any]:
    """Whether a theorem for every vocabulary size holds: its sums add up, and are those that the code computes."""
    checker = Checker()
    try:
        checker.check(fields)
    except Exception as error:  # whatever a file that is none leads to
        return {"valid": False, "reason": f"its sums do not add up: {cut(repr(error))}"}
    kind = fields["kind"]
    request = _request({**fields, "vocab_size": 2, "zeros": False, "free": []}, code, max_trees)
    other = None if kind == LOSSLESS else _verifier(fields, "other", code)
    proof = any_vocabulary.run(request, kind, other, records=True)
    valid = proof.proved and any_vocabulary.certificate_for(proof) == fields
    reason = "every sum is what the code computes" if valid else "its sums are not what the code computes"
    counts = [f"{count:,} {what}" for what, count in checker.counts.items()]
    claim = f"{request.named.label}: {proof.claim}"
    return {"valid": valid, "reason": reason, "notes": [claim, reason, *counts]}


#: The check of each format.
KINDS: dict[str, Callable[[dict[str, Any], Sequence[str], int], dict[str, Any]]] = {
    AT_ONE_SIZE: check_at_one_size,
    ANY_VOCABULARY: check_any_vocabulary,
}


def code_of(fields: dict[str, Any]) -> list[Any]:
    """The code of files that a theorem is about, as `FILE.py:NAME`."""
    stated = [(fields.get(about), key) for about, key in (("verifier", "spec"), ("other", "spec"), ("scheme", "file"))]
    return [part.get(key) for part, key in stated if isinstance(part, dict)]


def _request(fields: dict[str, Any], code: Sequence[str], max_trees: int) -> Request:
    """The theorem that a certificate is about; raises `InvalidInput` for what is none."""
    size, zeros, free = (fields.get(key) for key in ("vocab_size", "zeros", "free"))
    if type(size) is not int or type(zeros) is not bool or not isinstance(free, list):
        raise InvalidInput("its vocab_size must be a whole number, its zeros true or false, and its free a list")
    names = tuple(map(str, free))
    return Request(_verifier(fields, "verifier", code), size, _scheme(fields, code), zeros, names, max_trees)


def _verifier(fields: dict[str, Any], key: str, code: Sequence[str]) -> NamedVerifier:
    stated = fields.get(key)
    if not isinstance(stated, dict):
        raise InvalidInput(f"its {key} is {cut(repr(stated))}, not a name with parameters")
    if "file" in stated:
        spec = _named(str(stated.get("spec")), code)
    else:
        parameters = ",".join(f"{name}={value}" for name, value in stated.items() if name != "name")
        spec = f"{stated.get('name')}:{parameters}".removesuffix(":")
        if from_file(spec):
            raise InvalidInput(f"its {key} is {cut(repr(stated))}, which is no name of the registry")
    named = find_verifier(spec)
    if named.identity != stated:
        raise InvalidInput(f"it is about {key} {cut(repr(stated))}, and {spec} is now {cut(repr(named.identity))}")
    return named


def _scheme(fields: dict[str, Any], code: Sequence[str]) -> DraftScheme:
    stated = fields.get("scheme")
    if not isinstance(stated, dict) or "file" not in stated:
        return scheme_from_dict(stated)
    spec = _named(str(stated["file"]), code)
    scheme = find_scheme(spec)
    if scheme.as_dict() != stated:
        raise InvalidInput(f"it is about scheme {cut(repr(stated))}, and {spec} is now {cut(repr(scheme.as_dict()))}")
    return scheme


def _named(spec: str, code: Sequence[str]) -> str:
    """This code of a file, if the command names it."""
    if spec not in code:
        raise InvalidInput(f"it is about code that the command has to name; add {cut(spec)} to it")
    return spec
