"""How long a report takes to open in a real browser, and how it looks.

`python -m experiments.studies.opening REPORT.html`: Chromium without a window, a fresh profile for each opening; times
are those of its own navigation timing. `--shots FOLDER` keeps pictures of the first screen, at desktop and phone width,
light and dark.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from experiments.shared.output import check_files, write_json
from experiments.shared.progress import bar
from simulator.errors import InvalidInput

#: Widths of a desktop and of a phone, and the height of both, in pixels.
WIDTHS, HEIGHT = (1280, 390), 900
#: Milliseconds since the beginning of the navigation, as the browser tells them.
_TIMING = """
const times = performance.getEntriesByType('navigation')[0];
const paint = performance.getEntriesByName('first-contentful-paint');
return {parsed: times.domInteractive, loaded: times.loadEventEnd,
  painted: paint.length ? paint[0].startTime : null, elements: document.querySelectorAll('*').length}
"""
_SORTED = """
const start = performance.now();
const longest = [...document.querySelectorAll('table')].sort((a, b) => b.rows.length - a.rows.length)[0];
longest.querySelector('th button').click();
document.body.offsetHeight;
return performance.now() - start
"""


def missing() -> str | None:
    """What of selenium, Chromium and its driver is not here; None if all is."""
    try:
        import selenium.webdriver  # noqa: F401
    except ImportError:
        return "a report is opened by selenium: install draftproof with the extra browser"
    lost = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"a report is opened in Chromium: no {' and no '.join(lost)} here" if lost else None


@contextmanager
def browser(width: int = WIDTHS[0], dark: bool = False) -> Iterator[Any]:
    """Chromium without a window, at this width; raises `InvalidInput` where it is missing."""
    lost = missing()
    if lost:
        raise InvalidInput(lost)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with TemporaryDirectory() as profile:
        for word in (
            "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync", "hide-scrollbars",
            "disable-background-networking", "disable-component-update", f"user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(f"--{word}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(str(shutil.which("chromedriver"))))
        try:
            # A window cannot be as narrow as a phone: the page is told that it is.
            size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 500}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
            yield driver
        finally:
            driver.quit()


def opened(report: Path) -> dict[str, float]:
    """Milliseconds of one opening, the elements of the page, and what it takes to sort its longest table."""
    with browser() as driver:
        driver.get(report.resolve().as_uri())
        found: dict[str, float] = driver.execute_script(_TIMING)
        return {**found, "sorted": driver.execute_script(_SORTED)}


def pictures(report: Path, folder: Path) -> list[Path]:
    """The first screen at each width, light and dark."""
    made = []
    for width in WIDTHS:
        for dark in (False, True):
            with browser(width, dark) as driver:
                driver.get(report.resolve().as_uri())
                made.append(folder / f"{report.stem}-{width}-{'dark' if dark else 'light'}.png")
                driver.save_screenshot(str(made[-1]))
    return made


def main(
    report: Annotated[Path, typer.Argument(help="A report, as draftproof report writes it.")],
    times: Annotated[int, typer.Option(min=1, help="How often it is opened.")] = 5,
    shots: Annotated[Path | None, typer.Option(help="Folder for pictures.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Open a report in Chromium and say how long that takes."""
    from experiments.shared.consoles import console_for

    check_files((str(report),), {"--json": json_target})
    if not report.is_file():
        raise InvalidInput(f"there is no report {report}; draftproof report STORE -o {report} makes one")
    if shots is not None and not shots.is_dir():
        raise InvalidInput(f"--shots {shots} is no folder; make it first")
    console = console_for(json_target)
    with bar("openings", times) as tick:
        runs = []
        for _ in range(times):
            runs.append(opened(report))
            tick(1)
    told: dict[str, Any] = {"bytes": report.stat().st_size, "elements": runs[0]["elements"], "times": times}
    for name in ("parsed", "painted", "loaded", "sorted"):
        known = [run[name] for run in runs if run[name] is not None]
        told[f"{name}_ms"] = round(median(known), 1) if known else None
    console.print(f"{report}: {told['bytes']:,} bytes, {told['elements']:,} elements")
    console.print(
        f"medians of {times}: parsed {told['parsed_ms']} ms, first painted {told['painted_ms']} ms, "
        f"loaded {told['loaded_ms']} ms; sorting the longest table {told['sorted_ms']} ms",
        soft_wrap=True,
    )
    for path in pictures(report, shots) if shots is not None else ():
        console.print(f"picture: {path}")
    write_json(json_target, told)
    return 0


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
