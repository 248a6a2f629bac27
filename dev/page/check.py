#!/usr/bin/env python3
"""Looks at the page of ferrock-inspect with a real browser: what it draws, logs and asks for, with mouse and keyboard.

    cargo xtask page                                        installs Chromium where it can, builds, and runs this
    dev/page/check.py --server target/debug/examples/page [--chromium PATH] [--pictures DIR] [SCENARIO ...]

Scenarios: loaded, busy, many, empty, damaged, lost; all without a name. `--pictures` keeps what the page looked like. Each
scenario is served by a process of crates/inspect/examples/page.rs.

Exit code: 0 when every check passed, 1 when one failed, 2 when the browser or the server cannot be started.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser, Failed

NARROW, WIDE = 400, 1280
# Of what a canvas has been painted with, above its bottom line.
PAINTED = """[...document.querySelectorAll('#levels canvas')].map(canvas => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, Math.max(1, canvas.height - 1));
    return data.filter((value, index) => index % 4 === 3 && value).length;
})"""
# Ratios of contrast between texts and what is behind them, the smallest of all texts that are shown.
CONTRAST = """(() => {
    const light = colour => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255);
        const [r, g, b] = parts.map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const behind = node => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (!/, 0\\)$/.test(colour) && colour !== 'transparent') return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    let least = 99, where = '';
    for (const node of document.querySelectorAll('h1, h2, h3, p, td, th, dt, dd, span, button, strong, label, pre')) {
        if (!node.textContent.trim() || node.disabled || !node.getClientRects().length) continue;
        const [one, other] = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => b - a);
        const ratio = (one + .05) / (other + .05);
        if (ratio < least) [least, where] = [ratio, node.tagName + ' ' + node.className + ': ' + node.textContent.slice(0, 40)];
    }
    return [least, where];
})()"""


class Server:
    """A process that serves a scenario until its input is closed."""

    def __init__(self, program, kind, port=0):
        self.process = subprocess.Popen([program, kind, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            print(f"{program} {kind} did not start", file=sys.stderr)
            raise SystemExit(2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        if self.process.wait(timeout=60) != 0:
            raise Failed(f"the server ended with {self.process.returncode}")

    @property
    def port(self):
        return int(self.url.rstrip("/").rsplit(":", 1)[1])


class Looks:
    """Sizes and colours in which every page must be right, with a picture of each."""

    def __init__(self, pictures):
        self.pictures = pictures

    def all(self, page, name):
        for scheme in ["light", "dark"]:
            page.colours(scheme)
            for width in [WIDE, NARROW]:
                page.size(width, 900)
                page.wait("the page takes its size", f"innerWidth === {width}")
                self.one(page, f"{name}-{scheme}-{width}", width)
        page.colours("light")
        page.size(WIDE, 900)

    def one(self, page, name, width):
        page.picture(self.pictures / f"{name}.png")
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            outside = page.evaluate(f"""[...document.querySelectorAll('body *')].filter(node =>
                node.getBoundingClientRect().right > {width} && !node.closest('.scroll')).map(node =>
                node.tagName + '#' + node.id + '.' + node.className).slice(0, 5).join(', ')""")
            raise Failed(f"{name}: the page is {wide} wide and scrolls sideways at {width}: {outside}")
        least, where = page.evaluate(CONTRAST)
        if least < 4.5:
            raise Failed(f"{name}: a contrast of {least:.2f} is less than 4.5: {where}")


def shown(page):
    page.wait("the numbers are there", "at('tiles').children.length > 0")


def is_open(number):
    return f"!at('table').hidden && at('table').querySelector('h3').textContent === 'Table {number}'"


def check_table(page, number):
    """The table that was opened shows its properties and the histogram of its blocks, as text too."""
    page.wait(f"table {number} opens", is_open(number), seconds=5)
    page.check("its properties are there", "at('table').textContent.includes('comparator')")
    page.wait("its blocks are there", "at('table').querySelectorAll('.bars i').length > 0")
    page.check("its key range is there", "at('table').textContent.includes('smallest key')")
    counts = page.evaluate("""(async () => {
        const number = at('table').querySelector('h3').textContent.replace('Table ', '');
        const value = (await ask('/api/blocks?number=' + number)).value;
        const drawn = [...at('table').querySelectorAll('.bars tr td:last-child')].map(cell => cell.textContent);
        return [value.histogram.map(bucket => bucket.blocks.toLocaleString('en-US')).join(), drawn.join()];
    })()""")
    if counts[0] != counts[1]:
        raise Failed(f"the bars say {counts[1]}, and the server {counts[0]}")


def loaded(browser, program, looks):
    with Server(program, "loaded") as server:
        page = browser.open(server.url)
        shown(page)
        page.wait("levels are drawn", f"({PAINTED}).length > 1 && ({PAINTED}).every(pixels => pixels > 0)")
        page.wait("rates are there", "/[1-9]/.test(at('tiles').querySelector('dd').textContent)")
        # The deepest level changes least while the writer goes on.
        page.evaluate("choose(current().levels.filter(level => level.files).at(-1).level, 0)")
        page.wait("its tables are listed", "/level [1-6]/.test(at('listtitle').textContent)")
        by_mouse(page)
        looks.all(page, "loaded")
        page.click("#table button")
        page.wait("it closes", "at('table').hidden")
        by_keyboard(page)

        # Names and keys are texts, whatever they contain.
        page.evaluate("(select => { select.value = select.options[1].value; "
                      "select.dispatchEvent(new Event('change')); })(at('family'))")
        page.wait("the other family is listed", "/^1 to 1 of 1$/.test(at('range').textContent)")
        page.check("markup in a key is shown", "at('list').textContent.includes('<script>alert(1)</script>')"
                   " || at('list').textContent.includes('(empty)')")
        page.check("and makes no element", "!document.querySelector('#list script, #list img, #family b')")
        looks.all(page, "family")
        page.close()


def by_mouse(page):
    """Clicks a table and looks at it. A compaction may take the table away meanwhile, so a few are tried."""
    for tries_left in reversed(range(5)):
        number = page.wait("a table is listed", "document.querySelector('#list button')?.dataset.number")
        try:
            page.click(f"#list button[data-number='{number}']")
            check_table(page, number)
            return
        except Failed:
            if not tries_left:
                raise


def by_keyboard(page):
    page.evaluate("document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)")
    page.tab_to("the button of a level", "node.matches('#levels button')")
    page.press("Enter")
    page.wait("its tables are listed", "/^Tables of level/.test(at('listtitle').textContent)")
    page.evaluate("choose(current().levels.filter(level => level.files).at(-1).level, 0)")
    for tries_left in reversed(range(5)):
        page.tab_to("a table", "node.matches('#list button')")
        try:
            number = page.evaluate("document.activeElement.dataset.number")
            page.press("Enter")
            check_table(page, number)
            break
        except Failed:
            if not tries_left:
                raise
    page.check("the keyboard is at the table", "document.activeElement === at('table')")
    page.tab_to("the button that closes it", "node.matches('#table button')", most=2)
    page.press("Enter")
    page.wait("it closes", "at('table').hidden")
    page.check("the keyboard is at the list again", "document.activeElement === at('list')")


def busy(browser, program, looks):
    """A compaction that runs, writers that wait for it, and the budget, all as the server tells them."""
    with Server(program, "busy") as server:
        page = browser.open(server.url)
        shown(page)
        page.wait("writers are stopped", "at('state').textContent.includes('stopped')")
        row = page.wait("the compaction is listed as it runs",
                        "[...document.querySelectorAll('#jobs tr')].map(row => [...row.cells].map("
                        "cell => cell.textContent.replaceAll('\\u00a0', ' ')))"
                        ".find(cells => /^compaction \\d+$/.test(cells[0]))")
        told = page.evaluate("""(async () => {
            const job = (await ask('/api/metrics')).value.background.jobs[0];
            return ['compaction ' + job.job_id, job.family, 'L' + job.start_level + ' to L' + job.output_level,
                job.reason, String(job.inputs), bytes(job.input_bytes), bytes(job.written_bytes), job.stage];
        })()""")
        if row[:-1] != told:
            raise Failed(f"the page lists {row}, and the server tells {told}")
        first = page.evaluate("now.background.jobs[0].elapsed_us")
        page.wait("it goes on", f"now.background.jobs[0].elapsed_us > {first}")
        page.check("one compaction runs", "/^1 compaction runs over \\d+ sorted runs/.test(at('jobs').innerText)")
        page.check("it is said that writers wait", "at('waits').innerText.includes('Writes are stopped now')")
        page.check("of a budget of 64 MiB", "at('memory').textContent.includes('of a budget of 64')")
        looks.all(page, "busy")
        page.close()


def many(browser, program, looks):
    with Server(program, "many") as server:
        page = browser.open(server.url)
        shown(page)
        page.wait("ten thousand tables are told", "/^10,000 tables/m.test(at('levels').innerText)")
        page.wait("all of them are on the page", "[...map.values()].reduce((sum, files) => sum + files.length, 0) === 10000")
        page.wait("and drawn", f"({PAINTED}).some(pixels => pixels > 1000)")
        page.wait("the first hundred are listed", "/^1 to 100 of 10,000$/.test(at('range').textContent)")
        page.click("#next")
        page.wait("the next hundred are listed", "/^101 to 200 of 10,000$/.test(at('range').textContent)")
        page.click("#levels .level:last-child canvas", across=0.5)
        page.wait("a click on the bars lists what is there",
                  "(text => text && Math.abs(Number(text[1].replace(',', '')) - 5000) < 20)"
                  "(/^([\\d,]+) to /.exec(at('range').textContent))")
        by_mouse(page)
        # What a poll costs the page: its thread must be free nearly always.
        busiest = page.evaluate("""new Promise(done => {
            let last = performance.now(), longest = 0, ticks = 0;
            const tick = () => {
                const now = performance.now();
                longest = Math.max(longest, now - last);
                last = now;
                if (++ticks < 150) setTimeout(tick, 20); else done(longest);
            };
            tick();
        })""")
        if busiest > 500:
            raise Failed(f"the page was busy for {busiest:.0f} ms at once")
        looks.all(page, "many")
        page.close()


def empty(browser, program, looks):
    with Server(program, "empty") as server:
        page = browser.open(server.url)
        shown(page)
        page.wait("it says that there are no tables", "at('list').textContent.startsWith('No tables')")
        page.check("level 0 is there", "document.querySelectorAll('#levels canvas').length === 1")
        # But for the LOG and the options, which are texts of the database.
        page.check("nothing is said to be NaN or undefined",
                   "![...document.querySelectorAll('header, main > section, main > .grid')].filter("
                   "part => !part.querySelector('#log, #options')).some("
                   "part => /NaN|undefined|null/.test(part.innerText))")
        looks.all(page, "empty")
        page.close()


def damaged(browser, program, looks):
    with Server(program, "damaged") as server:
        page = browser.open(server.url, expects_failures=True)
        page.wait("the error is shown", "!at('failure').hidden")
        page.check("with its file", "/MANIFEST-\\d+/.test(at('failfile').textContent)")
        page.check("and what to do", "at('faildo').textContent.length > 40")
        page.check("sections without numbers are hidden", "at('now').hidden && at('tree').hidden")
        page.wait("options are there", "at('options').textContent.includes('create_if_missing')")
        page.wait("the LOG is there", "at('log').textContent.length > 100")
        looks.all(page, "damaged")
        page.close()


def lost(browser, program, looks):
    with Server(program, "empty") as server:
        page = browser.open(server.url)
        shown(page)
        page.check("no banner is shown", "at('lost').hidden")
        page.expects_failures = True
        port = server.port
    page.wait("the banner appears", "!at('lost').hidden")
    page.check("the state says so", "at('state').textContent === 'connection lost'")
    page.check("it says of when the numbers are", "/\\d/.test(at('losttime').textContent)")
    looks.all(page, "lost")
    with Server(program, "empty", port):
        page.wait("the banner goes when the server is back", "at('lost').hidden")
        page.close()


SCENARIOS = [loaded, busy, many, empty, damaged, lost]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="the example `page` of ferrock-inspect")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=Path, help="a directory to keep pictures in")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="loaded, busy, many, empty, damaged, lost")
    arguments = parser.parse_args()
    names = [scenario.__name__ for scenario in SCENARIOS]
    wrong = [name for name in arguments.scenarios if name not in names]
    if wrong:
        parser.error(f"{', '.join(wrong)}: scenarios are {', '.join(names)}")
    if not shutil.which(arguments.chromium):
        print(f"{arguments.chromium} is not installed: apt-get install chromium, or give --chromium", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="ferrock-pictures-") as temporary:
        pictures = arguments.pictures or Path(temporary)
        pictures.mkdir(parents=True, exist_ok=True)
        return run(arguments, Looks(pictures))


def run(arguments, looks):
    failures = passed = 0
    with Browser(arguments.chromium) as browser:
        for scenario in SCENARIOS:
            if arguments.scenarios and scenario.__name__ not in arguments.scenarios:
                continue
            begin = time.monotonic()
            try:
                scenario(browser, arguments.server, looks)
                passed += 1
                print(f"page: {scenario.__name__}: right, {time.monotonic() - begin:.1f} s")
            except Failed as failed:
                failures += 1
                print(f"page: {scenario.__name__}: FAILED: {failed}", file=sys.stderr)
    print(f"{passed} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
