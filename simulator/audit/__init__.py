"""Audit of functions from other projects, unmodified: every random number is intercepted and enumerated.

`Audit` joins a function with its interface; `judge` gives its exact law on an instance and whether the output has the
target's law; `diagnose` names the bug.
"""

from draftproof.simulator.audit.diagnosis.catalogue import CATALOGUE, Hypothesis, diagnose, diagnose_corners
from draftproof.simulator.audit.diagnosis.evidence import Evidence
from draftproof.simulator.audit.failures import FunctionFailed
from draftproof.simulator.audit.function import assert_lossless, lossless, make_audit
from draftproof.simulator.audit.instances import default_cases
from draftproof.simulator.audit.interfaces import INTERFACES, SelfDrafted, interface_named
from draftproof.simulator.audit.judge import Audit, Finding
from draftproof.simulator.audit.ragged import Ragged
from draftproof.simulator.audit.rows import RowForm, kind_named

__all__ = [
    "CATALOGUE",
    "INTERFACES",
    "Audit",
    "Evidence",
    "Finding",
    "FunctionFailed",
    "Hypothesis",
    "Ragged",
    "RowForm",
    "SelfDrafted",
    "assert_lossless",
    "default_cases",
    "diagnose",
    "diagnose_corners",
    "interface_named",
    "kind_named",
    "lossless",
    "make_audit",
]
