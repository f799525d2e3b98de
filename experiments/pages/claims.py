"""The page of claims: `python -m draftproof.experiments.pages.claims [ROWS.db]` tests them and writes the page.

Instances that refute stand beside it. ROWS.db: a store, so that a stopped run can be resumed.
"""

import json
import os
import sys

from draftproof.experiments.claims import work
from draftproof.experiments.claims.verdicts import CLAIMS, INSTANCES, RECORDED, verdict
from draftproof.experiments.claims.work import ledger
from draftproof.experiments.cli import claims as claims_command
from draftproof.experiments.grid.run import Executor, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared.output import write_whole

PAGE = CLAIMS / "README.md"


def main(path: str | None) -> int:
    """Compute the missing rows and write the page; returns 0 if all verdicts are as expected, else 1."""
    store = Store(path)
    tasks = work.tasks_of(list(ledger()), {}, False)
    if not run(tasks, store, Executor(work.compute, os.cpu_count() or 1)):
        return 130
    verdicts = [verdict(claim, [store[part.strong_id] for part in work.parts_of(claim, False)]) for claim in ledger()]
    INSTANCES.mkdir(exist_ok=True)
    for old in INSTANCES.glob("*.json"):
        old.unlink()
    rows = []
    os.chdir(claims_command.ROOT)  # the page names files from the root
    for judged in verdicts:
        if judged.instance is not None:
            write_whole(INSTANCES / f"{judged.claim.id}.json", judged.instance.dumps())
        rows.append(claims_command.fields(judged, claims_command.instance_file(judged, None)))
    write_whole(RECORDED, json.dumps(rows, indent=1) + "\n")
    write_whole(PAGE, claims_command.page(rows))
    return 0 if all(judged.as_expected for judged in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
