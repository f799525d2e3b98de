"""The loop with every draft scheme, alone and in batches of texts of their own: rows, caches, greedy text, passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from experiments.models.loop import reading
from experiments.models.loop.caches import Remembered
from experiments.models.loop.coins import coin_for
from experiments.models.loop.generation import generate
from experiments.models.loop.loop import Loop, State
from experiments.models.loop.reading import Reading
from experiments.models.loop.rooms import Room
from experiments.models.pair.warp import Warp
from simulator import Delayed, InvalidInput
from simulator.drafts import SCHEMES, DySpec, Eagle2, OptTree, Own, Sequoia, SpecHub, WithoutReplacement
from tests.experiments.models.drawn import CASES, PROMPTS, Twins, Watched
from verifiers import make

SIZE = 3
#: float64 passes of other shapes sum in another order: some hundred roundings of 2^-53, of numbers up to 20.
TOLERANCE = 1e-10
BATCHES = [1, 8]
#: Of greedy texts.
TOKENS = 12


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=SIZE, dtype=torch.float64, noise=0.05)


@pytest.fixture(scope="module")
def greedy_texts(pair: Any) -> list[list[int]]:
    """What `generate` makes of each prompt."""
    write = pair.target.generate
    return [write(torch.tensor([each]), do_sample=False, max_new_tokens=TOKENS)[0].tolist() for each in PROMPTS]


def watched(pair: Any, name: str, batch: int, warp: Warp | None = None) -> Watched:
    scheme, verifier = CASES[name]
    return Watched(pair, scheme, verifier, PROMPTS[-batch:], warp or Warp())


def test_every_scheme_has_a_case() -> None:
    assert set(CASES) >= set(SCHEMES) - {"adaptive_dropping"}


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.heavy), 8])
@pytest.mark.parametrize("name", CASES)
def test_rows_and_caches_are_those_of_separate_passes(pair: Any, name: str, batch: int) -> None:
    seen = watched(pair, name, batch).run(24 // batch + 6)
    assert seen.rows_off() <= TOLERANCE
    assert seen.caches_off() <= TOLERANCE
    assert batch == 1 or len({len(text) - len(start) for text, start in zip(seen.texts, PROMPTS, strict=True)}) > 1
    assert len({block.depth for block in seen.blocks}) > 1
    assert all(text[-len(left) :] == list(left) for text, left in zip(seen.texts, seen.state.waiting, strict=True))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", CASES)
def test_greedy_texts_are_those_of_generate(pair: Any, greedy_texts: list[list[int]], name: str, batch: int) -> None:
    seen = watched(pair, name, batch, Warp(0)).run(TOKENS)
    for text, expected in zip(seen.texts, greedy_texts[-batch:], strict=True):
        assert text[: len(expected)] == expected


def keeping_the_first_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Remembered.kept
    monkeypatch.setattr(
        Remembered, "kept", lambda self, slots, places: kept(self, slots, [range(len(each)) for each in places])
    )


def keeping_what_the_neighbour_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Remembered.kept
    monkeypatch.setattr(Remembered, "kept", lambda self, slots, places: kept(self, slots, [*places[1:], places[0]]))


def keeping_the_first_slots_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where slots are moved within a cache, none is."""
    kept = Remembered._kept_in_room
    monkeypatch.setattr(
        Remembered, "_kept_in_room", lambda self, room, slots, index, *more: kept(self, room, slots, None, *more)
    )


def writing_one_slot_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the last token that is held, with the slot behind the new ones left as it was."""
    cache = Room.cache

    def early(self: Room) -> Any:
        made = cache(self)
        for layer in made.layers:
            own = layer.update

            def update(keys: Any, values: Any, *_: Any, own: Any = own, layer: Any = layer, **__: Any) -> Any:
                found = own(keys, values)
                for states, new in zip(layer.room, (keys, values), strict=True):
                    end = found[0].shape[2]
                    states[:, :, end - new.shape[2] - 1 : end - 1] = new
                return found

            layer.update = update
        return made

    monkeypatch.setattr(Room, "cache", early)


def seeing_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    def causal(sees: Any, start: int, width: int) -> torch.Tensor:
        return torch.ones(len(sees), width, start + width, dtype=torch.bool).tril(start)

    monkeypatch.setattr(reading, "_sight", causal)


def seeing_what_the_neighbour_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    sight = reading._sight
    monkeypatch.setattr(reading, "_sight", lambda sees, start, width: sight([*sees[1:], sees[0]], start, width))


def seeing_empty_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Remembered.kept

    def all_held(self: Remembered, slots: int, places: Any) -> Remembered:
        after = kept(self, slots, places)
        return Remembered(after.layers, torch.ones_like(after.held), after.lengths)

    monkeypatch.setattr(Remembered, "kept", all_held)


def counting_slots_as_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    add = reading._Row.add
    monkeypatch.setattr(reading._Row, "add", lambda self, token, _, above: add(self, token, len(self.tokens), above))


def forgetting_what_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions of drafted tokens as if one token alone had waited."""
    add = reading._Row.add
    monkeypatch.setattr(
        reading._Row, "add", lambda self, token, depth, above: add(self, token, depth - (len(above) > 1), above)
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
        Reading, "__init__", lambda self, model, before, waiting: made(self, model, before, [w[-1:] for w in waiting])
    )


BUGS = [
    keeping_the_first_slots,
    keeping_the_first_slots_in_place,
    keeping_what_the_neighbour_keeps,
    writing_one_slot_too_early,
    seeing_siblings,
    seeing_what_the_neighbour_sees,
    seeing_empty_slots,
    counting_slots_as_positions,
    forgetting_what_waited,
    rows_of_the_neighbour,
    rows_by_place,
    reading_only_the_last_that_waits,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
@pytest.mark.parametrize("name", ["dyspec", "eagle2"])
def test_a_planted_bug_is_noticed(pair: Any, name: str, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(pair, name, 8)
    bug(monkeypatch)
    try:
        found = seen.run(8).rows_off() > 1e5 * TOLERANCE or seen.caches_off() > 1e5 * TOLERANCE
    except (IndexError, RuntimeError):  # a mask or a cache of another size
        found = True
    assert found


def passes(pair: Any, scheme: Any, verifier: str, blocks: int = 12) -> list[int]:
    loop = Loop(pair, make(verifier), scheme, Warp())
    state = State.joined([loop.start(prompt) for prompt in PROMPTS])
    return [block.passes for block in loop.blocks(state, coin_for("numpy", 0))]


def test_a_layer_is_one_pass_of_the_draft(pair: Any) -> None:
    for depth in range(4):
        assert set(passes(pair, Delayed(3, 0, depth) if depth else Delayed(1, 0, 0), "naive")) == {depth}
        assert set(passes(pair, Eagle2(2, depth, 6), "nss")) == {depth}
        assert set(passes(pair, SpecHub(depth), "nss")) == {depth}
        assert set(passes(pair, WithoutReplacement(2, 0, depth) if depth else Delayed(1, 0, 0), "nss")) == {depth}
    assert set(passes(pair, Sequoia(5, 3, (3, 1, 0, 0, 1, 0)), "nss")) == {3}
    assert max(passes(pair, OptTree(4), "nss")) <= 4
    by_token = passes(pair, DySpec(4), "nss")
    assert set(by_token) <= {1, 2, 3, 4}
    assert max(by_token) > 1
    assert set(passes(pair, Own(Twins()), "nss")) == {2, 3}  # path by path: the second is another one, or not


def test_passes_of_a_sequence_do_not_depend_on_its_neighbours(pair: Any) -> None:
    loop, greedy = Loop(pair, make("nss"), DySpec(4), Warp(0)), coin_for("numpy", 0)
    together = loop.blocks(State.joined([loop.start(prompt) for prompt in PROMPTS]), greedy)
    assert together == [loop.blocks(loop.start(prompt), greedy)[0] for prompt in PROMPTS]


@pytest.mark.parametrize("name", CASES)
def test_torch_vectors_draw_the_same_trees(pair: Any, name: str) -> None:
    scheme, verifier = CASES[name]
    made = []
    for vectors in ("numpy", "torch"):
        loop = Loop(pair, make(verifier), scheme, Warp(), vectors)
        made.append(loop.blocks(State.joined([loop.start(prompt) for prompt in PROMPTS]), coin_for("numpy", 3)))
    assert made[0] == made[1]


def test_distances_are_means_over_drafted_entries(pair: Any) -> None:
    loop = Loop(pair, make("nss"), Eagle2(2, 3, 4), Warp(), observe=True)
    watched_loop = Watched(pair, Eagle2(2, 3, 4), "nss", PROMPTS[:1], Warp())
    (block,) = loop.blocks(loop.start(PROMPTS[0]), coin_for("numpy", 0))
    nodes = watched_loop.run(1).seen[0][1]
    by_depth: dict[int, list[float]] = {}
    for node in nodes:
        if node.children:
            by_depth.setdefault(len(node.context), []).append(float(abs(node.target - node.draft).sum()))
    assert list(block.distances) == pytest.approx([sum(each) / len(each) for each in by_depth.values()], abs=1e-9)


class Deep:
    """Looks deeper than it says."""

    depth = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        token = coin.choose(draft.row(()))
        return [(coin.choose(draft.row((token,))),)]


class Strange:
    """Asks for what is no token."""

    depth = 2

    def draw(self, draft: Any, coin: Any) -> Any:
        return [(coin.choose(draft.row((7,))),)]


class Changing:
    """Asks the coin something else each time."""

    depth = 2

    def __init__(self) -> None:
        self.times = 0

    def draw(self, draft: Any, coin: Any) -> Any:
        self.times += 1
        first = coin.choose([self.times] * draft.vocab_size)
        return [(first, coin.choose(draft.row((first,))))]


class Writing:
    """Writes into a row that is not its own."""

    depth = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        row = draft.row(())
        row[0] = 0
        return [(coin.choose(row),)]


class Swallowing:
    """Catches whatever is raised where it asks for a row, and goes on with something of its own."""

    depth = 2

    def draw(self, draft: Any, coin: Any) -> Any:
        try:
            row = draft.row(())
        except BaseException:
            return []
        return [(coin.choose(row),)]


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (Own(Deep()), r"Deep asked for the row after \(\d,\); its depth allows 0 tokens"),
        (Own(Strange()), r"Strange asked for the row after \(7,\); tokens are 0\.\.2"),
        (Own(Changing()), "Changing asked the coin two things after the same answers"),
        (Own(Writing()), "Writing: draw raised ValueError"),
        (Twins(), "Twins has no .*completes it"),
        (Sequoia(3, 2), "has no tree yet"),
        (SpecHub, "is a class, not a scheme"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "said",
)
def test_what_is_no_scheme_is_one_clear_line(pair: Any, scheme: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        generate(pair, make("nss"), scheme, [1], Warp(), coin_for("numpy", 0), blocks=3)


def test_a_scheme_that_swallows_what_stops_it_drafts_all_the_same(pair: Any) -> None:
    made = generate(pair, make("nss"), Own(Swallowing()), [1], Warp(), coin_for("numpy", 0), blocks=20)
    assert {block.passes for block in made.blocks} == {1}
    assert {block.depth for block in made.blocks} == {0, 1}
