"""One table of programs, each with its verdict: the command, Python and pytest must agree; see `tests/data/audited`."""

import importlib.util
import inspect
import os
import pickle
import random
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from draftproof.experiments.inputs.schemes import find_schemes
from draftproof.simulator.audit import CATALOGUE, SelfDrafted, assert_lossless
from draftproof.simulator.audit.verdict import NOT_JUDGED
from tests.quick import quick

AUDITED = Path(__file__).parents[2] / "data" / "audited"
TABLE: Mapping[str, Any] = tomllib.loads((AUDITED / "programs.toml").read_text(encoding="utf-8"))
OPTIONAL = {"torch", "transformers", "triton", "pandas"}
EXIT_CODES = {0: "lossless", 1: "refuted", 2: "refused"}
#: What the rows say beside the arguments of `assert_lossless`.
ABOUT = frozenset(("code", "name", "verdict", "bug", "depth", "says", "slow"))
#: The hypothesis that is true of any function whose first token is right, whatever else is wrong with it.
BESIDE = "first token exact"


def programs() -> Iterator[Any]:
    for file, rows in TABLE.items():
        imported = set(re.findall(r"^ *(?:import|from) (\w+)", (AUDITED / f"{file}.py").read_text(), re.MULTILINE))
        for row in rows:
            program = {"interface": "chain", **row, "code": f"{file}.py:{row['name']}"}
            needed = (imported & OPTIONAL) | ({"torch"} & {program.get("library")})
            missing = [name for name in sorted(needed) if importlib.util.find_spec(name) is None]
            marks = [pytest.mark.skip(reason=f"needs {missing[0]}")] if missing else []
            marks += [pytest.mark.heavy] if program.get("slow") else []
            yield pytest.param(program, id=f"{program['code']}-{program['interface']}", marks=marks)


def arguments(program: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in program.items() if key not in ABOUT}


def bugs_of(program: Mapping[str, Any]) -> set[str]:
    """The entries of the catalogue that are named."""
    given = program.get("bug", "")
    return set(given if isinstance(given, list) else [given]) - {""}


def said(program: Mapping[str, Any], verdict: str, text: str) -> None:
    plain = " ".join(text.split())
    assert verdict == program["verdict"], plain
    assert program.get("says", "") in plain, plain
    if "bug" in program:
        bugs = bugs_of(program)
        named = {entry.name for entry in CATALOGUE if f": {entry.text} (" in plain}
        assert named - ({BESIDE} - bugs) == bugs, plain
    if "depth" in program:
        assert re.search(rf"\): after context \((\d+,? ?){{{program['depth']}}}\), token", plain), plain


@pytest.fixture
def libraries():
    """Some programs put functions of their own in place of those of libraries."""
    before = [(module, dict(vars(module))) for module in (random, np, np.random)]
    yield
    for module, names in before:
        vars(module).update(names)


@pytest.mark.usefixtures("libraries")
@pytest.mark.one_in(16)
@pytest.mark.parametrize("program", list(programs()))
def test_python(program, monkeypatch, request):
    file, name = program["code"].split(":")
    monkeypatch.syspath_prepend(str(AUDITED))
    spec = importlib.util.spec_from_file_location(Path(file).stem, AUDITED / file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, Path(file).stem, module)
    spec.loader.exec_module(module)
    for value in vars(module).values():
        if isinstance(value, sqlite3.Connection):
            request.addfinalizer(value.close)
    function = module
    for part in name.split("."):
        function = getattr(function, part)
    try:
        assert_lossless(function, **options(program))
    except AssertionError as error:
        said(program, "refuted", str(error))
    except NOT_JUDGED as error:
        said(program, "refused", str(error))
    else:
        said(program, "lossless", program.get("says", "") if program["verdict"] == "lossless" else "")


def options(program: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `assert_lossless`, with the scheme as an object."""
    given = arguments(program)
    if "L2" in given:
        given["scheme"] = SelfDrafted(given.pop("L2"))
    elif "scheme" in given:
        [given["scheme"]] = find_schemes(given["scheme"])
    return given


def flags(program: Mapping[str, Any]) -> Iterator[str]:
    for key, value in arguments(program).items():
        if value is True:
            yield f"--{key}"
        elif key == "keywords":
            for name, given in value.items():
                yield from ("--argument", f"{name}={given}")
        else:
            yield from (f"--{key}", ",".join(map(str, value)) if isinstance(value, list) else str(value))


def in_a_process(call: Callable[[], Any]) -> Any:
    """What a call gives in a process of its own, as a command has: an audited file may change libraries."""
    reading, writing = os.pipe()
    if (worker := os.fork()) == 0:
        try:
            os.write(writing, pickle.dumps(call()))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(worker, 0)
    return pickle.loads(found)


@pytest.mark.one_in(144)
@pytest.mark.parametrize("program", list(programs()))
def test_command(program, draftproof):
    code, text = in_a_process(lambda: ran(draftproof, program))
    said(program, EXIT_CODES[code], text)


def ran(draftproof: Callable[..., Any], program: Mapping[str, Any]) -> tuple[int, str]:
    report = draftproof("audit", f"{AUDITED}/{program['code']}", *flags(program), "--shrink-seconds", "0")
    return report.code, report.out + report.err


@pytest.mark.heavy
@pytest.mark.parametrize("every", quick([1, 60], [60]))
def test_pytest(tmp_path, every):
    """Programs in one session of pytest, each in a test of its own: all, or one in every so many."""
    listed = [param for param in programs() if every == 1 or not param.marks][::every]
    listed = [param for param in listed if not any(mark.name == "skip" for mark in param.marks)]
    lines = [
        "import random",
        "import sys",
        "import numpy as np",
        "import pytest",
        "from draftproof.simulator.audit import SelfDrafted",
        "from draftproof.simulator.drafts import *",
        f"sys.path.insert(0, {str(AUDITED)!r})",
    ]
    lines.append(f"{inspect.getsource(libraries.__wrapped__).replace('fixture', 'fixture(autouse=True)')}")
    for number, param in enumerate(listed):
        [program] = param.values
        file, name = program["code"].split(":")
        lines += [
            f"@pytest.mark.lossless(**{options(program)!r})",
            f"def test_{number}():",
            f"    import {Path(file).stem}",
            f"    return {Path(file).stem}.{name}",
        ]
    (tmp_path / "test_theirs.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--junitxml=out.xml"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    cases = ElementTree.parse(tmp_path / "out.xml").iter("testcase")
    for param, case in zip(listed, cases, strict=True):
        kinds = {child.tag: child.get("message", "") + (child.text or "") for child in case}
        verdict = "refuted" if "failure" in kinds else "refused" if "skipped" in kinds else "lossless"
        text = next(iter(kinds.values()), param.values[0].get("says", ""))
        said(param.values[0], verdict, re.sub(r"\s+", " ", text))
