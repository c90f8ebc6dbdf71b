#!/usr/bin/env python3
"""Writes test/data/words.txt: how Hugging Face's tokenizers library cuts text into words.

    python3 script/make_split_fixtures.py

One line per text and pre-tokenizer: its name (tokenizer.ggml.pre), then the words in hex. The regular
expressions are those of the models' tokenizer.json. Needs the Python package tokenizers. Texts are
hand-picked and random, of code points that are assigned in Unicode 14, so that the versions of the
property tables do not matter.
"""
import random
import unicodedata
from pathlib import Path

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


def cased(end, digits):
    return Sequence([Split(Regex(rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{end}|"
                                 rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{end}|{digits}{TAIL}"), "isolated"),
                     ByteLevel(add_prefix_space=False, use_regex=False)])


RULES = {
    "smollm": Sequence([Digits(True), ByteLevel(add_prefix_space=False)]),
    "gpt2": ByteLevel(add_prefix_space=False),
    "llama-bpe": Sequence([Split(Regex(LLAMA3), "isolated"),
                           ByteLevel(add_prefix_space=False, use_regex=False)]),
    "qwen2": Sequence([Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"),
                       ByteLevel(add_prefix_space=False, use_regex=False)]),
    "tekken": cased("", r"\p{N}"),
    "gpt-4o": cased(SHORT, r"\p{N}{1,3}"),
}
BITS = """don't I'M we'll 'S 'Re 've 'LL 'd 'x ' '' '\u017f hello World 1 22 333 4444 \u216b \u00bd \u0663
\u00e9 e\u0301 \u65e5\u672c \U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u200b \u00df \u01c5
\u02b0 \u0300 \ufeff \u0915\u094d\u0937 \ud55c\uad6d \ufffd _ - ... ( ) a b A \x1c \x7f AbC \u01c5a A\u65e5B \u0300A \u0301\u02b0B Ab's X'LL / //\n a/b
\u0130 \u00c9\u00e9""".split()
BLANKS = [" ", " ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", "\x0b", "\u00a0", "\u2028", "\u3000", "\x85"]
FIXED = ["x  1  22 y", "12345", "a\n\n\n\nb", "...\r\n\r\nx", " \n \n x", "\n  ", "   ", "a   ", "!?\n\n",
         "it'S WE'Ve", "' s", "\u00a0x", "\tx", "  x", " 1", "  1", "a'1", "1's", "\u017f'\u017f"]


def letters():
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = (b for b in range(256) if b not in own)
    return {**{chr(b): b for b in own}, **{chr(0x100 + i): b for i, b in enumerate(rest)}}


def texts(n):
    rng = random.Random(20)

    def code_point():
        while True:
            c = chr(rng.choice((rng.randrange(0x3000), rng.randrange(0x20000))))
            if unicodedata.category(c) not in ("Cn", "Cs"):
                return c

    yield from FIXED
    for _ in range(n):
        yield "".join(rng.choice((rng.choice(BITS), rng.choice(BLANKS), code_point()))
                      for _ in range(rng.randrange(1, 14)))


def main():
    byte = letters()
    out = []
    for text in texts(250):
        for name, rule in RULES.items():
            words = [bytes(byte[c] for c in word) for word, _ in rule.pre_tokenize_str(text)]
            assert b"".join(words) == text.encode()
            out.append(" ".join([name, *(word.hex() for word in words)]))
    Path("test/data/words.txt").write_text("\n".join(out) + "\n")


main()
