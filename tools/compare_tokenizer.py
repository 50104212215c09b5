#!/usr/bin/env python3
"""Compare token ids with the Hugging Face package `tokenizers`, text by text.

usage: compare_tokenizer.py TOKENIZE_LINES TOKENIZER_JSON [--random COUNT] [--seed SEED] [TEXTS.jsonl ...]

TOKENIZE_LINES is the test program of that name (tests/text). The texts are every string anywhere in the JSON lines
given, and COUNT random ones over all of Unicode: assigned and unassigned code points, marks, spaces, controls, control
tokens. Exits with 1 if any ids differ. Needs: pip install tokenizers
"""
import argparse
import json
import random
import subprocess
import sys
import unicodedata

from packages_needed import need_for_work

need_for_work("tokenizers")

import tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
WHITE_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NEARLY_WHITE_SPACE = "\x1c\x1d\x1e\x1f\u180e\u200b\u200c\u200d\u2060\ufeff"
CONTRACTIONS = ["'s", "'S", "'\u017f", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'Ve", "'m", "'M", "'ll", "'LL", "'lL",
                "'d", "'D", "'r", "'v", "'l", "''s", "\u2019s", "'st", "'\ufb06", "'l\u0139", "'ss", "'\u00df"]
WORDS = "the of and int return self.value namespace std::vector foo_bar HTTPServer 3.14159 0x1F == != => /* */ ### ..." \
        " \u4f60\u597d \u4e16\u754c \u65e5\u672c\u8a9e \u041f\u0440\u0438\u0432\u0435\u0442 \u0939\u093f\u0928\u094d" \
        "\u0926\u0940 \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \ud55c\uad6d\uc5b4 \u0627\u0644\u0639\u0631\u0628" \
        " \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea e\u0301 \u00e9 \u1ea5 o\u0308\u0323".split(" ")


class RandomTexts:
    def __init__(self, seed, control_tokens):
        self.random = random.Random(seed)
        self.control_tokens = control_tokens
        self.marks = [chr(c) for c in CODE_POINTS if unicodedata.category(chr(c))[0] == "M"]
        self.blocks = range(0, 0x110000, 256)
        self.jamo = [chr(c) for c in [*range(0x1100, 0x1200), *range(0xAC00, 0xAD00), *range(0xA960, 0xA980)]]
        self.decomposed = [unicodedata.normalize("NFD", chr(c)) for c in CODE_POINTS]
        self.decomposed = [text for text in self.decomposed if len(text) > 1]

    def any_code_point(self):
        return chr(self.random.choice(CODE_POINTS))

    def low_code_point(self):
        """Half of these are below U+3000, where most scripts and marks are."""
        return chr(self.random.randrange(0x3000 if self.random.random() < 0.5 else 0xD800))

    def neighbours(self):
        start = self.random.choice(self.blocks)
        window = [c for c in range(start, start + 256) if not 0xD800 <= c < 0xE000] or [0x41]
        return "".join(chr(self.random.choice(window)) for _ in range(self.random.randrange(1, 8)))

    def atom(self):
        choice = self.random.randrange(16)
        pick = self.random.choice
        if choice == 0:
            return self.any_code_point()
        if choice <= 2:
            return self.low_code_point()
        if choice == 3:
            return "".join(pick(self.marks) for _ in range(self.random.randrange(1, 5)))
        if choice == 4:
            return "".join(pick(WHITE_SPACE) for _ in range(self.random.randrange(1, 5)))
        if choice == 5:
            return pick(NEARLY_WHITE_SPACE)
        if choice == 6:
            return pick(CONTRACTIONS)
        if choice <= 8:
            return chr(self.random.randrange(0x20, 0x7F))
        if choice == 9:
            return pick(WORDS)
        if choice == 10:
            return pick([" ", "\n", "\r\n", "\n\n", "  ", "\t"])
        if choice == 11:
            return pick(self.control_tokens) if self.control_tokens and self.random.random() < 0.5 else pick("<|>_/")
        if choice == 12:
            return pick(self.decomposed) + pick(self.marks)
        if choice == 13:
            return "".join(pick(self.jamo) for _ in range(self.random.randrange(1, 4)))
        if choice == 14:
            return self.neighbours()
        return pick("0123456789\u0663\u00bd\u2167\u4e00\uff15")

    def text(self):
        kind = self.random.randrange(4)
        length = self.random.randrange(1, 40)
        if kind == 0:
            return "".join(self.any_code_point() for _ in range(length))
        return "".join(self.atom() for _ in range(length))


def strings_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)


def is_text(string):
    return not any(0xD800 <= ord(c) < 0xE000 for c in string)


def texts_of_files(paths):
    seen = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                seen.update(strings_of(json.loads(line)))
    return sorted(filter(is_text, seen))


def encode_with(program, tokenizer_json, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([program, tokenizer_json], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tokenizer_json")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--random", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_intermixed_args()

    reference = tokenizers.Tokenizer.from_file(arguments.tokenizer_json)
    control_tokens = [token.content for token in reference.get_added_tokens_decoder().values()]
    texts = texts_of_files(arguments.files)
    from_files = len(texts)
    random_texts = RandomTexts(arguments.seed, control_tokens)
    texts += [random_texts.text() for _ in range(arguments.random)]

    ours = encode_with(arguments.program, arguments.tokenizer_json, texts)
    assert len(ours) == len(texts), (len(ours), len(texts))
    different, tokens = 0, 0
    for text, ids in zip(texts, ours):
        expected = reference.encode(text, add_special_tokens=False).ids
        tokens += len(expected)
        if ids != expected:
            different += 1
            if different <= 5:
                print(f"text      {json.dumps(text)[:300]}\nexpected  {expected[:60]}\ngot       {ids[:60]}")
    size = sum(len(text.encode()) for text in texts)
    print(f"{from_files} texts from files, {arguments.random} random (seed {arguments.seed}), {size} bytes, {tokens} "
          f"tokens: {different} differ from tokenizers {tokenizers.__version__}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
