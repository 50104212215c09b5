#!/usr/bin/env python3
"""Replies held to random schemas: structured.py COLUGO WRITE_SCHEMAS [--schemas N] [--calls N] [--clients N] [--seconds N].

nano answers at temperature 1.5, several requests at once, with drafts of every kind, whole and as streams, with thoughts
and without. Every reply that the model ended has to satisfy its schema. Prints a table, and fails where one does not,
where a request is refused, and where too few replies end for the table to mean anything.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import time

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from program import COLUGO  # noqa: E402
from serving import Server, joined  # noqa: E402

PROMPTS = ["Where under src/planner is `close_orbit` defined?", "Who are you?", "Fill in the form, please.", "5 + 7?"]
MODES = ("tree", "mtp", "lookup", "auto", "off")
FORMATS = jsonschema.Draft202012Validator.FORMAT_CHECKER
assert {"date", "time", "date-time", "uuid", "email", "ipv4", "uri"} <= set(FORMATS.checkers), "rfc3339-validator or rfc3986-validator is missing"


class PatientServer(Server):
    def connect(self, timeout=900):
        return super().connect(timeout)


def as_documented(schema):
    """The schema with oneOf as anyOf, which is how it is read (docs/structured-output.md)."""
    if isinstance(schema, list):
        return [as_documented(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {"anyOf" if key == "oneOf" else key: as_documented(part) for key, part in schema.items()}


def fault_of(value, schema):
    validator = jsonschema.Draft202012Validator(as_documented(schema), format_checker=FORMATS)
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    return error and f"{error.message[:200]} at {error.json_path}"


def parsed(text):
    try:
        return json.loads(text), None
    except ValueError as error:
        return None, f"not JSON: {error}"


class Test:
    def __init__(self, server, tokens, end):
        self.end = end
        self.server, self.counts, self.faults, self.slowest = server, {}, [], (0.0, "")
        self.end_of_thought, self.open_call = tokens

    def run(self, row, index, schema, parameters):
        """Two replies to a request, one of them a stream; what became of each. None when the time is over."""
        if time.monotonic() > self.end:
            return []
        body = {"messages": [{"role": "user", "content": PROMPTS[index % len(PROMPTS)]}], "temperature": 1.5, "max_tokens": 400,
                "speculation": {"mode": MODES[index % len(MODES)]}, "logit_bias": {}}
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
        if parameters is not None:
            body["tools"] = [{"type": "function", "function": {"name": "act", "strict": True, "parameters": parameters}}]
            body["tool_choice"] = "auto" if schema is not None else ["required", {"type": "function", "function": {"name": "act"}}][index % 2]
            if schema is not None:
                body["logit_bias"][str(self.open_call)] = -100 if index % 4 < 2 else 0
        if index % 2:
            body["chat_template_kwargs"] = {"enable_thinking": True}
            body["logit_bias"][str(self.end_of_thought)] = 4
        results = []
        for stream in (False, True):
            body["seed"] = 2 * index + stream
            begin = time.monotonic()
            results.append((row, *self.reply(body, stream, schema, parameters)))
            self.slowest = max(self.slowest, (time.monotonic() - begin, f"{row} {index}"))
        return results

    def reply(self, body, stream, schema, parameters):
        if stream:
            message, reasons = joined(self.server.events("/v1/chat/completions", body))
            reason = reasons[0]
        else:
            status, answer = self.server.post("/v1/chat/completions", body)
            if status != 200:
                return "refused", json.dumps(answer)[:300]
            message, reason = answer["choices"][0]["message"], answer["choices"][0]["finish_reason"]
        if reason == "length":
            return "cut", None
        fault = self.fault_of_reply(message, reason, schema, parameters)
        return "valid" if fault is None else "invalid", fault and f"{fault}\n  {json.dumps(message)[:600]}\n  {json.dumps(body)[:1500]}"

    def fault_of_reply(self, message, reason, schema, parameters):
        calls = message.get("tool_calls", [])
        if reason not in ("stop", "tool_calls") or (reason == "tool_calls") != bool(calls) or (calls and message["content"]):
            return f"the finish reason is {reason}"
        if not calls and schema is None:
            return "a call is required"
        if not calls:
            value, fault = parsed(message["content"])
            return fault or fault_of(value, schema)
        for call in calls:
            value, fault = parsed(call["function"]["arguments"])
            fault = fault or (call["function"]["name"] != "act" and "another function") or fault_of(value, parameters)
            if fault:
                return fault
        return None

    def count(self, results):
        for row, verdict, fault in results:
            self.counts.setdefault(row, collections.Counter())[verdict] += 1
            if fault:
                self.faults.append(fault)


def schemas_of(program, kind, count):
    lines = subprocess.run([program, kind, str(count)], check=True, capture_output=True).stdout.decode().splitlines()
    return [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("colugo")
    parser.add_argument("write_schemas")
    parser.add_argument("--schemas", type=int, default=500)
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after these nothing more is asked")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    schemas = schemas_of(arguments.write_schemas, "schemas", arguments.schemas)
    calls = schemas_of(arguments.write_schemas, "parameters", arguments.calls)
    with PatientServer(COLUGO, "--reasoning", "off", "-np", 4, "--cache-gib", 1, "--spec", "auto", "-t", arguments.threads) as server:
        test = Test(server, server.post("/tokenize", {"content": "</think><tool_call>"})[1]["tokens"], time.monotonic() + arguments.seconds)
        rows = {"a schema": [(schema, None) for schema in schemas], "forced calls": [(None, one) for one in calls],
                "a schema or calls": list(zip(schemas, calls))}
        with concurrent.futures.ThreadPoolExecutor(arguments.clients) as pool:
            in_turn = sorted(((i / len(pairs), row, i, pair) for row, pairs in rows.items() for i, pair in enumerate(pairs)),
                             key=lambda one: one[:2])
            work = [pool.submit(test.run, row, i, *pair) for _, row, i, pair in in_turn]
            for done in concurrent.futures.as_completed(work):
                test.count(done.result())
        accepted = server.metric("colugo:spec_decode_num_accepted_tokens_total")
        share = server.metric("colugo:engine_form_seconds_total") / server.metric("colugo:engine_step_seconds_total")
        code = server.end()
    print(f"{'':20}{'schemas':>9}{'replies':>9}{'finished':>10}{'validated':>11}{'cut by length':>15}")
    for row in rows:
        counts = test.counts.get(row, collections.Counter())
        finished = counts["valid"] + counts["invalid"]
        print(f"{row:20}{sum(counts.values()) // 2:9}{sum(counts.values()):9}{finished:10}{counts['valid']:11}{counts['cut']:15}")
        if finished < sum(counts.values()) / 2:
            test.faults.append(f"{row}: only {finished} replies ended")
    print(f"{accepted:.0f} drafts accepted; {100 * share:.1f} % of the engine's time was for forms; "
          f"the slowest reply took {test.slowest[0]:.1f} s ({test.slowest[1]})")
    for fault in test.faults[:10]:
        print("fault:", fault)
    sys.exit(1 if test.faults or code != 0 or accepted == 0 else 0)


if __name__ == "__main__":
    main()
