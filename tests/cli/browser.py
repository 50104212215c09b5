"""A headless Chromium for the length of a test."""
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from serving import until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
             "--remote-debugging-pipe"]


def skip_without_chromium():
    if CHROMIUM is None:
        print("skipped: there is no Chromium here (Debian's package chromium)")
        sys.exit(77)


class Browser:
    """A tab, driven by the DevTools protocol over pipes: messages of JSON, each with a zero byte behind it."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        reads, self._out = os.pipe()
        self._in, writes = os.pipe()
        # The browser reads from 3 and writes to 4: out of the way of these first.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reads, writes)]
        shell = f"exec \"$@\" 3<&{ends[0]} 4>&{ends[1]} {ends[0]}<&- {ends[1]}>&-"
        self._process = subprocess.Popen(["bash", "-c", shell, "bash", CHROMIUM, f"--user-data-dir={self.profile}", *ARGUMENTS],
                                         pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (reads, writes, *ends):
            os.close(end)
        self._buffer, self._ids, self._session, self.events = b"", itertools.count(1), None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("the browser says nothing")
            data = os.read(self._in, 1 << 16)
            if not data:
                raise AssertionError("the browser ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message(60)
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(done["exceptionDetails"])
        return done["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)
        if not until(lambda: self.value("document.readyState") == "complete"):
            raise AssertionError("the page does not load")

    def of(self, method):
        self.value("1")  # what was said until now is there
        return [event["params"] for event in self.events if event.get("method") == method]

    def complaints(self):
        said = [call for call in self.of("Runtime.consoleAPICalled") if call["type"] in ("error", "warning", "assert")]
        logged = [entry["entry"] for entry in self.of("Log.entryAdded") if entry["entry"]["level"] in ("error", "warning")]
        return said + logged + self.of("Runtime.exceptionThrown")

    def asked(self):
        return [request["request"]["url"] for request in self.of("Network.requestWillBeSent")]

    def close(self):
        self._process.terminate()
        self._process.wait(30)
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self.profile, ignore_errors=True)
