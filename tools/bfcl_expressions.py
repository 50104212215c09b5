"""Expressions of Java and JavaScript at random: numbers, texts, collections, and such with faults."""

JAVA_TYPES = [
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "boolean",
    "char",
    "String",
    "any",
    "Array",
    "ArrayList",
    "HashMap",
]
JAVASCRIPT_TYPES = ["integer", "float", "Bigint", "Boolean", "String", "any", "array", "dict"]
EDITS = list("[](){}<>,:;\"' \n\t.-+_0159eEfFlLn\u00e9") + [
    "new ",
    "null",
    "true",
    'put("',
    "add(",
    "))",
    "}}",
    "[]",
    "[[",
    "]]",
    "},{",
    "Array(",
    ", ",
    ": ",
]
NUMBERS = [
    "0",
    "5",
    "-7",
    "+3",
    "12L",
    "3l",
    "1.5",
    "-0.25f",
    "2F",
    "1e3",
    "1E-2f",
    "7n",
    "1_0",
    "1.",
    ".5",
    "1e",
    "0x1F",
    "inf",
    "nan",
    "-Infinity",
    "007",
    "1.5.2",
    "--1",
    "9007199254740993",
    "4 2",
]
WORDS = [
    "true",
    "false",
    "null",
    "x",
    "item",
    "a b",
    "new Foo()",
    "Foo.BAR",
    "obj.call(1, 2)",
    "caf\u00e9",
    "",
    " ",
    "True",
    "()",
    "n",
]


class Expressions:
    def __init__(self, random):
        self.random = random

    def pick(self, choices):
        return choices[self.random.randrange(len(choices))]

    def atom(self):
        form = self.random.randrange(6)
        if form < 2:
            return self.pick(NUMBERS)
        if form == 2:
            return self.pick(WORDS)
        quote = self.pick(['"', '"', "'"])
        return quote + self.pick(WORDS + NUMBERS + ["a,b", "k: v", "it's", 'say \\"hi\\"', "a}b", "a)b", "a]b"]) + quote

    def items(self, separators=(",", ", ", " , ", ",\n")):
        return self.pick(separators).join(self.atom() for _ in range(self.pick([0, 1, 2, 2, 3])))

    def java(self):
        form = self.random.randrange(5)
        space = self.pick([" ", "  ", "\n", ""])
        kind = self.pick(["", "", "String", "Integer", "List<String>", "String, Object", "String, List<Integer>"])
        if form == 0:
            return self.atom()
        if form == 1:
            return f"new {self.pick(['int', 'String', 'Object', 'a.B', ''])}[]{space}{{{space}{self.items()}{space}}}"
        if form == 2:
            inside = self.pick([f"Arrays.asList({self.items()})", f"List.of({self.items()})", ""])
            return f"new{self.pick([' ', '  '])}ArrayList<{kind}>({inside})"
        if form == 3:
            adds = space.join(f"add({self.atom()});" for _ in range(self.pick([0, 1, 2, 3])))
            return f"new ArrayList<{kind}>(){space}{{{{{space}{adds}{space}}}}}"
        puts = space.join(f'put("{self.pick(WORDS)}",{space}{self.atom()});' for _ in range(self.pick([0, 1, 2, 3])))
        braces = self.pick([("{{", "}}"), ("{ {", "} }"), ("{", "}"), ("{{", "}"), ("", "")])
        return f"new HashMap<{kind}>{space}(){space}{braces[0]}{space}{puts}{space}{braces[1]}"

    def javascript(self, depth=0):
        form = self.random.randrange(6 if depth < 2 else 2)
        space = self.pick(["", " ", "  ", "\n"])
        if form < 2:
            return self.atom()
        if form == 2:
            return self.pick(["[%s]", "new Array(%s)", "[ %s ]", "new  Array( %s )"]) % self.items()
        if form == 3:
            rows = f",{space}".join(f"[{space}{self.items()}{space}]" for _ in range(self.pick([1, 2, 2, 3])))
            return self.pick(["[%s]", "[ %s ]", "new Array(%s)", "[%s", "[[%s], [[1]]]"]) % rows
        if form == 4:
            return "[" + ", ".join(self.javascript(depth + 1) for _ in range(self.pick([1, 2, 3]))) + "]"
        quote = self.pick(["", "'", '"'])
        pairs = []
        for _ in range(self.pick([0, 1, 2, 3])):
            key = quote + self.pick(["a", "key", "b c", ""]) + quote
            pairs.append(key + self.pick([":", ": ", " : "]) + self.javascript(depth + 1))
        return "{" + self.pick([", ", ",", " , "]).join(pairs) + "}"

    def edited(self, text):
        for _ in range(self.pick([0, 0, 0, 1, 1, 2, 4])):
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + self.pick(EDITS + [""] * 12) + text[at + self.pick([0, 0, 1, 1, 3]) :]
        return self.pick(["", "", "", "", " ", "\n"]) + text + self.pick(["", "", "", "", " ", "\n", ";"])

    def case(self, language):
        """(type, type of the elements or "", text)."""
        types = JAVA_TYPES if language == "java" else JAVASCRIPT_TYPES
        collections = types[-3:] if language == "java" else types[-2:]
        kind = self.pick(collections) if self.random.random() < 0.7 else self.pick(types)
        elements = self.pick(types + [""]) if kind in ("Array", "ArrayList", "array") else ""
        return kind, elements, self.edited(self.java() if language == "java" else self.javascript())
