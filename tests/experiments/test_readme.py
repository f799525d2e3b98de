"""The first page and the pages of docs: code runs, commands print what they say, tables are made from the cards."""

import doctest
import inspect
import re
import shlex
import sys
from collections import Counter
from fractions import Fraction
from itertools import chain
from pathlib import Path

import pytest

from draftproof.experiments.claims.ledger import ledger
from draftproof.experiments.cli import COMMANDS
from draftproof.experiments.cli.compare.policies import is_policy
from draftproof.experiments.gallery.measuring import measured
from draftproof.experiments.inputs.schemes import find_schemes
from draftproof.experiments.inputs.verifiers import find_verifier, from_file
from draftproof.experiments.pages import transcripts
from draftproof.experiments.pages.__main__ import main
from draftproof.experiments.pages.site import GENERATED, verifiers_page
from draftproof.experiments.pages.transcripts import PAGES, README, TRANSCRIPT, fitted, words_of
from draftproof.simulator.instances.instance import Instance
from draftproof.verifiers import REGISTRY
from draftproof.verifiers.strings import STRING_RULES
from tests.experiments.parsers import parsers

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")
TRANSCRIPTS = [shown for page in PAGES for shown in TRANSCRIPT.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.one_in(16)
@pytest.mark.parametrize("readme", PAGES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_code_of_the_pages_runs(readme, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(readme), module_relative=False, optionflags=options)
    assert result.attempted >= readme.read_text(encoding="utf-8").count("\n>>> ")
    assert result.failed == 0


def test_links_of_the_pages_lead_somewhere():
    for readme in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)[)#]", readme.read_text(encoding="utf-8")):
            path = (readme.parent / link).resolve()
            made = path.is_relative_to(ROOT / "docs") and path.relative_to(ROOT / "docs").as_posix() in GENERATED
            assert path.exists() or made, (readme, link)


def test_the_findings_of_the_first_page_are_those_of_their_records():
    """Counts are of the records; other numbers stand in what a command on the page of findings prints."""
    found = TEXT.partition("## Found with it")[2].partition("\n## ")[0]
    statuses = [claim.status for claim in ledger()]
    assert f"{statuses.count('refuted')} of {len(statuses)} claims" in found
    verdicts = [outcome.verdict for outcome in measured().values()]
    assert f"{verdicts.count('lossy')} of {len(verdicts)} verifiers" in found
    shown = {" ".join(words_of(command)): printed for command, printed in TRANSCRIPTS}
    items = found.split("\n- ")[3:5]
    for item in items:
        [command] = re.findall(r"`draftproof ([^`]+)`", item)
        printed = re.findall(r"\d+\.\d+", shown[command])
        for number in re.findall(r"\d\.\d{3,}", item):
            places = len(number.partition(".")[2])
            assert number in {f"{float(each):.{places}f}" for each in printed}, number
    layer, _, best = (float(number) for number in re.findall(r"\d\.\d{4}", items[0]))
    assert (best - layer) / best < 0.001


def test_the_page_of_findings_says_what_the_records_say():
    text = " ".join((ROOT / "docs" / "findings.md").read_text(encoding="utf-8").split())
    counts = Counter(claim.status for claim in ledger())
    assert f"## {counts['refuted']} of {counts.total()} claims of papers and projects are refuted" in text
    assert f"{counts['holds']} hold on all instances tested, {counts['refuted']} are refuted by one, " in text
    assert f"{counts['measured']} are measurements, {counts['cannot be decided here']} need" in text
    outcomes = measured()
    verdicts = Counter(outcome.verdict for outcome in outcomes.values())
    assert verdicts == {"lossy": 3, "lossless": 8, "lossless up to a bias": 2}
    assert "## 3 of 13 verifiers" in text
    assert "Eight are lossless" in text
    biases = [outcome.deviation for outcome in outcomes.values() if outcome.verdict == "lossless up to a bias"]
    assert 0 < max(biases) < 1e-6
    place = [float(number) for number in re.findall(r"0\.\d+", outcomes["vllm-ascend-block"].place)]
    assert (
        "target probability .{:.0f} comes out with probability .{:.0f}.".format(*(1e3 * each for each in place)) in text
    )
    claims = (ROOT / "docs" / "results" / "claims.md").read_text(encoding="utf-8")
    for name, refuting in re.findall(r"\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|", text):
        [line] = [line for line in claims.splitlines() if line.startswith(f"| `{name}` ")]
        status, evidence = line.rstrip(" |").split(" | ")[-2:]
        assert status == "refuted"
        known = {f"{float(Fraction(each)):.3f}" for each in re.findall(r"\d+(?:/\d+)?", evidence)}
        assert {f"{float(Fraction(each)):.3f}" for each in re.findall(r"\d[\d./]*", refuting)} <= known, name


def test_citation_and_changes_have_the_version_of_the_project():
    project, citation, changes = (
        (README.parent / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
    )
    version = re.search(r'^version = "(.*)"$', project, re.MULTILINE)[1]
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == version
    assert re.search(r"^## (.*)$", changes, re.MULTILINE)[1] == version


def timed(command, shown):
    """Thousands of rows are for the heavy tests; `test_cost_and_engines.py` has the same tables from a few.

    So is a witness that is searched for among trees of six nodes; that of `specinfer` on another scheme is quick.
    """
    long = ("--by long-run", "check traversal_insertion_order")
    marks = [pytest.mark.heavy] if any(part in command for part in long) else []
    return pytest.param(command, shown, marks=marks, id=command)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("command", "shown"), [timed(*transcript) for transcript in TRANSCRIPTS])
def test_commands_print_what_the_readme_shows(draftproof, command, shown):
    assert fitted(draftproof(*words_of(command)).out) == shown.rstrip()


@pytest.mark.heavy
def test_one_program_fills_in_what_commands_print_and_the_table_of_the_main_job(monkeypatch, tmp_path):
    page, table = tmp_path / "page.md", tmp_path / "table.md"
    marks = "<!-- comparison: generated -->\n{}<!-- comparison: end -->\n"
    command = "```console\n$ draftproof list verifiers\n{}```\n"
    page.write_text(marks.format("old\n") + command.format("old\n"))
    table.write_text("| a |\n")
    monkeypatch.setattr(transcripts, "PAGES", (page,))
    assert main(["transcripts", "--comparison", str(table)]) == 0
    assert page.read_text() == marks.format("| a |\n") + command.format(transcripts.transcript("list verifiers"))
    with pytest.raises(SystemExit, match="2"):
        main(["transcript"])


@pytest.mark.heavy
def test_the_worked_example_ends_with_a_verifier_that_conforms(draftproof, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    doctest.testfile(str(README.parent / "docs" / "howto" / "check.md"), module_relative=False)
    fixed = Path("mine.py").read_text()
    assert len(fixed.splitlines()) < 30
    assert draftproof("check", "mine.py:Mine", "--world", "family:dirichlet,denominator=20,seeds=0..19").code == 0
    Path("mine.py").write_text(fixed.replace("(p - q) * (p > q)", "p"))
    ran = draftproof("check", "mine.py:Mine", "--world", "family:dirichlet,denominator=20,seeds=0..19", "--json")
    assert (ran.code, ran.witness["vocab_size"], Instance.load(ran.witness["file"]).depth) == (1, 2, 1)


#: A command in a line of its own or between backticks; lines may go on after a backslash.
QUOTED = re.compile(rf"(?:^|`|\$ )draftproof ({'|'.join(COMMANDS)}) ([^`#&\n]+)", re.MULTILINE)


def quoted():
    """Every command that a page quotes, with what stands for values."""
    pages = [*ROOT.rglob("README.md"), ROOT / "Makefile", *ROOT.glob("docs/**/*.md")]
    for path in sorted({path for path in pages if not {".venv", "runs"} & set(path.parts)}):
        for name, rest in QUOTED.findall(path.read_text(encoding="utf-8").replace("\\\n", " ")):
            yield path, name, shlex.split(rest)


def test_commands_that_pages_quote_are_commands_about_what_there_is():
    known = parsers()
    asked = 0
    for path, name, arguments in quoted():
        if arguments in (["--help"], ["--dask"]):
            continue
        given = known[name].make_context(name, list(arguments)).params  # raises for what it does not take
        specs = [given.get(key) for key in ("verifier", "verifiers", "chosen")]
        for spec in chain(*(value if isinstance(value, (list, tuple)) else [value] for value in specs if value)):
            if from_file(spec) or (name == "compare" and is_policy(spec)):
                continue
            if spec in STRING_RULES:  # of two tokenizers
                continue
            if not spec.isupper() and spec != "all" and ".toml" not in spec:  # NAME is any
                find_verifier(spec)
                asked += 1
        schemes = given.get("scheme") or given.get("shape_scheme") or ()
        for scheme in [schemes] if isinstance(schemes, str) else schemes:
            if not from_file(scheme) and not scheme.isupper():  # NAME is any
                find_schemes(scheme)
                asked += 1
        assert path
    assert asked > 50


def test_every_verifier_has_its_line_its_section_and_its_docstring_in_the_reference():
    text = verifiers_page()
    for name, entry in REGISTRY.items():
        module = sys.modules[(entry if isinstance(entry, type) else type(entry)).__module__]
        assert f"\n| [`{name}`](#{name.lower()}) | {entry.card.title} |" in text
        assert f"\n## {name}\n" in text
        assert inspect.cleandoc(module.__doc__) in text
