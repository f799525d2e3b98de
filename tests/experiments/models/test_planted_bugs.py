"""What goes wrong in caches, masks, positions and batches, put there on purpose: the loop's rows or caches tell."""

import pytest
import torch

from draftproof.experiments.models.loop import caches, reading
from draftproof.experiments.models.loop.caches import ModelCache, within
from draftproof.experiments.models.loop.reading import Reading
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.drawn import CASES, PROMPTS, Watched
from tests.experiments.models.test_families import TOLERANCE, WINDOW, watched, windowed

#: Far above the rounding of float64 passes, which is below 1e-10.
NOTICED = 1e-5


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(vocab=3, dtype=torch.float64, noise=0.05)


def keeping_the_first_slots(monkeypatch):
    trimmed = ModelCache.trimmed
    monkeypatch.setattr(
        ModelCache, "trimmed", lambda self, slots, places: trimmed(self, slots, [range(len(each)) for each in places])
    )


def keeping_what_the_neighbour_keeps(monkeypatch):
    trimmed = ModelCache.trimmed
    monkeypatch.setattr(
        ModelCache, "trimmed", lambda self, slots, places: trimmed(self, slots, [*places[1:], places[0]])
    )


def seeing_siblings(monkeypatch):
    def causal(sees, start, width):
        return torch.ones(len(sees), width, start + width, dtype=torch.bool).tril(start)

    monkeypatch.setattr(reading, "_attended", causal)


def seeing_what_the_neighbour_sees(monkeypatch):
    attended = reading._attended
    monkeypatch.setattr(reading, "_attended", lambda sees, start, width: attended([*sees[1:], sees[0]], start, width))


def seeing_empty_slots(monkeypatch):
    trimmed = ModelCache.trimmed

    def all_held(self, slots, places):
        after = trimmed(self, slots, places)
        return ModelCache(after.layers, torch.ones_like(after.held), after.lengths)

    monkeypatch.setattr(ModelCache, "trimmed", all_held)


def counting_slots_as_positions(monkeypatch):
    add = reading.Row.add
    monkeypatch.setattr(reading.Row, "add", lambda self, token, _, above: add(self, token, len(self.tokens), above))


def forgetting_what_waited(monkeypatch):
    """Positions of drafted tokens as if one token alone had waited."""
    add = reading.Row.add
    monkeypatch.setattr(
        reading.Row, "add", lambda self, token, depth, above: add(self, token, depth - (len(above) > 1), above)
    )


def rows_of_the_neighbour(monkeypatch):
    read = Reading.read
    monkeypatch.setattr(Reading, "read", lambda self, wanted: read(self, wanted).roll(1, 0))


def rows_by_place(monkeypatch):
    """The n-th row for the n-th context, however many tokens waited before it."""
    monkeypatch.setattr(reading, "_at", lambda logits, ends: logits[:, : max(map(len, ends))])


def reading_only_the_last_that_waits(monkeypatch):
    made = Reading.__init__
    monkeypatch.setattr(
        Reading,
        "__init__",
        lambda self, model, before, waiting, *more: made(self, model, before, [w[-1:] for w in waiting], *more),
    )


def one_token_more(monkeypatch):
    monkeypatch.setattr(caches, "within", lambda sees, window: within(sees, None if window is None else window + 1))


def no_window(monkeypatch):
    monkeypatch.setattr(caches, "within", lambda sees, window: sees)


def a_window_of_slots(monkeypatch):
    """The last slots of the cache, whoever's they are, where the last of the own text are meant."""

    def cut(sees, window):
        if window is None:
            return sees
        width, slots = sees.shape[-2:]
        own = torch.arange(slots - width, slots)[:, None]
        return sees & (torch.arange(slots) > own - window)

    monkeypatch.setattr(caches, "within", cut)


def a_window_everywhere(monkeypatch):
    monkeypatch.setattr(caches, "within", lambda sees, window: within(sees, WINDOW))


BUGS = [
    keeping_the_first_slots, keeping_what_the_neighbour_keeps, seeing_siblings,
    seeing_what_the_neighbour_sees, seeing_empty_slots, counting_slots_as_positions, forgetting_what_waited,
    rows_of_the_neighbour, rows_by_place, reading_only_the_last_that_waits,
]  # fmt: skip
WINDOW_BUGS = [one_token_more, no_window, a_window_of_slots, a_window_everywhere]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
@pytest.mark.parametrize("name", ["dyspec", pytest.param("eagle2", marks=pytest.mark.heavy)])
def test_a_planted_bug_is_noticed(pair, name, bug, monkeypatch):
    scheme, verifier = CASES[name]
    seen = Watched(pair, scheme, verifier, PROMPTS, Sampling())
    bug(monkeypatch)
    try:
        found = seen.run(8).rows_off() > NOTICED or seen.caches_off() > NOTICED
    except (IndexError, RuntimeError):  # a mask or a cache of another size
        found = True
    assert found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bug", WINDOW_BUGS, ids=lambda bug: bug.__name__)
def test_a_wrong_window_is_noticed(random_pair, bug, monkeypatch):
    seen = watched(windowed(random_pair, "Qwen2, second"))
    bug(monkeypatch)
    assert seen.run(6).rows_off() > 10 * TOLERANCE
