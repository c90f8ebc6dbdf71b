#!/usr/bin/env python3
"""Tests of which template writes turns: the model file's, the store's or the bundle's, or one's own.

usage: test_store_template.py [PROGRAM], from the root of a checkout; prints TAP.
"""
import json
import pathlib
import re
import sys
import tempfile

from store_rig import QWEN, Store, fails, glim, talk
from tool_rig import FOLDER, main, saying, test

GO = (b"{{- range .Messages }}<|start_header_id|>{{ .Role }}<|end_header_id|>{{ .Content }}<|eot_id|>{{ end }}"
      b"<|start_header_id|>assistant<|end_header_id|>{{ if .Tools }}T{{ end }}{{ if .IsThinkSet }}{{ .Think }}{{ end }}")
TURN = "<|start_header_id|>user<|end_header_id|>"
ANSWER = "<|start_header_id|>assistant<|end_header_id|>"


@test
def the_template_layer_writes_turns_where_the_file_has_no_template():
    s = Store()
    s.add("tiny:latest", s.layer("template", GO))
    s.add("old:latest", s.layer("template", b"{{ .System }}U: {{ .Prompt }} A: {{ .Response }}<|eot_id|>"))
    r = glim("template", "tiny", "--messages", talk("Hi <|eot_id|>"), store=s, code=0)
    assert r.text == TURN + "Hi <|eot_id|><|eot_id|>" + ANSWER, r
    assert r.said == "glim: turns are written by Ollama's template in the store\n", r
    # Only what the template writes is a control token.
    pieces = glim("template", "tiny", "--messages", talk("Hi <|eot_id|>"), "--pieces", store=s, code=0).text
    assert len(re.findall(r'\t"<\|eot_id\|>"', pieces)) == 1, pieces
    assert "turns by    Ollama's template in the store" in glim("show", "tiny", store=s, code=0, quiet=True).text
    assert json.loads(glim("show", "tiny", "--json", store=s, code=0).text)["template"] == "store"
    r = glim("template", "old", "--messages", talk("a", "b", "c"), store=s, code=0)
    assert r.text == "U: a A: b<|eot_id|>U: c A: ", r
    r = glim("template", "tiny", "--messages", talk("a", "b"), "--go-on", store=s, code=0)
    assert r.text == TURN + "a<|eot_id|>" + ANSWER + "b", r
    fails("no switch", args=["template", "tiny", "--messages", talk("a"), "--no-reply"], store=s)
    # It runs: tokens are the same as the template's, and a second turn goes on from the first.
    want = glim("template", "tiny", "--messages", talk("Hi"), "--ids", store=s, code=0).text.split()
    args = ["--temp", "0", "--exact", "-n", "3"]
    r = glim("run", "tiny", "Hi", "--json", *args, store=s, code=0)
    assert json.loads(r.text)["prompt_tokens"] == len(want), (r, want)
    r = glim("run", "tiny", "Hi", "--json", "--no-think", *args, store=s, code=0)
    assert json.loads(r.text)["prompt_tokens"] > len(want), r
    tools = pathlib.Path(talk("x")).with_name("tools.json")
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]')
    glim("run", "tiny", "Hi", "--tools", str(tools), *args, "--quiet", store=s, code=0, quiet=True)
    r = glim("run", "old", "Hi", "--tools", str(tools), *args, store=s, code=0)
    assert "has no place for tools" in r.said, r
    r = glim("chat", "tiny", *args, stdin=b"Hi\nMore\n", store=s, code=0)
    assert "no chat template" not in r.said and r.text, r


@test
def the_file_s_template_goes_before_the_store_s():
    s = Store()
    jinja = saying("own.gguf", "word", b"{% for m in messages %}J:{{ m.content }}{% endfor %}")
    s.add("own:latest", s.layer("template", b"G:{{ .Prompt }}"), model=jinja)
    at = talk("x")
    assert glim("template", "own", "--messages", at, store=s, code=0, quiet=True).text == "J:x"
    assert glim("template", "own", "--messages", at, "--template", "jinja", store=s, code=0).text == "J:x"
    assert glim("template", "own", "--messages", at, "--template", "ollama", store=s, code=0).text == "G:x"
    text = glim("show", "own", store=s, code=0, quiet=True).text
    assert "turns by    the Jinja template in the model's file" in text, text
    assert "template (not used: the model's file has its own, which goes first)" in text, text
    # A template of one's own, in either language.
    folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER.name))
    for name, template, said in [("a", "{{ range .Messages }}A{{ end }}", "A"), ("b", "B{% if messages %}!{% endif %}", "B!"),
                                 ("c.gotmpl", "C{{ .Prompt }}", "Cx"), ("d.jinja", "{{ 7 ~ 'x' ~ messages|length }}", "7x1"), ("e", "{{ messages[0].role }}", "user")]:
        (folder / name).write_text(template)
        r = glim("template", "own", "--messages", at, "--template", str(folder / name), store=s, code=0)
        assert r.text == said, (name, r)
    (folder / "bad").write_text("\n{{ range .Messages }}{{ nofunction }}{{ end }}")
    fails("bad: Ollama's template, line 2", "'nofunction'",
          args=["run", "own", "hi", "--template", str(folder / "bad")], store=s)
    for name, template, variable in [("x.gotmpl", "{{ .Promptt }}", ".Prompt"), ("x.jinja", "{{ 7 }}", "(messages)")]:
        (folder / name).write_text(template)
        fails("nothing in it stands for the messages", variable,
              args=["run", "own", "hi", "--template", str(folder / name)], store=s)
    fails("--template", "none.gotmpl", "jinja, ollama or a file", args=["run", "own", "hi", "--template", "none.gotmpl"], store=s)
    fails("--template", args=["run", "own", "hi", "--raw", "--template", "jinja"], store=s, code=2)
    # One that cannot be used is not replaced.
    broken = saying("broken.gguf", "word", b"{{ messages | nofilter }}")
    s.add("broken:latest", s.layer("template", b"G:{{ .Prompt }}"), model=broken)
    fails("'nofilter'", "--template ollama", args=["run", "broken", "hi"], store=s)
    glim("run", "broken", "hi", "--template", "ollama", "-n", "1", store=s, code=0)


@test
def template_layers_that_say_nothing_are_not_used():
    s = Store()
    config = s.layer("application/vnd.docker.container.image.v1+json", b'{"renderer": "gemma9"}')
    s.add("bare:latest", s.layer("template", b"{{ .Prompt }}"), model=QWEN)
    full = s.add("code:latest", s.layer("template", GO), model=QWEN)
    path = s.path / "manifests" / full
    manifest = json.loads(path.read_text())
    manifest["config"] = config
    path.write_text(json.dumps(manifest))
    for name, why in [("bare", "a bare prompt"), ("code", "by code of its own")]:
        r = glim("template", name, "--messages", talk("x"), store=s, code=0)
        assert "<|im_start|>user" in r.text and "turns are written as Qwen 3" in r.said, r
        text = glim("show", name, store=s, code=0, quiet=True).text
        assert "as Qwen 3 models have them" in text and why in text, text
    assert "'gemma9'" in text, text
    r = glim("template", "code", "--messages", talk("x"), "--template", "ollama", store=s, code=0)
    assert r.text == TURN + "x<|eot_id|>" + ANSWER, r
    fails("--template jinja", args=["run", "bare", "hi", "--template", "jinja"], store=s)
    fails("--template ollama", args=["run", QWEN, "hi", "--template", "ollama"], store=s)
    # What cannot be used or read is an error for those who need it.
    s.add("wrong:latest", s.layer("template", b"a\n{{ html .System }}"))
    fails("Ollama's template, line 2", "'html'", "--raw", args=["run", "wrong", "hi"], store=s)
    glim("run", "wrong", "--raw", "hi", "-n", "1", store=s, code=0)
    gone = s.layer("template", GO + b"gone")
    s.add("gone:latest", gone)
    (s.path / "blobs" / gone["digest"].replace(":", "-")).unlink()
    fails(gone["digest"][7:19], args=["run", "gone", "hi"], store=s)
    glim("run", "gone", "--raw", "hi", "-n", "1", store=s, code=0)


sys.exit(main())
