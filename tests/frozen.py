"""Records what must not change while the source is redrawn, and compares two recordings.

    python tests/frozen.py record FOLDER [PART ..]       one file a part; those of them that are there are kept
    python tests/frozen.py compare BEFORE AFTER          folders, or zip files; exit 1 and every number that differs

Beside it `frozen.zip` has what commit 141b940c gave, before anything was deleted. `GONE` has what was changed since
then on purpose, `readings.py` the names of commands and fields that are others now. Words are not compared, but for
verdicts, evidence and formulas.

Parts: `commands`, what `same_rows.py` keeps; `claims`, the verdict on every claim of the ledger; `theorems`, verdicts
and cases, of those that take less than five seconds proved again, of the others as the page has them; `gallery`, the
entries of published code whose checkouts are in the folder that CHECKOUTS names; `readme`, the results of the README's
commands and doctests; `audits` and `campaigns`, the verdict on every function that a test audits, and the bugs that are
named, on rows of multiples of 1/16 as at that commit: tests that count on others fail, which does not matter.

Runs the checkout that holds this file, with the Python that runs it, and about 20 minutes of processor time.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402

from tests import readings, same_rows  # noqa: E402

#: Theorems of the page that took longer are not proved again.
SECONDS = 5
#: Columns of the page of theorems that are compared.
SHOWN = ("verdict", "cells of verdicts", "cells", "cases", "CPU s")
#: What was changed on purpose: a pattern of what `compare` prints, and the reason.
GONE = {
    r"^readme / doctests / (.*must have mass|: Fraction)": "the README has no such doctest",
    r"^claims / branching-": "claims about our own engine were deleted",
    r"^claims / (throughput|gbv-times|gbv-above|dyspec-)": "speed-ups that need the papers' machines were deleted",
    r"^claims / (dcut|dspark)-": "requests that share a pass were deleted",
    r"^claims / gbv-gain-30-percent / (evidence|instances)": "shown on targets of one path alone",
    r"^claims / kseq-acceptance-falls / evidence": "the same two numbers in another order",
    r"^claims / (independent-drafts-optimal|systematic-at-least-iid) / evidence": "the same optima as exact E[tau+1]",
    r"^claims / (optimum-intractable|only-nss-on-fixed-trees) / evidence": "the evidence names fewer of the numbers",
    r"^claims / (places-of-a-block|eagle3-acc|griffin-al)\S* / evidence": "without the numbers of a deleted study",
    r"^theorems / page: layer_transport.*solver free . every": "layer_transport with branches is proved at V = 2 or 3",
    r"^commands / bound.*: optimum: ": "it is `lower`, which every row has",
    r"^(commands|readme) / compare.*: bounds\.": "the optimum stands in the rows; `bound` has its roots",
    r"^(commands|readme) / (compare|depths).*(rounding_decides|control|assumed): False": "said only where it is so",
    r"^(commands|readme) / (compare|depths).*depth_distribution_exact": "the distribution by depth is exact itself",
    r"^commands / (compare|sweep|report).*: (table|rows)\.csv\..* before, nothing": "rows of the file name schemes",
    r"^commands / audit a tree / .*ragged\(lengths=\[2, 1\]\): cases\.lossless": "the scheme is written ragged(2,1)",
    r"^commands / prove .*: proof\.json\.(law\.tree|identities): ": "certificates hold no law; their check computes it",
    r"^commands / report / (rows|exact|worlds|schemes|delay\.budget): ": "the notes say them",
    r"^commands / report / .*: deciles: ": "the page has no deciles",
    r"^commands / report / .*: (share|worst): ": "`below` and `at_worst`, 1 minus it",
    r"^commands / report / .*: by_scheme\.": "`schemes` has a column for each verifier",
    r"^commands / report / order\.verdict: ": "`impossible` is a field",
    r"/ report / agreement\.": "orders of means, which stand in `matched`",
    r"/ report / order\.": "the claims `order-..` test the same sentences exactly",
    r"^commands / sweep / (rows|missing|kept|exported): ": "how much a run computes is said on stderr",
    r"train-selector / specinfer: (widths|outputs): ": "the weights of the file have these shapes",
    r" / prove.*: processes: ": "a result does not say how many processes there were",
    r"^commands / prove wrong / .*: 0 before, nothing": "a refutation has no counts of a proof",
    r"^commands / policies / ": "the command `policies` and its learners were deleted",
    r"compare policies / .*(steady_state|tokens_per_time|speedup|best: )": "policies are valued at roots alone",
    r"validate / .*bits_per_character": "`model train` prints them",
    r"^commands / .* instance\.(target|draft): ": "without rows after the last drafted token that are alike",
    r"^commands / validate / .*predicted_interval": "a cell has the standard error of its prediction",
    r"validate / .*(measured|: z|largest_z|statistic|probability): ": "the loop draws in another order: other blocks",
    r"train-selector / specinfer: hyperparameters.(weight_decay|batch|most_epochs|projected|hidden)": "are fixed",
    r"train-selector / specinfer . (tree|linear|boosting)": "other learners than the network were deleted",
    r"validate / .*(power|law)\.": "the law test of `validate` and the power of tests were deleted",
    r"choose / .*most_block_efficiency": "upper bounds of candidates were deleted",
    r"gallery / (masks|mask-|q-|corrected-)": "planted bugs are test data, not in the gallery",
    r"distill-spec-block: .*(lossless|refuted)": "a bias of at most 1e-6 is lossless: here 3.3e-11",
    r" / (check|matrix).*rounding_decides: False": "said only where rounding decides",
    r" / check.*(seed 0|witness.json|world.json): roots\.": "one root alone: the row has its numbers",
    r"matrix / .*declared": "a row says only where the card is wrong",
    r"matrix / exit: 0 before, 1 after": "`check` exits with 1 where a verifier is refuted",
    r"precision / .*status: measured": "a row in low precision has no other status",
    r"commands / audit .*(tolerance|instances): ": "one more default instance, and one tolerance, 1e-6",
    r"commands / audit .*(deviation|variation|imbalance|cases\.(?!lossless))": "rows are multiples of 1/997",
    r"gallery / .*(transformers-assisted|vllm-ascend-block): deviation": "rows are multiples of 1/997",
    r"^audits / .*a_rejection_loop_is_named": "a loop that may go on for ever is refused",
    r"^(audits|campaigns) / .*numpy-float16": "the test gives the tolerance of 16 bits",
    r"^audits / .*test_a_law_that_depends_on_what_was_left_in_memory": "refuted as a failure, not by a number",
    r"^(audits|campaigns) / .* before, nothing after": "no test of that name audits it",
}
#: Tests that audit functions.
AUDITING = "tests/simulator/audit"
CAMPAIGN = f"{AUDITING}/test_campaign.py"


def printed(*arguments: str) -> Any:
    """The JSON of a command, and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "printed.json"
        ran = same_rows.run(arguments, folder, str(path))
        return {"exit": ran.returncode, "json": json.loads(path.read_text(encoding="utf-8")) if path.exists() else None}


def claims() -> dict[str, Any]:
    """By claim: its status, evidence and whether it is as expected."""
    found = printed("claims", "--jobs", "1")["json"]
    rows = next(found[name] for name in readings.TABLES if name in found)
    fields = ("status", "evidence", "instances", "as_expected")
    return {row["id"]: {name: row[name] for name in fields} for row in rows}


def theorems() -> dict[str, Any]:
    """By theorem: verdict, and cells of p and q or cases."""
    from draftproof.experiments.pages import theorems as page

    text = page.PAGE.read_text(encoding="utf-8")
    found = {f"page: {key}": row for key, row in table_rows(text).items()}
    for claim in page.claims():
        about = {name: str(value) for name, value in page.about(claim).items()}
        key = key_of(about, ("free", "zeros") if about["table"] == "lossless" else ())
        row = found.get(f"page: {key}")
        if row is not None and row["verdict"] != page.WAITING and float(row["CPU s"]) < SECONDS:
            made = page.row_of(claim)
            cells = [made[name] or 0 for name in ("verdict_cells", "cells", "cases") if name in made]
            found[f"proved: {key}"] = [made["verdict"].removesuffix(", same law"), *cells]
    return found


def table_rows(text: str) -> dict[str, dict[str, str]]:
    """Rows of the page's tables, by what names each."""
    rows, headings = {}, list[str]()
    for line in re.sub(r"(?<=\d),(?=\d{3} )", "", text).splitlines():
        cells = [cell.strip(" `").replace("\\", "") for cell in line.strip("|").split("|")]
        if "verdict" in cells:
            headings = cells
        elif line.startswith("| ") and headings:
            row = dict(zip(headings, cells, strict=True))
            if "by z3" in row and row["found"]:
                row |= {"verdict": f"{row['verdict']}, {row['found']}", "cells": "0"}
            named = [name for name in ("free", "zeros") if name in row]
            rows[key_of(row, named)] = {key: row[key] for key in SHOWN if key in row}
    return rows


def key_of(row: Mapping[str, str], named: Sequence[str]) -> str:
    """What names a row: its first cells and those of `named`; one without V is about every size."""
    size = row.get("V", "any").replace("any", "every")
    return " | ".join([row["theorem"], size, row["scheme"], *(row[name] for name in named)])


def gallery() -> dict[str, Any]:
    """By entry: the verdict, where the law first deviates, and the bug that is named."""
    from draftproof.experiments.gallery.entries import ENTRIES

    found = {}
    for entry in ENTRIES:
        folder = Path(os.environ.get("CHECKOUTS", "")) / entry.folder
        if not entry.is_installed and not (os.environ.get("CHECKOUTS") and folder.exists()):
            found[entry.name] = "no checkout"
            continue
        result = printed("audit", entry.name, "--gallery", str(ROOT if entry.is_installed else folder))
        found[entry.name] = same_rows.kept(result, str(ROOT))
    return found


def readme() -> dict[str, Any]:
    """Results of the README's commands that print numbers, and of its doctests."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: dict[str, Any] = {"doctests": re.findall(r"^(?:Fraction|after context).*$", text, re.MULTILINE)}
    compared = "compare layer_transport traversal --text topics --vocab 4 --K 2 --L1 0 --L2 2"
    for command in (
        "check traversal --K 3 --L2 1",
        compared,
        f"{compared} --scheme stratified",
    ):  # as they were written
        today = command.replace("--text topics --vocab 4", "--world text:topics,vocab=4")
        found[command] = same_rows.kept(printed(*today.split()), str(ROOT))
    return found


class Recorder:
    """A plugin of pytest that notes what audits find, by function, options, scheme and instance."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def pytest_collection(self) -> None:
        from draftproof.simulator import audit as face
        from draftproof.simulator.audit import instances, judge
        from draftproof.simulator.audit.diagnosis import catalogue

        judged, diagnosed = judge.Audit.judge, catalogue.diagnose

        def noted(audit: Any, instance: Any, scheme: Any, *rest: Any, **options: Any) -> Any:
            key = f"{self.key(audit)} | {scheme} | {digest(instance)}"
            try:
                finding = judged(audit, instance, scheme, *rest, **options)
            except Exception as error:
                self.note(key, f"{type(error).__name__}: {first_line(error)}")
                raise
            self.note(key, "lossless" if finding.lossless else f"refuted by {float(finding.check.max_deviation):.9f}")
            return finding

        def named(evidence: Any) -> Any:
            hypotheses = diagnosed(evidence)
            self.note(f"{self.key(evidence.audit)} | bugs", sorted(each.name for each in hypotheses))
            return hypotheses

        instances._instance = instances._in_units  # rows are multiples of 1/16, as at 141b940c, not of 1/997
        judge.Audit.judge = noted  # type: ignore[method-assign]
        for module in (catalogue, face, *[m for n, m in sys.modules.items() if n.startswith("draftproof.")]):
            if getattr(module, "diagnose", None) is diagnosed:
                module.diagnose = named  # type: ignore[attr-defined]

    def key(self, audit: Any) -> str:
        where = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        return f"{where} | {audit.name} | {audit.audited.interface.name} | {audit.processing} | {audit.batch}"

    def note(self, key: str, what: Any) -> None:
        notes = self.found.setdefault(key, [])
        if what not in notes:
            notes.append(what)


def first_line(error: Exception) -> str:
    text = str(error).partition("\n")[0].replace(f"{ROOT}/", "")
    return re.sub(r"0x[0-9a-f]+|/tmp/\S+/", "", text)


def digest(instance: Any) -> str:
    try:
        text = instance.dumps()
    except Exception:  # an instance that is not plain tables
        text = repr(instance)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def audits() -> dict[str, Any]:
    """By function as it is called, scheme and instance: lossless, by how much not, or the refusal; and bugs by name."""
    return audited("-m", "not heavy", f"--ignore={CAMPAIGN}", AUDITING)


def campaigns() -> dict[str, Any]:
    """The same, of the campaigns."""
    return audited("-m", "", CAMPAIGN)


def audited(*arguments: str) -> dict[str, Any]:
    recorder = Recorder()
    os.chdir(ROOT)
    pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[recorder])
    return dict(sorted(recorder.found.items()))


def commands() -> dict[str, Any]:
    return same_rows.record_all(())


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    each.__name__: each for each in (readme, claims, theorems, gallery, commands, audits, campaigns)
}


def record(folder: Path, names: Sequence[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PARTS:
        path = folder / f"{name}.json"
        if not path.exists():
            sys.stderr.write(f"{name} ..\n")
            path.write_text(json.dumps(PARTS[name](), indent=1, default=str) + "\n", encoding="utf-8")
    return 0


def verdicts(audits: dict[str, Any]) -> dict[str, str]:
    """What audits found in a few words: a bias of at most 1e-6 is lossless, and an error is its type."""
    found = {}
    for key, notes in audits.items():
        words = set()
        for note in notes:
            text = ", ".join(note) if isinstance(note, list) else re.sub(r"(?<=\w): .*", "", note)
            words.add("lossless" if re.fullmatch(r"refuted by 0\.000000\d+", text) else text)
        found[key] = "; ".join(sorted(words))
    return found


def compare(before: str, after: str) -> int:
    """Prints by part how many numbers and verdicts are the same, and which differ; 1 if some are not in `GONE`."""
    failed = 0
    places = [zipfile.Path(name) if name.endswith(".zip") else Path(name) for name in (before, after)]
    for name in PARTS:
        files = [place / f"{name}.json" for place in places]
        if not all(file.exists() for file in files):
            print(f"{name}: not recorded in both")
            continue
        old, new = (json.loads(file.read_text(encoding="utf-8")) for file in files)
        same, gone, other = 0, Counter[str](), list[tuple[int, str]]()
        if name in ("audits", "campaigns"):
            old, new = verdicts(old), verdicts(new)
        for key, each in old.items():
            found = readings.compared(each, new.get(key, new.get(readings.RENAMED.get(key))))
            same += found.same
            for count, place in found.different:
                text = f"{name} / {key} / {place}"
                reasons = [reason for pattern, reason in GONE.items() if re.search(pattern, text)]
                if reasons:
                    gone[reasons[0]] += count
                else:
                    other.append((count, text))
        print(f"{name}: {same} the same, {gone.total()} gone on purpose, {sum(count for count, _ in other)} differ")
        for reason, count in gone.items():
            print(f"  gone: {reason} ({count} values)")
        for count, text in other:
            print(f"  DIFFERS: {text} ({count} values)")
        failed += len(other)
    return int(failed > 0)


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["record"] and len(arguments) > 1 and set(arguments[2:]) <= set(PARTS):
        return record(Path(arguments[1]), arguments[2:])
    if arguments[:1] == ["compare"] and len(arguments) == 3:
        return compare(arguments[1], arguments[2])
    sys.stderr.write(str(__doc__))
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
