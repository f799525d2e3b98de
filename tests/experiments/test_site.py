"""The site: its generated pages follow the code, its tutorial runs, and nothing in it is loaded from elsewhere."""

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import draftproof
from draftproof.experiments.cli import COMMANDS
from draftproof.experiments.pages.site import (
    DOCS,
    LINK,
    ROOT,
    commands_page,
    on_page_markdown,
    python_page,
    schemes_page,
)
from draftproof.experiments.pages.tutorial import NOTEBOOK, executed, written
from draftproof.simulator.drafts import lossless_for


@pytest.mark.heavy
def test_the_tutorial_shows_what_its_code_gives() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert written(executed(json.loads(text))) == text, "run `python -m draftproof.experiments.pages tutorial`"
    outputs = [cell["outputs"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert sum(map(bool, outputs)) > 10


def test_outputs_follow_the_code() -> None:
    cell = {"id": "a", "cell_type": "code", "source": ["x = 2\n", "print(x)\n", "x + 1"], "outputs": []}
    (done,) = executed({"cells": [cell]})["cells"]
    assert [output.get("text") or output["data"]["text/plain"] for output in done["outputs"]] == [["2\n"], ["3"]]


def test_the_numbers_in_the_picture_of_the_concepts_are_computed() -> None:
    picture = (DOCS / "concept.svg").read_text(encoding="utf-8")
    drawn = [Fraction(value) for value in re.findall(r">(\d+/\d+)</text>", picture)]
    p, q = drawn[:3], drawn[3:]
    law = draftproof.block_law("specinfer", p, q, "delayed:K=2,L1=0,L2=2").as_dict()
    accepted = sum(mass for (context, _), mass in law.items() if context[:1] == (0,))
    assert accepted + law[(), 0] == p[0]
    assert f"token 0:  1 · {p[0]} = {accepted} + {law[(), 0]}</text>" in picture
    reach = draftproof.tree_law("specinfer", p, q, [(2, 1), (1, 2)]).reach
    assert reach[1,] > reach[1, 2], "the token 1 can be accepted and no other after it"


def test_every_name_of_the_face_is_in_the_reference() -> None:
    page = python_page()
    named = re.findall(r"^::: draftproof\.(\w+)$", page, re.MULTILINE) + re.findall(r"`([A-Z_]+)`", page)
    assert sorted(named) == sorted(draftproof.__all__)


def test_every_command_and_option_is_in_the_reference(draftproof) -> None:
    sections = dict(
        re.findall(r"^##+ `draftproof ([\w ]+)`\n(.*?)(?=^## |^### `|\Z)", commands_page(), re.DOTALL | re.MULTILINE)
    )
    assert [name for name in sections if name != "model"] == list(COMMANDS)
    for name in ("check", "compare", "model choose"):
        options = set(re.findall(r"^│ (--[\w-]+)", draftproof(*name.split(), "--help-all").out, re.MULTILINE))
        assert options
        assert options <= set(re.findall(r"^\* `(?:-\w, )?(--[\w-]+)", sections[name], re.MULTILINE))


def test_every_scheme_is_there_with_the_verifiers_that_declare_it() -> None:
    page = schemes_page()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE))
    assert list(sections) == list(draftproof.SCHEMES)
    for name, section in sections.items():
        declared = {key for key, entry in draftproof.REGISTRY.items() if name in lossless_for(entry.card)}
        assert set(re.findall(r"`(\w+)`", section.partition("Lossless on it: ")[2])) == declared
    assert set(draftproof.FAMILIES) <= set(re.findall(r"^\| `(\w+)` ", page, re.MULTILINE))


class Page:
    """What the hook looks at of a page of mkdocs."""

    def __init__(self, src_uri: str) -> None:
        self.file, self.src_uri = self, src_uri


@pytest.mark.parametrize(
    ("page", "link", "moved"),
    [
        ("README.md", "docs/concept.md", "concept.md"),
        ("README.md", "docs/tutorial.ipynb", "tutorial.md"),
        ("README.md", "docs/theory/bounds.md#certificates", "theory/bounds.md#certificates"),
        ("howto/prove.md", "../../verifiers/naive.py", "../verifiers/naive.py"),
        ("howto/prove.md", "audit.md", "audit.md"),
        ("concept.md", "../README.md", "README.md"),
        ("tutorial.md", "howto/prove.md", "howto/prove.md"),
        ("concept.md", "#when", "#when"),
        ("concept.md", "https://example.org/README.md", "https://example.org/README.md"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(page: str, link: str, moved: str) -> None:
    assert on_page_markdown(f"[x]({link})", Page(page), None, None) == f"[x]({moved})"


def test_every_page_of_the_navigation_and_every_page_of_docs_is_in_it() -> None:
    listed = re.findall(r"^ +- [^:]+: ([\w/.]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} <= set(listed)


@pytest.mark.heavy
def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|link|iframe)[^>]*?(?:src|href)=\"([^\"]+)\"", page.read_text(encoding="utf-8")
        )
        assert loaded
        assert not [address for address in loaded if re.match(r"(\w+:)?//", address)], page
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet
    assert LINK.search((DOCS / "concept.md").read_text(encoding="utf-8"))
