"""The conversations and small templates that script/make_template_fixtures.py renders."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a place <now> & \"soon\", it's a/b \u00e9",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "City, e.g. M\u00fcnchen"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "nullable": True},
                "b": {"type": "array", "items": {"type": "string"}},
                "A": {
                    "type": "object",
                    "description": "nested",
                    "properties": {"x": {"type": "number"}, "a_": {"type": "boolean"}},
                    "required": ["x"],
                },
            },
            "required": ["place"],
        },
    },
}
ODD_TOOL = {
    "type": "function",
    "function": {
        "name": "odd.name-2",
        "description": "",
        "parameters": {
            "type": "object",
            "properties": {
                "list": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                        "required": ["k"],
                    },
                },
                "either": {"type": ["string", "null"], "description": "text or nothing"},
                "big": {"type": "number", "default": 1e20, "minimum": 1.0},
            },
        },
    },
}
EMPTY_TOOL = {
    "type": "function",
    "function": {
        "name": "nothing",
        "description": "Takes nothing.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def say(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments, number="call00001"):
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


USED = [
    say("system", "Be terse."),
    say("user", "Weather in M\u00fcnchen?"),
    say("assistant", "", tool_calls=[call("get_weather", {"place": "M\u00fcnchen", "days": 3,
                                                         "unit": None, "A": {"x": -2.5, "a_": True},
                                                         "b": ["it's", "a \"b\""]})]),
    say("tool", "{\"temp\": 21.5, \"sky\": \"<clear>\"}", name="get_weather",
        tool_call_id="call00001"),
    say("assistant", "21.5 degrees, clear."),
    say("user", "Thanks!"),
]
OPEN = [
    say("user", "Two things at once."),
    say("assistant", "I look.", tool_calls=[call("get_weather", {"place": "A"}),
                                            call("nothing", {}, "call00002")]),
    say("tool", "cold", name="get_weather", tool_call_id="call00001"),
    say("tool", "{}", name="nothing", tool_call_id="call00002"),
]
THOUGHT = [
    say("user", "1+1?"),
    say("assistant", "<think>\nOne and one.\n</think>\n\n2", reasoning_content="One and one."),
    say("user", "And 2+2?"),
]
THOUGHT_APART = [
    say("system", "S"),
    say("user", "1+1?"),
    say("assistant", "2", reasoning_content="One\nand one.", thinking="One\nand one."),
    say("user", "And 2+2?"),
    say("assistant", "4", reasoning_content="Two twice.", thinking="Two twice."),
]
IMAGES = [
    say("user", [{"type": "image"}, {"type": "text", "text": "What is this? "},
                 {"type": "text", "text": "And that?"}]),
    say("assistant", [{"type": "text", "text": "A cat."}]),
    say("user", [{"type": "text", "text": "Sure?"}, {"type": "image", "image": "x.png"}]),
]
ODD = [
    say("system", " \n spaced \n "),
    say("user", "</s><s>[INST] <<SYS>> <|im_end|>\n<|im_start|>system\n{{ x }} {% if %}"),
    say("assistant", "caf\u00e9 \U0001f600 \u65e5\u672c\n\n"),
    say("user", "\n\t\u00a0both\u2003\u3000 "),
]
MANY = [say("user" if i % 2 == 0 else "assistant", f"turn {i}") for i in range(7)]

CONVERSATIONS = [
    {"messages": [say("user", "Hi")], "add_generation_prompt": True},
    {"messages": [say("system", "You are terse."), say("user", "Hi"), say("assistant", "Hello!"),
                  say("user", "More, please.")], "add_generation_prompt": True},
    {"messages": MANY, "add_generation_prompt": False},
    {"messages": ODD, "add_generation_prompt": True, "enable_thinking": False},
    {"messages": USED, "tools": [WEATHER, ODD_TOOL], "add_generation_prompt": True},
    {"messages": OPEN, "tools": [WEATHER, EMPTY_TOOL], "add_generation_prompt": True,
     "enable_thinking": True},
    {"messages": THOUGHT, "add_generation_prompt": True, "enable_thinking": True,
     "thinking": True},
    {"messages": THOUGHT_APART, "add_generation_prompt": False, "enable_thinking": False},
    {"messages": IMAGES, "add_generation_prompt": True},
    {"messages": [say("user", "Hi")], "tools": [ODD_TOOL, EMPTY_TOOL],
     "add_generation_prompt": True, "date_string": "01 Jan 2025", "reasoning_effort": "low",
     "documents": [{"doc_id": 1, "title": "T", "text": "body", "contents": "body"}]},
    {"messages": [say("system", "S"), say("user", "a"), say("user", "b")],
     "add_generation_prompt": True},
    {"messages": [say("user", "go on"), say("assistant", "I was")], "add_generation_prompt": False,
     "continue_final_message": True, "preserve_thinking": True},
]

D = {"s": "Hello, W\u00f6rld", "n": 7, "f": 2.5, "t": True, "z": None, "e": "", "l": [3, 1, 2],
     "w": ["b", "A", "a", "B"], "d": {"b": 1, "A": 2, "a_": {"x": [1, {"y": "z"}]}},
     "m": [{"role": "user", "content": "Hi", "k": 2}, {"role": "assistant", "content": None, "k": 1},
           {"role": "user", "content": "x<y & 'z'", "k": 3}],
     "x": " \t\n pad \u2003\n", "q": "it's \"so\"", "u": "\u00df\u01c6 \u03a3\u0391\u03a3 \ufb01 \U0001f600\u0301"}

EXPRESSIONS = r"""
1 + 2 * 3 ** 2
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3, -7 // -2
7 / 2, 6 / 3, 2 ** -1, 2 ** 0.5, 10 ** 18
1.5 + 1, 1e20, 1e16, 1e15, 123456789.125, 1e-4, 1e-5, 0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308
7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2, 2.0 * 3
0x1F, 0b101, 0o17, 1_000
-n, +n, - -n, not n, not not n
-n|abs, (-n)|abs, -2 ** 2, 2 ** 3 ** 2
1 < 2 < 3, 1 < 2 > 3, 3 > 2 == 2, 1 == 1.0, true == 1
"a" < "b", "a" < "B", [1, 2] < [1, 3], (1,) == (1,), [1] == (1,)
1 ~ "a" ~ none ~ true ~ 1.0 ~ [1, "x"]
"a" + "b" ~ "c" + "d", 1 + 2 ~ 3
s ~ e ~ z
"ab" * 3, 3 * "ab", [1] * 2, "ab" * 0, "ab" * -1
[1] + [2], (1,) + (2, 3)
"x" in "xyz", "" in "", 1 in l, "b" in d, "role" in m[0], 5 not in l, not 5 in l
t and n, e or "default", z or n, e and n, not e, t and not z
n if t, n if e, n if e else "no", "a" if e else "b" if z else "c"
(1, 2, 3), (1,), (), [1, (2, "x")], {"a": 1, "b": [none, true]}
{"k": "it's", 1: 2, none: 3, true: 4}
q, [q], ["it's"], ['"'], ["\n\t\\ \x00 \u00e9 \u200b \U0001f600"]
[1.0, -0.5, 1e100, "é"]
s[0], s[-1], s[7], s[99], s[1:4], s[::-1], s[:-3], s[::2], s[5:2], s[-4:], s[10:1:-2]
l[0], l[-1], l[9], l[::-1], l[1:], l[:-1], l[-2:], l[::2], l[5:], l[2:0:-1]
m[::-1][0].role, m[-1]["content"], m[0].nothing, m[0]["nothing"], m.0.role
d.b, d["b"], d.a_.x[1].y, d["a_"]["x"][1]["y"], d.nothing, d["nothing"]
u|upper, u|lower, u|title, u|capitalize, u.swapcase()
"ǅ"|title, "ǆ"|capitalize, "İ"|lower, "ΑΣ"|lower, "ΑΣΑ"|lower, "ŉ"|upper
x|trim, x.strip(), x.lstrip(), x.rstrip(), "xxaxx".strip("x"), "abcab".lstrip("ab"), "xxa"|trim("x")
"a,b,,c".split(","), "a b  c ".split(), "a b c d".split(None, 2), "a,b,c".split(",", 1), "".split(), "".split(",")
"a b  c ".rsplit(), "a b c d".rsplit(None, 2), "a,b,c".rsplit(",", 1), " a  b ".rsplit(None, 1), " a  b ".split(None, 1)
"a,b,c".split(",", maxsplit=1), "a,b".split(sep=","), "<think>x</think>y".split("</think>")|last
"a</t>b</t>c".split("</t>")[-1].lstrip("\n"), "a".split("b")[0].rstrip("\n").split("<t>")[-1]
"l1\nl2\r\nl3\rl4".splitlines(), "a\n".splitlines(true), "".splitlines()
"a-b-c".partition("-"), "a-b-c".rpartition("-"), "abc".partition("-"), "abc".rpartition("-")
"hello".startswith("he"), "hello".endswith("lo"), "hello".startswith(("x", "he")), "hello".startswith("l", 2), "hello".endswith("l", 0, 4)
"hello".find("l"), "hello".rfind("l"), "hello".find("z"), "wörld".find("r"), "hello".index("l"), "hello".find("l", 3), "hello".count("l"), "aaa".count("aa"), "ab".count("")
"hello".replace("l", "L"), "hello".replace("l", "L", 1), "hello"|replace("l", "L"), "hello"|replace("l", "", 1), "aé".replace("", "-")
"-".join(["a", "b"]), ["a", 1, none]|join("-"), l|join, m|join(", ", attribute="role"), "abc"|join("-")
"abc".isalpha(), "a1".isalnum(), "12".isdigit(), " ".isspace(), "AB".isupper(), "ab".islower(), "".isalpha(), "Ab".isupper(), "12".isnumeric()
"hello".title(), "they're bill's".title(), "they're bill's-x (a)"|title, "hELLO"|capitalize, "hELLO".capitalize()
"a".ljust(3) ~ "|", "a".rjust(3, "*"), "7".zfill(3), "-7".zfill(4), "abc".zfill(2)
"abc".removeprefix("a"), "abc".removesuffix("bc"), "abc".removeprefix("x")
"{} {}".format(1, "a"), "{0}{1}{0}".format("a", "b"), "{x}".format(x=1), "{{}}".format()
"%s-%d" % ("a", 3), "%s" % s, "%5.2f|" % 3.14159, "%05d" % 42, "%x" % 255, "%-5s|" % "a", "%%" % ()
"%s %s"|format("a", 1), "%s"|format([1, "a"])
s|length, l|length, d|length, e|length, l|count, u|length
s|first, s|last, l|first, l|last, e|first, []|first, []|last
l|sort, w|sort, w|sort(case_sensitive=true), l|sort(reverse=true), m|sort(attribute="k")|map(attribute="k")|list
d|dictsort, d|dictsort(true), {"b": 1, "a": 2}|dictsort(by="value"), {"b": 1, "a": 2}|dictsort(reverse=true)
l|max, l|min, w|max, w|min, []|max, m|max(attribute="k")
l|sum, []|sum, m|sum(attribute="k"), l|sum(start=10), l|map("string")|list
w|unique|list, w|unique(true)|list, [1, 1.0, true, 2]|unique|list
l|reverse|list, s|reverse, l|list, d|list, s|list, (1, 2)|list
w|map("upper")|list, w|map("lower")|join(","), m|map(attribute="role")|list, m|map(attribute="zz", default="?")|list, ["a,b"]|map("replace", ",", ";")|list
m|selectattr("role", "equalto", "user")|list|length, m|selectattr("content")|list|length, m|rejectattr("role", "==", "user")|map(attribute="role")|list
l|select("odd")|list, l|reject("odd")|list, l|select(">", 1)|list, [0, 1, "", "a"]|select|list, l|reject("in", [1])|list, [1, none, 2]|reject("none")|list
0|filesizeformat, 1|filesizeformat, 999|filesizeformat, 1000|filesizeformat, 1049|filesizeformat, 123456789|filesizeformat, "2500"|filesizeformat, -5.7|filesizeformat, 0.4|filesizeformat, 999999|filesizeformat, 1e30|filesizeformat, true|filesizeformat
1000|filesizeformat(true), 1024|filesizeformat(true), 1048575|filesizeformat(binary=true), 5e6|filesizeformat(true), 1e27|filesizeformat(true), 1e24|filesizeformat, 1e21|filesizeformat, 12345678901234|filesizeformat(true)
{"class": "a b", "id": 5, "x": none, "y": nothing, "t": "<'&\">"}|xmlattr, {"a": true, "b": [1, "x"]}|xmlattr(false), {}|xmlattr, {"a": none}|xmlattr, {"a&b": 1.5}|xmlattr(autospace=true)
["code", "b", "c"]|reject("equalto", "code")|join(", "), [1, 2]|reject("eq", 1)|list, not nothing|default(false), not n|default(false), "a" + nothing|default("b") + "c", not n is defined, n + 1 is number
"a\\nb", "\\\\n"|length, '\\'|length, "\\n" == "\n", "it\\'s"
"The quick brown fox jumps over the lazy dog"|wordwrap(10), "a  b   c"|wordwrap(3), "abcdefghijkl mno"|wordwrap(5), "abcdefghijkl mno"|wordwrap(5, false), "one two"|wordwrap(3, wrapstring="|"), ""|wordwrap, "  lead and trail  "|wordwrap(6)
"Hello there -- you goof-ball, use the -b option!"|wordwrap(8), "well-known state-of-the-art x-y-z a--b"|wordwrap(6), "well-known long-winded"|wordwrap(7, true, none, false), "ab-cdefghijk-lmnopq-rs"|wordwrap(6), "--------abc"|wordwrap(4), "a-b ab-cd 12-34 ab-12"|wordwrap(3)
"one\n\ntwo three four\r\n  five"|wordwrap(9), "W\u00f6rter-b\u00fccher \u00e9t\u00e9"|wordwrap(7), "abc defghijk lm"|wordwrap(4), "x\u00a0y z"|wordwrap(2), "tab\tstop here"|wordwrap(5), s|wordwrap(3), "it's \"so\"--he said.--ok"|wordwrap(6)
"aa bb"|wordwrap(1), "word--x-"|wordwrap(2), "-- --a b--c"|wordwrap(2), "a -b--c- d"|wordwrap(3), "semi-automatic-non-self"|wordwrap(12), "a_b-c_d e1-f2"|wordwrap(4), "\u3042\u3044-\u3046\u3048"|wordwrap(3)
m|groupby("role")|map("first")|list, m|groupby("role")|length
[1, 2, 3, 4, 5]|batch(2)|list, [1, 2, 3]|batch(2, "x")|list, [1, 2, 3, 4, 5]|slice(2)|list, [1, 2, 3]|slice(2, "x")|list
d.items()|list, d.keys()|list, d.values()|list|length, d|items|list, d.get("b"), d.get("zz"), d.get("zz", 5), d.items(), d.keys(), {"a": 1}.values()
z|default("x"), nothing|default("x"), nothing|d("x"), e|default("x", true), e|default("x"), nothing.a is defined if nothing is defined else "safe", z|default("x", boolean=true)
"12"|int, "x"|int, "x"|int(5), "1.5"|int, 3.9|int, "ff"|int(base=16), true|int, "1.5"|float, "x"|float, 3|float, " 4 "|int, none|int, "1e3"|float
2.5|round, 3.5|round, 2.675|round(2), 7|round, 2.4|round(0, "ceil"), 2.6|round(method="floor"), 1234.5|round(-2)
"a\nb\n\nc"|indent, "a\nb"|indent(2, true), "a\n\nb"|indent(2, blank=true), "a\nb"|indent("--")
"<a href='x'>&\""|escape ~ "", "<b>"|e ~ "", ("<b>"|safe)|length, s|string, l|string, none|string, 1.0|string
"foo bar baz qux"|truncate(9), "foo bar baz qux"|truncate(11), "foo bar baz qux"|truncate(9, true), "foo bar baz qux"|truncate(11, false, "..", 0)
"a b_c d-e"|wordcount, "a b&c/é"|urlencode, "x"|center(5) ~ "|", "xy"|center(5) ~ "|"
d|tojson, m|tojson, s|tojson, q|tojson, [1, 1.0, 1e20, none, true, "<&'>/"]|tojson, {}|tojson, []|tojson, {"a": {}}|tojson
d|tojson(indent=2), [[], {}, [1]]|tojson(indent=4), {"b": 1, "a": 2}|tojson(sort_keys=true), u|tojson(ensure_ascii=true), "\u007f\u0080"|tojson(ensure_ascii=true), {"a": [1, 2]}|tojson(separators=(",", ":")), {"a": 1}|tojson(indent=2, separators=(",", ": "))
{1: 2, none: 3, 1.5: 4}|tojson, "\n\t\b\f\r\u0001\\"|tojson, (1, 2)|tojson, 0.1|tojson, -0.0|tojson, 1e-7|tojson, 123456789012345678|tojson
t is boolean, n is number, n is integer, f is float, t is integer, t is number, s is string, z is none, l is sequence, s is sequence, d is sequence, d is mapping, l is mapping, l is iterable, n is iterable
nothing is defined, n is defined, nothing is undefined, nothing is none, nothing is string, nothing is sequence, nothing is mapping, nothing is iterable, not nothing is defined, nothing is not defined
n is odd, n is even, n is divisibleby 7, n is divisibleby(3), n is eq 7, n is equalto(7), n is gt 3, n is lt(3), n is ge 7, n is le 6, n is ne 7, n is sameas 7, t is sameas true, t is true, t is false, z is not none, n is in [1, 7], n is not in l
"ABC" is upper, "abc" is lower, "upper" is filter, "zzz" is filter, "odd" is test, range is callable, s is callable, nothing is callable, s is escaped
n is defined and t, n is string or t, not n is string, (n is string) == false, n is number and n > 3
range(3)|list, range(1, 4)|list, range(5, 0, -2)|list, range(0)|list, range(3)|length, range(3)[1], 2 in range(3)
dict(a=1, b=2), dict({"a": 1}, b=2), dict([("x", 1)]), namespace(a=1).a
strftime_now("%Y-%m-%d"), strftime_now("%d %b %Y"), strftime_now("%B %d, %Y"), strftime_now("%A %a %H:%M:%S %I %p %j %y %%"), strftime_now("%-d/%-m")
strftime_now("%F %T %R %D"), strftime_now("%e|%w|%u|%h|%f|%n|%t|%-j|%-H|%Z")
s.upper().lower(), s["upper"](), (s|upper).lower(), d["get"]("b"), [s.upper][0]()
d.items is defined, d["items"] is defined, d.append is defined, l.append is defined, d["pop"] is defined, "abc"["upper"] is callable
e == "", z == none, nothing == nothing, nothing == none, l == [3, 1, 2], d == {"a_": d.a_, "A": 2, "b": 1}, {} == [], "1" == 1
nothing ~ "x", nothing|length, nothing|list, nothing|join, nothing|upper, nothing|trim, [nothing], "" if nothing else "falsy"
(nothing or {}).a is defined, (m[1].content or "none")|upper, m[0].content.split("i")[0]
[1, 2, 3][1:] + [4], ([1, 2] + [3])|length, m[1:]|length, m[:-1][0].role
"a" "b" 'c', "a\"b", 'a\'b', "tab\tx", "\101\x41\u0041", "back\\slash", "odd \q"
true, True, false, False, none, None
joiner(", ") is callable, loop is defined, caller is defined
1 if true else 1/0, false and 1/0, true or 1/0
((((1)))), [[[]]], {"a": {"b": {"c": 1}}}.a.b.c
"x"|upper|lower|upper, (1 + 2)|string + "a", 1|string ~ 2|string, "a" ~ 1 + 2|int
l is not mapping, l|length > 2 and l|first == 3, s|length // 2, -l|length
m|map(attribute="content")|select("string")|join("|"), m|map("tojson")|list|length
m|selectattr("k", "gt", 1)|map(attribute="role")|unique|list, m|map(attribute="k")|sum
"{:}".format("a") if false else "ok", "abc".casefold(), "x".copy is defined
""" .strip().split("\n")

FAILING = r"""
{{ nothing.a }}
{{ "x"|filesizeformat }}
{{ none|filesizeformat }}
{{ l|filesizeformat }}
{{ l|xmlattr }}
{{ n|wordwrap }}
{{ s|wordwrap(0) }}
{{ {"a b": 1}|xmlattr }}
{{ {"a=": 1}|xmlattr }}
{{ nothing.a.b }}
{{ nothing["a"] }}
{{ d.nothing.more }}
{{ nothing + 1 }}
{{ 1 + nothing }}
{{ "a" + 1 }}
{{ 1 + "a" }}
{{ [1] + (2,) }}
{{ nothing < 1 }}
{{ 1 < "a" }}
{{ l < 1 }}
{{ -s }}
{{ nothing() if false else nothing.x }}
{{ 1 / 0 }}
{{ 1 % 0 }}
{{ n() }}
{{ 5 in 5 }}
{{ 1 in "abc" }}
{{ [1, "a"]|sort }}
{{ n|length }}
{{ none|length }}
{{ n|join }}
{{ n|list }}
{{ nothing|tojson }}
{{ {"a": nothing}|tojson }}
{{ range|tojson }}
{{ {[1]: 2} }}
{{ d[[1]] }}
{{ l.append(1) }}
{{ d.update({"a": 1}) }}
{{ l.pop() }}
{{ raise_exception("no " ~ n) }}
{% if n > 3 %}{{ raise_exception("refused") }}{% endif %}
{{ "abc".index("z") }}
{{ "a".split("") }}
{{ l[::0] }}
{{ l["a":] }}
{% for i in n %}{% endfor %}
{% for a, b in [1, 2] %}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% set a, b = 1 %}
{% set ns = 1 %}{% set ns.x = 2 %}
{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{% endmacro %}{{ f(b=1) }}
{% macro f(a) %}{{ a.x }}{% endmacro %}{{ f() }}
{{ "%d" % "a" }}
{{ "%s %s" % ("a",) }}
{{ "%s" % ("a", "b") }}
{{ range(1000000) }}
{{ none.x.y }}
{{ (m|map("upper")).x.y }}
{{ m|map(attribute="k")|length }}
{{ d|dictsort(by="nope") }}
{{ "-".join([1]) }}
{{ l|first|upper|int|length }}
{{ m|sort }}
{{ "abc".startswith(1) }}
{{ s.replace("a") }}
{{ s|replace("a") }}
{{ s.upper(1) }}
{{ s|trim(1, 2) }}
{{ nothing|int }}
{{ nothing|float }}
{{ {} + {} }}
{{ dict(1) }}
""" .strip().split("\n")

BROKEN = r"""
{{ 
{{ a
{% if a %}
{% for a in b %}
{% endif %}
{% if %}{% endif %}
{{ a b }}
{{ a. }}
{{ a[ }}
{{ (a }}
{{ a) }}
{{ "abc }}
{{ a | }}
{{ a | nofilter }}
{{ a is notest }}
{% nope %}
{% for in b %}{% endfor %}
{% for a b %}{% endfor %}
{% set %}
{% set a %}
{% macro %}{% endmacro %}
{% macro f(a=1, b) %}{% endmacro %}
{% call 5 %}{% endcall %}
{% raw %}
{# open
{{ 1 = 2 }}
{{ a ! b }}
{{ a $ b }}
{{ {1 2} }}
{% else %}
{% elif a %}{% endif %}
{{ a is defined is none }}
{{ }}
{% if a %}{% else %}{% else %}{% endif %}
{% filter nofilter %}{% endfilter %}
{{ [1 }}
{{ a[1:2 }}
{% endfor %}
{% break %}
""" .strip().split("\n")

STATEMENTS = r"""
{% if n > 5 %}big{% elif n %}small{% else %}none{% endif %}
{% if e %}1{% elif z %}2{% endif %}|
{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}
{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}
{% for i in l %}{{ loop.cycle("a", "b") }}{{ loop.changed(i > 1) }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}
{% for i in [] %}x{% else %}empty{% endfor %}
{% for i in nothing %}x{% else %}undefined{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ k }};{% endfor %}
{% for c in "h\u00e9y" %}[{{ c }}]{% endfor %}
{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for i in l if i > 1 %}{{ i }}{{ loop.last }}{% else %}none{% endfor %}
{% for i in l if i > 9 %}{{ i }}{% else %}none{% endfor %}
{% for i in [1, 2, 3, 4] %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in [1, 2] %}{% for j in [1, 2, 3] %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}
{% for i in [1, 2] %}{% for j in "ab" %}{{ loop.index }}{{ j }}{% endfor %}{{ loop.index }}{% endfor %}
{% for i in 1, 2, 3 %}{{ i }}{% endfor %}
{% for i in range(3) %}{% set y = i %}{% endfor %}{{ y is defined }}
{% set y = 0 %}{% for i in [1, 2] %}{% set y = y + 1 %}{{ y }}{% endfor %}{{ y }}
{% set ns = namespace(y=0) %}{% for i in [1, 2] %}{% set ns.y = ns.y + i %}{% endfor %}{{ ns.y }}
{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b is defined }}{{ ns["a"] }}
{% if true %}{% set y = 5 %}{% endif %}{{ y }}
{% set a, b = 1, "x" %}{{ b }}{{ a }}
{% set a = 1, 2 %}{{ a }}
{% set a %}block {{ n }}{% endset %}{{ a }}|{{ a|length }}
{% set a | upper | trim %} block {% endset %}[{{ a }}]
{% set n = n + 1 %}{{ n }}
{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(b=5, a=4) }} {{ f() }}
{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }}
{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(4) }}
{% macro f() %}{{ n }}{{ y }}{% endmacro %}{% set y = 3 %}{{ f() }}
{% macro f() %}[{{ caller() }}]{% endmacro %}{% call f() %}in {{ n }}{% endcall %}
{% macro f() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) f() %}{{ b }}{{ a }}{% endcall %}
{% macro f(a) %}{{ a }}{{ caller is defined }}{% endmacro %}{{ f(1) }}
{% macro f(a) %}{% set q = a %}{{ q }}{% endmacro %}{{ f(1) }}{{ q }}
{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}o{% endmacro %}{{ outer() }}
{% macro f(a) %}  {{- a -}}  {% endmacro %}{{ f("x") | upper }}{{ f("y")|length }}
{% macro f(l) %}{% for i in l %}{% if i is sequence and i is not string %}({{ f(i) }}){% else %}{{ i }}{% endif %}{% endfor %}{% endmacro %}{{ f([1, [2, [3, "x"]]]) }}
{% filter upper %}abc {{ n }}{% endfilter %}
{% filter replace("a", "b") | upper %}aaa{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}
{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}
{% generation %}said {{ n }}{% endgeneration %}
{% raw %}{{ not }} {% this %}{% endraw %}
{%- raw -%}  x  {%- endraw -%}  y
{# comment #}a{#- b -#} c
a{% if true %} b {% endif %} c
a {%- if true -%} b {%- endif -%} c
a{%+ if true %} b {% endif +%} c
{{ n -}} x {{- n }}
{% set j = joiner("|") %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}
{% set x = namespace(f=1, g="a") %}{{ x.f }}{{ x.g }}
{% set u = m|selectattr("role", "equalto", "user") %}{% for i in u %}{{ i.k }}{% endfor %}{% for i in u %}again{% endfor %}{{ "true" if u else "false" }}
{% set content = m[1].content if m[1].content is string else "" %}[{{ content }}]
{% for x in m %}{% if loop.first and x.role == "user" %}F{% elif loop.last %}L{% endif %}{% endfor %}
{% for x in m|reverse %}{{ loop.length }}{{ x.role }}{% endfor %}
{% for x in m[::-1] %}{% set i = (m|length - 1) - loop.index0 %}{{ i }}{{ x.k }}{% endfor %}
{% for x in m %}{% set loop_index = loop.index0 %}{% if (x.role == "user") != (loop_index % 2 == 0) %}bad{% endif %}{% endfor %}
{% set t2 = [] %}{% for x in m %}{% set t2 = t2 + [x.k] %}{% endfor %}{{ t2 }}
{% for k, v in d|dictsort %}{{ k }}{% if not loop.last %},{% endif %}{% endfor %}
{% for k, v in d|items %}{{ k }}{% endfor %}
{% set d2 = dict(d, extra=1) %}{{ d2.keys()|list }}
{% for i in range(2) recursive_is_a_name %}{% endfor %}
{{ "a" if true }}{{ "b" if false }}{{ ("c" if false) is undefined }}
{% if x is not defined and y is not defined %}1{% endif %}{% if not x is defined %}2{% endif %}
{% if tools is defined and tools %}t{% else %}no{% endif %}
{% if m[0]["role"] == "system" %}{% set rest = m[1:] %}{% else %}{% set rest = m %}{% endif %}{{ rest|length }}
{%- for x in m %}{{ "[INST] " + x.content|default("none", true) + " [/INST]" if x.role == "user" }}{% endfor -%}
{{ '<|' + m[0].role + '|>' }}{{ "\n" }}
{% set ns = namespace(is_first=false, out='') %}{% for x in m %}{% set ns.out = ns.out + x.role[0] %}{% if not ns.is_first %}{% set ns.is_first = true %}{% endif %}{% endfor %}{{ ns.out }}{{ ns.is_first }}
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}late{% endmacro %}{{ a() }}
{% macro j(v) %}{% if v is mapping %}{{ "{" }}{% for k, x in v|dictsort %}{{ k }}:{{ j(x) }}{% endfor %}{{ "}" }}{% elif v is string %}"{{ v }}"{% elif v is sequence %}[{% for x in v %}{{ j(x) }}{% endfor %}]{% else %}{{ v }}{% endif %}{% endmacro %}{{ j(d) }}
{% set a = "x" %}{% macro f() %}{{ a }}{% endmacro %}{% set a = "y" %}{{ f() }}
{% for i in l %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}
{% for i in [1] %}{% set a = 1 %}{% if true %}{% set a = 2 %}{% endif %}{{ a }}{% endfor %}
{% set a = 1 %}{% set b %}{% set a = 2 %}{{ a }}{% endset %}{{ a }}{{ b }}
{% for a in [1, 2] %}{% else %}{% endfor %}{{ a is defined }}
{{ m|map(attribute="role")|join(",") }}{{ m|tojson|length }}
{% for x in [[1, 2], [3, 4]] %}{% for y in x %}{{ loop.index }}:{{ y }}{% if not loop.last %}, {% endif %}{% endfor %}{% if not loop.last %}; {% endif %}{% endfor %}
{% set x = "a" %}{% set x = x ~ "b" %}{% set x = x + "c" %}{{ x }}
{% if "</think>" in "a</think>b" %}{% set c = "a</think>b".split("</think>")[-1].lstrip("\n") %}{{ c }}{% endif %}
{% if n is number and n is not string %}{{ n }}{% endif %}{{ n is number is defined if false else "" }}
{%- set today = strftime_now("%Y-%m-%d") if strftime_now is defined else "x" -%}{{ today }}
{% for i in "abc"|list|reverse %}{{ i }}{% endfor %}{% for a in (1, 2) %}{{ a }}{% endfor %}
{% for i in l|sort %}{{ i }}{% endfor %}{% for i in l|batch(2) %}{{ i }}{% endfor %}{% for g, v in m|groupby("role") %}{{ g }}{{ v|length }}{% endfor %}
""" .strip().split("\n")

BLOCKS = [
    "a\n{% if true %}\nb\n{% endif %}\nc\n",
    "  {% if true %}\n  b\n  {% endif %}\n  c",
    "x {% if true %}\n  b{% endif %}\ny",
    "\t{# c #}\n\tx\n{# d #} y\n",
    "{% for i in [1, 2] %}\n  - {{ i }}\n{% endfor %}\n",
    "{% for i in [1, 2] -%}\n  - {{ i }}\n{%- endfor %}\n",
    "{{ 1 }}\n{{ 2 }}\n\n",
    "a\r\nb\rc\n",
    "\n\n{%- if true %}\n\n x{% endif -%}\n\n y",
    "{%- if true %}\n    {{- 'x' }}\n    {%- if false %}y{% endif %}\n{%- endif %}\nz",
    "  {{ 1 }}  \n  {%- set a = 1 %}  \n  {{ a }}",
    "{% set a = 1 %}\n\n{% set b = 2 %}\n{{ a }}",
    "   {%+ if true %}x{% endif %}\n   {% if true +%}\ny{% endif %}",
    "{#- a -#}\n\n b {#+ c +#}\n d",
    "{% raw %}\n  {{ x }}\n{% endraw %}\nend",
    "  {% raw %}  a  {% endraw %}  b",
    "text {{- ' x ' -}} text\n",
    "{% macro f() %}\n  m\n{% endmacro %}\n[{{ f() }}]",
    "{% set x %}\n  s\n{% endset %}\n[{{ x }}]",
    "\u00a0 {%- if true %}\u2003{% endif -%} \u3000 x",
    "{{ '{{' }} {{ '%}' }} {{ \"}}\" }} { % } {{{'a': 1}}}{{ {'b': {'c': 2}}}}",
    "{# {{ x }} #}{# a #}{# b #}{{ 1 }}{# c #}",
    "{{\n1\n+\n2\n}}",
    "{%\nif true\n%}x{%\nendif\n%}",
    "{% if true %}a{% endif %}{% if true %}b{% endif %}\n{% if true %}c{% endif %}\n\n",
    "a{{ 1 }}{% if true %}\n{% endif %}b",
    "\n",
    "",
    " ",
    "{",
    "{{ '' }}\n",
    "{%- for m in [1,2,3] -%}\n  {{- m -}}\n  {%- if not loop.last -%}, {%- endif -%}\n{%- endfor -%}",
]

SNIPPETS = []
for line in EXPRESSIONS:
    SNIPPETS.append(("{{ [" + line + "] }}", D))
    if not line.startswith(("nothing ~", "d.items()", "(", "[")) and ", " in line:
        SNIPPETS += [("{{ " + part + " }}", D) for part in
                     line.replace("), ", ")\0").replace('", ', '"\0').split("\0")
                     if part.count("(") == part.count(")") and part.count("[") == part.count("]")
                     and part.count('"') % 2 == 0 and part.count("{") == part.count("}")
                     and "joiner" not in part and "range is" not in part][:3]
SNIPPETS += [(line, D) for line in FAILING + BROKEN + STATEMENTS]
SNIPPETS += [(text, D) for text in BLOCKS]
