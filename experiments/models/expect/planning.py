"""Schemes whose tree is planned from how often the target takes what the draft offers: Sequoia, on the roots at hand.

The acceptance vector is measured exactly on the tables of p and q after the roots, which count alike; where tables to
the depth of the tree would be too large, on those of the most probable tokens. A tree that is given stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from draftproof.experiments.models.expect.truncated import truncated_of
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.shared.measured import planned_on
from draftproof.simulator.drafts import Sequoia
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme


def planned_scheme(scheme: DraftScheme, setting: Setting, tables: Sequence[Case] | None) -> tuple[DraftScheme, str]:
    """The scheme with its tree, and in words what was planned from what; any other scheme, and nothing to say.

    tables: after each root, at least as deep as the trees; None where they would be too large.
    Raises `InvalidInput` where nothing can be measured.
    """
    if not isinstance(scheme, Sequoia) or scheme.tree or not (scheme.nodes and scheme.depth):
        return scheme, ""
    try:
        cases, where = _measured(scheme, setting) if tables is None else (list(tables), "the tables")
        made = planned_on(scheme, [replace(case, weight=Fraction(1, len(cases))) for case in cases])
    except DraftproofError as error:
        raise InvalidInput(f"no tree can be planned for {scheme}: {error}; or give one, as in tree=2-1-0-0") from error
    return made, f"{made}: planned from acceptances on {where} of {len(cases)} roots"


def _measured(scheme: DraftScheme, setting: Setting) -> tuple[list[Case], str]:
    """Tables of the most probable tokens, and what they are."""
    cut = truncated_of(setting, scheme.depth)
    if not cut:
        raise InvalidInput("not even tables of some tokens are small enough")
    kept = cut[0].tokens[0].shape[1]
    return [Case("root", each.target, each.draft) for each in cut], f"tables of the {kept} most probable tokens"
