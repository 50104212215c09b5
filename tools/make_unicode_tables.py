#!/usr/bin/env python3
"""Write src/text/unicode_tables.inc: one byte of properties for each code point, as a two-stage table.

usage: make_unicode_tables.py > src/text/unicode_tables.inc
needs: pip install unicodedata2==16.0.0 tokenizers==0.23.3

The classes L, M, N and White_Space are those of Unicode 16, the version the regular expression engine of the Hugging
Face package `tokenizers` uses; the script stops if the package says otherwise for any code point. The package's NFC is
older (Unicode 9) and leaves whatever came later alone. Which code points those are is asked of the package itself: they
are marked `fixed`, together with everything Unicode 16 does not assign.
"""
import sys

from packages_needed import need

need("tokenizers", "unicodedata2")

import tokenizers
import unicodedata2 as unicode_data
from tokenizers import Regex, normalizers

LETTER, MARK, NUMBER, WHITE_SPACE, NFC_UNSETTLED, NFC_FIXED = 1, 2, 4, 8, 16, 32
UNICODE_VERSION = "16.0.0"
NUM_CODE_POINTS = 0x110000
LOWEST_CLASS_MARK = "\u0334"  # combining class 1: moves before every mark of a higher class
HIGHEST_CLASS_MARK = "\u0345"  # combining class 240: moves behind every mark of a lower class

CODE_POINTS = [c for c in range(NUM_CODE_POINTS) if not 0xD800 <= c < 0xE000]
package_nfc = normalizers.NFC().normalize_str


def white_space():
    """White_Space, from PropList.txt."""
    return {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


def check_class(pattern, expected):
    """The package's own engine has to give the same set of code points."""
    remove = normalizers.Replace(Regex(pattern), "")
    found = set()
    for start in range(0, len(CODE_POINTS), 4096):
        chunk = CODE_POINTS[start : start + 4096]
        kept = set(remove.normalize_str("".join(map(chr, chunk))))
        found.update(c for c in chunk if chr(c) not in kept)
    if found != expected:
        sys.exit(f"{pattern}: tokenizers differs from Unicode {UNICODE_VERSION} at {sorted(found ^ expected)[:8]}")


def primary_composites():
    """(composite, first, second) of every canonical pair that NFC puts together, without Hangul."""
    for c in CODE_POINTS:
        parts = unicode_data.decomposition(chr(c)).split()
        if len(parts) == 2 and "<" not in parts[0]:
            first, second = (int(part, 16) for part in parts)
            if unicode_data.normalize("NFC", chr(first) + chr(second)) == chr(c):
                yield c, first, second


def nfc_fixed():
    """Code points that the package's NFC neither reorders nor composes nor decomposes, whatever stands around them."""
    fixed = {c for c in CODE_POINTS if unicode_data.category(chr(c)) == "Cn"}
    for c in CODE_POINTS:
        if unicode_data.combining(chr(c)):
            before, after = HIGHEST_CLASS_MARK + chr(c), chr(c) + LOWEST_CLASS_MARK
            if package_nfc(before) == before and package_nfc(after) == after:
                fixed.add(c)
    composites = list(primary_composites())
    known = {c for c, first, second in composites if package_nfc(chr(first) + chr(second)) == chr(c)}
    known_seconds = {second for c, _, second in composites if c in known}
    for c, first, second in composites:
        if c not in known:
            fixed.update({c, first})
            if second not in known_seconds:
                fixed.add(second)
    return fixed


def nfc_unsettled():
    """NFC_Quick_Check is not Yes, or the combining class is not 0: the text around has to be looked at."""
    unsettled = {c for c in CODE_POINTS if unicode_data.normalize("NFC", chr(c)) != chr(c)}
    unsettled |= {c for c in CODE_POINTS if unicode_data.combining(chr(c))}
    unsettled |= {second for _, _, second in primary_composites()}
    unsettled |= {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # Hangul vowels and trailing consonants
    return unsettled


def properties():
    assert unicode_data.unidata_version == UNICODE_VERSION, unicode_data.unidata_version
    classes = {
        key: {c for c in CODE_POINTS if unicode_data.category(chr(c))[0] == key} for key in "LMN"
    }
    fixed = nfc_fixed()
    sets = [
        (LETTER, classes["L"]),
        (MARK, classes["M"]),
        (NUMBER, classes["N"]),
        (WHITE_SPACE, white_space()),
        (NFC_UNSETTLED, nfc_unsettled() - fixed),
        (NFC_FIXED, fixed),
    ]
    for pattern, expected in zip([r"\p{L}", r"\p{M}", r"\p{N}", r"\s"], [s for _, s in sets[:4]]):
        check_class(pattern, expected)
    table = bytearray(NUM_CODE_POINTS)
    for bit, members in sets:
        for c in members:
            table[c] |= bit
    return table


def two_stages(table, block_size):
    blocks, index = {}, []
    for start in range(0, len(table), block_size):
        index.append(blocks.setdefault(bytes(table[start : start + block_size]), len(blocks)))
    return index, list(blocks)


def print_array(name, ctype, values):
    print(f"inline constexpr {ctype} {name}[{len(values)}] = {{")
    for start in range(0, len(values), 40):
        print("    " + ",".join(map(str, values[start : start + 40])) + ",")
    print("};")


def main():
    table = properties()
    index, blocks = two_stages(table, 128)
    assert len(blocks) <= 65536
    print(f"// Made by tools/make_unicode_tables.py from Unicode {UNICODE_VERSION} (unicodedata2) and the normalization of")
    print(f"// tokenizers {tokenizers.__version__}. Do not edit.")
    print_array("kBlockOfCodePoint", "uint16_t" if len(blocks) > 256 else "uint8_t", index)
    print_array("kBlockProperties", "uint8_t", [value for block in blocks for value in block])


if __name__ == "__main__":
    main()
