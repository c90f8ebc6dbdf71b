"""Conversations and snippets for make_gotmpl_fixtures.py."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place; <b>now</b> & later",
        "parameters": {
            "type": "object",
            "required": ["city"],
            "properties": {
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "of \"degrees\""},
                "city": {"type": "string", "description": "which town"},
                "days": {"type": ["integer", "null"], "description": "how many"},
            },
        },
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "",
        "parameters": {
            "type": "object",
            "$defs": {"x": {"z": 1, "a": [True, None, 2.50]}},
            "properties": {
                "query": {"type": "string"},
                "filter": {
                    "type": "object",
                    "description": "what to leave out",
                    "properties": {"to": {"type": "number"}, "from": {"type": "number"}},
                },
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}},
                "mode": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
                "any": {},
            },
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {}}}

CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call_1", "function": {"name": "get_weather", "arguments": {"unit": "celsius", "city": "Zürich", "days": 3}}}]}
RESULT = {"role": "tool", "tool_name": "get_weather", "tool_call_id": "call_1", "content": "{\"temp\": 21.5}"}

TALKS = [
    {"messages": [{"role": "user", "content": "Hello!"}]},
    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!"}]},
    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "One"},
                  {"role": "assistant", "content": "First answer."}, {"role": "user", "content": "Two"},
                  {"role": "assistant", "content": "Second\nanswer."}, {"role": "user", "content": "Three"}]},
    {"messages": [{"role": "user", "content": "Weather?"}], "tools": [WEATHER]},
    {"messages": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather?"}, CALL, RESULT],
     "tools": [WEATHER, SEARCH]},
    {"messages": [{"role": "user", "content": "Weather?"}, CALL, RESULT,
                  {"role": "assistant", "content": "It is 21.5 degrees."}, {"role": "user", "content": "And the time?"}],
     "tools": [WEATHER, CLOCK]},
    {"messages": [{"role": "user", "content": "Both"},
                  {"role": "assistant", "content": "I look.", "tool_calls": [
                      {"function": {"name": "search", "arguments": {"query": "<a> & \"b\"", "filter": {"to": 1e21, "from": 0.000001}, "tags": ["x", None, True, -3, 2.5]}}},
                      {"function": {"index": 1, "name": "now", "arguments": {}}}]},
                  {"role": "tool", "tool_name": "search", "content": "found"},
                  {"role": "tool", "tool_name": "now", "content": "12:00"}], "tools": [SEARCH, CLOCK]},
    {"messages": [{"role": "user", "content": "Think"}], "think": True},
    {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Think not"}], "think": False},
    {"messages": [{"role": "user", "content": "One"},
                  {"role": "assistant", "thinking": "Hm, one.", "content": "1"}, {"role": "user", "content": "Two"},
                  {"role": "assistant", "thinking": "So two.", "content": "", "tool_calls": CALL["tool_calls"]}, RESULT],
     "tools": [CLOCK], "think": True},
    {"messages": [{"role": "system", "content": "A"}, {"role": "user", "content": "B"}, {"role": "system", "content": "C"},
                  {"role": "user", "content": "D"}, {"role": "user", "content": "E"}, {"role": "assistant", "content": "F"},
                  {"role": "assistant", "content": "G"}, {"role": "user", "content": "H"}]},
    {"messages": [{"role": "user", "content": "{{ .System }} <|im_end|> {{- end }} [INST] </s> \\ \" \t é 日本 \U0001f600"},
                  {"role": "assistant", "content": "<|im_start|>system\nnope<end_of_turn>"},
                  {"role": "user", "content": "  white space  \n"}]},
    {"messages": [{"role": "user", "content": "What is this?", "images": ["AAAA", "AQID"]},
                  {"role": "assistant", "content": "Pictures."},
                  {"role": "user", "content": "And [img]?", "images": ["BBBB"]}]},
    {"messages": [{"role": "user", "content": "Begin"}, {"role": "assistant", "content": "It was a dark"}]},
    {"messages": [{"role": "user", "content": "One"},
                  {"role": "assistant", "content": " <think>\nHm,\none.\n</think>\n\nIt is <think>1</think>."},
                  {"role": "user", "content": "Two"}, {"role": "assistant", "content": "<think>  So"}], "think": True},
    {"messages": [{"role": "User", "content": "Case"}, {"role": "assistant", "content": ""}, {"role": "user", "content": ""}]},
]

# What snippets without a conversation see.
DATA = {"D": {"b": 1, "a": "x", "l": [1, "two", None, True, [2.5], {"k": "v"}], "m": {"z": 1, "y": {"q": None}},
           "n": None, "e": "", "z": 0, "t": True, "f": False, "big": 12345678, "tiny": 0.00000125, "s": "héllo",
           "el": [], "em": {}}}


def alone(*texts):
    return [(t, None) for t in texts]


SNIPPETS = alone(
    # Text and trimming
    "", "plain", "a{{ 1 }}b", "a {{- 1 -}} b", "a \n\t{{- 1 }}", "{{ 1 -}}\n \r\n b", "a{{/* no */}}b",
    "a {{- /* no */ -}} b", "a {{ /* no */ }} b", "{{/* a */}}{{/* b */}}x", "a {{- /* x\ny */ -}}\n b {{- 1}}",
    "{{- 3 -}}", "{{-3}}", "{{ -3 }}", "{{3 -}} x", "{ { }} }", "a{{\"x\"}}}}", "{{\n1\n}}", "{{ 1\n| print }}",
    "x{{- -}}y", "x{{}}y", "{{ }}", "{{", "{{ 1", "{{ \"a }}", "{{ `a }}", "{{ 'a }}", "{{/* a }}", "{{/* a */ x}}",
    "a {{- `` -}} {{- ` b ` -}} c", "{{ 1 }}\r\n{{ 2 }}",
    # Literals
    "{{ 1 }} {{ +1 }} {{ -1 }} {{ 0x1F }} {{ 0o17 }} {{ 017 }} {{ 0b101 }} {{ 1_000 }} {{ 'a' }} {{ '\\n' }} {{ '日' }}",
    "{{ 1.5 }} {{ 1e3 }} {{ .5 }} {{ 1e21 }} {{ 1e-7 }} {{ 123456.0 }} {{ 1234567.0 }} {{ 100000.0 }} {{ 0x1p4 }} {{ 1. }}",
    "{{ \"a\\tb\\\"c\\\\ \\x41 \\101 \\u00e9 \\U0001F600\" }}", "{{ `raw \\n \"q\"` }}", "{{ true }} {{ false }}",
    "{{ nil }}", "{{ 08 }}", "{{ 1__0 }}", "{{ _1 }}", "{{ 9223372036854775807 }}", "{{ 9223372036854775808 }}",
    "{{ 1x }}", "{{ 0x }}", "{{ \"\\q\" }}", "{{ '' }}", "{{ 'ab' }}", "{{ '\\'' }}", "{{ \"\\'\" }}", "{{ 0x_1 }}", "{{ 1_ }}",
    "{{ '\\x41' }} {{ '\\u00e9' }} {{ '\\\"' }}", "{{ -'a' }}", "{{ \"a\nb\" }}", "{{ `a\nb` }}", "{{ 0_17 }}", "{{/*/ a */}}b", "{{/**/}}b", "{{/*/}}b", "{{ +.5e-3 }}",
    # Printing
    "{{ .D.l }}", "{{ .D.m }}", "{{ .D.n }}", "{{ .None }}", "{{ .D.b }}", "{{ .D.t }}", "{{ .D.e }}|", "{{ .D.big }}",
    "{{ .D.tiny }}", "{{ .D.el }}{{ .D.em }}", "{{ .D }}", "{{ print 1 2 \"a\" 3 \"b\" \"c\" 4 5.5 true nil }}",
    "{{ println 1 \"a\" }}", "{{ print }}", "{{ print .D.n .D.l }}", "{{ print \"a\" .D.b }}", "{{ println }}",
    "{{ printf \"%d-%s-%v-%q-%t\" 1 \"a\" .D.b \"q\\\"\" true }}", "{{ printf \"%5d|%-5d|%05d|%+d|%x|%X\" 3 3 -3 3 255 255 }}",
    "{{ printf \"%.2f %8.3f %e %g %v\" 1.5 2.0 3.25 1e7 1e7 }}", "{{ printf \"%s %v\" .D.s .D.l }}", "{{ printf \"%6s|%-6s|%.2s\" \"ab\" \"é\" \"abc\" }}",
    "{{ printf \"%c%%\" 65 }}", "{{ printf \"%q\" .D.s }}", "{{ printf \"x\" }}", "{{ printf \"a%*s|%-*d|%*d\" 3 \"b\" 4 5 -3 7 }}", "{{ len (printf \"%*s\" 2000 \"\") }}", "{{ printf \"%.*f|%.*s|%8.*f\" 2 1.5 1 \"ab\" 1 2.25 }}", "{{ printf .D.s }}", "{{ \"a\" | printf \"%s-%s\" \"b\" }}",
    "{{ printf .D.b }}", "{{ printf \"%#x\" 255 }}", "{{ printf \"% d\" 5 }}", "{{ printf \"%v %v\" nil .D.n }}", "{{ printf \"%q\" \"\\t\\x01é\\u200b\" }}",
    # JSON
    "{{ json .D }}", "{{ json .D.l }}", "{{ json .D.n }}", "{{ json \"<a>&\\u2028\\\"\\\\\\b\\f\\n\\x01\\x7f\" }}", "{{ .D.m | json }}",
    "{{ json 1 }} {{ json 1.5 }} {{ json 1e21 }} {{ json 1e-7 }} {{ json true }}", "{{ json .None }}", "{{ toJson 1 }}",
    # Fields and variables
    "{{ .D.a }}{{ .D.none }}", "{{ .D.none.x }}", "{{ .None.x }}", "{{ .D.a.x }}", "{{ .D.b.x }}", "{{ .D.l.x }}",
    "{{ $.D.a }}", "{{ $x := .D.a }}{{ $x }}", "{{ $x := 1 }}{{ $x = 2 }}{{ $x }}", "{{ $x }}", "{{ $x = 1 }}",
    "{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}",
    "{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", "{{ $x := 1 }}{{ if false }}{{ $x := 2 }}{{ else }}{{ $x }}{{ end }}", "{{ $x := 1 }}{{ if false }}{{ $x := 2 }}{{ else if $x }}{{ $x }}{{ end }}", "{{ if false }}{{ $x := 2 }}{{ else }}{{ $x }}{{ end }}", "{{ range $x := .D.el }}{{ else }}{{ len $x }}{{ end }}", "{{ $x := 1 }}{{ range 2 }}{{ $x }}{{ $x := 5 }}{{ $x }}{{ end }}", "{{ $x := 1 }}{{ with 0 }}{{ $x := 2 }}{{ else with 3 }}{{ $x }}{{ . }}{{ end }}", "{{ $x := .D }}{{ $x.a }}{{ ($x).a }}{{ $x.m.y.q }}", "{{ (.D).a }}", "{{ (.D.l).x }}",
    "{{ $x := .D.n }}{{ $x.y }}", "{{ .D.m.y }}", "{{ .D .D }}", "{{ .D.a 1 }}", "{{ $.D .a }}", "{{ \"x\".y }}", "{{ 1.y }}",
    "{{ . .D }}", "{{ .D. }}", "{{ .D..a }}", "{{ $x := 1 | print }}{{ $x }}", "{{ $é := 1 }}{{ $é }}", "{{ $x, $y := 1 }}",
    "{{ $x := 1 }}{{ $x := 2 }}{{ $x }}", "{{ $x := $x }}", "{{ nil.x }}", "{{ (nil).x }}", "{{ .D.a-b }}", "{{ .D.a,b }}",
    # Control
    "{{ if .D.n }}a{{ else }}b{{ end }}", "{{ if .D.z }}a{{ else if .D.t }}b{{ else }}c{{ end }}", "{{ if .D.em }}a{{ end }}{{ if .D.m }}b{{ end }}",
    "{{ if .D.e }}a{{ else if .D.f }}b{{ else }}c{{ end }}", "{{ if $x := .D.a }}{{ $x }}{{ else }}{{ $x }}{{ end }}", "{{ if }}{{ end }}",
    "{{ if .D }}", "{{ end }}", "{{ else }}", "{{ if 1 }}{{ else }}{{ else }}{{ end }}", "{{ if 1 }}{{ else if }}{{ end }}", "{{ if 0.0 }}a{{ else }}b{{ end }}",
    "{{ with .D.m }}{{ .z }}{{ else }}n{{ end }}", "{{ with .D.n }}a{{ else }}{{ .D.a }}{{ end }}", "{{ with $x := .D.a }}{{ $x }}{{ . }}{{ end }}",
    "{{ with .D.e }}a{{ else with .D.a }}{{ . }}{{ end }}", "{{ with .D.e }}a{{ else with .D.n }}b{{ else }}c{{ end }}", "{{ with .D }}{{ with .m }}{{ .z }}{{ $.D.a }}{{ end }}{{ .a }}{{ end }}",
    "{{ range .D.l }}<{{ . }}>{{ end }}", "{{ range $i, $x := .D.l }}{{ $i }}={{ $x }};{{ end }}", "{{ range $x := .D.l }}{{ $x }}{{ end }}",
    "{{ range .D.m }}{{ . }};{{ end }}", "{{ range $k, $v := .D.m }}{{ $k }}:{{ $v }};{{ end }}", "{{ range $k, $v := .D }}{{ $k }} {{ end }}",
    "{{ range .D.el }}a{{ else }}b{{ end }}", "{{ range .D.n }}a{{ else }}b{{ end }}", "{{ range .D.a }}a{{ end }}", "{{ range .D.b }}a{{ end }}",
    "{{ range 3 }}{{ . }}{{ end }}", "{{ range $i := 3 }}{{ $i }}{{ end }}", "{{ range $i, $j := 3 }}{{ end }}", "{{ range 0 }}a{{ else }}b{{ end }}",
    "{{ range .D.l }}{{ if eq (print .) \"two\" }}{{ continue }}{{ end }}{{ . }},{{ end }}", "{{ range $i, $_ := .D.l }}{{ if eq $i 2 }}{{ break }}{{ end }}{{ $i }}{{ end }}",
    "{{ break }}", "{{ if 1 }}{{ continue }}{{ end }}", "{{ range $i, $x := .D.l }}{{ range $j, $y := $.D.l }}{{ if gt $j $i }}{{ break }}{{ end }}{{ $i }}{{ $j }} {{ end }}{{ end }}",
    "{{ $i := 9 }}{{ range $i, $x := .D.l }}{{ end }}{{ $i }}", "{{ $i := 9 }}{{ $x := 8 }}{{ range $i, $x = .D.l }}{{ end }}{{ $i }}{{ $x }}",
    "{{ $n := 0 }}{{ range .D.l }}{{ $n = . }}{{ end }}{{ $n }}", "{{ range $i, := .D.l }}{{ end }}", "{{ range $i, 3 := .D.l }}{{ end }}",
    "{{ range }}{{ end }}", "{{ range .D.l }}{{ $x := . }}{{ $x }}{{ end }}", "{{ range $x = .D.l }}{{ end }}", "{{ range true }}{{ end }}", "{{ range 1.5 }}{{ end }}",
    "{{ $last := \"\" }}{{ range $i, $x := .D.l }}{{ $last = printf \"%d\" $i }}{{ end }}{{ $last }}",
    "{{ range $i, $e := .D.l }}{{ if $i }}, {{ end }}{{ json $e }}{{ end }}", "{{ range .D.l }}{{ .k }}{{ end }}", "{{ range (slice .D.l 5) }}{{ .k }}{{ end }}",
    # Templates
    "{{ define \"a\" }}[{{ . }}]{{ end }}{{ template \"a\" .D.a }}", "{{ template \"a\" 1 }}{{ define \"a\" }}{{ . }}{{ $ }}{{ end }}", "{{ template \"none\" . }}",
    "{{ block \"b\" .D.a }}<{{ . }}>{{ end }}{{ template \"b\" 2 }}", "{{ define \"a\" }}1{{ end }}{{ define \"a\" }}2{{ end }}{{ template \"a\" . }}",
    "{{ define \"a\" }}{{ end }}{{ define \"a\" }}2{{ end }}{{ template \"a\" . }}", "{{ $x := 1 }}{{ define \"a\" }}{{ $x }}{{ end }}", "{{ define a }}{{ end }}",
    "{{ if 1 }}{{ define \"a\" }}{{ end }}{{ end }}", "{{ define \"a\" }}", "{{ define \"r\" }}{{ if . }}{{ len . }}{{ template \"r\" (slice . 1) }}{{ end }}{{ end }}{{ template \"r\" .D.l }}",
    "{{ template \"a\" $x := 1 }}{{ $x }}{{ define \"a\" }}{{ end }}", "{{ range .D.l }}{{ block \"x\" . }}{{ break }}{{ end }}{{ end }}", "{{ template }}", "{{ template 1 }}",
    # Functions
    "{{ and 1 0 2 }} {{ or 0 \"\" \"x\" }} {{ and }}", "{{ and 1 \"a\" }} {{ or 0 \"\" }}|{{ and true }} {{ or 0 }}", "{{ not 1 }} {{ not \"\" }} {{ not .D.n }}",
    "{{ or .D.t .D.n.x }}", "{{ and .D.f .D.n.x }}", "{{ and .D.t .D.n.x }}", "{{ 0 | and 1 }}", "{{ 2 | or 0 }}", "{{ 2 | or 1 }}", "{{ not }}", "{{ not 1 2 }}",
    "{{ eq 1 1 }} {{ eq 1 2 3 1 }} {{ eq \"a\" \"b\" }} {{ eq true true }} {{ eq 1.5 1.5 }}", "{{ eq 1 1.0 }}", "{{ eq 1 \"1\" }}", "{{ eq .D.b 1.0 }}", "{{ eq .D.b 1 }}",
    "{{ eq .D.n nil }}", "{{ eq .D.n .None }}", "{{ eq .D.n \"x\" }} {{ eq \"x\" .D.n }} {{ ne .D.n 1 }}", "{{ eq .D.l .D.l }}", "{{ eq .D.m .D.l }}", "{{ eq .D.m nil }} {{ eq nil nil }}",
    "{{ eq 1 }}", "{{ ne 1 2 }} {{ ne 1 1 }}", "{{ ne 1 2 3 }}", "{{ lt 1 2 }} {{ le 2 2 }} {{ gt 1 2 }} {{ ge 2 2 }} {{ lt \"a\" \"b\" }} {{ lt 1.5 2.5 }}", "{{ lt 1 2.0 }}",
    "{{ lt true false }}", "{{ lt .D.n 1 }}", "{{ eq 'a' 97 }}", "{{ eq (index \"a\" 0) 97 }} {{ lt (index \"a\" 0) 98 }}", "{{ eq (len .D.l) 6 }}", "{{ lt .D.l .D.l }}", "{{ le .D.b .D.z }}",
    "{{ len .D.l }} {{ len .D.m }} {{ len .D.s }} {{ len \"\" }}", "{{ len .D.n }}", "{{ len .D.b }}", "{{ len 1 }}", "{{ len nil }}", "{{ len }}",
    "{{ index .D.l 1 }} {{ index .D.l 4 0 }} {{ index .D.m \"y\" \"q\" }} {{ index .D \"a\" }} {{ index \"abc\" 1 }}", "{{ index .D.l 9 }}", "{{ index .D.l -1 }}", "{{ index .D.l \"a\" }}",
    "{{ index .D.m 1 }}", "{{ index .D.n 1 }}", "{{ index .D.b 1 }}", "{{ index .D.l }}", "{{ index .D.m \"none\" }}", "{{ index .D.l 1.0 }}", "{{ index .D.l .D.z }}", "{{ index .D.l nil }}", "{{ (index .D.l 5).k }}",
    "{{ index . \"D\" | len }}", "{{ slice .D.s 1 4 }}|{{ slice .D.l 1 2 }}|{{ slice \"abc\" 1 }}|{{ slice \"abc\" }}", "{{ slice .D.l 3 2 }}", "{{ slice .D.l 0 99 }}", "{{ slice .D.n }}", "{{ slice .D.m 1 }}", "{{ slice \"abc\" 0 1 2 }}",
    "{{ len (slice .D.l 2) }}", "{{ slice .D.el 0 0 }}", "{{ nofunction 1 }}", "{{ nofunction }}", "{{ print | nofunction }}", "{{ 1 | 2 }}", "{{ 1 | .D }}", "{{ 1 2 }}", "{{ true 1 }}", "{{ (1) 2 }}", "{{ 1 | print | }}",
    "{{ | print }}", "{{ print || print }}", "{{ print (1 }}", "{{ print 1) }}", "{{ (print 1 | print) | print }}", "{{ print \"a\"\"b\" }}", "{{ print .D.a\"b\" }}", "{{ print(1) }}", "{{ ((1)) }}", "{{ () }}", "{{ 1, 2 }}", "{{ print = 1 }}",
    "{{ @ }}", "{{ a.b }}", "{{ print.x }}", "{{ (print .D.a).x }}", "{{ if eq 1 1 | not }}a{{ else }}b{{ end }}", "{{ $x := (print 1) }}{{ $x }}", "{{ ($x := 3) }}{{ $x }}", "{{ if and (eq .D.b 1.0) (or .D.f .D.t) }}yes{{ end }}",
    "{{ currentDate | len }} {{ yesterdayDate \"x\" | len }}", "{{ currentDate 1 }}", "{{ toTypeScriptType 1 }}", "{{ break 1 }}", "{{ if }}", "{{ range 2 }}{{ break }}x{{ end }}y", "{{ else if 1 }}",
    # One turn and its answer
    "{{ .Prompt }}{{ .Response }}", "<{{ .Prompt }}>", "{{ if .System }}[{{ .System }}]{{ end }}{{ .Prompt }}",
) + [
    # Ollama's types
    ("{{ range .Messages }}{{ . }}{{ end }}", 0), ("{{ range .Messages }}{{ json . }}{{ end }}", 6), ("{{ range .Messages }}{{ .Foo }}{{ end }}", 0),
    ("{{ range .Messages }}{{ .Content.x }}{{ end }}", 0), ("{{ .Tools }}|{{ len .Messages }}", 4), ("{{ json .Tools }}|{{ len .Messages }}", 4), ("{{ range .Tools }}{{ . }}|{{ json . }}{{ end }}{{ len .Messages }}", 3),
    ("{{ range .Tools }}{{ .Function }}|{{ .Function.Parameters }}|{{ .Function.Parameters.Properties }}{{ end }}{{ len .Messages }}", 3),
    ("{{ range .Tools }}{{ range $k, $v := .Function.Parameters.Properties }}{{ $k }}={{ $v.Type }} {{ toTypeScriptType $v }} {{ $v.Description }} {{ json $v }};{{ end }}{{ end }}{{ len .Messages }}", 4),
    ("{{ range .Tools }}{{ range .Function.Parameters.Properties }}{{ .ToTypeScriptType }}{{ .Type.String }}{{ .Enum }}{{ end }}{{ end }}{{ len .Messages }}", 4),
    ("{{ range .Tools }}{{ .Function.Parameters.Required }}{{ json .Function.Parameters }}{{ end }}{{ len .Messages }}", 5), ("{{ range .Messages }}{{ range .ToolCalls }}{{ . }}{{ .Function.Arguments }}{{ json .Function }}{{ end }}{{ end }}", 6),
    ("{{ range .Messages }}{{ range .ToolCalls }}{{ range $k, $v := .Function.Arguments }}{{ $k }}={{ $v }};{{ end }}{{ .Function.Arguments.query }}{{ end }}{{ end }}", 6),
    ("{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Arguments.String }}{{ .ID }}{{ .Function.Index }}{{ end }}{{ .ToolName }}{{ .ToolCallID }}{{ end }}", 5),
    ("{{ range .Messages }}{{ .ToolCalls }}{{ end }}", 4), ("{{ range .Messages }}{{ .Thinking }}{{ .Role }}{{ end }}{{ .Think }}{{ .IsThinkSet }}{{ .ThinkLevel }}", 9),
    ("{{ .Think }}{{ .IsThinkSet }}[{{ .ThinkLevel }}]{{ len .Messages }}", 0), ("{{ range .Messages }}{{ json .Thinking }}{{ json .Content }}{{ end }}", 14), ("{{ range .Messages }}{{ json .Content }}{{ end }}", 14), ("{{ .Think }}{{ .IsThinkSet }}[{{ .ThinkLevel }}]{{ len .Messages }}", 7), ("{{ .Think }}{{ .IsThinkSet }}[{{ .ThinkLevel }}]{{ len .Messages }}", 8),
    ("{{ .System }}|{{ range .Messages }}{{ .Role }}:{{ .Content }};{{ end }}", 10), ("{{ range .Messages }}{{ len .Images }}{{ if .Images }}i{{ end }}{{ .Content }}{{ end }}", 12),
    ("{{ (index .Messages 0).Role }}{{ .System }}", 1), ("{{ with index .Messages 0 }}{{ .Role }}{{ end }}{{ (index .Messages 0).Content }}", 1), ("{{ range $i, $m := .Messages }}{{ if eq (len (slice $.Messages $i)) 1 }}last{{ end }}{{ end }}", 2),
    ("{{ eq .Messages nil }}{{ eq .Tools nil }}", 0), ("{{ eq (index .Messages 0) (index .Messages 0) }}{{ eq (index .Messages 0) (index .Messages 1) }}{{ eq (index .Messages 0) nil }}", 1), ("{{ print (index .Messages 0) }}{{ len .Messages }}", 0), ("{{ range .Messages }}{{ .Role.x }}{{ end }}", 0),
    ("{{ range .Messages }}{{ json .ToolCalls }}{{ json .Images }}{{ end }}", 12), ("{{ .Prompt }}{{ range .Messages }}{{ .Content }}{{ end }}{{ .Response }}|{{ .First }}", 2), ("{{ if .First }}a{{ end }}{{ .Prompt }}", 2),
    # Templates of one turn: what is behind the answer
    ("{{ .System }}[{{ .Prompt }}]", 2), ("{{ .Prompt }}>{{ .Response }}<", 2), ("{{ .Prompt }}>{{ .Response }}<", 13), ("{{ .Prompt }}>{{ if .Response }}{{ .Response }}<{{ end }}{{ .System }}", 2),
    ("{{ if .Response }}r{{ end }}{{ .Prompt }}{{ .Response }}x", 2), ("{{ if .Prompt }}{{ .Prompt }}{{ .Response }}x{{ end }}y", 2), ("{{ if .Prompt }}p{{ else }}{{ .Response }}{{ end }}y", 2),
    ("{{ $.Prompt }}{{ $.Response }}x", 2), ("{{ print .Response \"a\" }}b", 2), ("{{ print .Response .Response .Prompt }}b", 13), ("{{ printf \"%v\" (index .Messages 0) }}", 0), ("{{ range .Tools }}{{ .Nothing }}{{ end }}{{ len .Messages }}", 0), ("{{ print (print .Response) }}b", 13), ("{{ .Response | print }}b{{ .Prompt }}", 13), ("{{ with .Prompt }}{{ . }}{{ $.Response }}{{ end }}!", 2),
    ("{{ .System }}{{ .Prompt }}{{ .Response }};", 10), ("{{ .System }}{{ .Prompt }}{{ .Response }};", 15), ("{{ .Prompt }}{{ .Response }}{{ define \"a\" }}{{ end }}z", 2), ("{{ range .D }}{{ .Response }}{{ end }}{{ .Prompt }}", 1),
]
