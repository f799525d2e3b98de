"""Small changes of valid input, and the one line in which whatever is no input any more is refused."""

import json
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

#: Seconds for one case, bytes of memory that it may take, and characters of a message.
SECONDS, MEMORY, CHARACTERS = 10, 2**30, 800
ODD = (
    "",
    "-1",
    "1e999",
    "NaN",
    "null",
    "[]",
    "{}",
    '"1/0"',
    "9" * 5000,
    '"' + "9" * 5000 + '"',
    "[" * 2000,
    "\\ud800",
    "\x00",
    "é",
)
#: Values for options: numbers at the edges, names that are none, ranges the wrong way round.
VALUES = (
    *(
        "", "-1", "0", "1", "2", "1..2", "2..1", "1..", "99999999999999999999", "1e999", "nan", "inf", "-inf", "1/0",
        "½",
    ),
    *("x" * 400, "é", "\ud800", "\x01", "a=1", "=", ":", ",", "block", "blok", "ensemble:w=2", "delayed:K=2", "[1]"),
    *("own.py", "own.py:", "own.py:Nobody", "own.py:Naive:x=1", "none.py:A", "delayed", "topology", "given.json"),
    *(".", "..", "/dev/full", "/dev/zero", "-", "--", "--json", "--K", "--help", "--version", "--max-input"),
)  # fmt: skip


#: What stands in the place of a value in JSON.
OTHER: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 3, 10**30, 1.5, float("nan"), float("inf"), "", "x", "0", "1/2", "-1/2", "1/0", "é"),
    *("9" * 4500, "1e9", "0,1", "delayed", [], {}, [[]], [1], ["1/2", "1/2"], {"": []}, {"name": "topology"}),
)


#: What stands in the place of one field of a row: other kinds, numbers without a float, values within values.
FIELDS: tuple[Any, ...] = (
    *OTHER, -1.5, 10**400, -(10**400), 2**63, 1e308, -1e308, float("-inf"), "9" * 400 + "/7", "1e99999999", "\x1b[31m",
    *("\n", "=1+1", {"a": {"b": {"c": 1}}}, [[[[1]]]], [None], {"name": "delayed", "K": 1, "L1": 0, "L2": 1}),
)  # fmt: skip


def mutated_row(row: Any, random: Random) -> Any:
    """A row with one field gone, doubled under another name, or with another value, at any depth."""
    row = deepcopy(row)
    place = row
    while True:
        key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not (isinstance(place[key], dict | list) and place[key] and random.random() < 0.6):
            break
        place = place[key]
    kind = random.random()
    if kind < 0.15:
        del place[key]
    elif kind < 0.2 and isinstance(place, dict):
        place[str(random.choice(FIELDS))[:30]] = place[key]
    elif kind < 0.3 and type(place[key]) in (int, float):
        place[key] *= random.choice((-1, 1000, 1e-3, 0))  # wrong units
    elif kind < 0.33:
        for _ in range(random.choice((10, 500, 800))):
            place[key] = [place[key]]
    else:
        place[key] = deepcopy(random.choice(FIELDS))
    return row


def mutated(data: bytes, random: Random) -> bytes:
    """One to three small changes, of the bytes or of values if there are any."""
    try:
        value = json.loads(data)
    except ValueError:
        return mutated_bytes(data, random)
    if random.random() < 1 / 3:
        return mutated_bytes(data, random)
    for _ in range(random.randint(1, 3)):
        value = _changed(value, random)
    return json.dumps(value).encode()


def _changed(value: Any, random: Random) -> Any:
    """With another value somewhere, or without one."""
    inner = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if not inner or random.random() < 0.15:
        return deepcopy(random.choice(OTHER))
    place, part = random.choice(inner)
    kind = random.random()
    if kind < 0.1:
        del value[place]
    elif kind < 0.2 and isinstance(value, list):
        value.append(part)
    elif kind < 0.2:
        value[str(random.choice(OTHER))[:50]] = deepcopy(part)
    else:
        value[place] = _changed(part, random)
    return value


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """One to three small changes of bytes."""
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(data) + 1)
        end = min(len(data), place + random.choice((0, 1, 3, 20)))
        kind = random.randrange(4)
        if kind == 0:
            data = data[:place] + random.choice(ODD).encode("utf-8", "surrogatepass") + data[end:]
        elif kind == 1:
            data = data[:place] + bytes([random.randrange(256)]) + data[end:]
        elif kind == 2:
            data = data[:place] + data[end:]
        else:
            data = data[:end] + data[place:end] * random.randint(1, 3) + data[end:]
    return data


def mutated_line(words: Sequence[str], others: Sequence[str], random: Random) -> list[str]:
    """One to three changes of a command line; others: words of all command lines."""
    line = list(words)
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(line) + 1)
        kind = random.randrange(6)
        if kind == 0:
            line.insert(place, random.choice((*VALUES, *others)))
        elif place == len(line):
            continue
        elif kind == 1:
            del line[place]
        elif kind == 2:
            line[place] = random.choice(VALUES)
        elif kind == 3:
            line[place] = random.choice(others)
        elif kind == 4:
            line.insert(place, line[place])
        else:
            letters = list(line[place])
            letters[random.randrange(len(letters) + 1) :][:1] = []
            letters.insert(random.randrange(len(letters) + 1), chr(random.choice((32, 45, 48, 57, 61, 65, 97, 233))))
            line[place] = "".join(letters)
    return line


def wrong_message(message: str) -> str | None:
    """What is wrong with a refusal."""
    if "\n" in message:
        return "more than one line"
    return None if len(message) <= CHARACTERS else f"{len(message)} characters"
