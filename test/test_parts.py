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


def tools(name, **arguments):
    declared = [{"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {k: {"type": v} for k, v in arguments.items()}}}}]
    return "--tools", tool_rig.made(name + ".json", json.dumps(declared).encode())


@test
def a_call_in_a_code_fence_is_one_of_an_offered_tool():
    words = '```json\n{\n  "name": "get",\n  "arguments": {"a": 1}\n}\n```'
    model = saying("fence.gguf", words)
    r = ask(model, *tools("get", a="integer"), "--json")
    said = json.loads(r.text)
    assert said["text"] == "" and said["notes"] == [], r
    assert [(c["name"], c["arguments"]) for c in said["tool_calls"]] == [("get", {"a": 1})], r
    for offered in (), tools("other"):
        r = ask(model, *offered)
        assert r.text.rstrip("\n") == words and "malformed" not in r.said, r


@test
def values_between_tags_have_the_types_of_their_tool():
    template = b"{# <tool_call><function=f><parameter=a> #}" + TEMPLATE[TEMPLATE.index(b"#}") + 2:]
    words = ("<tool_call>\n<function=get>\n" + "".join(f"<parameter={k}>\n3\n</parameter>\n" for k in "abc")
             + "</function>\n</tool_call>")
    model = saying("tags.gguf", words, template)
    for offered, want in [(tools("get", a="integer", b="string"), {"a": 3, "b": "3", "c": "3"}),
                          (tools("get2", a="integer"), {"a": "3", "b": "3", "c": "3"}), ((), {"a": "3", "b": "3", "c": "3"})]:
        r = ask(model, *offered, "--json")
        call, = json.loads(r.text)["tool_calls"]
        assert call["name"] == "get" and call["arguments"] == want, (offered, r)


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


# The answer begins within a thought, unless the template is told not to think.
THINKING = TEMPLATE.replace(b"assistant\\n' }}{% endif %}",
                            b"assistant\\n' }}{% if enable_thinking is not defined or enable_thinking %}"
                            b"{{ '<think>\\n' }}{% endif %}{% endif %}")


def parts(model, *flags, **options):
    return json.loads(ask(model, "--json", *flags, **options).text)


@test
def a_thought_ends_within_its_budget():
    model = saying("budget.gguf", "so ", THINKING)
    endless = parts(model, "-n", "40")
    assert endless["thought"].strip() == ("so " * 40).strip() and endless["text"] == "", endless
    assert endless["notes"] == ["the thought did not end"], endless
    marks = len(glim("tokenize", "-m", model, stdin=b"\n</think>\n\n", code=0).text.split()) - 1  # the begin token
    for budget in 1, 3, 7:
        a = parts(model, "-n", "40", "--think", str(budget))
        assert a["thought"].split() == ["so"] * budget and a["notes"] == [], a
        assert a["text"].split() == ["so"] * (40 - budget - marks) and a["end"] == "limit", (a, marks)
        assert a["answer_tokens"] == 40 and a["prompt_tokens"] == endless["prompt_tokens"], a
    # With the flag on its own, or as a value behind =, or before a prompt that is no amount.
    assert parts(model, "-n", "9", "--think=3")["thought"] == "so so so"
    assert parts(model, "-n", "9", "--think")["thought"].split() == ["so"] * 9
    # No room for the mark: the limit, or the context, ends the answer first.
    a = parts(model, "-n", str(3 + marks - 1), "--think", "3")
    assert a["thought"].split() == ["so"] * 3 and a["end"] == "limit" and a["answer_tokens"] == 3, a
    a = parts(model, "-c", str(endless["prompt_tokens"] + 3 + marks - 1), "-n", "40", "--think", "3")
    assert a["thought"].split() == ["so"] * 3 and a["end"] == "context", a
    # Two answers to one prompt are alike, here.
    two = ask(model, "--json", "-n", "20", "--think", "2", "--answers", "2").text.splitlines()
    one, other = [json.loads(line) for line in two]
    assert one.pop("cached_tokens") == 0 and other.pop("cached_tokens") == one["prompt_tokens"]
    assert one == other and one["thought"] == "so so", two


@test
def thinking_is_switched_off():
    told = saying("told.gguf", "so ", THINKING)
    for flag in ["--think", "off"], ["--think=0"], ["--no-think"]:
        a = parts(told, *flag, "-n", "3")
        assert a["thought"] == "" and a["text"].split() == ["so"] * 3, a
    # A template that cannot be told opens a thought all the same: it is closed at once.
    deaf = saying("deaf.gguf", "so ", TEMPLATE.replace(b"assistant\\n'", b"assistant\\n<think>\\n'"))
    a = parts(deaf, "--no-think", "-n", "20")
    assert a["thought"] == "" and set(a["text"].split()) == {"so"} and a["notes"] == [], a
    # And one that the model opens by itself, here again and again: each is closed when it has begun.
    own = saying("own.gguf", "<think>so ")
    a = parts(own, "--no-think", "-n", "40", "--logprobs", "1")
    said = "".join(t["text"] for t in a["logprobs"])
    assert said.startswith(2 * "<think>so \n</think>\n\n"), a
    raw = ask(own, "--raw", "-n", "3", "--exact").text
    assert raw == "<think>so " * 3, raw
    # Thinking that cannot be asked for is said; that it cannot be forbidden in the prompt is no loss.
    assert "no switch for thinking" in ask(deaf, "--think", "2").said
    assert "no switch for thinking" not in ask(deaf, "--no-think").said + ask(told, "--think", "2").said
    for value, word in ("-1", "unknown flag"), ("1.5", "on, off or"), ("yes", "on, off or"):
        r = glim("run", told, f"--think={value}", "x", stdin=None, code=2)
        assert "on, off or a number" in r.said, r
    assert parts(told, "--think", "twice", "-n", "1")["thought"] == "so"  # "twice" is a prompt


@test
def log_probabilities_are_json():
    model = saying("logprobs.gguf", "word")
    flags = ["--temp", "0", "--exact", "-n", "6", "--logprobs", "3"]
    a = json.loads(glim("run", model, *flags, "--json", "hello", stdin=None, code=0).text)
    lines = glim("run", model, *flags, "hello", stdin=None, code=0).text.splitlines()
    rows = [line.split("\t") for line in lines[-len(a["logprobs"]):]]
    assert len(a["logprobs"]) == 6 == len(rows), a
    for token, row in zip(a["logprobs"], rows):
        assert f"{token['logprob']:.4f}" == row[0] and len(token["top"]) == 3, (token, row)
        assert [f"{t['logprob']:.4f}" for t in token["top"]] == [t.split(" ")[0] for t in row[2:]], (token, row)
        best = token["top"][0]  # greedy: the likeliest is the one drawn
        assert (best["id"], best["logprob"], best["text"]) == (token["id"], token["logprob"], token["text"]), token
        assert token["top"][0]["logprob"] >= token["top"][1]["logprob"] >= token["top"][2]["logprob"], token
        for t in [token, *token["top"]]:  # bytes where the text is not whole characters
            assert ("bytes" in t) == ("\ufffd" in t["text"]), t
            if "bytes" in t:
                assert bytes(t["bytes"]).decode("utf-8", "replace") == t["text"], t
    assert any("bytes" in t for token in a["logprobs"] for t in [token, *token["top"]]), a
    said = "".join(t["text"] for t in a["logprobs"])
    assert len(a["text"]) == len(said) or "\ufffd" in said, a
    # What was put in, not drawn, has no probability.
    thinking = saying("closed.gguf", "so ", THINKING)
    a = parts(thinking, "--think", "1", "-n", "20", "--logprobs", "1")
    drawn = [t for t in a["logprobs"] if t["logprob"] is not None]
    put = [t for t in a["logprobs"] if t["logprob"] is None]
    assert "".join(t["text"] for t in put) == "\n</think>\n\n" and len(drawn) + len(put) == 20, a
    assert all(t["top"] == [] for t in put) and all(len(t["top"]) == 1 for t in drawn), a


@test
def numbers_in_tools_and_calls_stay_what_they_are():
    model = saying("real.gguf", '<tool_call>{"name": "get", "arguments": {"x": 0.1, "y": -2.50, "z": 1e20}}</tool_call>')
    r = ask(model, "--json")
    assert '"arguments": {"x": 0.1, "y": -2.5, "z": 1e+20}' in r.text, r


def on_terminal(model, **env):
    env = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **env}
    parent, child = terminal()
    p = subprocess.Popen([GLIM, "run", model, *FLAGS, "--quiet", "hello"], stdin=subprocess.DEVNULL,
                         stdout=child, stderr=subprocess.PIPE, env=env)
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
    return seen.decode()


@test
def a_terminal_shows_thoughts_dimmed():
    model = saying("dim.gguf", '<think>Hm\x1b[31m.</think>Yes <tool_call>{"name": "get"}</tool_call>')
    want = "\x1b[2mHm\ufffd[31m.\x1b[0m\r\n\r\nYes\r\n\x1b[2mget({})\x1b[0m\r\n"
    assert on_terminal(model, TERM="xterm") == want
    plain = "[thought: Hm\ufffd[31m.]\r\n\r\nYes\r\n[tool call: get({})]\r\n"
    assert on_terminal(model, TERM="xterm", NO_COLOR="1") == plain == on_terminal(model, TERM="dumb")


sys.exit(main())
