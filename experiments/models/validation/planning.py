"""Schemes whose tree is planned from how often the target takes what the draft offers: Sequoia, on the roots at hand.

The acceptance vector is measured exactly on the tables of p and q after the roots, which count alike; where tables to
the depth of the tree would be too large, on those of the most probable tokens. A tree that is given stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from experiments.models.validation.cells import truncated_of
from experiments.models.validation.contest import Setting
from experiments.shared.measured import planned_on
from simulator.drafts import Sequoia
from simulator.errors import InvalidInput, TooLarge
from simulator.instances.case import Case
from simulator.protocol import DraftScheme


def planned_scheme(scheme: DraftScheme, setting: Setting, tables: Sequence[Case] | None) -> tuple[DraftScheme, str]:
    """The scheme with its tree, and in words what was planned from what; any other scheme, and nothing to say.

    tables: after each root, at least as deep as the trees; None where they would be too large.
    Raises `InvalidInput` where nothing can be measured.
    """
    if not isinstance(scheme, Sequoia) or scheme.tree or not (scheme.nodes and scheme.depth):
        return scheme, ""
    measured, where = tables, f"the tables of {len(setting.roots)} roots"
    if measured is None:
        cut = truncated_of(setting, scheme.depth)
        measured = [Case("root", each.target, each.draft) for each in cut]
        where = f"tables of the {cut[0].tokens[0].shape[1]} most probable tokens after {len(cut)} roots" if cut else ""
    try:
        made = planned_on(scheme, [replace(case, weight=Fraction(1, len(measured))) for case in measured])
    except (TooLarge, ValueError) as error:
        shown = "-".join(map(str, (2, 1, 0, 0)))
        raise InvalidInput(
            f"{scheme}: no tree can be planned ({error}); give one, as in sequoia:tree={shown}"
        ) from error
    return made, f"{made}: planned from acceptances on {where}"
