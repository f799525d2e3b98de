"""The long run of the source whose rows are those of the instance after each last token."""

from fractions import Fraction

from draftproof.experiments.claims.runs import verifier
from draftproof.lp_analysis import long_run
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Evaluator


def tokens(instance: Instance, scheme: DraftScheme, spec: str) -> Fraction | float:
    """The mean tokens a block of a verifier, each block where the last one ended."""
    assert isinstance(scheme, Delayed)
    return Evaluator(verifier(spec)).steady_state(*_source(instance), scheme).efficiency


def at_most(instance: Instance, scheme: DraftScheme, _: str) -> Fraction:
    """What no lossless verifier exceeds."""
    return long_run(*_source(instance), scheme).upper


def _source(instance: Instance) -> tuple[MarkovProcess, MarkovProcess]:
    return MarkovProcess(instance.target.tables[1], (0,)), MarkovProcess(instance.draft.tables[1], (0,))
