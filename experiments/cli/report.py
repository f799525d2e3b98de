"""`draftproof.report` and `draftproof report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from draftproof.experiments.result import Result, Table
from draftproof.simulator.errors import InvalidInput

if TYPE_CHECKING:
    from draftproof.experiments.grid.report.rows import WorldOnScheme

#: Said of stores without rows for a page, such as those of claims.
_NOTHING = "no rows that a page of results shows; -o ROWS.csv or ROWS.md writes all rows as a table"


@dataclass(frozen=True, repr=False)
class Report(Result):
    """What stores say. `.html` is a page of its own, `.csv` and `.md` have all rows, `.json` has every number.

    stores: their files. pairs: their laws and bounds, grouped by world and scheme, of which the page has a figure.
    """

    stores: Sequence[str] = ()
    pairs: Sequence[WorldOnScheme] = ()

    @cached_property
    def stored(self) -> Table:
        """All rows of the stores, each once."""
        from draftproof.experiments.grid.report.rows import stored_table

        return stored_table(self.stores)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows of the stores: `pandas.DataFrame(report.rows)`."""
        return self.stored.records()

    def csv(self) -> str:
        """All rows as comma-separated values."""
        return self.stored.csv()

    def markdown(self) -> str:
        """All rows as a table of Markdown."""
        return self.stored.markdown() + "\n"

    def html(self) -> str:
        """The page; raises `InvalidInput` where there is nothing to show."""
        from draftproof.experiments.grid.report import page
        from draftproof.experiments.grid.rows import versions

        if not self.tables:
            raise InvalidInput(f"{', '.join(self.stores)}: {_NOTHING}")
        return page(self, self.pairs, self.stores, versions()["draftproof"])

    _repr_html_ = Result.html


def report(stores: str | Sequence[str], /) -> Result:
    """Summarise stored rows: findings, sortable tables and figures, each number with the command that computes it.

    -o PAGE.html writes the page, -o ROWS.csv or ROWS.md a table of all rows.

    Args:
        stores: Stores, as --resume writes them.
    """
    from draftproof.experiments.grid.report.rows import read, worlds_on_schemes
    from draftproof.experiments.grid.report.tables import tables_and_findings

    listed = [stores] if isinstance(stores, str) else list(stores)
    rows, left_out = read(listed)
    pairs = worlds_on_schemes([*rows.get("law", ()), *rows.get("bound", ())])
    tables, said = tables_and_findings(rows, pairs)
    return Report(
        f"report of {', '.join(listed)}", tables, [*said, *left_out] or [_NOTHING], stores=listed, pairs=pairs
    )
