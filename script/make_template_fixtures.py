#!/usr/bin/env python3
"""Writes test/data/templates.json and test/data/snippets.json: what Jinja2 makes of chat templates.

    python3 script/make_template_fixtures.py [FOLDER]

Templates whose licence allows it are in test/data/templates/ (SOURCES there names model and licence
of each). Of the others only the SHA-256 and the renderings are kept, from FOLDER/NAME.jinja; where
FOLDER is not given, what test/data/templates.json has of them stays. Needs the Python package jinja2,
run as transformers runs chat templates: ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks,
loopcontrols, generation tags, tojson as json.dumps without HTML escapes, raise_exception, and
strftime_now with a clock that stands still.
"""
import datetime
import hashlib
import json
import sys
from pathlib import Path

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

sys.path.insert(0, str(Path(__file__).resolve().parent))
from template_cases import CONVERSATIONS, SNIPPETS  # noqa: E402

DATA = Path("test/data")
NOW = datetime.datetime(2024, 7, 26, 14, 3, 9)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_body")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda f: NOW.strftime(f)
    return env


def render(template, variables):
    try:
        return template.render(**variables)
    except Exception as e:  # whatever Python throws: the template cannot be rendered
        return {"error": type(e).__name__ + ": " + str(e)[:100]}


def renderings(env, text):
    try:
        template = env.from_string(text)
    except jinja2.TemplateSyntaxError as e:
        sys.exit(f"does not load: {e}")
    cases = []
    for i, c in enumerate(CONVERSATIONS):
        variables = {"bos_token": "<s>", "eos_token": "</s>", **c}
        cases.append({"talk": i, "text": render(template, variables)})
    return cases


def main():
    env = environment()
    out = DATA / "templates.json"
    before = json.loads(out.read_text()) if out.exists() else {"templates": []}
    kept = {t["name"]: t for t in before["templates"] if not t["file"]}
    entries = []
    for path in sorted((DATA / "templates").glob("*.jinja")):
        entries.append({"name": path.stem, "file": True, "cases": renderings(env, path.read_bytes().decode())})
    folder = sorted(Path(sys.argv[1]).glob("*.jinja")) if len(sys.argv) > 1 else []
    for path in folder:
        text = path.read_bytes().decode()
        kept[path.stem] = {"name": path.stem, "file": False,
                           "sha256": hashlib.sha256(text.encode()).hexdigest(),
                           "cases": renderings(env, text)}
    entries += [kept[name] for name in sorted(kept)]
    said = sum(isinstance(c["text"], str) for t in entries for c in t["cases"])
    whole = {"jinja2": jinja2.__version__, "talks": CONVERSATIONS, "templates": entries}
    out.write_text(json.dumps(whole, ensure_ascii=False, indent=0) + "\n")
    print(f"{len(entries)} templates, {said} renderings")

    small = []
    for entry in SNIPPETS:
        text, variables = entry if isinstance(entry, tuple) else (entry, {})
        try:
            result = render(env.from_string(text), variables)
        except (jinja2.TemplateError, SyntaxError) as e:
            result = {"load": str(e)[:100]}
        small.append({"template": text, "with": variables, "text": result})
    whole = {"jinja2": jinja2.__version__, "snippets": small}
    (DATA / "snippets.json").write_text(json.dumps(whole, ensure_ascii=False, indent=0) + "\n")
    print(f"{len(small)} snippets")


main()
