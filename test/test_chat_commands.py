#!/usr/bin/env python3
"""Tests of what begins with "/" in glim chat, and of tools that are called there.

usage: test_chat_commands.py [PROGRAM], from the root of a checkout; prints TAP.
"""
import json
import os
import pathlib
import re
import sys

import tool_rig
from chat_rig import BASE, CHATTY, ENV, Terminal, piped, stats
from tool_rig import FLAGS, FOLDER, fails, glim, made, main, test

# ChatML with tools and their results; the comment tells the family.
TEMPLATE = (b"{# <tool_call>{}</tool_call> #}{% if tools %}{{ tools | tojson }}{% endif %}"
            b"{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']}}"
            b"{% for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}"
            b"{{ '<|im_end|>\\n' }}{% endfor %}"
            b"{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
TOOLS = [{"type": "function", "function": {
    "name": "get", "description": "Gets a thing.\nNo more.", "parameters": {
        "type": "object", "properties": {"what": {"type": "string", "maxLength": 12}, "part": {"minimum": 0.1}}}}}]


def path(name):
    return os.path.join(FOLDER.name, name)


def file(name, value):
    return made(name, value.encode() if isinstance(value, str) else json.dumps(value).encode())


def prompt_tokens(conversation):
    """As many as glim template gives for a saved conversation, without its last answer."""
    talk = json.loads(pathlib.Path(conversation).read_text())
    talk["messages"].pop()
    r = glim("template", CHATTY, "--messages", file("asked.json", talk), "--ids", stdin=None, code=0)
    return len(r.text.split())


# ---- The conversation ----------------------------------------------------------------------------


@test
def a_system_text_is_for_all_that_was_said():
    saved = path("system.json")
    r = piped(f"hi\n/system the engine\nand\n/save {saved}\n/system\n", "-n", "3", "--stats")
    one, two = stats(r.said)
    talk = json.loads(pathlib.Path(saved).read_text())["messages"]
    assert [m["role"] for m in talk] == ["system", "user", "assistant", "user", "assistant"], talk
    assert talk[0]["content"] == "the engine" and "the engine\n" in r.said, r
    # The prompt is longer by more than the second turn, and nothing before the system text differs.
    assert two[0] == prompt_tokens(saved) and two[1] < one[0], (one, two)
    r = piped(f'/system """of\ntwo"""\n/save! {saved}\n/system off\n/clear\n/system\n', quiet=False)
    assert json.loads(pathlib.Path(saved).read_text())["messages"] == [{"role": "system", "content": "of\ntwo"}], r
    assert "There is no system text." in r.said, r
    # What --system said stays when the conversation is forgotten.
    r = piped("hi\n/clear\n/system\n", "-n", "1", "--system", "be brief")
    assert "be brief" in r.said, r


@test
def an_answer_is_another_one_with_the_next_seed():
    flags = ["--temp", "2", "--seed", "7", "-n", "12"]
    r = piped("hi\n/regen\n/regen\n", *flags, "--stats")
    wants = [glim("run", CHATTY, "--exact", *flags, "--seed", str(seed), "hi", stdin=None, code=0).out
             for seed in (7, 8, 9)]
    assert r.out == b"".join(w + b"\n" * (not w.endswith(b"\n")) for w in wants) and len(set(wants)) == 3, (r, wants)
    rows = re.findall(r"\((\d+) cached, (\d+) new\).*seed (\d+)\]", r.said)
    n = int(rows[0][1])
    assert rows == [("0", str(n), "7"), (str(n - 1), "1", "8"), (str(n - 1), "1", "9")], r
    # The conversation goes on behind the last of them.
    saved = path("regen.json")
    piped(f"hi\n/regen\nmore\n/save {saved}\n", *flags)
    talk = json.loads(pathlib.Path(saved).read_text())["messages"]
    assert [m["role"] for m in talk] == ["user", "assistant"] * 2, talk
    r = piped("/regen\n", code=1)
    assert "there is no answer to take back" in r.said and r.out == b"", r


@test
def an_answer_stays_where_there_comes_no_other():
    saved = path("stays.json")
    t = Terminal(*BASE, "-n", "3", "-c", "40")
    t.say("hi")
    t.say("/system " + "the engine " * 9)
    t.say("/regen")
    t.until("do not fit", "[the answer before stays]")
    t.say(f"/save {saved}")
    t.say("/system off")
    t.say("/regen")
    assert "temperature is 0" not in t.until("[cut at -n 3]")
    t.say("/regen")
    t.until("[the temperature is 0: the answer will be the same", "[cut at -n 3]")
    t.prompt()
    t.type("\x04")
    t.end(0)
    talk = json.loads(pathlib.Path(saved).read_text())["messages"]
    assert [m["role"] for m in talk] == ["system", "user", "assistant"], talk


@test
def conversations_are_saved_and_loaded():
    saved, again, odd = path("saved.json"), path("again.json"), path("odd.json")
    tools = file("tools.json", TOOLS)
    flags = ["-n", "4", "--top-p", "0.9"]
    piped(f"hi\n/tools {tools}\n/set temp 0.25\n/set stop a b\n/set stop c\nand\n/save {saved}\n", *flags)
    talk = json.loads(pathlib.Path(saved).read_text())
    assert talk["tools"] == TOOLS and len(talk["messages"]) == 4, talk
    assert talk["settings"] == {"n-predict": 4, "stop": ["a b", "c"], "temp": 0.25, "top-p": 0.9}, talk
    r = piped(f"/load {saved}\n/save {again}\n/set temp\n/set stop\n")
    assert pathlib.Path(saved).read_bytes() == pathlib.Path(again).read_bytes(), (saved, again)
    assert re.search(r"temp +0.25", r.said) and '"a b" "c"' in r.said, r
    # It is what glim run takes, settings below its flags; and what a chat may begin with.
    a = json.loads(glim("run", CHATTY, "--messages", saved, "--json", "x", stdin=None, code=0).text)
    b = json.loads(glim("run", CHATTY, "--messages", saved, "--json", "-n", "2", "x", stdin=None, code=0).text)
    assert a["answer_tokens"] == 4 and b["answer_tokens"] == 2, (a, b)
    r = glim("chat", CHATTY, "--messages", saved, "--stats", "--exact", stdin=b"x\n", code=0, env=ENV)
    assert stats(r.said)[0][0] == a["prompt_tokens"] and "[cut at -n 4]" in r.said, (r, a)
    # Numbers and texts of all kinds come back as they were.
    messages = [{"role": "user", "content": "é\u2028\"\\\n\t\x01\0", "x": [0.1, -1e300, 12345678901234567, None, {}, []]}]
    file("odd.json", messages)
    piped(f"/load {odd}\n/save\n/load {odd}\n/save! {again}\n")
    assert json.loads(pathlib.Path(odd).read_text())["messages"] == messages
    assert pathlib.Path(odd).read_bytes() == pathlib.Path(again).read_bytes()


@test
def files_are_not_overwritten_by_accident():
    precious = file("precious.json", "precious")
    r = piped(f"hi\n/save {precious}\n", "-n", "1", code=1)
    assert f"{precious}: is there already; /save! " in r.said and pathlib.Path(precious).read_text() == "precious", r
    r = piped(f"hi\n/save! {precious}\nmore\n/save\n", "-n", "1", "--quiet")
    assert r.said.count(f"{precious}: 2 messages; replaced.") == 1, r
    assert f"{precious}: 4 messages; replaced." in r.said, r
    for line, words in [("/save", "needs the name"), (f"/save {FOLDER.name}", "is a folder"),
                        (f"/save {FOLDER.name}/no/such.json", "cannot be written: No such file"),
                        ("/load", "needs the name"), ("/load no-such.json", "no-such.json: cannot open: No such file"),
                        ("/load " + file("text.json", "[\n}"), "text.json, line 2"),
                        ("/load " + file("object.json", "{}"), 'a JSON list of messages is needed, or an object'),
                        ("/load " + file("roles.json", [{"role": "user", "content": ""}, {}]), "message 2 is not"),
                        ("/load " + file("set.json", {"messages": [], "settings": {"tmp": 1}}), "did you mean temp?"),
                        ("/load " + file("hot.json", {"messages": [], "settings": {"temp": -1}}), "from 0 to 1000"),
                        ("/tools no-such.json", "cannot open"), ("/tools " + file("t.json", {}), '"tools"'),
                        ("/stats now", "on, off or nothing"), ("/regen now", "takes nothing")]:
        r = piped(line + "\n", code=1)
        assert words in r.said and r.said.count("\n") <= 2 and r.out == b"", (line, r)
    assert not [f for f in os.listdir(FOLDER.name) if re.search(r"json\.\d", f)], os.listdir(FOLDER.name)
    # What could not be loaded leaves what there was.
    t = Terminal(*BASE, "-n", "1")
    t.say("hi")
    t.say("/load " + path("text.json"))
    t.until("text.json, line 2")
    t.say("/regen")
    t.until("\r\n")
    t.say("/save ~nowhere/x")
    t.until("cannot be written")
    t.prompt()
    t.type("\x04")
    t.end(0)
    fails(1, "no.json: cannot open", args=["chat", CHATTY, "--messages", "no.json"])


@test
def the_tab_key_completes():
    folder = pathlib.Path(FOLDER.name, "tab")
    (folder / "lower" / "deep").mkdir(parents=True)
    for name in "talk one.json", "talk two.json", ".hidden", "bell\x07":
        (folder / name).write_text("[]")
    t = Terminal(*BASE, "-n", "1", env={**ENV, "HOME": str(folder)})
    t.prompt()
    t.type("/sy\t")  # what is inserted comes alone, a line that is shown again comes whole
    t.until("/sy", "stem ")
    t.type("off\r")
    t.until("No system text")
    t.prompt()
    t.type("/s\t")  # several: what they share is there already, so they are shown
    t.until("/system\r\n", "/set\r\n", "/save\r\n", "/stats\r\n", "> /s")
    t.type("et te\t0.5\r")
    t.until("mp ", "0.5", "  temp ")
    t.prompt()
    t.type("/set think o\t")
    t.until("off\r\n", "on\r\n", "/set think o")
    t.type("n\r")
    t.prompt()
    t.type("/load ~/t\t")
    t.until("/load ~/t", "alk ")
    t.type("\t")
    shown = t.until("talk one.json\r\n", "talk two.json\r\n", "~/talk ")
    assert "hidden" not in shown, shown
    t.type("tw\t\r")
    t.until("o.json ", "talk two.json: 0 messages.")
    t.prompt()
    t.type(f"/tools {folder}/l\t")
    t.until("ower/")
    t.type("\t")
    t.until("deep/")
    t.type("\x15\tx\x15/load \t")  # nothing to complete in text; then all that is not hidden
    t.type("\x15")
    t.type("\x04")
    t.end(0)


# ---- Settings ------------------------------------------------------------------------------------


@test
def settings_are_shown_and_changed():
    r = piped("/set\n")
    for name in "temp", "top-k", "seed", "think", "n-predict", "stop", "samplers":
        assert len(re.findall(rf"^  {name} ", r.said, re.M)) == 1, (name, r)
    assert "in this order: penalties;dry;top_n_sigma;top_k;typ_p;" in r.said, r  # on one line
    assert "ctx-size" not in r.said and "threads" not in r.said and "exact" not in r.said, r
    one, three = piped("hi\n", "-n", "1").out, piped("hi\n", "-n", "3").out
    assert piped("hi\n/set n-predict 1\n/clear\nhi\n/set n 3\n/regen\n", "-n", "3").out == three + one + three
    for line, words in [("tmp 1", "there is no setting 'tmp' (did you mean temp?)"), ("temp hot", "'hot' is not a number"),
                        ("temp -1", "from 0 to 1000"), ("ctx-size 9", "begin with -c"), ("c 9", "begin with -c"),
                        ("seed -1", "whole number of 0 or more"), ("think maybe", "on, off or a number"),
                        ("samplers top_k;tp_p", "glim: samplers: 'tp_p'"), ("logit-bias x", "not a token's id"), ("n 0", "-n 0"),
                        ("mirostat 1", "none of 0|2"), ("nothing", "/set lists them"), ("exact 1", "no setting")]:
        r = piped(f"/set {line}\n", code=1)
        assert words in r.said and r.said.count("\n") == 1, (line, r)
    # What is refused changes nothing.
    t = Terminal(*BASE, "-n", "2")
    for line, shown in [("/set samplers temperature;no", "no"), ("/set logit-bias 5+x", "5+x"),
                        ("/set samplers", "not set"), ("/set logit-bias", "none"), ("/set logit-bias 5+1", '"5+1"'),
                        ("/set logit-bias off", "none"), ("/set temp=0.5", "0.5"), ("/set temp", "0.5")]:
        t.say(line)
        t.until(line.split("=")[0], shown)
    t.prompt()
    t.type("\x04")
    t.end(0)


@test
def thinking_is_a_setting():
    thinking = tool_rig.saying("thinking.gguf", "so ", TEMPLATE.replace(
        b"assistant\\n' }}", b"assistant\\n' }}{% if enable_thinking is not defined or enable_thinking %}{{ '<think>' }}{% endif %}"))
    r = glim("chat", thinking, *FLAGS, "-n", "30", "--think", "3", code=0, env=ENV,
             stdin=b"hi\n/set think off\n/regen\n/set think on\n/regen\n")
    short, none, endless = r.text.split("\n")[:3]
    assert set(short.split()) == {"so"} and 5 < len(short.split()) < 27, r
    assert none.split() == ["so"] * 30 and endless == "" and "the thought did not end" in r.said, r


# ---- Tools ---------------------------------------------------------------------------------------

CALL = '<tool_call>{"name": "get", "arguments": {"what": "é", "part": 0.1}}</tool_call>'


def calling():
    return tool_rig.saying("calling.gguf", CALL, TEMPLATE)


@test
def results_of_tools_are_asked_for():
    saved = path("called.json")
    t = Terminal("chat", calling(), *FLAGS, "--tools", file("tools.json", TOOLS), env={**ENV, "NO_COLOR": ""})
    t.say("/tools")
    t.until("get(what, part)  Gets a thing.\r\n")
    t.say("hello")
    t.until('\x1b[2mget({"what":"é","part":0.1})\x1b[0m\r\n')
    t.until("what it returns")
    t.prompt("get returns> ")
    t.type("sunny\\\r")
    t.prompt(". ")
    t.type("and dry\r")
    t.prompt("get returns> ")
    t.type("\r")
    t.prompt("get returns> ")
    t.type("\x03")
    t.say(f"/save {saved}")
    t.until("6 messages, 1 tool.")
    t.say("/stats")
    t.until(" cached, ", "[context now: ", "/stats on")
    t.say("/tools off")
    t.until("No tools from now on.")
    t.say("/regen")  # without tools nobody is asked
    t.until("[no tools were offered")
    t.prompt()
    t.type("\x04")
    t.end(0)
    talk = json.loads(pathlib.Path(saved).read_text())
    user, one, first, two, second, three = talk["messages"]
    call, = one["tool_calls"]
    assert call["function"] == {"name": "get", "arguments": {"what": "é", "part": 0.1}}, one
    assert first == {"role": "tool", "name": "get", "tool_call_id": call["id"], "content": "sunny\nand dry"}, first
    assert second["content"] == "no result" and second["tool_call_id"] == two["tool_calls"][0]["id"] != call["id"], second
    assert three["role"] == "assistant" and one["content"] == "", talk


@test
def a_script_gives_results_line_by_line():
    tools = file("tools.json", TOOLS)
    r = glim("chat", calling(), *FLAGS, "--tools", tools, "--stats", stdin=b"hello\nsunny\n", code=0, env=ENV)
    assert r.text == 2 * '{"name":"get","arguments":{"what":"\u00e9","part":0.1}}\n', r
    # Without tools the next line is a message.
    r = glim("chat", calling(), *FLAGS, stdin=b"hello\n/clear\nhello\n", code=0, env=ENV)
    assert r.text.count("\n") == 2 and r.said.count("no tools were offered") == 2, r
    deaf = glim("chat", CHATTY, "--tools", tools, "-n", "1", stdin=b"hi\nhi\n", code=0, env=ENV)
    assert deaf.said.count("no place for tools") == 1, deaf


sys.exit(main())
