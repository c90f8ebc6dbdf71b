#!/usr/bin/env python3
"""Tests of glim template, and of conversations and tools from files in glim run.

usage: test_template.py [PROGRAM], from the root of a checkout; prints TAP. The model is the fixture
with a chat template, and with one token renamed to what the model shall say.
"""
import ast
import json
import sys

from tool_rig import FLAGS, fails, glim, made, main, saying, test

TEMPLATE = (b"{%- if tools %}{{ '<|im_start|>tools ' + tools | tojson + '<|im_end|>' }}{% endif %}"
            b"{%- for m in messages %}{{ '<|im_start|>' + m.role + ' ' }}"
            b"{%- if m.tool_calls %}{{ '<tool_call>' + m.tool_calls[0] | tojson + '</tool_call>' }}"
            b"{%- else %}{{ m.content }}{% endif %}{{ '<|im_end|>' }}{% endfor %}"
            b"{%- if add_generation_prompt %}{{ '<|im_start|>assistant ' }}"
            b"{%- if enable_thinking is defined %}{{ 'think' if enable_thinking else 'no' }}{% endif %}"
            b"{%- endif %}")
TALK = [{"role": "user", "content": "Weather? <|im_end|>"},
        {"role": "assistant", "content": None, "tool_calls": [{"name": "f", "arguments": {"a": 1.0}}]},
        {"role": "tool", "content": "\u00e9"}]
TOOLS = [{"type": "function", "function": {"name": "f", "description": "<&'>"}}]
SAID = '<|im_start|>user Weather? <|im_end|><|im_end|><|im_start|>assistant ' \
       '<tool_call>{"name": "f", "arguments": {"a": 1.0}}</tool_call><|im_end|>' \
       '<|im_start|>tool \u00e9<|im_end|>'
OPEN = "<|im_start|>assistant "


def model():
    return saying("template.gguf", "word", TEMPLATE)


def file(name, value):
    return made(name, json.dumps(value).encode())


@test
def a_conversation_is_shown_as_the_template_writes_it():
    talk, tools = file("talk.json", TALK), file("tools.json", TOOLS)
    r = glim("template", model(), "--messages", talk, stdin=None, code=0, quiet=True)
    assert r.text == SAID + OPEN, r
    r = glim("template", "-m", model(), "--messages", "-", stdin=json.dumps(TALK).encode(), code=0)
    assert r.text == SAID + OPEN, r
    r = glim("template", model(), "--messages", talk, "--tools", tools, "--no-reply", stdin=None, code=0)
    assert r.text == "<|im_start|>tools " + json.dumps(TOOLS) + "<|im_end|>" + SAID, r
    r = glim("template", model(), "--messages", talk, "--variables", '{"enable_thinking": false}',
             stdin=None, code=0)
    assert r.text == SAID + OPEN + "no", r
    r = glim("template", model(), "--messages", talk, "--go-on", stdin=None, code=0)
    assert r.text == SAID[:-len("<|im_end|>")], r


@test
def ids_tell_marks_from_text():
    talk = file("talk.json", TALK)
    r = glim("template", model(), "--messages", talk, "--pieces", stdin=None, code=0)
    rows = [line.split("\t") for line in r.text.splitlines()]
    pieces = [ast.literal_eval(piece) for _, piece in rows]
    assert pieces.count("<|im_end|>") == 3 and pieces.count("<|im_start|>") == 4, r
    said = "".join(pieces[1:])  # behind the begin token; parts of characters are escaped bytes
    assert said.encode("latin-1").decode() == SAID + OPEN, r
    ids = glim("template", model(), "--messages", talk, "--ids", stdin=None, code=0)
    assert ids.text.split() == [id for id, _ in rows], ids


@test
def what_is_wrong_is_said_with_its_line():
    m, talk = model(), file("talk.json", TALK)
    fails(2, "--messages", args=["template", m])
    fails(1, "no-such.json", args=["template", m, "--messages", "no-such.json"])
    fails(1, "bad.json, line 2", args=["template", m, "--messages", made("bad.json", b"[\n}")])
    fails(1, "empty.json, line 1", "a value is missing", args=["template", m, "--messages", made("empty.json", b"")])
    for name, wrong in [("none", []), ("odd", [TALK[0], 1]), ("text", "hi"), ("other", {"a": 1})]:
        fails(1, f"{name}.json", "list of objects", "at least",
              args=["template", m, "--messages", file(f"{name}.json", wrong)])
    fails(1, "--variables", args=["template", m, "--messages", talk, "--variables", "[]"])
    broken = saying("broken.gguf", "word", b"a\n{{ messages | nofilter }}")
    fails(1, "line 2", "'nofilter'", args=["template", broken, "--messages", talk])
    refusing = saying("refusing.gguf", "word", b"{{ raise_exception('no ' ~ messages[0].role) }}")
    fails(1, "no user", args=["template", refusing, "--messages", talk])


@test
def run_takes_conversations_and_tools():
    talk, tools = file("talk.json", TALK), file("tools.json", TOOLS)
    m = model()
    shown = [("--messages", talk), ("--messages", talk, "and?"), ("--tools", tools, "hi"),
             ("--think", "hi"), ("--no-think", "--system", "S", "hi")]
    for args in shown:
        r = glim("run", m, *FLAGS, "--json", *args, stdin=None, code=0)
        answer = json.loads(r.text)
        assert answer["text"] == "word" and answer["end"] == "limit", r
        assert answer["tool_calls"] == [] and answer["thought"] == "", r
        # The prompt has as many tokens as glim template gives for the same conversation.
        messages = [*TALK] if "--messages" in args else []
        if "--system" in args:
            messages = [{"role": "system", "content": "S"}, *messages]
        if args[-1] != talk:
            messages = messages + [{"role": "user", "content": args[-1]}]
        more = ["--tools", tools] if "--tools" in args else []
        if "--think" in args or "--no-think" in args:
            more += ["--variables", json.dumps({"enable_thinking": "--think" in args})]
        ids = glim("template", m, "--messages", file("now.json", messages), *more, "--ids",
                   stdin=None, code=0)
        assert answer["prompt_tokens"] == len(ids.text.split()), (args, r, ids)
    calling = saying("calling.gguf", '<tool_call>{"name": "f", "arguments": {"a": [1]}}</tool_call>',
                     b"{# <tool_call>{}</tool_call> #}" + TEMPLATE)
    r = glim("run", calling, *FLAGS, "--json", "--tools", tools, "hi", stdin=None, code=0)
    call, = json.loads(r.text)["tool_calls"]
    assert call["name"] == "f" and call["arguments"] == {"a": [1]} and call["id"], r
    fails(1, "not.json, line 1", args=["run", m, "--messages", made("not.json", b"nothing")])
    fails(2, "--raw", args=["run", m, "--raw", "--tools", tools, "x"])
    fails(2, "--no-think", args=["run", m, "--think", "--no-think", "x"])


@test
def an_answer_at_the_end_is_gone_on_with():
    m, asked = model(), {"role": "user", "content": "Count."}
    talk = file("half.json", [asked, {"role": "assistant", "content": "One, "}])
    r = glim("run", m, *FLAGS, "--json", "--messages", talk, stdin=None, code=0)
    answer = json.loads(r.text)
    assert answer["text"] == "word", r  # what follows, without what is there
    ids = {more: glim("template", m, "--messages", talk, *more, "--ids", stdin=None, code=0).text.split()
           for more in [("--go-on",), ()]}
    assert len(ids["--go-on",]) != len(ids[()]) and answer["prompt_tokens"] == len(ids["--go-on",]), (r, ids)
    assert glim("run", m, *FLAGS, "--messages", talk, stdin=None, code=0).text.rstrip("\n") == "word"
    # With a question behind it, it is a turn like others.
    r = glim("run", m, *FLAGS, "--json", "--messages", talk, "and?", stdin=None, code=0)
    whole = file("whole.json", [*json.load(open(talk)), {"role": "user", "content": "and?"}])
    ids = glim("template", m, "--messages", whole, "--ids", stdin=None, code=0).text.split()
    assert json.loads(r.text)["prompt_tokens"] == len(ids), r
    for name, last in [("empty", {"content": " \n"}), ("none", {"content": None}), ("calls", {**TALK[1], "content": "x"})]:
        fails(1, f"{name}.json", "only text", "prompt", stdin=None,
              args=["run", m, "--messages", file(f"{name}.json", [asked, {**last, "role": "assistant"}])])
    r = glim("run", "test/data/granite.gguf", "--messages", talk, stdin=None, code=1)
    assert "built-in turns have no place for an answer that goes on" in r.said and r.text == "", r
    assert r.said.endswith(": --template FILE\n"), r


@test
def every_tool_has_a_name():
    m, talk = model(), file("talk.json", TALK)
    for name, second, why in [("text", "x", "is not an object"), ("number", {"name": 5}, "a name that is not text"),
                              ("bare", {"type": "function"}, "has no name"), ("void", {"name": ""}, "an empty name"),
                              ("inner", {"type": "function", "function": {"name": 5}}, "a name that is not text"),
                              ("odd", {"function": "f"}, "\"function\" that is not an object")]:
        tools = [TOOLS[0], second]
        for value in tools, {"tools": tools}:
            at = file(f"{name}.json", value)
            for command in "run", "chat", "template":
                more = ["--messages", talk] if command == "template" else ["hi"] if command == "run" else []
                fails(1, f"--tools {at}: tool 2", why, args=[command, m, *more, "--tools", at])
        saved = file("saved.json", {"messages": TALK, "tools": tools})
        for command in "run", "chat", "template":
            fails(1, f"--messages {saved}: tool 2", why, args=[command, m, "--messages", saved])
        r = glim("chat", m, stdin=f"/tools {at}\n".encode(), code=1)
        assert f"{at}: tool 2 " in r.said and why in r.said, r
    fails(1, "--tools", "list of tools", args=["template", m, "--messages", talk, "--tools", file("not.json", 5)])
    bare = file("bare.json", {"tools": [TOOLS[0]["function"]]})
    glim("run", m, *FLAGS, "--tools", bare, "hi", stdin=None, code=0)
    r = glim("template", m, "--messages", talk, "--tools", bare, stdin=None, code=0)
    assert '[{"name": "f"' in r.text, r


@test
def where_built_in_turns_do_not_do_a_template_is_the_way_out():
    built_in, talk, tools = "test/data/granite.gguf", file("hi.json", [{"role": "user", "content": "hi"}]), file("t.json", TOOLS)
    for args in ["run", built_in, "--messages", talk], ["template", built_in, "--messages", talk], ["chat", built_in]:
        r = glim(*args, "--tools", tools, stdin=b"hi\n", code=1)
        assert "no place for tools" in r.said and r.said.endswith(": --template FILE\n"), r
    at = made("way.jinja", TEMPLATE)
    r = glim("template", built_in, "--messages", talk, "--tools", tools, "--template", at, code=0)
    assert r.text.startswith("<|im_start|>tools "), r


@test
def a_template_without_tools_is_a_note():
    plain = saying("plain.gguf", "word", b"{% for m in messages %}{{ m.content }}{% endfor %}")
    r = glim("run", plain, *FLAGS, "--tools", file("tools.json", TOOLS), "hi", stdin=None, code=0)
    assert "no place for tools" in r.said, r
    r = glim("run", model(), *FLAGS, "--tools", file("tools.json", TOOLS), "hi", stdin=None, code=0)
    assert "no place for tools" not in r.said, r


sys.exit(main())
