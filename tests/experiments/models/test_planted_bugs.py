"""What goes wrong in caches, masks, positions and batches, put there on purpose: the loop's rows or caches tell."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop import reading
from draftproof.experiments.models.loop.caches import ModelCache
from draftproof.experiments.models.loop.reading import Reading
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.drawn import CASES, PROMPTS, Watched

#: Far above the rounding of float64 passes, which is below 1e-10.
NOTICED = 1e-5


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=3, dtype=torch.float64, noise=0.05)


def keeping_the_first_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ModelCache.kept
    monkeypatch.setattr(
        ModelCache, "kept", lambda self, slots, places: kept(self, slots, [range(len(each)) for each in places])
    )


def keeping_what_the_neighbour_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ModelCache.kept
    monkeypatch.setattr(ModelCache, "kept", lambda self, slots, places: kept(self, slots, [*places[1:], places[0]]))


def seeing_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    def causal(sees: Any, start: int, width: int) -> torch.Tensor:
        return torch.ones(len(sees), width, start + width, dtype=torch.bool).tril(start)

    monkeypatch.setattr(reading, "_attended", causal)


def seeing_what_the_neighbour_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    attended = reading._attended
    monkeypatch.setattr(reading, "_attended", lambda sees, start, width: attended([*sees[1:], sees[0]], start, width))


def seeing_empty_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ModelCache.kept

    def all_held(self: ModelCache, slots: int, places: Any) -> ModelCache:
        after = kept(self, slots, places)
        return ModelCache(after.layers, torch.ones_like(after.held), after.lengths)

    monkeypatch.setattr(ModelCache, "kept", all_held)


def counting_slots_as_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    add = reading.Row.add
    monkeypatch.setattr(reading.Row, "add", lambda self, token, _, above: add(self, token, len(self.tokens), above))


def forgetting_what_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions of drafted tokens as if one token alone had waited."""
    add = reading.Row.add
    monkeypatch.setattr(
        reading.Row, "add", lambda self, token, depth, above: add(self, token, depth - (len(above) > 1), above)
    )


def rows_of_the_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Reading.read
    monkeypatch.setattr(Reading, "read", lambda self, wanted: read(self, wanted).roll(1, 0))


def rows_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The n-th row for the n-th context, however many tokens waited before it."""
    monkeypatch.setattr(reading, "_at", lambda logits, ends: logits[:, : max(map(len, ends))])


def reading_only_the_last_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Reading.__init__
    monkeypatch.setattr(
        Reading,
        "__init__",
        lambda self, model, before, waiting, *more: made(self, model, before, [w[-1:] for w in waiting], *more),
    )


BUGS = [
    keeping_the_first_slots, keeping_what_the_neighbour_keeps, seeing_siblings,
    seeing_what_the_neighbour_sees, seeing_empty_slots, counting_slots_as_positions, forgetting_what_waited,
    rows_of_the_neighbour, rows_by_place, reading_only_the_last_that_waits,
]  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
@pytest.mark.parametrize("name", ["dyspec", pytest.param("eagle2", marks=pytest.mark.heavy)])
def test_a_planted_bug_is_noticed(pair: Any, name: str, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, verifier = CASES[name]
    seen = Watched(pair, scheme, verifier, PROMPTS, Sampling())
    bug(monkeypatch)
    try:
        found = seen.run(8).rows_off() > NOTICED or seen.caches_off() > NOTICED
    except (IndexError, RuntimeError):  # a mask or a cache of another size
        found = True
    assert found
