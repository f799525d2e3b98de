"""Records what must not change while the source is redrawn, and compares two recordings.

    python tests/frozen.py record FOLDER [PART ..]       one file a part; those of them that are there are kept
    python tests/frozen.py compare BEFORE AFTER          folders, or zip files; exit 1 and where each part first differs

Beside it `frozen.zip` has what commit 141b940c gave, before anything was deleted: floats of one machine.

Parts: `commands`, what `same_rows.py` keeps; `claims`, the verdict on every claim of the ledger; `theorems`, verdicts
and cases, of those that take less than five seconds proved again, of the others as the page has them; `gallery`, the
entries of published code whose checkouts are in the folder that CHECKOUTS names; `readme`, the results of the README's
commands and doctests; `audits`, the verdict on every function that a test audits, and the bugs that are named.

Runs the checkout that holds this file, with the Python that runs it, and about 50 minutes of processor time.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402

from tests import same_rows  # noqa: E402

#: Theorems of the page that took longer are not proved again.
SECONDS = 5
#: Columns of the page of theorems that are compared.
SHOWN = ("verdict", "cells of verdicts", "cells", "cases", "CPU s")
#: Tests that audit functions: the fast ones, and the two campaigns.
AUDITING = "tests/simulator/audit"


def printed(*arguments: str) -> Any:
    """The JSON of a command, and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "printed.json"
        flag = "-o" if arguments[0] in same_rows.VERBS else "--json"
        ran = same_rows.run([*arguments, flag, str(path)], folder)
        return {"exit": ran.returncode, "json": json.loads(path.read_text(encoding="utf-8")) if path.exists() else None}


def claims() -> dict[str, Any]:
    """By claim: its status, evidence and whether it is as expected."""
    found = printed("claims", "--jobs", "1")["json"]
    rows = found["claims"] if isinstance(found, dict) else found
    return {row["id"]: [row["status"], row["evidence"], row["instances"], row["as_expected"]] for row in rows}


def theorems() -> dict[str, Any]:
    """By theorem: verdict, and cells of p and q or cases."""
    from draftproof.experiments.pages import theorems as page

    text = page.PAGE.read_text(encoding="utf-8")
    found = {f"page: {key}": row for key, row in table_rows(text).items()}
    for claim in page.claims():
        fields = claim.fields()
        key = [page.name_of(fields), claim.size, str(claim.scheme)]
        if claim.vocab_size is not None and not claim.kind:
            key += [", ".join(claim.free), "yes" if claim.zeros else ""]
        row = found.get(f"page: {' | '.join(key)}")
        if row is not None and float(row["CPU s"]) < SECONDS:
            made = page.row_of(claim)
            cells = [made[name] for name in ("verdict_cells", "cells", "cases") if name in made]
            found[f"proved: {' | '.join(key)}"] = [made["verdict"], *cells]
    return found


def table_rows(text: str) -> dict[str, dict[str, str]]:
    """Rows of the page's tables: what stands before the verdict names a row."""
    rows, headings = {}, list[str]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "verdict" in cells:
            headings = cells
        elif line.startswith("| ") and headings:
            row = dict(zip(headings, cells, strict=True))
            width = headings.index("verdict")
            rows[" | ".join(cells[:width])] = {key: row[key] for key in SHOWN if key in row}
    return rows


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
    quoted = [
        "check traversal --K 3 --L2 1",
        "compare layer_transport traversal --text topics --vocab 4 --K 2 --L1 0 --L2 2",
    ]
    quoted.append(f"{quoted[-1]} --scheme stratified")
    for command in quoted:
        found[command] = same_rows.kept(printed(*command.split()), str(ROOT))
    return found


class Recorder:
    """A plugin of pytest that notes what audits find, by function, options, scheme and instance."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def pytest_collection(self) -> None:
        from draftproof.simulator import audit as face
        from draftproof.simulator.audit import judge
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

        judge.Audit.judge = noted  # type: ignore[method-assign]
        for module in (catalogue, face, *[m for n, m in sys.modules.items() if n.startswith("draftproof.")]):
            if getattr(module, "diagnose", None) is diagnosed:
                module.diagnose = named  # type: ignore[attr-defined]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            each for each in items if "test_campaign" in each.nodeid or each.get_closest_marker("heavy") is None
        ]

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
    recorder = Recorder()
    os.chdir(ROOT)
    code = pytest.main(["-q", "-m", "", "-p", "no:cacheprovider", AUDITING], plugins=[recorder])
    return {**dict(sorted(recorder.found.items())), "exit code of the tests": int(code)}


def commands() -> dict[str, Any]:
    return same_rows.record_all(())


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    each.__name__: each for each in (readme, claims, theorems, gallery, commands, audits)
}


def record(folder: Path, names: Sequence[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PARTS:
        path = folder / f"{name}.json"
        if not path.exists():
            sys.stderr.write(f"{name} ..\n")
            path.write_text(json.dumps(PARTS[name](), indent=1, default=str) + "\n", encoding="utf-8")
    return 0


def compare(before: str, after: str) -> int:
    """Prints every entry of a part that differs, at its first difference; 1 if there is one."""
    differing = 0
    places = [zipfile.Path(name) if name.endswith(".zip") else Path(name) for name in (before, after)]
    for name in PARTS:
        files = [place / f"{name}.json" for place in places]
        if not all(file.exists() for file in files):
            print(f"{name}: not recorded in both")
            continue
        old, new = (json.loads(file.read_text(encoding="utf-8")) for file in files)
        gone, come = [key for key in old if key not in new], [key for key in new if key not in old]
        changed = [(key, *same_rows.differences(old[key], new[key])) for key in old if key in new]
        changed = [each for each in changed if len(each) > 1]
        print(f"{name}: {len(old)} before, {len(new)} after, {len(gone)} gone, {len(come)} new, {len(changed)} changed")
        for word, keys in (("gone", gone), ("new", come)):
            print(*(f"  {word}: {key}" for key in keys), sep="\n", end="\n" if keys else "")
        for key, first, *more in changed:
            print(f"  changed: {key}: {first.lstrip('.')}" + (f" ({len(more)} more)" if more else ""))
        differing += len(gone) + len(come) + len(changed)
    return int(differing > 0)


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["record"] and len(arguments) > 1 and set(arguments[2:]) <= set(PARTS):
        return record(Path(arguments[1]), arguments[2:])
    if arguments[:1] == ["compare"] and len(arguments) == 3:
        return compare(arguments[1], arguments[2])
    sys.stderr.write(str(__doc__))
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
