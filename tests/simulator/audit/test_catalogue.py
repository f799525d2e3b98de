"""The catalogue: every bug has a program of `tests/data/audited` that shows it, and a hypothesis holds twice."""

import re
import tomllib
from pathlib import Path

import numpy as np

from draftproof.simulator.audit import CATALOGUE, Evidence, default_cases, diagnose, make_audit

AUDITED = Path(__file__).parents[2] / "data" / "audited"
TABLE = tomllib.loads((AUDITED / "programs.toml").read_text())


def test_every_row_names_a_function_of_its_file():
    for file, rows in TABLE.items():
        source = (AUDITED / f"{file}.py").read_text()
        for name in (row["name"].partition(".")[0] for row in rows):
            assert re.search(rf"^(def |class |(\w+, )*){name}\b", source, re.MULTILINE), f"{file}.py has no {name}"


def test_every_entry_has_a_program():
    given = [row.get("bug", "") for rows in TABLE.values() for row in rows]
    named = {name for one in given for name in (one if isinstance(one, list) else [one])} - {""}
    elsewhere = {"told q", "first token exact"}  # in `test_told`; beside others
    assert named | elsewhere == {entry.name for entry in CATALOGUE}


def test_a_counterfactual_must_hold_on_a_second_refuted_instance():
    """A function that reuses a coin, and corrects from p beside that: fresh coins mend it on one instance only."""

    def wrong(draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
        for i, token in enumerate(draft_token_ids):
            if uniforms[i] >= target_probs[i, token] / draft_probs[i, token]:
                rest = np.maximum(target_probs[i] - draft_probs[i], 0)
                row = target_probs[i] if len(rest) == 2 else rest
                edges = np.cumsum(row) / row.sum()
                return [[*draft_token_ids[:i], np.searchsorted(edges, uniforms[i], side="right")]]
        edges = np.cumsum(bonus_probs[0])
        return [[*draft_token_ids, np.searchsorted(edges, final_uniforms[0], side="right")]]

    audit = make_audit(wrong, "coins")
    three, two = (
        audit.judge(case.instance, case.scheme)
        for case in default_cases(audit.audited.interface, None, ["three_tokens", "context"])
    )
    assert (three.lossless, two.lossless) == (False, False)
    alone, together = (
        {hypothesis.name for hypothesis in diagnose(Evidence(audit, three, findings))}
        for findings in ([three], [three, two])
    )
    assert "coin reuse" in alone - together
