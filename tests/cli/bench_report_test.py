#!/usr/bin/env python3
"""report.html of colugo bench agentic in a headless Chromium, from a file and without a network:
bench_report_test.py COLUGO FIXTURES_DIR [unittest arguments]. Skipped where there is no Chromium."""
import json
import os
import pathlib

from browser import Browser, skip_without_chromium
from fake_server import FakeServer, reply_events
from program import ProgramCase, colugo, main

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SAMPLE = os.path.join(ROOT, "workloads", "sample.jsonl")
NAME = """a <b>"bold"</b> & 'plain' &amp;"""
MESSAGE = """</pre><script>document.title = "evil"</script><img src="http://127.0.0.1:9/evil.png"> &lt;"""
NOT_TOLD = "The server does not tell."
# Of each section its title and what it shows: a text, or how many points, points of lines, bars, and bars in red it has.
SECTIONS = """[...document.querySelectorAll('h2')].map(head => {
  const shown = head.nextElementSibling.nextElementSibling;
  if (shown.tagName !== 'svg') return [head.textContent, shown.textContent];
  const all = query => [...shown.querySelectorAll(query)], frame = shown.viewBox.baseVal;
  const outside = all('circle, polyline, rect, line, text').filter(one => {
    const box = one.getBBox();
    return !(box.x >= 0 && box.y >= 0 && box.x + box.width <= frame.width && box.y + box.height <= frame.height);
  });
  if (outside.length || shown.getBoundingClientRect().height < 20) return [head.textContent, outside.map(one => one.outerHTML)];
  return [head.textContent, [all('circle:has(title)').length, all('polyline').map(line => line.points.numberOfItems),
                             all('rect').length, all('rect.c3').length]];
})"""


def told(value, form):
    return "not told" if value is None else format(value, form)


def share(part, whole):
    if part is None or whole is None:
        return "not told"
    return f"{100 * part / whole:.2f} %" if whole else "none"


class BenchReportTest(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def run_bench(self, *arguments, code=0):
        """The results of a run whose report is open then, and the sections of that."""
        out = self.path("out")
        done = colugo("bench", "agentic", "--out", out, *arguments)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
            results = json.load(file)
        self.browser.open("about:blank")
        self.browser.of("")
        self.browser.events.clear()
        url = pathlib.Path(out, "report.html").as_uri()
        self.browser.open(url)
        self.assertEqual(self.browser.value("document.title"), "colugo bench agentic")
        self.assertEqual(self.browser.value("document.querySelectorAll('script, img, link, iframe, b').length"), 0)
        sections = dict(self.browser.value(SECTIONS))
        self.assertEqual(json.loads(sections.pop("Setup")), results["setup"])
        self.check_table(results)
        self.assertEqual(self.browser.asked(), [url])
        self.assertEqual(self.browser.complaints(), [])
        return results, sections

    def failing(self, turns, behave):
        """A run of two conversations of so many turns, with names and messages that look like markup."""
        rows = []
        for name in (NAME, "other"):
            rows.append({"role": "user", "system": "x", "content": "go", "conversation_id": name, "turn": 1})
            for i in range(turns):
                rows.append({"role": "assistant", "content": "done", "conversation_id": name, "turn": 2 * i + 2})
                rows.append({"role": "user", "content": "more", "conversation_id": name, "turn": 2 * i + 3})
        data = self.path("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        with FakeServer(behave) as server:
            return self.run_bench("--url", server.url, "--data", data, code=1)

    def check_table(self, results):
        lines = self.browser.value("document.querySelector('pre').textContent").splitlines()
        table = {line[:26].rstrip(): line[27:] for line in lines}
        prompt, cached, drafts = results["prompt_tokens"], results["cached_tokens"], results["drafts"]
        expected = {
            "turns": f"{results['turns']} of {results['turns_expected']}, {results['conversations']} conversations",
            "IoU": told(results["iou"], ".4f"),
            "wall clock": f"{results['wall_s']:.2f} s",
            "prompt tokens": told(prompt, ","),
            "  cached": f"{told(cached, ',')} ({share(cached, prompt)})",
            "  in earlier prompts": f"not counted: {results['no_ideal']}" if results["ideal_cached_tokens"] is None else
                                    f"{told(results['ideal_cached_tokens'], ',')} ({share(results['ideal_cached_tokens'], prompt)})",
            "  computed": told(results["computed_prompt_tokens"], ","),
            "output tokens": f"{told(results['output_tokens'], ',')}, {told(results['output_tok_s'], '.2f')} tok/s",
            "tokens per pass": told(results["tokens_per_pass"], ".3f"),
            "drafts accepted": share(drafts["accepted"], drafts["drafted"]),
        }
        self.assertEqual({name: table[name] for name in expected}, expected)
        for name, times in (("  first token (TTFT)", results["ttft_ms"]), ("  a token more (TPOT)", results["tpot_ms"])):
            self.assertEqual(table[name].split(), [f"{times[key]:.2f}" for key in ("mean", "p50", "p90", "p99")] if times else ["not", "told"])
        for failure in results["failures"]:
            self.assertIn(f"{'failed':<26} {failure['conversation']}, turn {failure['turn']}: {failure['message']}", lines)

    def test_one_turn_on_nano(self):
        with open(SAMPLE, encoding="utf-8") as file:
            data = self.path("data.jsonl", file.readline() + file.readline())
        results, sections = self.run_bench("--model", "nano", "--data", data)
        places = results["drafts"]["accepted_by_position"]
        self.assertGreater(len(places), 1)
        self.assertEqual(sections, {
            "Time to the first token": [1, [1], 0, 0], "Prefill": [1, [1], 0, 0], "Cached share": [1, [1], 0, 0],
            "Drafts by position": [0, [], len(places), 0], "Timeline": [0, [], 2, 0]})

    def test_a_turn_that_failed_and_names_that_look_like_markup(self):
        def behave(number, body):
            return (500, {"error": {"message": MESSAGE}}) if number == 1 else reply_events("x")

        results, sections = self.failing(3, behave)
        self.assertEqual((results["turns"], results["turns_failed"]), (4, 1))
        self.assertEqual(sections, {
            "Time to the first token": [4, [3], 0, 0], "Prefill": NOT_TOLD, "Cached share": [4, [], 0, 0],
            "Drafts by position": NOT_TOLD, "Timeline": [0, [], 10, 1]})
        self.assertIn(MESSAGE, results["failures"][0]["message"])
        texts = self.browser.value("[...document.querySelectorAll('svg text, svg title')].map(one => one.textContent)")
        self.assertIn(NAME, texts)
        self.assertIn(NAME + ", turn 2", texts)  # the recorded replies' numbers
        self.assertTrue(any(text.startswith(f"turn {results['failures'][0]['turn']}, ") for text in texts))
        self.assertNotIn("in earlier prompts, median", texts)  # of which there is nothing to show

    def test_nothing_but_failures(self):
        results, sections = self.failing(2, lambda number, body: (500, {"error": {"message": MESSAGE}}))
        self.assertEqual((results["turns"], results["turns_failed"]), (0, 2))
        self.assertEqual(sections.pop("Timeline"), [0, [], 4, 2])
        self.assertEqual(set(sections.values()), {NOT_TOLD})
        self.assertIn("0 of 4 turns", self.browser.value("document.querySelector('p.bad').textContent"))


if __name__ == "__main__":
    skip_without_chromium()
    main()
