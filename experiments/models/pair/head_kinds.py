"""The kinds of draft heads; without torch, for commands and messages."""

from collections.abc import Mapping

#: The kinds that are trained for a target and loaded from a folder, with the fields of their configuration (`head`).
HEADS: Mapping[str, Mapping[str, int]] = {
    "eagle": {},
    "eagle3": {"three_layers": True, "own_output": True},
    "griffin": {"guided": True, "second_output": True},
    "specblock": {"three_layers": True, "own_output": True, "num_hidden_layers": 2, "places": 4},
}
