#!/usr/bin/env python3
"""The page of GET / in a headless Chromium: index_page_test.py COLUGO FIXTURES_DIR [unittest arguments].

Skipped where there is no Chromium. COLUGO_SCREENSHOT=FILE: the picture of docs/server.md as a PNG, with nano.
"""
import base64
import json
import os
import re
import unittest

from browser import Browser, skip_without_chromium
from program import COLUGO, ProgramCase, main
from serving import Server, until

# Of two colours as Chromium writes them; 4.5 is what the Web Content Accessibility Guidelines ask for.
READABLE = 4.5


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class IndexPage(Browser):
    def type(self, text):
        self.value("document.getElementById('text').focus()")
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")

    def click(self, name):
        self.value(f"document.getElementById('{name}').click()")


class IndexPageTest(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = IndexPage()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        super().setUp()
        self.browser.open("about:blank")
        self.browser.value("1")
        self.browser.events.clear()
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])

    def serve(self, *replies, arguments=()):
        script = self.path("script.jsonl", "".join(json.dumps(reply) + "\n" for reply in replies))
        return Server(COLUGO, "--model", "scripted:" + script, "--reasoning", "off", *arguments)

    def tile(self, name):
        return self.browser.value(f"document.getElementById('tile-{name}').textContent")

    def talk(self):
        return self.browser.value("document.getElementById('talk').innerText")

    def choose_thinking(self, value):
        self.browser.value(f"document.getElementById('think').value = '{value}'")
        self.assertEqual(self.browser.value("document.getElementById('think').value"), value)  # it is one of the choices

    def wait_for_text(self, text):
        self.assertTrue(until(lambda: text in self.talk()), self.talk())

    def wait_for_end(self):
        self.assertTrue(until(lambda: self.browser.value("document.getElementById('stop').hidden")))

    def test_a_turn_is_shown_as_it_is_written(self):
        code = "Look:\n```python\nprint(1 < 2)\n```\nDone, <img src=x onerror=fetch('/evil')> café 😀.\n```\nopen end"
        with self.serve({"text": "<think>\nhm hm\n</think>\n\n" + code, "step_ms": 60, "chunk": 2}, {"text": "And more."}) as server:
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            self.assertTrue(until(lambda: "scripted, " in self.browser.value("document.getElementById('model').textContent")))
            self.browser.type("Hello <b>you</b>")
            self.wait_for_text("hm hm")
            self.assertTrue(until(lambda: self.tile("running") == "1"))
            self.assertEqual(self.browser.value("document.getElementById('text').value"), "")
            self.wait_for_text("tok/s")
            self.wait_for_end()
            self.assertIn("Hello <b>you</b>", self.talk())
            self.assertIn("onerror=fetch('/evil')> café 😀.", self.talk())
            self.assertEqual(self.browser.value("[...document.querySelectorAll('.text pre')].map(one => one.textContent)"),
                             ["print(1 < 2)\n", "open end"])
            self.assertFalse(self.browser.value("document.querySelector('details').open"))
            self.choose_thinking("false")
            self.browser.type("Go on")
            self.wait_for_text("And more.")
            self.wait_for_end()
            for choice in ("true", ""):
                self.choose_thinking(choice)
            self.browser.type("And on")
            self.assertTrue(until(lambda: self.talk().count("tok/s") == 3))
            self.assertTrue(until(lambda: self.tile("running") == "0" and self.tile("ttft") != "–"))
            for name in ("rate", "pass", "cached", "memory", "ttft"):
                self.assertRegex(self.tile(name), r"^[\d.]+( %| ms| s)?$|^–$")
            sent = [json.loads(request["request"]["postData"]) for request in self.browser.of("Network.requestWillBeSent")
                    if request["request"]["method"] == "POST"]
            self.assertEqual([message["role"] for message in sent[1]["messages"]], ["user", "assistant", "user"])
            self.assertEqual(sent[1]["messages"][1]["content"], code)
            self.assertNotIn("chat_template_kwargs", sent[0])
            self.assertEqual(sent[1]["chat_template_kwargs"], {"enable_thinking": False})
            self.assertNotIn("chat_template_kwargs", sent[2])
            for url in self.browser.asked():
                self.assertTrue(url.startswith((f"http://127.0.0.1:{server.port}/", "data:")), url)
            self.assertFalse(any("evil" in url for url in self.browser.asked()))
            self.assertEqual(self.browser.complaints(), [])

    def test_stop_and_new_end_a_reply(self):
        slow = {"text": "one two three four five six seven eight nine ten", "step_ms": 400}
        with self.serve(slow, slow, {"text": "fresh"}) as server:
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            self.browser.type("a")
            self.wait_for_text("two")
            self.browser.click("stop")
            self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 0, 10))
            self.wait_for_end()
            self.browser.type("b")
            self.assertTrue(until(lambda: self.talk().count("two") == 2), self.talk())
            self.browser.click("new")
            self.wait_for_end()
            self.browser.type("c")
            self.wait_for_text("fresh")
            sent = [json.loads(request["request"]["postData"])["messages"] for request in self.browser.of("Network.requestWillBeSent")
                    if request["request"]["method"] == "POST"]
            self.assertEqual([len(messages) for messages in sent], [1, 3, 1])
            self.assertEqual(sent[2][0]["content"], "c")
            self.assertEqual(self.browser.complaints(), [])

    def test_what_the_server_refuses_is_said(self):
        with self.serve({"text": "x"}) as server:
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            self.browser.type("word " * 60000)
            self.wait_for_text("context")
            self.assertEqual(self.browser.value("document.querySelectorAll('.error').length"), 1)
            self.wait_for_end()
            self.browser.type("short")
            self.wait_for_text("tok/s")
            self.assertEqual(server.end(), 0)
            self.assertTrue(until(lambda: self.browser.value("document.getElementById('state').className") == "down"))

    def test_a_key_is_asked_for_where_one_is_wanted(self):
        with self.serve({"text": "let in"}, arguments=("--api-key", "sesame")) as server:
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            self.assertTrue(until(lambda: not self.browser.value("document.getElementById('lock').hidden")))
            asked = lambda: sum(url.endswith("/metrics") for url in self.browser.asked())
            self.assertTrue(until(lambda: asked() > 0))
            looks = asked()
            self.browser.value("look().then(look)")  # as each second does
            self.assertEqual(asked(), looks)
            self.browser.value("const key = document.getElementById('key'); key.value = 'sesame'; key.dispatchEvent(new Event('change'))")
            self.assertTrue(until(lambda: asked() > looks + 1))
            self.assertTrue(until(lambda: "scripted" in self.browser.value("document.getElementById('model').textContent")))
            self.browser.type("hi")
            self.wait_for_text("let in")
            self.assertFalse(any("sesame" in url for url in self.browser.asked()))

    def test_shares_are_those_of_the_last_while(self):
        with Server(COLUGO, "--reasoning", "off", "--temp", 0) as server:
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            self.assertTrue(until(lambda: self.browser.value("document.getElementById('state').className") == "up"))
            self.assertEqual([self.tile(name) for name in ("pass", "cached", "ttft")], ["–"] * 3)
            server.chat("word " * 300, max_tokens=4)
            self.assertTrue(until(lambda: self.tile("cached") == "0 %"))
            server.chat("word " * 300, max_tokens=4)  # all but the end of it is cached: of both prompts, half
            self.assertTrue(until(lambda: self.tile("cached") in ("98 %", "99 %", "100 %")), self.tile("cached"))
            self.browser.value("look().then(look).then(look).then(look)")
            self.assertIn(self.tile("cached"), ("98 %", "99 %", "100 %"))

    def test_it_can_be_read_in_light_and_dark_and_on_a_telephone(self):
        with self.serve({"text": "<think>\nhm\n</think>\n\nwords " * 3 + "\n```\n" + "long " * 100 + "\n```\n"}) as server:
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            self.browser.type("hi")
            self.wait_for_text("tok/s")
            self.wait_for_end()
            pages = set()
            for scheme in ("light", "dark"):
                self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                colours = self.browser.value("""[...document.querySelectorAll(`h1, #model, label, .tile b, .tile span, .user, .text,
                    .text pre, .thought, .figures, select, textarea, button`)].filter(one => one.offsetParent).map(one => {
                  let behind = one;
                  while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
                  return [one.id || one.className || one.tagName, getComputedStyle(one).color, getComputedStyle(behind).backgroundColor];
                })""")
                self.assertGreater(len(colours), 15)
                for name, ink, paper in colours:
                    self.assertGreaterEqual(contrast(ink, paper), READABLE, (scheme, name, ink, paper))
                pages.add(self.browser.value("getComputedStyle(document.body).backgroundColor"))
            self.assertEqual(len(pages), 2)
            for width in (360, 800, 1600):
                self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=width < 500)
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
                self.assertLessEqual(self.browser.value("document.getElementById('form').getBoundingClientRect().bottom"), 700)
            self.browser.call("Emulation.clearDeviceMetricsOverride")

    @unittest.skipUnless(os.environ.get("COLUGO_SCREENSHOT"), "COLUGO_SCREENSHOT names no file")
    def test_screenshot(self):
        with Server(COLUGO, "--reasoning", "off", "--temp", 0, "-c", 32768) as server:
            self.browser.call("Emulation.setDeviceMetricsOverride", width=1000, height=720, deviceScaleFactor=1, mobile=False)
            self.browser.open(f"http://127.0.0.1:{server.port}/")
            for text in ("Where under src/planner is `close_orbit` defined? Show 20 lines of it.",
                         "Find where under lib/telescope `point_mirror` is called."):
                before = self.talk().count("tok/s")
                self.browser.type(text)
                self.assertTrue(until(lambda: self.talk().count("tok/s") > before))
            self.assertTrue(until(lambda: self.tile("rate") != "0"))
            picture = self.browser.call("Page.captureScreenshot", format="png")["data"]
            with open(os.environ["COLUGO_SCREENSHOT"], "wb") as file:
                file.write(base64.b64decode(picture))


if __name__ == "__main__":
    skip_without_chromium()
    main()
