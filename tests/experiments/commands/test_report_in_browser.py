"""The report in a real browser: it opens without errors, sorts, filters, and fits the window of a telephone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.experiments.commands.test_sweep import SMALL

webdriver = pytest.importorskip("selenium.webdriver", reason="a report is opened by selenium: the extra `browser`")
PROGRAMS = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
if None in PROGRAMS.values():
    pytest.skip("a report is opened in Chromium: no chromium and chromedriver here", allow_module_level=True)


@pytest.fixture
def browser(tmp_path):
    options = webdriver.ChromeOptions()
    options.binary_location = PROGRAMS["chromium"]
    for word in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"):
        options.add_argument(f"--{word}")
    for word in ("disable-background-networking", "disable-component-update", f"user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(PROGRAMS["chromedriver"]))
    yield driver
    driver.quit()


@pytest.fixture
def report(browser, draftproof, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    assert draftproof("sweep", "small.toml", "--jobs", 1).code == 0
    assert draftproof("report", "sweep.db", "-o", "report.html").code == 0
    browser.get(Path("report.html").resolve().as_uri())
    return browser


def column(browser, table, place):
    """The values of a column of the rows that are shown."""
    return browser.execute_script(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].filter(row => !row.hidden)"
        ".map(row => row.cells[arguments[1]].dataset.value ?? row.cells[arguments[1]].textContent)",
        table,
        place,
    )


def test_it_opens_without_errors_and_every_figure_is_drawn(report):
    assert report.get_log("browser") == []
    figures = report.find_elements("css selector", "svg")
    assert len(figures) >= 2
    assert all(figure.size["width"] > 100 and figure.size["height"] > 50 for figure in figures)
    assert report.find_element("css selector", "ul.findings li").is_displayed()


def test_a_click_sorts_and_another_turns_it_round(report):
    heading = next(
        button
        for button in report.find_elements("css selector", "#schemes th button")
        if button.text == "mean tokens a block"
    )
    before = [float(value) for value in column(report, "schemes", 4)]
    heading.click()
    up = [float(value) for value in column(report, "schemes", 4)]
    heading.click()
    down = [float(value) for value in column(report, "schemes", 4)]
    assert up == sorted(before) != before
    assert down == up[::-1]
    assert heading.find_element("xpath", "..").get_attribute("aria-sort") == "descending"


def test_words_filter(report):
    every = column(report, "pairs", 0)
    report.find_element("css selector", "input[data-table=pairs]").send_keys("naive block")
    some = column(report, "pairs", 0)
    assert 0 < len(some) < len(every)
    texts = report.execute_script(
        "return [...document.getElementById('pairs').tBodies[0].rows].filter(r => !r.hidden).map(r => r.textContent)"
    )
    assert all("naive" in text and "block" in text for text in texts)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(report, width):
    report.set_window_size(width, 900)
    inner, whole = report.execute_script("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner
