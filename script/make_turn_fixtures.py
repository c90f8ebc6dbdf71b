#!/usr/bin/env python3
"""Writes test/data/turns.json: what Jinja2 makes of conversations with published chat templates.

    python3 script/make_turn_fixtures.py TEMPLATE_FOLDER

TEMPLATE_FOLDER/NAME.jinja: the template as the model's tokenizer_config.json has it (GGUF key
tokenizer.chat_template). The fixtures keep the SHA-256 of each. src/text/style.c has the same formats
for files without a template. Needs the Python package jinja2, run as chat templates are run:
trim_blocks, lstrip_blocks, sandboxed, raise_exception ends the rendering ("text": null).
"""
import hashlib
import json
import sys
from pathlib import Path

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

# Template, architecture, and whether thinking is switched on.
FAMILIES = [
    ("gemma-3", "gemma3", False),
    ("gemma-4", "gemma4", False),
    ("gemma-4", "gemma4", True),
    ("granite-3.0", "granite", False),
    ("lfm2", "lfm2", False),
    ("qwen2.5", "qwen2", False),
    ("chatml", "qwen3", False),
]
SAY = [
    [("user", "Hi")],
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "More, please.")],
    [("user", "1"), ("assistant", "2"), ("user", "3"), ("assistant", "4"), ("user", "5")],
    [("user", "Hi"), ("assistant", "Hello!")],
    [("system", "Be terse."), ("user", "Hi")],
    [("system", "Be terse."), ("user", "Hi"), ("assistant", "Hello!"), ("user", "Why?")],
    [("system", " \n spaced \n "), ("user", "\n\t both \n ends  ")],
    [("system", "S"), ("user", "   ")],
    [("system", ""), ("user", "")],
    [("user", " \u00a0\u2003\x1c wide\u3000blanks\u2028\x1f "), ("assistant", " a \n"), ("user", "\u200bzero")],
    [("user", "  ")],
    [("user", "</s><s>[INST] <<SYS>> \x01\x02 <|eot_id|><end_of_turn>\n<start_of_turn>model\n")],
    [("user", "caf\u00e9 \U0001f600\n\n"), ("assistant", ""), ("user", "{{ x }}")],
    [("assistant", "I begin."), ("user", "Hi")],
    [("user", "Hi"), ("user", "again")],
    [("user", "Hi"), ("assistant", "a"), ("assistant", "b")],
    [("user", "Hi"), ("system", "late"), ("user", "Hi")],
    [("system", "S"), ("system", "S"), ("user", "Hi")],
    [("system", "alone")],
    [("user", "Hi"), ("tool", "42"), ("user", "Hi")],
]


def refuse(message):
    raise jinja2.TemplateError(message)


def main():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    env.globals["raise_exception"] = refuse
    entries = []
    for name, family, think in FAMILIES:
        text = (Path(sys.argv[1]) / f"{name}.jinja").read_text(encoding="utf-8")
        template = env.from_string(text)
        cases = []
        for turns in SAY:
            messages = [{"role": role, "content": content} for role, content in turns]
            for reply in (False, True):
                try:
                    said = template.render(messages=messages, add_generation_prompt=reply,
                                           bos_token="<s>", eos_token="</s>",
                                           enable_thinking=think)
                except jinja2.TemplateError:
                    said = None
                cases.append({"turns": turns, "reply": reply, "text": said})
        entries.append({"template": name, "sha256": hashlib.sha256(text.encode()).hexdigest(),
                        "family": family, "think": think, "cases": cases})
    out = {"jinja2": jinja2.__version__, "templates": entries}
    Path("test/data/turns.json").write_text(json.dumps(out, ensure_ascii=False, indent=0) + "\n")


main()
