"""Tokenizer files for test checkpoints: a small byte-level BPE with the family's control tokens, or copies.

The built-in tokenizer has 512 tokens: 256 bytes, 223 merges learned from a short text, 33 control tokens.
"""

import json
import os
import re
import shutil
from collections import Counter

from colugo_safetensors import write_json, write_text

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ASCII_PATTERN = (
    r"'(?:s|t|re|ve|m|ll|d)|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

SPECIAL = """<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|>
<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> <tool_call>
</tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> <tool_response>
</tool_response> <think> </think> <|audio_start|> <|audio_end|> <tts_pad> <tts_text_bos> <tts_text_eod>
<tts_text_bos_single> <|audio_pad|>""".split()
# These stay in the text when special tokens are skipped.
ORDINARY = {t for t in SPECIAL if re.search(r"tool_|think|fim_|repo_name|file_sep", t)}
COPIED = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
NUM_MERGES = 223

SAMPLE = """system
user
assistant

The user asks the assistant for a function. The assistant reads the file, finds the line that is wrong and writes a
patch. Then the tests run again, and the result is returned to the user.

def read_file(path):
    with open(path) as file:
        return file.read()

def total(values):
    result = 0
    for value in values:
        if value is not None:
            result += value
    return result

int main(int argc, char** argv) {
    for (int index = 0; index < argc; ++index) {
        if (argv[index] == nullptr) return 1;
    }
    return 0;
}

{"name": "read_file", "arguments": {"path": "src/main.cpp", "line": 10}}
<function=read_file>
<parameter=path>
src/main.cpp
</parameter>
</function>

It's what we'd do: we're sure that this isn't the end, they'll say so, and I've seen it. Here, there and everywhere the
other one was with them from the start; in an answer there is something about the name and the type of each argument.
"""


def byte_alphabet():
    """Byte -> the character that stands for it in the vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(rest)}}


def _learn_merges(count):
    alphabet = byte_alphabet()
    words = Counter(tuple(alphabet[b] for b in word.encode()) for word in re.findall(ASCII_PATTERN, SAMPLE))
    newline, space = alphabet[10], alphabet[32]
    merges = []
    forced = [(newline, newline), (space, space), (space * 2, space * 2)]
    while len(merges) < count:
        pairs = Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        fresh = [pair for pair in pairs if pair not in merges]
        best = forced.pop(0) if forced else max(fresh, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        merged = Counter()
        for word, times in words.items():
            merged[_apply(word, best)] += times
        words = merged
    return merges


def _apply(word, pair):
    result, index = [], 0
    while index < len(word):
        if word[index : index + 2] == pair:
            result.append(word[index] + word[index + 1])
            index += 2
        else:
            result.append(word[index])
            index += 1
    return tuple(result)


def tokenizer_json(vocab, merges, added):
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": text, **flags, "special": text not in ORDINARY} for text, i in added.items()
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
            ],
        },
        "post_processor": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [list(pair) for pair in merges],
        },
    }


def tokenizer_config(added):
    flags = dict(lstrip=False, normalized=False, rstrip=False, single_word=False)
    return {
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "clean_up_tokenization_spaces": False,
        "errors": "replace",
        "model_max_length": 262144,
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "added_tokens_decoder": {
            str(i): {"content": text, **flags, "special": text not in ORDINARY} for text, i in added.items()
        },
    }


def _built_in(folder, vocab_size):
    merges = _learn_merges(NUM_MERGES)
    tokens = [*byte_alphabet().values()] + [a + b for a, b in merges]
    tokens = sorted(tokens[:256]) + tokens[256:]
    vocab = {token: index for index, token in enumerate(tokens)}
    assert len(vocab) == 256 + NUM_MERGES
    added = {text: len(vocab) + index for index, text in enumerate(SPECIAL)}
    if len(vocab) + len(added) > vocab_size:
        raise SystemExit(f"vocab_size {vocab_size} is below the built-in tokenizer's {len(vocab) + len(added)} tokens")
    write_json(os.path.join(folder, "tokenizer.json"), tokenizer_json(vocab, merges, added))
    write_json(os.path.join(folder, "tokenizer_config.json"), tokenizer_config(added))
    write_text(os.path.join(folder, "chat_template.jinja"), CHAT_TEMPLATE)
    return added


def _copied(source, folder, vocab_size):
    for name in COPIED:
        if os.path.exists(os.path.join(source, name)):
            shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
    with open(os.path.join(source, "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    largest = max([*tokenizer["model"]["vocab"].values(), *added.values()])
    if largest >= vocab_size:
        raise SystemExit(f"token id {largest} of {source} does not fit in vocab_size {vocab_size}")
    return added


def write_tokenizer(folder, vocab_size, source=None):
    """Write the tokenizer files and generation_config.json. Returns the ids of the control tokens by text."""
    ids = _copied(source, folder, vocab_size) if source else _built_in(folder, vocab_size)
    stops = [ids[text] for text in ("<|im_end|>", "<|endoftext|>") if text in ids]
    end = ids.get("<|endoftext|>")
    write_json(
        os.path.join(folder, "generation_config.json"),
        {
            "bos_token_id": end,
            "do_sample": True,
            "eos_token_id": stops,
            "pad_token_id": end,
            "temperature": 1.0,
            "top_k": 20,
            "top_p": 0.95,
        },
    )
    return ids


CHAT_TEMPLATE = r"""{#- A short chat format for test checkpoints: turns between control tokens, tools, reasoning. -#}
{%- macro text_of(content) -%}
    {%- if content is string -%}
        {{- content | trim -}}
    {%- elif content is iterable and content is not mapping -%}
        {%- for part in content -%}
            {%- if part.text is defined -%}{{- part.text -}}{%- else -%}{{- raise_exception('This model reads text only.') -}}{%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
{%- if not messages -%}{{- raise_exception('A conversation needs at least one message.') -}}{%- endif -%}
{%- set has_system = messages[0].role == 'system' -%}
{%- if tools -%}
    {{- '<|im_start|>system\n# Tools\n\nThese functions can be called:\n\n<tools>' -}}
    {%- for tool in tools -%}{{- '\n' ~ (tool | tojson) -}}{%- endfor -%}
    {{- '\n</tools>\n\nA call is written like this:\n\n<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>\n</tool_call>' -}}
    {%- if has_system and text_of(messages[0].content) -%}{{- '\n\n' ~ text_of(messages[0].content) -}}{%- endif -%}
    {{- '<|im_end|>\n' -}}
{%- elif has_system -%}
    {{- '<|im_start|>system\n' ~ text_of(messages[0].content) ~ '<|im_end|>\n' -}}
{%- endif -%}
{%- set seen = namespace(query=-1) -%}
{%- for message in messages -%}
    {%- if message.role == 'user' -%}{%- set seen.query = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- if seen.query < 0 -%}{{- raise_exception('A conversation needs a user message.') -}}{%- endif -%}
{%- for message in messages -%}
    {%- set content = text_of(message.content) -%}
    {%- if message.role == 'system' -%}
        {%- if not loop.first -%}{{- raise_exception('The system message comes first.') -}}{%- endif -%}
    {%- elif message.role == 'user' -%}
        {{- '<|im_start|>user\n' ~ content ~ '<|im_end|>\n' -}}
    {%- elif message.role == 'assistant' -%}
        {%- set thought = '' -%}
        {%- if message.reasoning_content is string -%}
            {%- set thought = message.reasoning_content | trim -%}
        {%- elif '</think>' in content -%}
            {%- set thought = content.split('</think>')[0].split('<think>')[-1] | trim -%}
            {%- set content = content.split('</think>')[-1] | trim -%}
        {%- endif -%}
        {{- '<|im_start|>assistant\n' -}}
        {%- if loop.index0 > seen.query -%}{{- '<think>\n' ~ thought ~ '\n</think>\n\n' -}}{%- endif -%}
        {{- content -}}
        {%- for tool_call in message.tool_calls or [] -%}
            {%- set call = tool_call.function if tool_call.function is defined else tool_call -%}
            {%- if not loop.first -%}{{- '\n' -}}{%- elif content -%}{{- '\n\n' -}}{%- endif -%}
            {{- '<tool_call>\n<function=' ~ call.name ~ '>\n' -}}
            {%- if call.arguments is mapping -%}
                {%- for key, value in call.arguments | items -%}
                    {{- '<parameter=' ~ key ~ '>\n' ~ (value if value is string else value | tojson) ~ '\n</parameter>\n' -}}
                {%- endfor -%}
            {%- endif -%}
            {{- '</function>\n</tool_call>' -}}
        {%- endfor -%}
        {{- '<|im_end|>\n' -}}
    {%- elif message.role == 'tool' -%}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
        {{- '\n<tool_response>\n' ~ content ~ '\n</tool_response>' -}}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{- '<|im_end|>\n' -}}{%- endif -%}
    {%- else -%}
        {{- raise_exception('Unknown role: ' ~ message.role) -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n<think>\n' -}}
    {%- if enable_thinking is defined and not enable_thinking -%}{{- '\n</think>\n\n' -}}{%- endif -%}
{%- endif -%}
"""
