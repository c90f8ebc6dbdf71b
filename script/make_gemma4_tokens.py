#!/usr/bin/env python3
"""Writes Gemma 4's tokenizer fixture: test/data/gemma4-tokenizer.gguf and gemma4-real.tokens.

    python3 script/make_gemma4_tokens.py GEMMA3_GGUF CASES.inp CASES.out

GEMMA3_GGUF: a Gemma 3 model; Gemma 4 has its vocabulary, with other names for control tokens, and joins
by merges: every cut of a token in two tokens, by the joined token's id, then the parts'. That gives the
514,906 merges that Gemma 4's file has. CASES: llama.cpp's strings and ids for models/ggml-vocab-gemma-4.gguf.
The ids of further strings come from Hugging Face's tokenizers, from the same vocabulary and merges, and
from ids published with the model's prompts. Needs the Python packages gguf and tokenizers.

The vocabulary is cut down to what the strings can touch; test.original_id maps its ids to Gemma's.
"""
import sys
from pathlib import Path

from gguf import GGUFReader, GGUFWriter
from tokenizers import Tokenizer, models, normalizers

DATA = Path("test/data")
BLANK = "\u2581"
NORMAL, CONTROL, USER, BYTE = 1, 3, 4, 6
NAMES = {4: ("<mask>", CONTROL), 46: ("<|tool>", CONTROL), 47: ("<tool|>", CONTROL),
         48: ("<|tool_call>", USER), 49: ("<tool_call|>", USER), 50: ("<|tool_response>", USER),
         51: ("<tool_response|>", USER), 52: ('<|"|>', USER), 98: ("<|think|>", CONTROL),
         100: ("<|channel>", USER), 101: ("<channel|>", USER), 105: ("<|turn>", CONTROL),
         106: ("<turn|>", CONTROL), 255999: ("<|image>", CONTROL), 256000: ("<|audio>", CONTROL)}

# Ids that others published; with control tokens recognised or as plain text.
PUBLISHED = [
    ("plain", "Hello world! Café déjà vu — 123 \U0001f60a",
     "9259 1902 236888 62367 29234 11042 2192 236743 236770 236778 236800 103453"),
    ("plain", "The capital of France is", "818 5279 529 7001 563"),
    ("plain", "<|turn>", "236820 236909 887 236813"),
    ("special", "<|turn>user\nHi<turn|>\n<|turn>model\n", "105 2364 107 10979 106 107 105 4368 107"),
    ("special", "<|turn>user\nWhat is the capital of France?<turn|>\n<|turn>model\n",
     "105 2364 107 3689 563 506 5279 529 7001 236881 106 107 105 4368 107"),
]


def further():
    for n in range(1, 9):
        yield "a" + "\n" * n + "b"
        yield "\n" * n
        yield "x\n" + " " * n + "y" + "\n" * n + " z"
    for n in range(1, 21):
        yield "a" + " " * n + "b"
        yield " " * n
    yield "Привет, мир! Ещё раз: съешь же этих мягких французских булок."
    yield "def f(x):\n    if x > 0:\n        return x ** 2\n\n    return -1  # none\n"
    yield "int main(void) {\n\tfor (int i = 0; i < 10; i++)\n\t\tputs(\"\\t\\n\");\n}\n"
    yield "😀😀👨‍👩‍👧‍👦🇩🇪🏳️‍🌈 ok"
    yield "0123456789 3.14159 1,000,000 2026-11-30 0x7fff"
    yield "Cafe\u0301 de\u0301ja\u0300 vu"
    yield "日本語のテキスト、中文文本。한국어 텍스트"
    yield "مرحبا بالعالم שלום עולם"
    yield "tab\tand\t\ttabs\t\t\tthree"
    yield "\r\n\r\nwindows\r\n"
    yield "\u2581 typed blanks \u2581\u2581"
    yield "\x00\x01\x7f control"
    yield "\ue000 private \U0001fae8 new"
    yield ""


def merges_of(tokens, kinds, ids):
    for i, t in enumerate(tokens):
        if kinds[i] not in (NORMAL, USER) or len(t) < 2:
            continue
        cuts = [(t[:k], t[k:]) for k in range(1, len(t)) if t[:k] in ids and t[k:] in ids]
        yield from sorted(cuts, key=lambda c: (ids[c[0]], ids[c[1]]))


def read(model):
    reader = GGUFReader(model)

    def values(key, convert):
        field = reader.fields["tokenizer.ggml." + key]
        return [convert(field.parts[i]) for i in field.data]

    tokens = values("tokens", lambda p: bytes(p).decode("utf-8", "replace"))
    kinds = values("token_type", lambda p: int(p[0]))
    tokens = [t.replace(" ", BLANK) if k == USER else t for t, k in zip(tokens, kinds)]
    ids = {t: i for i, t in enumerate(tokens)}
    ids.setdefault("\t", ids["<0x09>"])
    return tokens, kinds, ids


def main():
    tokens, kinds, ids = read(sys.argv[1])
    merges = list(merges_of(tokens, kinds, ids))
    assert len(merges) == 514906
    cases = Path(sys.argv[2]).read_bytes().decode().split("\n__ggml_vocab_test__\n")
    found = Path(sys.argv[3]).read_text().split("\n")
    lines = [("plain", text, ids_of.split()) for text, ids_of in zip(cases, found)]
    lines += [(mode, text, ids_of.split()) for mode, text, ids_of in PUBLISHED]

    other = Tokenizer(models.BPE(ids, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    other.normalizer = normalizers.Replace(" ", BLANK)
    for mode, text, wanted in lines:
        got = other.encode(text).ids
        if mode == "plain" and [str(i) for i in got] != wanted:
            print("differs:", repr(text), got, wanted)
    lines += [("plain", text, other.encode(text).ids) for text in further()]

    # Runs of blanks and newlines and marks of HTML are tokens like others in Gemma 4.
    kinds = [NORMAL if k == USER else k for k in kinds]
    haystack = "\n\x00\n".join(text.replace(" ", BLANK) for _, text, _ in lines)
    kept = [m for m in merges if m[0] + m[1] in haystack]
    parts = {p for m in kept for p in (*m, m[0] + m[1])} | set(haystack)
    for i, (name, kind) in NAMES.items():
        tokens[i], kinds[i] = name, kind
    chosen = [i for i, t in enumerate(tokens) if i < 4 or i in NAMES or kinds[i] == BYTE or
              (kinds[i] == NORMAL and t in parts)]
    new = {old: i for i, old in enumerate(chosen)}

    w = GGUFWriter(DATA / "gemma4-tokenizer.gguf", "gemma4")
    w.add_string("tokenizer.ggml.model", "gemma4")
    w.add_array("tokenizer.ggml.tokens", [tokens[i] for i in chosen])
    w.add_array("tokenizer.ggml.scores", [-1000.0] * len(chosen))
    w.add_array("tokenizer.ggml.token_type", [kinds[i] for i in chosen])
    w.add_array("tokenizer.ggml.merges", [" ".join(m) for m in kept])
    w.add_array("test.original_id", chosen)
    for key, old in (("bos", 2), ("eos", 106), ("unknown", 3), ("padding", 0)):
        w.add_uint32(f"tokenizer.ggml.{key}_token_id", new[old])
    w.add_bool("tokenizer.ggml.add_bos_token", True)
    w.add_bool("tokenizer.ggml.add_space_prefix", False)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()
    with open(DATA / "gemma4-real.tokens", "w", encoding="ascii") as f:
        f.write("# llama.cpp's ids of models/ggml-vocab-gemma-4.gguf, published ids of prompts, and those of\n"
                "# Hugging Face tokenizers for the same merges; with the begin token\n")
        for mode, text, wanted in lines:
            f.write(" ".join([mode, text.encode().hex() or "-", "2", *map(str, wanted)]) + "\n")
    print(f"{len(lines)} strings, {len(chosen)} tokens, {len(kept)} merges")


main()
