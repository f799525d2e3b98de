"""The evidence about a refuted function: laws of verifiers with known bugs, and the function under other conditions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from draftproof.simulator.audit.batches import VerifyAll, batch_law
from draftproof.simulator.audit.instances import probe
from draftproof.simulator.audit.interfaces import SelfDrafted
from draftproof.simulator.audit.judge import Audit, Finding
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import Vector, Verifier

#: Another instance in place of one.
Change = Callable[[Instance], Instance]
#: A suspect's law is compared on the finding, and on at most this many other refuted and passed instances each.
OTHERS = 2


@dataclass(frozen=True)
class Suspect:
    """A verifier with a known bug. text: what the bug is, in one clause."""

    text: str
    verifier: Verifier


def law_is_that_of(words: str) -> str:
    """What is said of a law that is, number by number, that of something known."""
    return f"its law is, number by number, that of {words}"


def first_token(finding: Finding) -> Vector:
    """The law of the first token."""
    law = finding.law
    return law.correction[0][0] + law.reach[1] if law.depth else law.correction[0][0]


def _is_law(law: BlockLaw, finding: Finding) -> bool:
    pairs = zip(law.correction, finding.law.correction, strict=True)
    return all(bool((abs(ours - theirs).astype(float) <= finding.tolerance).all()) for ours, theirs in pairs)


@dataclass
class Evidence:
    """A refuted function, the finding that refutes it and all findings of its audit.

    A hypothesis must hold on a second refuted instance, too, of the audit or made for it.
    """

    audit: Audit
    finding: Finding
    findings: Sequence[Finding]
    #: What `again` judged, by its conditions and the finding.
    _again: dict[tuple[str, int], Finding | None] = field(default_factory=dict, repr=False)

    def behaves_like(self, suspect: Verifier | Callable[[Finding], Verifier], deepest: bool = False) -> bool:
        """Whether every number of its law is that of the suspect, on the finding and on all other compared instances.

        suspect: a verifier, or what gives one for the instance of a finding. deepest: whether also on the instance with
        the longest drafts.
        """
        compared = [
            *self.compared,
            *(sorted(self.findings, key=lambda finding: -finding.scheme.depth)[:1] if deepest else ()),
        ]
        return self.audit.batch == 1 and all(self._agrees(suspect, item) for item in compared)

    def batch_behaves_like(self, suspect: VerifyAll) -> bool:
        """Likewise for a batch: the laws of the requests that are worst."""
        if self.audit.batch == 1:
            return False
        return all(self._batch_agrees(suspect, item) for item in self.compared)

    def _batch_agrees(self, suspect: VerifyAll, finding: Finding) -> bool:
        requests = self.audit.expected_requests(finding.instance, finding.scheme)
        law = batch_law(suspect, requests, self.audit.arithmetic)
        return _is_law(law.rows[finding.row or 0], finding)

    @cached_property
    def compared(self) -> list[Finding]:
        """The finding, some refuted and some passed instances; the quickest first."""
        passed = [finding for finding in self.findings if finding.lossless and finding is not self.finding]
        findings = [self.finding, *self._refuted()[:OTHERS], *passed[:OTHERS]]
        return sorted(findings, key=lambda finding: finding.instance.vocab_size**finding.scheme.nodes)

    def _refuted(self) -> list[Finding]:
        """Other refuted instances; where the audit has none, a finding on one more instance."""
        others = [finding for finding in self.findings if finding is not self.finding and not finding.lossless]
        if others:
            return others
        made = self.again(self.finding, "probe", changed=partial(probe, scheme=self.finding.scheme))
        return [] if made is None else [made]

    def _agrees(self, suspect: Verifier | Callable[[Finding], Verifier], finding: Finding) -> bool:
        try:
            verifier = suspect if isinstance(suspect, Verifier) else suspect(finding)
            scheme = finding.scheme
            if isinstance(scheme, SelfDrafted) and scheme.depth:  # the function drafts: one path
                scheme = Delayed(1, 0, scheme.depth)
            expected = self.audit.expected_instance(finding.instance, finding.scheme)
            law = guarded_law(verifier, expected.target, expected.draft, scheme)
        except (DraftproofError, ZeroDivisionError, ValueError):  # the suspect is not defined here
            return False
        return _is_law(law, finding)

    def lossless_if(self, name: str, audit: Audit | None = None, changed: Change = lambda instance: instance) -> bool:
        """Whether it is lossless under other conditions, on the finding and on a second instance; see `again`."""
        checks = [self.again(finding, name, audit, changed) for finding in (self.finding, *self._refuted()[:1])]
        return all(check is not None and check.lossless for check in checks)

    def again(
        self, finding: Finding, name: str, audit: Audit | None = None, changed: Change = lambda instance: instance
    ) -> Finding | None:
        """The finding of another audit, or on a changed instance; None where the function does not take that.

        name: of these conditions, under which a finding is judged once.
        """
        key = name, id(finding)
        if key not in self._again:
            try:
                self._again[key] = (audit or self.audit).judge(changed(finding.instance), finding.scheme)
            except DraftproofError:  # an instance that the function does not take is no evidence
                self._again[key] = None
        return self._again[key]

    @property
    def draft_row(self) -> Vector | None:
        """`q` at the root in the arithmetic of the law; None for a batch."""
        if self.audit.batch > 1:
            return None
        return self.audit.expected_instance(self.finding.instance, self.finding.scheme).draft.row(())

    def given_rows(self, finding: Finding) -> Instance:
        """The instance of a finding in the arithmetic of the audit, before its rows are processed."""
        return finding.instance.converted(self.audit.arithmetic, finding.scheme.depth)
