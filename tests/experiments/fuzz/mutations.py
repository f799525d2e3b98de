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
