"""nano's tokenizer: a byte-level BPE with the family's pre-tokenizer and control tokens, learned from training text."""

import json
import os
import sys

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import chat
import checkpoint_tokenizer as family
from colugo_safetensors import write_json, write_text


def train(texts, folder, vocab_size):
    """Learn from an iterable of texts; write tokenizer.json, tokenizer_config.json and chat_template.jinja."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(family.PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(family.SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_pieces(texts), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocab = model["vocab"]
    assert len(vocab) == vocab_size - len(family.SPECIAL), "the training text is too small for this vocabulary"
    added = {text: len(vocab) + index for index, text in enumerate(family.SPECIAL)}
    os.makedirs(folder, exist_ok=True)
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    write_json(os.path.join(folder, "tokenizer.json"), family.tokenizer_json(vocab, merges, added))
    write_json(os.path.join(folder, "tokenizer_config.json"), family.tokenizer_config(added))
    write_text(os.path.join(folder, "chat_template.jinja"), chat.TEMPLATE)


def _pieces(texts):
    """Text without control tokens, which are never learned as words."""
    for text in texts:
        for token in family.SPECIAL:
            text = text.replace(token, "\x00")
        yield from (piece for piece in text.split("\x00") if piece)


def load(folder):
    return tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
