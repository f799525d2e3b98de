"""`draftproof list`."""

from __future__ import annotations

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for


def list_command(json_target: opt.JsonTarget = None) -> int:
    """Verifiers, schemes and processes, with their cards."""
    from draftproof.experiments.cli.listing import catalogue_fields, show_catalogue

    check_files((), {"--json": json_target})
    write_json(json_target, catalogue_fields())
    show_catalogue(console_for(json_target))
    return 0
