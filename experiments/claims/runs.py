"""What statements are about: verifiers by name on one instance, and draft schemes made from that of a case."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from draftproof.experiments.inputs.verifiers import evaluator, find_verifier
from draftproof.simulator.drafts import Delayed, Stratified, TopK, Topology
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.numbers import exact_fraction
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.vectors import top_tokens
from draftproof.simulator.verdicts.lossless import Check, block_law

#: The file of verifiers that only claims use, as it stands in the ledger.
PLANTED = "planted.py"


@cache
def verifier(spec: str) -> Verifier:
    """The verifier of a specification; `PLANTED` is beside this module."""
    return find_verifier(spec.replace(PLANTED, str(Path(__file__).with_name(PLANTED)))).verifier


def checked(spec: str, instance: Instance, scheme: DraftScheme, engine: str = "auto") -> Check:
    """The exact check of a verifier on one instance."""
    return evaluator(verifier(spec), "rational", engine).check(instance.target, instance.draft, scheme)


def efficiency(spec: str, instance: Instance, scheme: DraftScheme) -> Fraction:
    """The exact block efficiency of a verifier."""
    value = checked(spec, instance, scheme).block_efficiency
    assert isinstance(value, Fraction)
    return value


def corrections(spec: str, instance: Instance, scheme: DraftScheme) -> list[Any]:
    """The law of the block as tables: the mass of every accepted path and correction token."""
    law = block_law(verifier(spec), instance.target, instance.draft, scheme)
    return [table.tolist() for table in law.correction]


def fractions(row: Any) -> list[Fraction]:
    """A row as `Fraction`s."""
    return [exact_fraction(value) for value in row]


def _iid(scheme: DraftScheme) -> DraftScheme:
    assert isinstance(scheme, Stratified)
    return Delayed(scheme.K, scheme.L1, scheme.L2)


def _stratified(scheme: DraftScheme) -> DraftScheme:
    assert isinstance(scheme, Stratified)
    return Stratified(scheme.K, scheme.L1, scheme.L2, scheme.order)


def _fewer(scheme: DraftScheme) -> DraftScheme:
    assert isinstance(scheme, Delayed)
    return Delayed(max(scheme.K - 1, 1), scheme.L1, scheme.L2)


#: Draft schemes made from that of the case, as the ledger names them after `on`: as many independent branches, the
#: same branches drawn apart, one branch fewer, fixed trees of as many tokens or of one, and a path of likeliest tokens.
SCHEMES: Mapping[str, Callable[[DraftScheme], DraftScheme]] = MappingProxyType(
    {
        "iid": _iid,
        "stratified": _stratified,
        "fewer": _fewer,
        "chain": lambda scheme: Topology((*(1,) * scheme.nodes, 0)),
        "star": lambda scheme: Topology((scheme.nodes, *(0,) * scheme.nodes)),
        "single": lambda scheme: Topology((1, 0)),
        "likeliest": lambda scheme: TopK(1, 0, scheme.depth),
    }
)


def _branching(instance: Instance, scheme: DraftScheme) -> bool:
    tables = [table for process in (instance.target, instance.draft) for table in process.tables]
    return _several(instance, scheme) and all((table > 0).all() for table in tables)


def _states_mix(instance: Instance, _: DraftScheme) -> bool:
    return bool((instance.target.tables[1] > 0).all())


def _several(_: Instance, scheme: DraftScheme) -> bool:
    return bool(scheme.as_dict()["K"] > 1)


def _block_gains(instance: Instance, scheme: DraftScheme) -> bool:
    return efficiency("block", instance, scheme) > efficiency("naive", instance, scheme)


def _same_for_any_branches(instance: Instance, scheme: DraftScheme) -> bool:
    levels = list(zip(instance.target.tables, instance.draft.tables[: scheme.depth], strict=False))
    return (
        not _several(instance, scheme)
        or all((p == q).all() for p, q in levels)
        or all(((q > 0).sum(axis=1) == 1).all() for _, q in levels)
        or not any(((p > 0) & (q > 0)).any() for p, q in levels)
    )


def _likeliest_agree(instance: Instance, scheme: DraftScheme) -> bool:
    levels = zip(instance.target.tables, instance.draft.tables[: scheme.depth], strict=False)
    return all(top_tokens(p, 1) == top_tokens(q, 1) for level in levels for p, q in zip(*level, strict=True))


#: Conditions on instance and scheme without which a statement does not apply, as the ledger names them: several
#: branches; several and p and q nowhere 0; any token may follow any other; block brings more than naive; K = 1, p = q,
#: rows of q with one token, or no token with mass in both rows; everywhere p and q have one likeliest token.
ONLY: Mapping[str, Callable[[Instance, DraftScheme], bool]] = MappingProxyType(
    {
        "": lambda instance, scheme: True,
        "several": _several,
        "branching": _branching,
        "states mix": _states_mix,
        "block gains": _block_gains,
        "same for any branches": _same_for_any_branches,
        "likeliest agree": _likeliest_agree,
    }
)
