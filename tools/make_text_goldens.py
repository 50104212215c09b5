#!/usr/bin/env python3
"""Write tests/golden/text/{tokenizer,encodings}.json: a small tokenizer of the family's kind and what the Hugging Face
package makes of many texts with it, so that the tests need no Python.

usage: make_text_goldens.py OUT_DIR     (needs: pip install tokenizers==0.23.3)
"""
import json
import os
import random
import sys

from packages_needed import need

need("tokenizers")

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>", "<|tts_pad|>",
    "<|tts_start|>", "<|tts_end|>", "<|tts_end|><|again|>",
]
PLAIN = [
    "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<|fim_prefix|>",
    "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
]
CORPUS = """\
The quick brown fox jumps over the lazy dog. It's what they've said: we'll see, I'd go, you're right, I'm here, don't.
def encode(self, text: str) -> list[int]:
    return [self.vocab[token] for token in self.split(text) if token is not None]
#include <vector>\nint main(int argc, char** argv) {\n    std::vector<int> values = {1, 2, 3};\n    return 0;\n}
HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"role": "user", "content": "Hello"}\r\n
\u5728\u8ba1\u7b97\u673a\u79d1\u5b66\u4e2d\uff0c\u5206\u8bcd\u662f\u7b2c\u4e00\u6b65\u3002
\u042d\u0442\u043e \u043e\u0431\u044b\u0447\u043d\u044b\u0439 \u0442\u0435\u043a\u0441\u0442.
\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902 \u092a\u093e\u0920 \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22
d\u00e9j\u00e0 vu, na\u00efve, Stra\u00dfe, \u00c5ngstr\u00f6m, Ti\u1ebfng Vi\u1ec7t
        indented\n            more\n\t\ttabs\n\n\n\nblank lines   \n
"""
SCRIPTS = [
    "\u6bd5\u8001\u5e08\uff01\u4f60\u597d\uff0c\u4e16\u754c", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5",
    "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0", "\u0562\u0561\u0580\u0587", "\u1230\u120b\u121d",
    "\u0f56\u0f7c\u0f51\u0f0b\u0f61\u0f72\u0f42", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u13e3\u13b3\u13a9",
    "\U00010400\U00010428\U00010480", "\U0001e900\U0001e944", "\U00011935\U00011930", "\U000105d2\u0307",
    "Vi\u0065\u0302\u0323t", "a\u0323\u0302", "a\u0302\u0323", "\u212b \u2126 \u037e \u1fef", "\ufb01 \u2460 \u00bd \u2167",
]
MARKS = [
    "e\u0301", "\u0301", " \u0301", "x\u0301\u0302\u0303", "1\u0301", ".\u0301", "\n\u0301", "\u07fd\u0334",
    "a\u08e0\u0898\u0316", "q\u0307\u0323", "\u0344", "\u1e0b\u0323", "\u0958", "\u2adc\u0338", ">\u0338", "=\u0338",
    "a" + "\u0316\u0301" * 6, "\u0897\u0345", "\u1dfa\u0300",
]
EMOJI = [
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea",
    "\u2764\ufe0f", "1\ufe0f\u20e3", "ok \U0001f44d!",
]
SPACES = [
    "", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\r", " \n", "\n ", " \n ", "  \n  \n  x",
    "a  b", "a   b", "a \n b", "a\n\n  b", "a \t b", "\t\tx", "x\t", "x ", "x  ", "  x", " \u00a0x", "\u00a0\u00a0x",
    "\u3000\u3000\u4f60", "\u2003\n\u2003x", "a\u0085b", "a\u2028b", "a\u180eb", "a\u200bb", "\x0b\x0c\x1c\x1d x",
    "a!\r\n\r\nb", "a!!\n\n\n  b", "...\n", " ...\r", "  ...", "   1", " 1", "12345", "1 234,5", "\u0663\u0664",
]
CONTRACTIONS = [
    "it's", "IT'S", "it'\u017f", "don't", "we're", "WE'RE", "we'rE", "they've", "I'm", "I'll", "I'Ll", "I'd", "'s", "''s",
    "'", "''", "' s", "'r", "'v", "'l", "'re've", "x'sy", "x'ssy", "'\ufb06", "o'clock", "rock 'n' roll", "\u2019s",
    "'\u212a", "'\u0131", "\n's", "1's", " 's", "'tis", "'Dd", "'Mm",
]
CODE = [
    "for (int i = 0; i < n; ++i) { sum += a[i]; }", "x->y::z<T>&&", "$HOME/.config/foo-bar_baz.toml",
    "def f(x):\n    return x**2  # square\n", "{\"a\": [1, 2.5e-3, null]}", "https://example.com/a?b=c&d=%20#e",
    "snake_case camelCase PascalCase SCREAMING_CASE", "a\\nb\\t\"c\"", "\x00\x01\x7f", "<div class=\"x\">\n</div>",
    "#!/bin/sh\nset -eu\n", "--long-flag=value -x", "0xDEADBEEF 1_000_000 3.14f", "==== ---- ****\n\n",
]
CONTROLS = [
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", "a<|im_end|>", "<|im_end|>b",
    "<|im_end|><|im_end|>", " <|im_end|> ", "  <|im_end|>  x", "<|im_end", "<|im_end|", "<<|im_end|>>", "<|im_<|im_end|>",
    "<|tts_end|>", "<|tts_end|><|again|>", "<|tts_end|><|again", "<tool_call>\n<function=f>\n</function>\n</tool_call>",
    "<think>it's</think>'s", "e<|im_end|>\u0301", "<think>\u0338", "<|endoftext|>", "<|IM_END|>", "</think>\n\n\n",
]
UNASSIGNED = ["\u0378\u0379", "a\u0378b", "\U000e0080", "\U0010fffd\U0010ffff", "\ufffe\uffff", "\ud7ff\ue000", "\U0001fae9", "\u1c89\ua7cb"]


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=560, min_frequency=1, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([CORPUS] * 2, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in PLAIN])
    return tokenizer


def without_control_tokens(tokenizer):
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(document))


def random_texts(count):
    generator = random.Random(7)
    parts = SCRIPTS + MARKS + EMOJI + SPACES + CONTRACTIONS + CODE + CONTROLS + UNASSIGNED
    return ["".join(generator.choice(parts) for _ in range(generator.randrange(2, 7))) for _ in range(count)]


def decodings(tokenizer, count):
    """Random ids, so that many sequences of bytes are no UTF-8."""
    generator = random.Random(8)
    limit = tokenizer.get_vocab_size()
    result = []
    for _ in range(count):
        ids = [generator.randrange(256 if generator.random() < 0.7 else limit) for _ in range(generator.randrange(1, 24))]
        result.append(
            {
                "ids": ids,
                "text": tokenizer.decode(ids, skip_special_tokens=False),
                "displayed": tokenizer.decode(ids, skip_special_tokens=True),
            }
        )
    return result


def main(out_dir):
    tokenizer = train()
    plain = without_control_tokens(tokenizer)
    texts = SCRIPTS + MARKS + EMOJI + SPACES + CONTRACTIONS + CODE + CONTROLS + UNASSIGNED + random_texts(40)
    encodings = [
        {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids, "plain_ids": plain.encode(text).ids}
        for text in texts
    ]
    os.makedirs(out_dir, exist_ok=True)
    with open(os.path.join(out_dir, "tokenizer.json"), "w", encoding="utf-8") as file:
        file.write(tokenizer.to_str(pretty=False) + "\n")
    golden = {
        "made_by": f"tools/make_text_goldens.py, tokenizers {tokenizers.__version__}",
        "encodings": encodings,
        "decodings": decodings(tokenizer, 60),
    }
    with open(os.path.join(out_dir, "encodings.json"), "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=None, separators=(",", ":"))
        file.write("\n")
    print(f"{tokenizer.get_vocab_size()} tokens, {len(texts)} texts -> {out_dir}")


if __name__ == "__main__":
    main(sys.argv[1])
