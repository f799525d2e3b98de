"""Count the embedded text again: `python -m draftproof.experiments.pages.topics`, in the Python version of the text.

It writes `experiments/inputs/topics.npz` and prints the hash of the text and the checksum that
`experiments/inputs/text.py` states.
"""

from draftproof.experiments.inputs.text import EMBEDDED, ORDER, TABLE, read_text
from draftproof.simulator.instances.grams import GramTable

if __name__ == "__main__":
    table = GramTable.of(read_text(EMBEDDED), ORDER)
    table.save(TABLE)
    print(f"text {table.digest}, checksum {table.checksum}")
