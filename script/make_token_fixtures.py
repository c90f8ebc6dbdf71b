#!/usr/bin/env python3
"""Writes the tokenizer fixtures in test/data from what other programs computed.

    python3 script/make_token_fixtures.py ORACLE_FOLDER SMOLLM2_JSON SMOLLM2_GGUF PRE_FOLDER GEMMA3_JSON

ORACLE_FOLDER: tokenizer.golden.json (strings and ids per small model, control tokens recognised, BOS as
the metadata says) and the models. SMOLLM2_JSON: llama.cpp's ids of the SmolLM2 vocabulary. SMOLLM2_GGUF:
that model. Needs the Python package gguf.

PRE_FOLDER: NAME.tokens.json and NAME-tokenizer.gguf, llama.cpp's ids for cut-down vocabularies of the
models qwen2 and tekken (Apache-2.0), with Hugging Face's where they differ: those count, as llama.cpp
approximates tekken's expression. GEMMA3_JSON: its ids of Gemma 3 270M, with sentencepiece's (of a model
made of the file's pieces) where they differ: those count for </s>, an added word that llama.cpp makes a
control token.

NAME.tokens: one line per string: "plain" or "special" (control tokens recognised), the string's bytes
in hex ("-" for none), the ids. Strings that are not UTF-8 are left out: the other engine replaces their
bad bytes, glim keeps them.

gemma4-e2b-tokenizer.gguf, lfm2-tokenizer.gguf: the tokenizers of small models that are not in test/data.

smollm2-tokenizer.gguf: the model's tokenizer cut down to what those strings can touch, so that the
test needs no model: control tokens, single bytes, and each merge whose joined text occurs in a string
(no other merge can ever be a candidate). test.original_id maps its ids to the model's.
"""
import json
import shutil
import sys
from pathlib import Path

from gguf import GGUFReader, GGUFWriter

DATA = Path("test/data")
CONTROL = 3
MADE_CONTROL = [("special", "<s></s><unk><pad>[INST]")]  # an ordinary token of qwen2 is called </s>


def line(mode, text, ids):
    return " ".join([mode, text.encode().hex() or "-", *map(str, ids)]) + "\n"


def write_tokens(path, header, lines):
    path.write_text("".join("# " + h + "\n" for h in header) + "".join(lines))


def byte_characters():
    """GPT-2's alphabet: byte to character."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = (b for b in range(256) if b not in own)
    return {**{b: chr(b) for b in own}, **{b: chr(0x100 + i) for i, b in enumerate(rest)}}


def reduce(model, texts, path):
    def strings(key):
        field = reader.fields[key]
        return [bytes(field.parts[i]).decode() for i in field.data]

    reader = GGUFReader(model)
    tokens, merges = strings("tokenizer.ggml.tokens"), strings("tokenizer.ggml.merges")
    field = reader.fields["tokenizer.ggml.token_type"]
    kinds = [int(field.parts[i][0]) for i in field.data]
    letter = byte_characters()
    haystack = "\n".join("".join(letter[b] for b in t.encode()) for t in texts)
    kept = [m for m in merges if m.replace(" ", "") in haystack]
    names = {part for m in kept for part in (*m.split(" "), m.replace(" ", ""))}
    ids = [i for i, t in enumerate(tokens) if kinds[i] == CONTROL or len(t) == 1 or t in names]
    new = {old: i for i, old in enumerate(ids)}
    w = GGUFWriter(path, "llama")
    w.add_string("general.name", strings("general.name")[0])
    for key in ("tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template"):
        w.add_string(key, strings(key)[0])
    w.add_array("tokenizer.ggml.tokens", [tokens[i] for i in ids])
    w.add_array("tokenizer.ggml.token_type", [kinds[i] for i in ids])
    w.add_array("tokenizer.ggml.merges", kept)
    w.add_array("test.original_id", ids)
    for key in ("bos", "eos", "unknown", "padding"):
        key = f"tokenizer.ggml.{key}_token_id"
        w.add_uint32(key, new[int(reader.fields[key].parts[-1][0])])
    w.add_bool("tokenizer.ggml.add_bos_token", False)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()
    print(f"{path}: {len(ids)} tokens, {len(kept)} merges, {path.stat().st_size} bytes")


def copy_tokenizer(model, path):
    """The tokenizer of a model, all of it."""
    reader = GGUFReader(model)
    w = GGUFWriter(path, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key.startswith("tokenizer."):
            sub = field.types[1] if len(field.types) > 1 else None
            w.add_key_value(key, field.contents(), field.types[0], sub_type=sub)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def reference_lines(cases, other, bos=None, skip=()):
    """other: the key of the ids that count where the engine is not the original. skip: (mode, text) where
    the engine is not, either, and no other ids are known."""
    for c in cases:
        if "text" not in c:
            continue
        text, first = c["text"], c.get("bos", bos)
        differs = other in c and (other == "plain_hf" or "</s>" in text)
        for mode in ("plain", "special"):
            if (mode, text) in skip or (mode == "special" and differs and other == "plain_hf"):
                continue
            ids = c[other] if differs and mode == "plain" else c[mode]
            yield line(mode, text, ids if first is None or ids[:1] == [first] else [first, *ids])


def main():
    oracle, smollm2, model, pre, gemma3 = map(Path, sys.argv[1:])
    for name, cases in json.loads((oracle / "tokenizer.golden.json").read_text()).items():
        write_tokens(DATA / f"{name}.tokens",
                     [f"llama.cpp (August 2026), {name}.gguf, control tokens parsed, BOS"],
                     [line("special", c["text"], c["ids"]) for c in cases])
    for name in ("gemma4-e2b", "lfm2"):
        copy_tokenizer(oracle / f"{name}.gguf", DATA / f"{name}-tokenizer.gguf")
    for name in ("qwen2", "tekken"):
        reference = json.loads((pre / f"{name}.tokens.json").read_text())
        write_tokens(DATA / f"{name}-real.tokens", [reference["engine"], f"vocabulary {name}"],
                     reference_lines(reference["cases"], "plain_hf", skip=MADE_CONTROL))
        shutil.copyfile(pre / f"{name}-tokenizer.gguf", DATA / f"{name}-tokenizer.gguf")
    reference = json.loads(gemma3.read_text())
    write_tokens(DATA / "gemma3-270m.tokens",
                 [reference["engine"], f"{reference['model']} {reference['model_sha256']}"],
                 reference_lines(reference["cases"], "plain_spm", bos=2))
    reference = json.loads(smollm2.read_text())
    cases = [c for c in reference["cases"] if "text" in c]
    lines = [line(mode, c["text"], c[mode]) for c in cases for mode in ("plain", "special")]
    write_tokens(DATA / "smollm2.tokens",
                 [reference["engine"], f"{reference['model']} {reference['model_sha256']}"], lines)
    reduce(model, [c["text"] for c in cases], DATA / "smollm2-tokenizer.gguf")


main()
