"""Answers to BFCL's questions, made from what is right: right ones, and others with one or two faults each."""

import copy
import json

UNICODE = ["\u00e9", "\u0130", "\u03a3", "\u00df", "\u4eac", "\u00a0", "\u2019", "\U0001f600"]
EDITS = list("[](){}<>,:;\"' \n\t.-+_0159eEfFlLn") + ["new ", "null", "true", "put(", "add(", "))", "}}", "[]"]


class Answers:
    def __init__(self, random):
        self.random = random
        self.kinds = [getattr(self, name) for name in dir(self) if name.startswith("kind_")]

    # ---- What is right ------------------------------------------------------------------------------------------

    def right(self, question):
        """Calls with possible values: [[name, {parameter: value}], ...]."""
        calls = []
        for answer in question["answers"]:
            ((name, parameters),) = answer.items()
            function = next((f for f in question["functions"] if f["name"] == name), question["functions"][0])
            arguments = {}
            for parameter, values in parameters.items():
                schema = function["parameters"]["properties"].get(parameter, {"type": "any"})
                if parameter not in function["parameters"]["required"] and "" in values and self.random.random() < 0.5:
                    continue
                value = self.random.choice([value for value in values if value != ""] or [""])
                value = (
                    self._filled(value) if question["language"] != "javascript" or schema["type"] == "dict" else value
                )
                arguments[parameter] = self._written(question["language"], schema, value)
            calls.append([name.replace(".", "_"), arguments])
        return calls

    def _filled(self, value):
        """A possible value with one of the values that its objects allow."""
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if not isinstance(value, dict):
            return copy.deepcopy(value)
        filled = {}
        for key, values in value.items():
            if not isinstance(values, list) or not values:
                filled[key] = values
            elif "" not in values or self.random.random() < 0.5:
                filled[key] = copy.deepcopy(self.random.choice([v for v in values if v != ""] or [""]))
        return filled

    def _written(self, language, schema, value):
        if language == "java":
            return self._java(schema, value)
        return self._javascript(schema, value) if language == "javascript" else value

    def _java_literal(self, value, name):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return value if name in ("any", None) and self.random.random() < 0.5 else json.dumps(value)
        return json.dumps(value) + {"long": "L", "float": "f"}.get(name, "")

    def _java(self, schema, value):
        name = schema["type"]
        element = schema.get("items", {}).get("type")
        if isinstance(value, list):
            items = [self._java_literal(item, element) for item in value]
            if name == "Array":
                return f"new {self.random.choice(['String', 'int', 'Object'])}[]{{{', '.join(items)}}}"
            form = self.random.randrange(3)
            if form == 0:
                adds = " ".join(f"add({item});" for item in items)
                return f"new ArrayList<{self.random.choice(['', 'String', 'Integer'])}>() {{{{ {adds} }}}}"
            return "new ArrayList<>()" if not items else f"new ArrayList<>(Arrays.asList({', '.join(items)}))"
        if isinstance(value, dict):
            puts = " ".join(f'put("{key}", {self._java_literal(item, "String")});' for key, item in value.items())
            types = self.random.choice(["", "String, Object", "String, List<String>"])
            return f"new HashMap<{types}>() {{{{ {puts} }}}}" if puts else f"new HashMap<{types}>()"
        return value if isinstance(value, str) else self._java_literal(value, name)

    def _javascript(self, schema, value):
        if isinstance(value, list):
            items = [json.dumps(item) for item in value]
            if schema.get("items", {}).get("type") == "Bigint":
                items = [item + "n" for item in items]
            inside = self.random.choice([", ", ","]).join(items)
            return self.random.choice([f"[{inside}]", f"new Array({inside})", f"[ {inside} ]"])
        if isinstance(value, dict):
            quote = self.random.choice(["", "'", '"'])
            return "{" + ", ".join(f"{quote}{key}{quote}: {json.dumps(item)}" for key, item in value.items()) + "}"
        if isinstance(value, str):
            return self.random.choice([value, f"'{value}'", f'"{value}"']) if schema["type"] == "String" else value
        return json.dumps(value) + ("n" if schema["type"] == "Bigint" else "")

    # ---- What is changed ----------------------------------------------------------------------------------------

    def altered(self, question, faults=1):
        """(kinds of the changes, calls as [name, text of the arguments])."""
        calls = self.right(question)
        names = []
        for _ in range(faults):
            kind = self.random.choice(self.kinds)
            changed = kind(calls, question)
            if changed is None:
                continue
            names.append(kind.__name__[len("kind_") :])
            calls = changed
        return "+".join(sorted(set(names))) or "right", self.texts(calls)

    @staticmethod
    def texts(calls):
        return [
            [name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)]
            for name, arguments in calls
        ]

    def _with_argument(self, calls, change, wanted=lambda value: True):
        """Calls in which change(value) replaces one value for which wanted(value); None where there is none."""
        places = [
            (i, key)
            for i, (_, arguments) in enumerate(calls)
            if isinstance(arguments, dict)
            for key, value in arguments.items()
            if wanted(value)
        ]
        if not places:
            return None
        i, key = self.random.choice(places)
        calls = copy.deepcopy(calls)
        calls[i][1][key] = change(calls[i][1][key])
        return calls

    def _any_value(self):
        return self.random.choice(
            [
                None,
                True,
                False,
                0,
                1,
                -1,
                2.0,
                2.5,
                1e300,
                "",
                " ",
                "x",
                "1",
                "true",
                [],
                [""],
                [1],
                ["a", 1],
                [[1]],
                [{}],
                {},
                {"a": 1},
                {"a": [1]},
                2**53,
                -(2**62),
            ]
        )

    def _respelled(self, text):
        at = self.random.randrange(len(text) + 1)
        mark = self.random.choice(list(" ,./-_*^") * 2 + list("'\"\t!;+") + UNICODE)
        marked = text[:at] + mark + text[at:]
        return (
            marked
            if self.random.random() < 0.4
            else self.random.choice(
                [
                    text.upper(),
                    text.lower(),
                    text.title(),
                    text.replace(" ", ""),
                    text.replace("-", " "),
                    text.replace('"', "'"),
                    text.replace("'", '"'),
                    " " + text + " ",
                    text + "s",
                    text[:-1],
                    text.replace(", ", "-"),
                ]
            )
        )

    def _nested(self, value, change):
        """The value with change(item) for one of its items, at any depth."""
        if isinstance(value, list) and value:
            i = self.random.randrange(len(value))
            return value[:i] + [self._nested(value[i], change)] + value[i + 1 :]
        if isinstance(value, dict) and value:
            key = self.random.choice(list(value))
            return {**value, key: self._nested(value[key], change)}
        return change(value)

    def _retyped(self, value):
        if isinstance(value, bool):
            return self.random.choice([int(value), float(value), str(value), str(value).lower(), not value])
        if isinstance(value, int):
            return self.random.choice([float(value), str(value), value + 1, -value, bool(value), [value]])
        if isinstance(value, float):
            return self.random.choice([int(value), str(value), value + 0.1, value * 1.0000001, [value]])
        if isinstance(value, str):
            return self.random.choice([[value], {"value": value}, None, list(value), len(value)])
        return json.dumps(value)

    def kind_name(self, calls, question):
        i = self.random.randrange(len(calls))
        name = calls[i][0]
        names = [f["name"] for f in question["functions"]] + [name + "_", name.upper(), name.replace("_", ".", 1), ""]
        return [[self.random.choice(names) if j == i else n, a] for j, (n, a) in enumerate(calls)]

    def kind_missing(self, calls, question):
        places = [
            (i, key) for i, (_, arguments) in enumerate(calls) if isinstance(arguments, dict) for key in arguments
        ]
        if not places:
            return None
        i, key = self.random.choice(places)
        calls = copy.deepcopy(calls)
        del calls[i][1][key]
        return calls

    def kind_extra(self, calls, question):
        i = self.random.randrange(len(calls))
        function = self.random.choice(question["functions"])
        names = list(function["parameters"]["properties"]) + ["other", ""]
        if not isinstance(calls[i][1], dict):
            return None
        calls = copy.deepcopy(calls)
        calls[i][1].setdefault(self.random.choice(names), self._any_value())
        return calls

    def kind_other_value(self, calls, question):
        return self._with_argument(calls, lambda value: self._any_value())

    def kind_retyped(self, calls, question):
        return self._with_argument(calls, self._retyped)

    def kind_respelled(self, calls, question):
        return self._with_argument(calls, self._respelled, lambda value: isinstance(value, str))

    def kind_nested_value(self, calls, question):
        def change(item):
            respell = isinstance(item, str) and self.random.random() < 0.6
            return self._respelled(item) if respell else self._retyped(item)

        return self._with_argument(
            calls, lambda value: self._nested(value, change), lambda value: isinstance(value, (list, dict))
        )

    def kind_list(self, calls, question):
        def change(items):
            items = list(items)
            which = self.random.randrange(5)
            if which == 0:
                self.random.shuffle(items)
            elif which == 1:
                items = items[:-1]
            elif which == 2:
                items.append(self._any_value())
            elif which == 3:
                items = items + items[:1]
            return items if which < 4 else []

        return self._with_argument(calls, change, lambda value: isinstance(value, list))

    def kind_keys(self, calls, question):
        def change(value):
            if isinstance(value, list):
                i = self.random.randrange(len(value))
                return value[:i] + [change(value[i])] + value[i + 1 :]
            value = dict(value)
            if value and self.random.random() < 0.5:
                del value[self.random.choice(list(value))]
            else:
                value[self.random.choice(["other", "", "Name"])] = self._any_value()
            return value

        def has_keys(value):
            return isinstance(value, dict) or (
                isinstance(value, list)
                and value
                and isinstance(value[0], dict)
                and all(isinstance(item, dict) for item in value)
            )

        return self._with_argument(calls, change, has_keys)

    def kind_edited_text(self, calls, question):
        def change(text):
            for _ in range(self.random.randrange(1, 4)):
                at = self.random.randrange(len(text) + 1)
                cut = at + self.random.choice([0, 0, 1, 1, 2])
                text = text[:at] + self.random.choice(EDITS + [""] * 8) + text[cut:]
            return text

        return self._with_argument(calls, change, lambda value: isinstance(value, str))

    def kind_number_text(self, calls, question):
        texts = [
            "1",
            "-1",
            "+1",
            "1_000",
            "1.",
            ".5",
            "1e3",
            "1e",
            "1.0f",
            "1F",
            "5L",
            "5l",
            "5n",
            "5n\n",
            "5\n",
            "5L\n",
            "inf",
            "-Infinity",
            "nan",
            "0x1F",
            "1,5",
            " 7 ",
            "00",
            "1E-2",
            "1.5e+2",
            "--1",
            '"5"',
            "'5'",
            "true",
            "True",
        ]
        return self._with_argument(calls, lambda value: self.random.choice(texts))

    def kind_order(self, calls, question):
        if len(calls) < 2:
            return None
        calls = list(calls)
        self.random.shuffle(calls)
        return calls

    def kind_count(self, calls, question):
        i = self.random.randrange(len(calls))
        return self.random.choice([calls + [copy.deepcopy(calls[i])], calls[:i] + calls[i + 1 :], []]) or None

    def kind_mixed_up(self, calls, question):
        """Two calls that exchange their arguments, or one made twice in the place of another."""
        if len(calls) < 2:
            return None
        i, j = self.random.sample(range(len(calls)), 2)
        calls = copy.deepcopy(calls)
        if self.random.random() < 0.5:
            calls[i][1], calls[j][1] = calls[j][1], calls[i][1]
        else:
            calls[i] = copy.deepcopy(calls[j])
        return calls

    def kind_malformed(self, calls, question):
        i = self.random.randrange(len(calls))
        text = self.texts(calls)[i][1]
        bad = self.random.choice(
            [
                text[:-1],
                text + "}",
                "",
                "   ",
                "null",
                "[]",
                "1",
                "[" + text + "]",
                json.dumps(text),
                text.replace('"', "'"),
                "x" + text,
            ]
        )
        return [[n, bad if j == i else a] for j, (n, a) in enumerate(calls)]
