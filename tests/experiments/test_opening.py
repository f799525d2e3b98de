"""The opening of a report is measured in Chromium; without it, or without a report, there is one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.studies import opening
from simulator.errors import InvalidInput


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    report = tmp_path / "r.html"
    with pytest.raises(InvalidInput, match="there is no report"):
        opening.main(report, 1, None, None)
    report.write_text("<p>none</p>")
    with pytest.raises(InvalidInput, match="is no folder; make it first"):
        opening.main(report, 1, tmp_path / "shots", None)
    monkeypatch.setitem(sys.modules, "selenium", None)
    with pytest.raises(InvalidInput, match="install draftproof with the extra browser"):
        opening.main(report, 1, None, None)


def test_a_browser_that_is_not_there_is_named(monkeypatch):
    pytest.importorskip("selenium", reason="the extra `browser` is not installed")
    monkeypatch.setattr(opening.shutil, "which", lambda name: None if name == "chromedriver" else str(Path(name)))
    assert opening.missing() == "a report is opened in Chromium: no chromedriver here"
