"""Count the embedded text anew: `python -m draftproof.experiments.pages.topics`, under the Python whose text it is.

It writes `experiments/shared/topics.npz` and prints the hash of the text and the seal that
`experiments/shared/text.py` states.
"""

from __future__ import annotations

from draftproof.experiments.shared.text import EMBEDDED, ORDER, TABLE, read_text
from draftproof.simulator.instances.grams import GramTable

if __name__ == "__main__":
    table = GramTable.of(read_text(EMBEDDED), ORDER)
    table.save(TABLE)
    print(f"text {table.digest}, seal {table.seal}")
