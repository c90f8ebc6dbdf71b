#!/usr/bin/env python3
"""Tests of glim chat: through a pipe, and typed at a pseudo-terminal.

usage: test_chat.py [PROGRAM], from the root of a checkout; prints TAP.
"""
import fcntl
import hashlib
import json
import os
import pathlib
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

from chat_rig import BASE, CHATTY, ENV, Terminal, ids, piped, stats
from tool_rig import FOLDER, GLIM, MODEL, SECONDS, fails, glim, made, main, test

REAL = "models/SmolLM2-135M-Instruct.Q4_1.gguf"

# ---- Through a pipe ------------------------------------------------------------------------------


@test
def turns_process_only_what_is_new():
    r = piped("hi\nand again\nonce more\n", "-n", "5", "--stats")
    user = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    first = 1 + len(ids(user.format("hi")))
    # The limit leaves an answer open: the next turn closes it, and processes its last token.
    second = len(ids("<|im_end|>\n" + user.format("and again")))
    third = len(ids("<|im_end|>\n" + user.format("once more")))
    a, b = first + 5, first + 5 + second + 5
    assert stats(r.said) == [(first, 0, first, 5, a), (a + second, a - 1, second + 1, 5, b),
                             (b + third, b - 1, third + 1, 5, b + third + 5)], r
    assert r.said.count("[cut at -n 5]\n") == 3, r


@test
def a_conversation_is_what_its_text_says():
    if not os.path.exists(REAL):
        return "the demo model is not here"
    flags = ["--temp", "0", "--exact", "-n", "24"]
    r = glim("chat", REAL, *flags, "--system", "You are terse.", stdin=b"Name a colour.\nAnother.\n",
             code=0, env=ENV)
    text, answers = "<|im_start|>system\nYou are terse.<|im_end|>\n", ""
    for question in ["Name a colour.", "Another."]:
        text += f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        answer = glim("run", REAL, "--raw", "--special", *flags, stdin=text.encode(), code=0).text
        text += answer + "<|im_end|>\n"
        answers += answer + "\n" * (not answer.endswith("\n"))
    assert r.text == answers, (r, answers)


@test
def a_first_turn_is_a_run():
    for message, text in [("hi", "hi"), ('"""a\n b\nc"""', "a\n b\nc"), ('"""a"""', "a"), ("a\\\nb\\\n", "a\nb\n"),
                          ("a\\\\", "a\\\\"), (" /help", " /help"), ("/usr/bin is what?", "/usr/bin is what?"),
                          ("x\r", "x")]:
        text = text.rstrip("\n")
        want = glim("run", CHATTY, "--temp", "0", "--exact", "-n", "6", "-p", text, stdin=None, code=0).out
        r = piped(message + "\n", "-n", "6", "--quiet", quiet=True)
        assert r.out == want + b"\n" * (not want.endswith(b"\n")), (message, want, r)
    with_system = piped("hi\n", "-n", "6", "--system", "the engine").out
    want = glim("run", CHATTY, "--temp", "0", "--exact", "-n", "6", "--system", "the engine", "hi", code=0).out
    assert with_system.rstrip(b"\n") == want.rstrip(b"\n") != piped("hi\n", "-n", "6").out.rstrip(b"\n")


@test
def commands_in_a_pipe():
    one = piped("hi\n", "-n", "6").out
    twice = piped("hi\n\n  \n/clear\nhi\n/quit\nnever asked\n", "-n", "6")
    assert twice.out == one + one, twice
    assert piped("hi\nhi\n", "-n", "6").out != one + one
    r = piped("hi\n/cleer\nhi\n", "-n", "6", code=1)
    assert r.out == one and "glim: unknown command '/cleer' (did you mean /clear?)" in r.said, r
    r = piped("/clear all\n", code=1)
    assert r.out == b"" and "/clear takes nothing behind it" in r.said, r
    r = piped("/help\n/?\n")
    assert r.out == b"" and all(r.said.count(f"  {c} ") == 2 for c in ["/help", "/clear", "/quit"]), r
    assert piped("", quiet=True).out == b"" == piped("/quit\n", quiet=True).out


@test
def broken_input_is_said():
    r = piped('"""a\nb\n', code=1)
    assert r.out == b"" and '"""' in r.said, r
    r = piped("hi\na\0b\n", "-n", "1", "--quiet", code=1)
    assert "line 2 has a zero byte" in r.said, r
    fails(1, "chat template", "--raw to send plain text with glim run", args=["chat", MODEL], stdin=b"hi\n")
    fails(2, "glim run", args=["chat", CHATTY, "hi"])
    fails(2, "-n 0", args=["chat", CHATTY, "-n", "0"])
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            r = glim(*BASE, "--quiet", "-n", "3", stdin=b"hi\nhi\n", stdout=full, code=1, env=ENV)
        assert r.said.count("\n") == 1 and "cannot write to standard output" in r.said, r


@test
def a_full_context_is_said():
    n = 1 + len(ids("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"))
    r = piped("hi\nhi\n", "-c", str(n + 4), "--quiet", code=1)
    cut, refused = r.said.splitlines()
    assert cut == f"[cut: the context of {n + 4} tokens is full (-c); /clear forgets the conversation]", r
    assert f"context of {n + 4}, of which {n + 4} are in use" in refused and "-c, at most 1024" in refused, r
    assert refused.endswith("/clear forgets the conversation"), r
    assert r.out.rstrip(b"\n") == piped("hi\n", "-n", "4").out.rstrip(b"\n")
    # Cleared, it goes on; a question that leaves no room for an answer is forgotten.
    assert piped("hi\n/clear\nhi\n", "-c", str(n + 4)).out == 2 * r.out
    r = piped("hi\nhi\n", "-c", str(n), "--stats")
    assert r.said.count("before the answer began, so the question is forgotten") == 2, r
    r = piped("hi\n", "-c", str(n - 1), code=1)
    assert f"{n} tokens do not fit in the context of {n - 1}" in r.said and "/clear" not in r.said, r


@test
def a_model_of_a_store_brings_its_settings():
    store = pathlib.Path(FOLDER.name, "store")
    path = store / "manifests/registry.ollama.ai/library/chatty/1b"
    path.parent.mkdir(parents=True)
    (store / "blobs").mkdir()

    def layer(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        (store / "blobs" / ("sha256-" + digest)).write_bytes(data)
        return {"mediaType": "application/vnd.ollama.image." + kind, "digest": "sha256:" + digest, "size": len(data)}
    config = layer("config", b"{}")
    settings = {"temperature": 0, "num_predict": 6, "num_ctx": 512}
    turns = [{"role": "user", "content": "the"}, {"role": "assistant", "content": "engine"}]
    path.write_text(json.dumps({"schemaVersion": 2, "config": config, "layers": [
        layer("model", pathlib.Path(CHATTY).read_bytes()), layer("system", b"in the"),
        layer("params", json.dumps(settings).encode()), layer("messages", json.dumps(turns).encode())]}))
    env = {**ENV, "OLLAMA_MODELS": str(store)}
    once = glim("run", "chatty:1b", "hi", stdin=None, code=0, env=env).out
    once += b"\n" * (not once.endswith(b"\n"))
    bare = glim("run", CHATTY, "--temp", "0", "-n", "6", "hi", stdin=None, code=0).out
    r = glim("chat", "chatty:1b", "--stats", stdin=b"hi\n/clear\nhi\n", code=0, env=env)
    assert r.out == once + once and not once.startswith(bare), (once, bare, r)
    assert r.said.count(" of 512 tokens]") == 2 and r.said.count("[cut at -n 6]") == 2, r
    t = Terminal("chat", "chatty:1b", env=env)
    assert t.prompt().startswith("chatty:1b, context of 512 tokens"), t.seen
    t.type("\x04")
    t.end(0)


# ---- At a terminal -------------------------------------------------------------------------------


@test
def lines_are_edited_and_pasted():
    with open(made("answers", b""), "w+b") as out:
        t = Terminal(*BASE, "-n", "6", stdout=out)
        greeting = t.prompt()
        assert "chatty.gguf, context of 1024 tokens." in greeting and "/help" in greeting, greeting
        t.type("zthe\x1b[Dx\x7f\x1b[C\x1b[H\x1b[3~\x1b[F engine\r")  # becomes "the engine"
        t.say("\x1b[A")  # the same again
        t.say("wrong words\x17\x17in\\")  # two words rubbed out, and a line that goes on
        t.prompt(". ")
        t.type("two\r")
        t.prompt()
        t.type("\x1b[200~a\r\nb\x1b[31m\nc\x1b[201~\r")  # escapes in it are not obeyed
        t.say('"""')
        t.prompt(". ")
        t.type('é日"""\r')
        t.prompt()
        t.type("\x04")
        t.end(0)
        out.seek(0)
        got = out.read()
    want = piped('the engine\nthe engine\nin\\\ntwo\n"""a\nb[31m\nc"""\n"""\né日"""\n', "-n", "6").out
    assert got == want, (got, want, t.seen)


@test
def answers_share_the_terminal():
    t = Terminal(*BASE, "-n", "6", "--stats")
    t.say("hi")
    text = t.until("[prompt: ", "of 1024 tokens]", "[cut at -n 6]\r\n\r\n")
    want = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", piped("hi\n", "-n", "6").text)
    assert "hi" in text and want.replace("\n", "\r\n") in text, (text, want)
    t.say("/nothing")
    t.until("glim: unknown command '/nothing'")
    t.say("/clear")
    t.until("The conversation is forgotten.")
    t.say("/quit")
    t.end(0)


@test
def history_outlives_the_program():
    env = {**ENV, "XDG_STATE_HOME": os.path.join(FOLDER.name, "fresh")}
    path = pathlib.Path(env["XDG_STATE_HOME"], "glim", "history")
    flags = [*BASE, "-n", "1"]

    def chat(*lines, more=()):
        t = Terminal(*flags, *more, env=env)
        for line in lines:
            t.say(line)
        t.prompt()
        t.type("\x04")
        return t.end(0)
    chat("not kept", more=["--no-history"])
    assert not path.exists()
    chat("first words", "two\x1b[200~\nlines\x1b[201~")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    shown = chat("\x1b[A\x1b[A")
    assert "first words" in shown and "not kept" not in shown, shown
    before = path.read_bytes()
    assert b"not" not in before and before.count(b"first") == 2, before
    # A file of something else is not touched.
    path.write_bytes(b"precious\n")
    shown = chat("third")
    assert "is not a history file" in shown and path.read_bytes() == b"precious\n", shown


@test
def interrupts_at_the_prompt():
    t = Terminal(*BASE)
    t.prompt()
    t.type("some words")
    t.until("some words")
    t.type("\x03")
    t.until("^C")
    t.prompt()
    t.type("\x03")
    t.until("Ctrl-C again or Ctrl-D to leave")
    t.say("/help")
    t.until("/clear")
    for _ in range(2):  # the command between starts the count anew
        t.prompt()
        t.type("\x03")
    t.end(0)
    t = Terminal(*BASE)
    t.say("a\\")
    t.prompt(". ")
    t.type("\x04")  # gives up the message, not the chat
    t.prompt()
    t.type("\x04")
    t.end(0)


@test
def signals_leave_the_terminal_as_it_was():
    t = Terminal(*BASE)
    t.prompt()
    t.type("abc")
    t.until("abc")
    assert t.is_editing()
    t.type("\x1a")
    assert os.waitpid(t.p.pid, os.WUNTRACED)[1] >> 8 == signal.SIGSTOP
    assert not t.is_editing()
    t.p.send_signal(signal.SIGCONT)
    t.until("abc")
    fcntl.ioctl(t.parent, termios.TIOCSWINSZ, struct.pack("<4H", 30, 50, 0, 0))
    t.p.send_signal(signal.SIGTERM)
    t.p.wait(SECONDS)
    assert termios.tcgetattr(t.parent) == t.modes
    t.end(-signal.SIGTERM)


@test
def interrupt_stops_the_answer_only():
    """The fixture answers faster than anyone can interrupt it: a full pipe holds it up."""
    for wait in [0.3, 1, 3, 9]:
        r, w = os.pipe()
        os.set_blocking(w, False)
        try:
            while os.write(w, bytes(4096)):
                pass
        except BlockingIOError:
            os.set_blocking(w, True)
        t = Terminal(*BASE, "--stats", stdout=w)
        os.close(w)
        t.say("hi")
        while t.is_editing():
            time.sleep(0.01)
        time.sleep(wait)
        t.type("\x03")
        time.sleep(0.1)
        os.set_blocking(r, False)
        while select.select([r], [], [], 0.2)[0]:
            os.read(r, 65536)
        said = t.until("[interrupted", "]")
        if said.endswith("[interrupted]"):
            break
        t.prompt()  # that was before the first token: wait longer
        t.type("\x04")
        t.end(0)
        os.close(r)
    assert said.endswith("[interrupted]"), said
    a, = stats(said)
    assert a[3] > 0 and a[4] == a[0] + a[3] < 1024, a
    # The next turn goes on behind the interrupted answer.
    t.say("again")
    b = stats(t.until("[prompt: ", "of 1024 tokens]"))[0]
    second = len(ids("<|im_end|>\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n"))
    assert b[0] == a[4] + second and b[4] == b[0] + b[3] == 1024, (a, b)
    assert b[1] in (a[4] - 1, a[4]) and b[1] + b[2] == b[0], (a, b)
    t.until("the context of 1024 tokens is full (-c); /clear forgets the conversation]")
    t.say("more")  # a person can mend that: the chat goes on
    t.until("are in use", "/clear forgets the conversation")
    t.say("/clear")
    t.until("forgotten")
    t.prompt()
    t.type("\x04")
    t.end(0)
    os.close(r)


@test
def interrupt_ends_a_piped_chat():
    r, w = os.pipe()
    p = subprocess.Popen([GLIM, *BASE], stdin=r, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    os.close(r)
    os.write(w, b"hi\n")
    assert p.stdout.readline()  # it reads the next line now, and Ctrl-C means what it always means
    while select.select([p.stdout], [], [], 0.5)[0]:
        os.read(p.stdout.fileno(), 65536)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=SECONDS)
    os.close(w)
    assert p.returncode == -signal.SIGINT, p.returncode


sys.exit(main())
