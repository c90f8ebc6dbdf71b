#!/usr/bin/env python3
"""Tests of what glim run and glim chat make of thoughts and tool calls in an answer.

usage: test_parts.py [PROGRAM], from the root of a checkout; prints TAP. The model is the fixture
with one token renamed to what the model shall say, and a bias that makes it say nothing else.
"""
import json
import os
import subprocess
import sys

import tool_rig
from tool_rig import ADDED, CONTROL, FLAGS, GLIM, SECONDS, glim, main, terminal, test

# ChatML; the comment tells the family.
TEMPLATE = (b"{# <tool_call>{}</tool_call> #}"
            b"{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']"
            b" + '<|im_end|>' + '\\n'}}{% endfor %}"
            b"{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def saying(name, words, template=TEMPLATE, kind=ADDED):
    return tool_rig.saying(name, words, template, kind)


def ask(model, *flags, **options):
    return glim("run", model, *FLAGS, *flags, "hello", stdin=None, code=0, **options)


@test
def a_call_is_a_line_of_json():
    model = saying("call.gguf", 'See.\n<tool_call>{"name": "get", "arguments": {"a": "b\\n}", "n": 1.0}}</tool_call>')
    r = ask(model)
    lines = r.text.split("\n")
    assert lines[0] == "See." and lines[2:] == [""], r
    assert json.loads(lines[1]) == {"name": "get", "arguments": {"a": "b\n}", "n": 1.0}}, r
    two = ask(model, "-n", "2")
    assert two.text == r.text + r.text, two


@test
def a_malformed_call_is_text_with_a_note():
    words = '<tool_call>{"name": "get", "arguments": {"a": 1 2}}</tool_call>'
    model = saying("broken.gguf", words)
    r = ask(model)
    assert r.text.rstrip("\n") == words, r
    assert "[a malformed tool call was kept as text: " in r.said, r
    assert "malformed" not in ask(model, "--quiet").said
    chat = glim("chat", model, *FLAGS, stdin=b"hello\n", code=0)
    assert chat.text == words + "\n" and "malformed" in chat.said, chat


@test
def a_cut_call_is_text_with_a_note():
    words = '<tool_call>{"name": "get", "arguments": {"a": "'
    r = ask(saying("cut.gguf", words))
    assert r.text.rstrip("\n") == words and "the answer ends within it" in r.said, r


@test
def thoughts_are_left_out_of_results():
    r = ask(saying("thought.gguf", "<think>\nHm.\n</think>\n\nYes."))
    assert r.text.rstrip("\n") == "Yes.", r


@test
def raw_text_is_left_alone():
    words = '<think>Hm</think><tool_call>{"name": "get"}</tool_call>'
    r = ask(saying("raw.gguf", words), "--raw")
    assert r.text.rstrip("\n") == words, r


@test
def other_families_keep_their_text():
    words = '<tool_call>{"name": "get"}</tool_call>'
    r = ask(saying("plain.gguf", words, TEMPLATE[TEMPLATE.index(b"#}") + 2:]))
    assert r.text.rstrip("\n") == words, r


@test
def control_tokens_are_marks():
    gemma = b"{# <|tool_call>call:f{} #}" + TEMPLATE[TEMPLATE.index(b"#}") + 2:]
    mark = "<|tool_call>"
    for kind in CONTROL, ADDED:  # a vocabulary that has it as a word has no other way to say it
        r = ask(saying("mark.gguf", mark, gemma, kind))
        assert r.text.rstrip("\n") == mark and "the answer ends within it" in r.said, r
    r = ask(saying("other.gguf", "<|image|>", gemma, CONTROL))
    assert r.text.strip() == "" and "tool call" not in r.said, r


@test
def stop_strings_come_first():
    r = ask(saying("stop.gguf", "<think>a STOP b</think>c"), "--stop", "STOP")
    assert r.text.strip() == "" and "ended by --stop" in r.said, r
    assert "the thought did not end" in r.said, r


@test
def a_terminal_shows_thoughts_dimmed():
    model = saying("dim.gguf", '<think>Hm\x1b[31m.</think>Yes <tool_call>{"name": "get"}</tool_call>')
    parent, child = terminal()
    p = subprocess.Popen([GLIM, "run", model, *FLAGS, "--quiet", "hello"], stdin=subprocess.DEVNULL,
                         stdout=child, stderr=subprocess.PIPE)
    os.close(child)
    seen = b""
    try:
        while more := os.read(parent, 4096):
            seen += more
    except OSError:  # how Linux reports that the other side is closed
        pass
    os.close(parent)
    assert p.wait(SECONDS) == 0, p.stderr.read()
    p.stderr.close()
    want = "\x1b[2mHm\ufffd[31m.\x1b[0m\r\n\r\nYes\r\n\x1b[2mget({})\x1b[0m\r\n"
    assert seen.decode() == want, seen


sys.exit(main())
