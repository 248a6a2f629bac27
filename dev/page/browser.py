"""A headless Chromium, driven through its DevTools protocol over a pair of pipes: JSON objects that end with a zero byte.

    Browser      the process; messages with ids and their answers; events go to the page whose channel they name
    Page         a tab: what it logs and asks for, evaluation of scripts, mouse, keys, size, colours, pictures
"""
import base64
import json
import os
import select
import subprocess
import tempfile
import time

FLAGS = ["--headless=new", "--no-sandbox", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-dev-shm-usage", "--remote-debugging-pipe"]
# Seconds in which the browser has to answer.
ANSWER = 30


class Failed(Exception):
    """A check that the page did not pass."""


class Browser:
    def __init__(self, program):
        self.home = tempfile.TemporaryDirectory(prefix="ferrock-page-")
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()

        def place():
            # The browser reads at 3 and writes at 4. Both are moved out of the way first.
            reads, writes = os.dup(command_read), os.dup(answer_write)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={self.home.name}", "about:blank"],
                                        close_fds=False, preexec_fn=place, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self.buffer = b""
        self.number = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.home.cleanup()

    def send(self, method, params=None, channel=None):
        """Sends a command and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if channel:
            message["sessionId"] = channel
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + ANSWER
        wanted = self.number
        while True:
            answer = self.receive(deadline - time.monotonic())
            if answer is None:
                raise Failed(f"the browser did not answer {method} within {ANSWER} s")
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, seconds):
        """One message, after its event was given to its page; None when the time is over."""
        deadline = time.monotonic() + max(0, seconds)
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise Failed("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.take(message["method"], message["params"])
        return message

    def open(self, url, expects_failures=False):
        """A page of its own, with nothing of others."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        channel = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, channel, target, url)
        page.expects_failures = expects_failures
        self.pages[channel] = page
        for domain in ["Page", "Runtime", "Log", "Network"]:
            page.send(f"{domain}.enable")
        page.size(1280, 900)
        answer = page.send("Page.navigate", {"url": url})
        if "errorText" in answer:
            raise Failed(f"{url}: {answer['errorText']}")
        page.wait("the page is loaded", f"location.href === {json.dumps(url)} && document.readyState === 'complete'")
        return page


class Page:
    def __init__(self, browser, channel, target, url):
        self.browser, self.channel, self.target, self.url = browser, channel, target, url
        self.errors = []
        self.requests = []
        # Answers other than 200, and none, are part of the scenario.
        self.expects_failures = False

    def send(self, method, params=None):
        return self.browser.send(method, params, self.channel)

    def take(self, event, of):
        if event == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Runtime.consoleAPICalled" and of["type"] in ("error", "assert", "warning"):
            self.errors.append(f"console.{of['type']}: {[one.get('value') for one in of['args']]}")
        elif event == "Log.entryAdded" and of["entry"]["level"] == "error":
            entry = of["entry"]
            if not (self.expects_failures and entry["source"] == "network"):
                self.errors.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])

    def close(self):
        """Ends the page; raises what it logged and asked for elsewhere."""
        self.evaluate("1")
        foreign = [url for url in self.requests if not url.startswith((self.url, "data:"))]
        self.browser.send("Target.closeTarget", {"targetId": self.target})
        if self.errors:
            raise Failed(f"the page logged {self.errors}")
        if foreign:
            raise Failed(f"the page asked for {foreign}, which is not of {self.url}")
        if not any(url.startswith(self.url) for url in self.requests):
            raise Failed("no request was seen: the check of their origin sees nothing")

    def evaluate(self, script):
        result = self.send("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failed(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return result["result"].get("value")

    def wait(self, what, script, seconds=20):
        """Until a script gives something true, which is returned."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = self.evaluate(script)
            if value:
                return value
            self.browser.receive(0.05)
        raise Failed(f"{what}: not within {seconds} s ({script})")

    def check(self, what, script):
        value = self.evaluate(script)
        if not value:
            raise Failed(f"{what}: {script} is {value}")
        return value

    def size(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def colours(self, scheme):
        self.send("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def click(self, selector, across=0.5):
        """A click of the mouse in the middle of an element, or at a share of its width."""
        place = self.evaluate(f"""(() => {{
            const node = document.querySelector({json.dumps(selector)});
            if (!node) return null;
            node.scrollIntoView({{ block: 'center' }});
            const {{ left, top, width, height }} = node.getBoundingClientRect();
            return [left + width * {across}, top + height / 2];
        }})()""")
        if place is None:
            raise Failed(f"there is no {selector} to click")
        for kind in ["mousePressed", "mouseReleased"]:
            self.send("Input.dispatchMouseEvent",
                      {"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1})

    def press(self, key):
        code = {"Tab": 9, "Enter": 13}[key]
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        if key == "Enter":
            event["text"] = "\r"
        self.send("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        self.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def tab_to(self, what, script, most=80):
        """Presses Tab until the element that has the focus is wanted."""
        for _ in range(most):
            self.press("Tab")
            if self.evaluate(f"(node => {script})(document.activeElement)"):
                return
        raise Failed(f"{what} is not reached by {most} presses of Tab")

    def picture(self, path):
        """All of the page, not only what is in the window."""
        data = self.send("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})["data"]
        path.write_bytes(base64.b64decode(data))
