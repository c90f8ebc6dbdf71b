/* Answers and the events that they are, one a line; line ends within text are \v. */
#ifndef TEST_STREAM_SAMPLES_H
#define TEST_STREAM_SAMPLES_H

#include "stream_rig.h"

struct stream_sample {
    const char *name;
    enum stream_family family;
    u32 flags, spelled;
    const char *answer, *want;
};

/* clang-format off */
#define G_CALL CTRL("<|tool_call>")
#define G_END  CTRL("<tool_call|>")
#define G_CHAN CTRL("<|channel>")
#define G_CHEND CTRL("<channel|>")
#define Q CTRL("<|\"|>")
#define L_CALL CTRL("<|tool_call_start|>")
#define L_END CTRL("<|tool_call_end|>")
#define TAG CTRL("<|python_tag|>")
#define GR_CALL CTRL("<|tool_call|>")
#define M_CALL CTRL("[TOOL_CALLS]")
#define M_ARGS CTRL("[ARGS]")
#define M_ID CTRL("[CALL_ID]")
#define D_LIST "<｜tool▁calls▁begin｜>"
#define D_LIST_END "<｜tool▁calls▁end｜>"
#define D_CALL "<｜tool▁call▁begin｜>"
#define D_END "<｜tool▁call▁end｜>"
#define D_SEP "<｜tool▁sep｜>"
#define H_START CTRL("<|start|>")
#define H_CHAN CTRL("<|channel|>")
#define H_MSG CTRL("<|message|>")
#define H_END CTRL("<|end|>")
#define H_CALL CTRL("<|call|>")
#define H_RETURN CTRL("<|return|>")
#define DEEP_LESS "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
#define DEEP DEEP_LESS "["
#define BAD "note a malformed tool call was kept as text: "

static const struct stream_sample stream_samples[] = {
    /* ---- Text ---- */
    {"nothing", STREAM_PLAIN, 0, 0, "", "stop"},
    {"plain", STREAM_PLAIN, 0, 0, " Hi <think>there</think> \n", "text  Hi <think>there</think> \v\nstop"},
    {"plain with a token", STREAM_PLAIN, 0, 0, "a" CTRL("<pad>") "b", "text ab\nstop"},
    {"text", STREAM_HERMES, 0, 0, "1 < 2, <b>x</b> <tool_cal \n\n", "text 1 < 2, <b>x</b> <tool_cal \v\v\nstop"},

    /* ---- Thoughts ---- */
    {"thought", STREAM_THINK, 0, 0, "<think>\nHm, 1 < 2.\n</think>\n\nYes.\n",
     "thought Hm, 1 < 2.\ntext Yes.\v\nstop"},
    {"empty thought", STREAM_HERMES, 0, 0, "<think>\n\n</think>\n\nYes.", "text Yes.\nstop"},
    {"thought alone", STREAM_HERMES, 0, 0, "<think>a</think>", "thought a\nstop"},
    {"thought without end", STREAM_HERMES, 0, 0, "<think>a b ", "thought a b\nnote the thought did not end\nstop"},
    {"opened by the prompt", STREAM_HERMES, STREAM_THOUGHT, 0, "\nHm.\n</think>\nYes", "thought Hm.\ntext Yes\nstop"},
    {"opened twice", STREAM_HERMES, STREAM_THOUGHT, 0, "<think>\nHm.</think>Yes", "thought Hm.\ntext Yes\nstop"},
    {"mark talked about", STREAM_HERMES, 0, 0, "Write <think> first.", "text Write <think> first.\nstop"},
    {"mark talked about in a thought", STREAM_HERMES, 0, 0, "<think>the <think> mark</think>ok",
     "thought the <think> mark\ntext ok\nstop"},
    {"stray end", STREAM_HERMES, 0, 0, "a</think> b",
     "text a</think>\nnote a closing mark without its beginning was kept as text\ntext  b\nstop"},
    {"stray end token", STREAM_HERMES, 0, 0, "a" CTRL("</think>") " b",
     "text a\nnote a closing mark without its beginning was left out\ntext  b\nstop"},
    {"call within a thought", STREAM_HERMES, 0, 0,
     "<think>a <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> b</think> c",
     "thought a\ncall f call00001\nargs {}\nend\nthought b\ntext c\nstop"},
    {"response marks", STREAM_GRANITE, 0, 0, "<think>a</think>\n<response>b</response>", "thought a\ntext b\nstop"},
    {"response marks talked about", STREAM_GRANITE, 0, 0, "the <response> mark", "text the <response> mark\nstop"},
    {"mistral's", STREAM_MISTRAL, 0, 0, CTRL("[THINK]") "a [x]" CTRL("[/THINK]") "b", "thought a [x]\ntext b\nstop"},

    /* ---- Gemma 4 ---- */
    {"gemma", STREAM_GEMMA4, 0, 0, G_CALL "call:get_weather{city:" Q "Paris" Q "}" G_END,
     "call get_weather call00001\nargs {\"city\":\"Paris\"}\nend\nstop"},
    {"gemma nested", STREAM_GEMMA4, 0, 0,
     G_CALL "call:f{q:" Q "say \"hi\" } , ok" Q ",o:{a:[1,{b:true}]},n:-2.5,z:null}" G_END,
     "call f call00001\nargs {\"q\":\"say \\\"hi\\\" } , ok\",\"o\":{\"a\":[1,{\"b\":true}]},\"n\":-2.5,"
     "\"z\":null}\nend\nstop"},
    {"gemma two calls", STREAM_GEMMA4, 0, 0, "Let me see.\n" G_CALL "call:f{}" G_END G_CALL "call:a.b{x:1}" G_END,
     "text Let me see.\ncall f call00001\nargs {}\nend\ncall a.b call00002\nargs {\"x\":1}\nend\nstop"},
    {"gemma quoted keys", STREAM_GEMMA4, 0, 0, G_CALL "call:f{o:{" Q "a:b" Q ":" Q Q "," Q "c" Q ":[]}}" G_END,
     "call f call00001\nargs {\"o\":{\"a:b\":\"\",\"c\":[]}}\nend\nstop"},
    {"gemma strings as they are", STREAM_GEMMA4, 0, 0, G_CALL "call:f{code:" Q "a\n\t\\n\"{[" Q "}" G_END,
     "call f call00001\nargs {\"code\":\"a\\n\\t\\\\n\\\"{[\"}\nend\nstop"},
    {"gemma bare words", STREAM_GEMMA4, 0, 0,
     G_CALL "call:f{ city : New York ,n:007,t:True,d:2024-01-01,e:1e3,s:\"a,b\"}" G_END,
     "call f call00001\nargs {\"city\":\"New York\",\"n\":\"007\",\"t\":true,\"d\":\"2024-01-01\",\"e\":1e3,"
     "\"s\":\"a,b\"}\nend\nstop"},
    {"gemma typed mark in a string", STREAM_GEMMA4, 0, 0, G_CALL "call:f{q:" Q "<|\"|> <tool_call|>" Q "}" G_END,
     "call f call00001\nargs {\"q\":\"<|\\\"|> <tool_call|>\"}\nend\nstop"},
    {"gemma typed call is text", STREAM_GEMMA4, 0, 0, "<|tool_call>call:f{}<tool_call|>",
     "text <|tool_call>call:f{}<tool_call|>\nstop"},
    {"gemma spelled", STREAM_GEMMA4, 0, ~0u,
     "<|channel>thought\nHm<channel|><|tool_call>call:f{a:<|\"|>}{<|\"|>}<tool_call|>",
     "thought Hm\ncall f call00001\nargs {\"a\":\"}{\"}\nend\nstop"},
    {"gemma thought", STREAM_GEMMA4, 0, 0, G_CHAN "thought\nHm.\n" G_CHEND "Yes.", "thought Hm.\ntext Yes.\nstop"},
    {"gemma empty thought", STREAM_GEMMA4, 0, 0, G_CHAN "thought\n" G_CHEND "Yes.", "text Yes.\nstop"},
    {"gemma thought, no line's end", STREAM_GEMMA4, 0, 0, G_CHAN "thought" G_CHEND "Yes.", "text Yes.\nstop"},
    {"gemma thought not closed, call", STREAM_GEMMA4, 0, 0, G_CHAN "thought\nHm " G_CALL "call:f{}" G_END,
     "thought Hm\ncall f call00001\nargs {}\nend\nstop"},
    {"gemma call within a thought", STREAM_GEMMA4, 0, 0,
     G_CHAN "thought\nHm " G_CALL "call:f{}" G_END " so" G_CHEND "Yes",
     "thought Hm\ncall f call00001\nargs {}\nend\nthought so\ntext Yes\nstop"},
    {"gemma thought only", STREAM_GEMMA4, 0, 0, G_CHAN "thought\nHm", "thought Hm\nnote the thought did not end\nstop"},
    {"gemma nameless thought", STREAM_GEMMA4, 0, 0, G_CHAN "I think" G_CHEND "Yes",
     "note a thought began without its name\nthought I think\ntext Yes\nstop"},
    {"gemma thinking", STREAM_GEMMA4, 0, 0, G_CHAN "thinking hard" G_CHEND "Yes",
     "note a thought began without its name\nthought thinking hard\ntext Yes\nstop"},
    {"gemma other channel", STREAM_GEMMA4, 0, 0, "a" G_CHAN "final\nYes" G_CHEND " b",
     "text a\nnote a channel that is no thought was taken for text\ntext Yesb\nstop"},
    {"gemma stray end", STREAM_GEMMA4, 0, 0, "a" G_CHEND "b",
     "text a\nnote a closing mark without its beginning was left out\ntext b\nstop"},
    {"gemma no name", STREAM_GEMMA4, 0, 0, "a " G_CALL "call:{}" G_END "b",
     "text a\n" BAD "it does not begin with call:NAME{\ntext  <|tool_call>call:{}<tool_call|>b\nstop"},
    {"gemma no call", STREAM_GEMMA4, 0, 0, G_CALL "f(a)" G_END,
     BAD "it does not begin with call:NAME{\ntext <|tool_call>f(a)<tool_call|>\nstop"},
    {"gemma string not closed", STREAM_GEMMA4, 0, 0, G_CALL "call:f{a:" Q "x}" G_END " b",
     "call f call00001\nargs {\"a\":\"x}\ndrop\n" BAD "its closing mark comes too early\n"
     "text <|tool_call>call:f{a:<|\"|>x}<tool_call|> b\nstop"},
    {"gemma broken, then a call", STREAM_GEMMA4, 0, 0, G_CALL "call:f{a:" Q "x" G_CALL "call:g{}" G_END,
     "call f call00001\nargs {\"a\":\"x\ndrop\n" BAD "something else begins within it\n"
     "text <|tool_call>call:f{a:<|\"|>x\ncall g call00002\nargs {}\nend\nstop"},
    {"gemma cut", STREAM_GEMMA4, 0, 0, G_CALL "call:f{a:1,b", "call f call00001\nargs {\"a\":1\ndrop\n" BAD
     "the answer ends within it\ntext <|tool_call>call:f{a:1,b\nstop"},
    {"gemma token within", STREAM_GEMMA4, 0, 0, G_CALL "call:f{a:" CTRL("<image|>") "1}" G_END,
     "call f call00001\nargs {\"a\":\ndrop\n" BAD "a control token is in it\n"
     "text <|tool_call>call:f{a:<image|>1}<tool_call|>\nstop"},
    {"gemma no closing mark", STREAM_GEMMA4, 0, 0, G_CALL "call:f{}\nSo", "call f call00001\nargs {}\nend\ntext So\nstop"},
    {"gemma late closing mark", STREAM_GEMMA4, 0, 0, G_CALL "call:f{} so" G_END "x",
     "call f call00001\nargs {}\nend\ntext sox\nstop"},
    {"gemma wrong bracket", STREAM_GEMMA4, 0, 0, G_CALL "call:f{a:[1}" G_END,
     "call f call00001\nargs {\"a\":[1\ndrop\n" BAD "a bracket closes what is not open\n"
     "text <|tool_call>call:f{a:[1}<tool_call|>\nstop"},

    /* ---- LFM2 ---- */
    {"lfm2", STREAM_LFM2, 0, 0, L_CALL "[get_weather(location=\"Paris\")]" L_END " Sunny.",
     "call get_weather call00001\nargs {\"location\":\"Paris\"}\nend\ntext Sunny.\nstop"},
    {"lfm2 literals", STREAM_LFM2, 0, 0,
     L_CALL "[a.b(x='it\\'s',n=5,ok=True,z=None,l=[1,\"]\"],d={\"k\":(1)})]" L_END,
     "call a.b call00001\nargs {\"x\":\"it's\",\"n\":5,\"ok\":true,\"z\":null,\"l\":[1,\"]\"],\"d\":{\"k\":1}}"
     "\nend\nstop"},
    {"lfm2 two calls", STREAM_LFM2, 0, 0, L_CALL "[f(), g( a = 1 , b = 2, )]" L_END,
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {\"a\":1,\"b\":2}\nend\nstop"},
    {"lfm2 bare", STREAM_LFM2, STREAM_TOOLS, 0, "\n[f(x='a'), g()]\nDone",
     "call f call00001\nargs {\"x\":\"a\"}\nend\ncall g call00002\nargs {}\nend\ntext Done\nstop"},
    {"lfm2 bare, no tools", STREAM_LFM2, 0, 0, "[f(x='a')]", "text [f(x='a')]\nstop"},
    {"lfm2 bare text", STREAM_LFM2, STREAM_TOOLS, 0, "[1] A source.", "text [1] A source.\nstop"},
    {"lfm2 bare list", STREAM_LFM2, STREAM_TOOLS, 0, " [1, 2, 3]", "text  [1, 2, 3]\nstop"},
    {"lfm2 bare empty list", STREAM_LFM2, STREAM_TOOLS, 0, "[]", "text []\nstop"},
    {"lfm2 bare link", STREAM_LFM2, STREAM_TOOLS, 0, "[see](http://x)", "text [see](http://x)\nstop"},
    {"lfm2 bare broken", STREAM_LFM2, STREAM_TOOLS, 0, "[f(a=b)] x",
     "call f call00001\nargs {\"a\":\ndrop\n" BAD "a word that is no value\ntext [f(a=b)] x\nstop"},
    {"lfm2 without brackets", STREAM_LFM2, 0, 0, L_CALL "f(a=1)" L_END, "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"lfm2 line ends", STREAM_LFM2, 0, 0, L_CALL "[f(code=\"a\nb\\nc\\\\n\")]" L_END,
     "call f call00001\nargs {\"code\":\"a\\nb\\nc\\\\n\"}\nend\nstop"},
    {"lfm2 quotes not escaped", STREAM_LFM2, 0, 0, L_CALL "[f(a='it's', b=\"say \"hi\" now\")]" L_END,
     "call f call00001\nargs {\"a\":\"it's\",\"b\":\"say \\\"hi\\\" now\"}\nend\nstop"},
    {"lfm2 triple quotes", STREAM_LFM2, 0, 0, L_CALL "[f(a='''it's \"x\"''', b=\"\"\"\"\"\", c='')]" L_END,
     "call f call00001\nargs {\"a\":\"it's \\\"x\\\"\",\"b\":\"\",\"c\":\"\"}\nend\nstop"},
    {"lfm2 strings in parts", STREAM_LFM2, 0, 0, L_CALL "[f(a='x' \"y\", b=r'\\d\\'', c=u'z', d=b'w')]" L_END,
     "call f call00001\nargs {\"a\":\"xy\",\"b\":\"\\\\d\\\\'\",\"c\":\"z\",\"d\":\"w\"}\nend\nstop"},
    {"lfm2 escapes", STREAM_LFM2, 0, 0,
     L_CALL "[f(a='\\x41\\u00e9\\U0001F600\\101\\0', b='\\ud83d\\ude00\\ud83d', c='C:\\users\\q', d='a\\\nb')]" L_END,
     "call f call00001\nargs {\"a\":\"A\xc3\xa9\xf0\x9f\x98\x80" "A\\u0000\",\"b\":\"\xf0\x9f\x98\x80\xef\xbf\xbd\","
     "\"c\":\"C:\\\\users\\\\q\",\"d\":\"ab\"}\nend\nstop"},
    {"lfm2 numbers", STREAM_LFM2, 0, 0, L_CALL "[f(a=-1, b=+2, c=1_000, d=.5, e=1., g=1e-5, h=0x1F, i=-0b11, j=1E5)]" L_END,
     "call f call00001\nargs {\"a\":-1,\"b\":2,\"c\":1000,\"d\":0.5,\"e\":1.0,\"g\":1e-5,\"h\":31,\"i\":-3,\"j\":1e5}"
     "\nend\nstop"},
    {"lfm2 tuples", STREAM_LFM2, 0, 0, L_CALL "[f(a=(1,2), b=(1,), c=(), d=((1),(2,3)), e=[1,2,])]" L_END,
     "call f call00001\nargs {\"a\":[1,2],\"b\":[1],\"c\":[],\"d\":[1,[2,3]],\"e\":[1,2]}\nend\nstop"},
    {"lfm2 keys", STREAM_LFM2, 0, 0, L_CALL "[f(a={1: 'x', 'it's': True, None: 2}, b={\"k\": true, \"n\": null})]" L_END,
     "call f call00001\nargs {\"a\":{\"1\":\"x\",\"it's\":true,\"null\":2},\"b\":{\"k\":true,\"n\":null}}\nend\nstop"},
    {"lfm2 json", STREAM_LFM2, 0, 0, L_CALL "[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]" L_END,
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"lfm2 thought, call, text", STREAM_LFM2, 0, 0, "<think>\nHm\n</think>" L_CALL "[f()]" L_END "ok",
     "thought Hm\ncall f call00001\nargs {}\nend\ntext ok\nstop"},
    {"lfm2 positional", STREAM_LFM2, 0, 0, L_CALL "[f(1)]" L_END,
     BAD "an argument has no name\ntext <|tool_call_start|>[f(1)]<|tool_call_end|>\nstop"},
    {"lfm2 second broken", STREAM_LFM2, 0, 0, L_CALL "[f(), g(a=x)]" L_END " b",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {\"a\":\ndrop\n" BAD "a word that is no value\n"
     "text , g(a=x)]<|tool_call_end|> b\nstop"},
    {"lfm2 list not closed", STREAM_LFM2, 0, 0, L_CALL "[f()" L_END "b",
     "call f call00001\nargs {}\nend\nnote a list of tool calls was not closed\ntext b\nstop"},
    {"lfm2 list not closed, another call", STREAM_LFM2, 0, 0, L_CALL "[f()" L_CALL "[g()]" L_END "b",
     "call f call00001\nargs {}\nend\nnote a list of tool calls was not closed\n"
     "call g call00002\nargs {}\nend\ntext b\nstop"},
    {"lfm2 list not closed at the end", STREAM_LFM2, 0, 0, L_CALL "[f(),",
     "call f call00001\nargs {}\nend\n" BAD "the answer ends within it\ntext ,\nstop"},
    {"lfm2 empty list", STREAM_LFM2, 0, 0, "a" L_CALL "[]" L_END "b", "text ab\nstop"},
    {"lfm2 spelled", STREAM_LFM2, 0, ~0u, "<|tool_call_start|>[f(a='<|tool_call_end|>')]<|tool_call_end|>",
     "call f call00001\nargs {\"a\":\"<|tool_call_end|>\"}\nend\nstop"},

    /* ---- Hermes, Qwen ---- */
    {"hermes", STREAM_HERMES, 0, 0,
     "Sure.\n\n<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Par}is\", \"n\": [1, {\"a\": null}]}}\n</tool_call>",
     "text Sure.\ncall get call00001\nargs {\"city\":\"Par}is\",\"n\":[1,{\"a\":null}]}\nend\nstop"},
    {"hermes two calls", STREAM_HERMES, 0, 0,
     "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"f\"}</tool_call>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}\n"
     "</tool_call>\nDone",
     "call f call00001\nargs {\"a\":1}\nend\ncall g call00002\nargs {}\nend\ntext Done\nstop"},
    {"hermes tokens", STREAM_HERMES, 0, 0,
     CTRL("<tool_call>") "{\"name\": \"f\", \"arguments\": {\"t\": \"</tool_call>\"}}" CTRL("</tool_call>"),
     "call f call00001\nargs {\"t\":\"</tool_call>\"}\nend\nstop"},
    {"hermes mark in a string", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"t\": \"</tool_call><think>\"}}</tool_call>",
     "call f call00001\nargs {\"t\":\"</tool_call><think>\"}\nend\nstop"},
    {"hermes no arguments", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\"}</tool_call>",
     "call f call00001\nargs {}\nend\nstop"},
    {"hermes null arguments", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>",
     "call f call00001\nargs {}\nend\nstop"},
    {"hermes arguments in a string", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"b\\\\n\\\", \\\"c\\\": 1}\"}</tool_call>",
     "call f call00001\nargs {\"a\":\"b\\n\",\"c\":1}\nend\nstop"},
    {"hermes openai", STREAM_HERMES, 0, 0,
     "<tool_call>{\"type\": \"function\", \"id\": \"x1\", \"function\": {\"name\": \"f\", \"parameters\": {\"a\": 1}}}</tool_call>",
     "call f x1\nargs {\"a\":1}\nend\nstop"},
    {"hermes python quotes", STREAM_HERMES, 0, 0,
     "<tool_call>\n{'name': 'f', 'arguments': {'a': 'it's', 'b': True}}\n</tool_call>",
     "call f call00001\nargs {\"a\":\"it's\",\"b\":true}\nend\nstop"},
    {"hermes several objects", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": {}}</tool_call>",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"hermes list", STREAM_HERMES, 0, 0,
     "<tool_call>[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]</tool_call>",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"hermes strings", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\\u00e9\\ud83d\\ude00\\n\\/\\q\n\", \"\\\"\": \"\xc3\xa9\"}}</tool_call>",
     "call f call00001\nargs {\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\\n/\\\\q\\n\",\"\\\"\":\"\xc3\xa9\"}\nend\nstop"},
    {"hermes numbers as they are", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1.0, \"b\": 1e20, \"c\": -0, \"d\": 12345678901234567890123}}</tool_call>",
     "call f call00001\nargs {\"a\":1.0,\"b\":1e20,\"c\":-0,\"d\":12345678901234567890123}\nend\nstop"},
    {"hermes no closing mark", STREAM_HERMES, 0, 0, "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}",
     "call f call00001\nargs {}\nend\nstop"},
    {"hermes cut", STREAM_HERMES, 0, 0, "a\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"b",
     "text a\ncall f call00001\nargs {\"a\":\"b\ndrop\n" BAD "the answer ends within it\n"
     "text \v<tool_call>\v{\"name\": \"f\", \"arguments\": {\"a\": \"b\nstop"},
    {"hermes talked about", STREAM_HERMES, 0, 0, "Put it between <tool_call> and </tool_call>.",
     "text Put it between\n" BAD "no object\ntext  <tool_call> and </tool_call>.\nstop"},
    {"hermes no name", STREAM_HERMES, 0, 0, "<tool_call>{\"arguments\": {\"a\": 1}}</tool_call> b",
     BAD "it has no name\ntext <tool_call>{\"arguments\": {\"a\": 1}}</tool_call> b\nstop"},
    {"hermes empty name", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"\"}</tool_call>",
     BAD "its name is no name\ntext <tool_call>{\"name\": \"\"}</tool_call>\nstop"},
    {"hermes arguments are a list", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
     BAD "its arguments are no object\ntext <tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>\nstop"},
    {"hermes arguments in a bad string", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": \"{a\"}</tool_call>",
     BAD "its arguments are no object\ntext <tool_call>{\"name\": \"f\", \"arguments\": \"{a\"}</tool_call>\nstop"},
    {"hermes brace too many", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\", \"arguments\": {}}}</tool_call>x",
     "call f call00001\nargs {}\nend\ntext }x\nstop"},
    {"hermes brace missing", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}</tool_call>x",
     "call f call00001\nargs {\"a\":1}\ndrop\n" BAD "its closing mark comes too early\n"
     "text <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}</tool_call>x\nstop"},
    {"hermes bad json", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1 \"b\": 2}}</tool_call>",
     "call f call00001\nargs {\"a\":1\ndrop\n" BAD "two values without a comma between\n"
     "text <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1 \"b\": 2}}</tool_call>\nstop"},
    {"hermes broken, then a call", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": <tool_call>{\"name\": \"g\"}</tool_call>",
     BAD "something else begins within it\ntext <tool_call>{\"name\": \ncall g call00001\nargs {}\nend\nstop"},

    {"hermes thought after a call", STREAM_HERMES, 0, 0,
     "<think>a</think><tool_call>{\"name\":\"f\"}</tool_call>\n<think>b</think>c",
     "thought a\ncall f call00001\nargs {}\nend\nthought b\ntext c\nstop"},
    {"hermes too deep", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":" DEEP DEEP "1",
     "call f call00001\nargs {\"a\":" DEEP_LESS DEEP "\ndrop\n" BAD "values nest too deep\n"
     "text <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":" DEEP DEEP "1\nstop"},
    {"hermes wordless", STREAM_HERMES, 0, 0, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": nil}}</tool_call>",
     "call f call00001\nargs {\"a\":\ndrop\n" BAD "a word that is no value\n"
     "text <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": nil}}</tool_call>\nstop"},
    {"hermes comma too many", STREAM_HERMES, 0, 0,
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1,], \"b\": {},}}</tool_call>",
     "call f call00001\nargs {\"a\":[1],\"b\":{}}\nend\nstop"},

    /* ---- Llama 3 ---- */
    {"llama", STREAM_LLAMA, STREAM_TOOLS, 0, "{\"name\": \"get\", \"parameters\": {\"city\": \"Paris\"}}",
     "call get call00001\nargs {\"city\":\"Paris\"}\nend\nstop"},
    {"llama typed", STREAM_LLAMA, STREAM_TOOLS, 0,
     "\n{\"type\": \"function\", \"function\": \"get\", \"parameters\": {\"a\": \"1\"}}",
     "call get call00001\nargs {\"a\":\"1\"}\nend\nstop"},
    {"llama two", STREAM_LLAMA, STREAM_TOOLS, 0,
     "{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}} Done",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\ntext Done\nstop"},
    {"llama tool of no one", STREAM_LLAMA, STREAM_TOOLS, 0, "{\"name\": \"nobody\", \"parameters\": {}}",
     "call nobody call00001\nargs {}\nend\nstop"},
    {"lfm2 bare call of no one", STREAM_LFM2, STREAM_TOOLS, 0, "[nobody(x=1)]", "text [nobody(x=1)]\nstop"},
    {"llama no tools", STREAM_LLAMA, 0, 0, "{\"name\": \"f\", \"parameters\": {}}",
     "text {\"name\": \"f\", \"parameters\": {}}\nstop"},
    {"llama other json", STREAM_LLAMA, STREAM_TOOLS, 0, "{\"a\": 1}", "text {\"a\": 1}\nstop"},
    {"llama json with a name", STREAM_LLAMA, STREAM_TOOLS, 0, " {\"name\": \"Bob\", \"age\": 3}",
     "text  {\"name\": \"Bob\", \"age\": 3}\nstop"},
    {"llama json, a name only", STREAM_LLAMA, STREAM_TOOLS, 0, "{\"name\": \"Bob\"} is it",
     "text {\"name\": \"Bob\"} is it\nstop"},
    {"llama text first", STREAM_LLAMA, STREAM_TOOLS, 0, "So: {\"name\": \"f\", \"parameters\": {}}",
     "text So: {\"name\": \"f\", \"parameters\": {}}\nstop"},
    {"llama cut", STREAM_LLAMA, STREAM_TOOLS, 0, "{\"name\": \"f\", \"parameters\": {\"a",
     "call f call00001\nargs {\"a\ndrop\n" BAD "the answer ends within it\ntext {\"name\": \"f\", \"parameters\": {\"a\nstop"},
    {"llama code", STREAM_LLAMA, 0, 0, TAG "print(\"a\")\nx = {'b': 1} # <think>",
     "call code_interpreter call00001\nargs {\"code\":\"print(\\\"a\\\")\\nx = {'b': 1} # <think>\"}\nend\nstop"},
    {"llama tool.call", STREAM_LLAMA, 0, 0, TAG "brave_search.call(query=\"who's \\\"x\\\"?\")",
     "call brave_search call00001\nargs {\"query\":\"who's \\\"x\\\"?\"}\nend\nstop"},
    {"llama call that is code", STREAM_LLAMA, 0, 0, TAG "a.call(b=c)",
     "call code_interpreter call00001\nargs {\"code\":\"a.call(b=c)\"}\nend\nstop"},
    {"llama tag before json", STREAM_LLAMA, 0, 0, TAG "{\"name\": \"f\", \"parameters\": {\"a\": 1}}",
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"llama tag before a dict", STREAM_LLAMA, 0, 0, TAG "{1: 2}",
     "call code_interpreter call00001\nargs {\"code\":\"{1: 2}\"}\nend\nstop"},
    {"llama tag alone", STREAM_LLAMA, 0, 0, "a " TAG, "text a\n" BAD "nothing follows its mark\ntext  <|python_tag|>\nstop"},
    {"llama short code", STREAM_LLAMA, 0, 0, TAG "x", "call code_interpreter call00001\nargs {\"code\":\"x\"}\nend\nstop"},

    /* ---- Granite 3 ---- */
    {"granite", STREAM_GRANITE, 0, 0,
     GR_CALL "[{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": \"g\", \"arguments\": {}}]",
     "call f call00001\nargs {\"a\":1}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"granite 3.1", STREAM_GRANITE, 0, 0, "<tool_call>[{\"arguments\": {\"a\": \"]\"}, \"name\": \"f\"}]\nok",
     "call f call00001\nargs {\"a\":\"]\"}\nend\ntext ok\nstop"},
    {"granite object", STREAM_GRANITE, 0, 0, GR_CALL "{\"name\": \"f\", \"arguments\": {}}",
     "call f call00001\nargs {}\nend\nstop"},
    {"granite no list", STREAM_GRANITE, 0, 0, GR_CALL " f", BAD "no object\ntext <|tool_call|> f\nstop"},
    {"granite list not closed", STREAM_GRANITE, 0, 0, GR_CALL "[{\"name\": \"f\"}",
     "call f call00001\nargs {}\nend\nnote a list of tool calls was not closed\nstop"},

    /* ---- Mistral ---- */
    {"mistral", STREAM_MISTRAL, 0, 0,
     M_CALL " [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"}, {\"name\": \"g\", \"arguments\": {}}]",
     "call f abcdefghi\nargs {\"a\":1}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"mistral 11", STREAM_MISTRAL, 0, 0, "Ok." M_CALL "f" M_ARGS "{\"a\": \"[ARGS]\"}" M_CALL "g" M_ARGS "{}",
     "text Ok.\ncall f call00001\nargs {\"a\":\"[ARGS]\"}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"mistral id", STREAM_MISTRAL, 0, 0, M_CALL "f" M_ID "a1B2c3D4e" M_ARGS "{\"a\": {\"b\": []}}",
     "call f a1B2c3D4e\nargs {\"a\":{\"b\":[]}}\nend\nstop"},
    {"mistral no mark before arguments", STREAM_MISTRAL, 0, 0, M_CALL "f{\"a\": 1}",
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"mistral spelled", STREAM_MISTRAL, 0, ~0u, "[TOOL_CALLS]f[ARGS]{\"a\": \"[TOOL_CALLS]\"} [x",
     "call f call00001\nargs {\"a\":\"[TOOL_CALLS]\"}\nend\ntext [x\nstop"},
    {"mistral two ids", STREAM_MISTRAL, 0, 0, M_CALL "f" M_ID "a" M_ID "b" M_ARGS "{}",
     BAD "a mark where there should be none\ntext [TOOL_CALLS]f[CALL_ID]a[CALL_ID]b{}\nstop"},
    {"mistral no arguments", STREAM_MISTRAL, 0, 0, M_CALL "f" M_ARGS "x",
     BAD "its arguments are no object\ntext [TOOL_CALLS]f[ARGS]x\nstop"},
    {"mistral cut", STREAM_MISTRAL, 0, 0, M_CALL " [{\"name\": \"f\", \"arguments\": {\"a\": 1}",
     BAD "the answer ends within it\ntext [TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}\nstop"},

    /* ---- Hermes' models that put calls elsewhere: as Qwen2.5-Coder does, where tools are offered ---- */
    {"coder fence", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\n  \"name\": \"f\",\n  \"arguments\": {\n    \"a\": [1, \"```\"]\n  }\n}\n```",
     "call f call00001\nargs {\"a\":[1,\"```\"]}\nend\nstop"},
    {"coder fence, text behind", STREAM_HERMES, STREAM_TOOLS, 0,
     "\n```\n{\"name\": \"f\", \"arguments\": {}}\n```\n\nThat is it.", "call f call00001\nargs {}\nend\ntext That is it.\nstop"},
    {"coder two fences", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\"name\": \"f\", \"arguments\": {}}\n```\n```json\n{\"arguments\": {\"a\": 1}, \"name\": \"g\"}\n```\n",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {\"a\":1}\nend\nstop"},
    {"coder two in a fence", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": {}}\n```",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"coder fence not closed", STREAM_HERMES, STREAM_TOOLS, 0, "```json\n{\"name\": \"f\", \"arguments\": {}}\nOk",
     "call f call00001\nargs {}\nend\ntext Ok\nstop"},
    {"coder fence half closed", STREAM_HERMES, STREAM_TOOLS, 0, "```json\n{\"name\": \"f\", \"arguments\": {}}\n``x",
     "call f call00001\nargs {}\nend\ntext \v``x\nstop"},
    {"coder fence, no tools", STREAM_HERMES, 0, 0, "```json\n{\"name\": \"f\", \"arguments\": {}}\n```",
     "text ```json\v{\"name\": \"f\", \"arguments\": {}}\v```\nstop"},
    {"coder fence of a stranger", STREAM_HERMES, STREAM_TOOLS, 0, "```json\n{\"name\": \"nobody\", \"arguments\": {}}\n```",
     "text ```json\v{\"name\": \"nobody\", \"arguments\": {}}\v```\nstop"},
    {"coder fence of data", STREAM_HERMES, STREAM_TOOLS, 0, "```json\n{\n  \"name\": \"John Doe\",\n  \"age\": 30\n}\n```\n",
     "text ```json\v{\v  \"name\": \"John Doe\",\v  \"age\": 30\v}\v```\v\nstop"},
    {"coder fence of a definition", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\"name\": \"f\", \"parameters\": {\"type\": \"object\"}}\n```",
     "text ```json\v{\"name\": \"f\", \"parameters\": {\"type\": \"object\"}}\v```\nstop"},
    {"coder fence behind text", STREAM_HERMES, STREAM_TOOLS, 0, "One writes\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```",
     "text One writes\v```json\v{\"name\": \"f\", \"arguments\": {}}\v```\nstop"},
    {"coder fence of code", STREAM_HERMES, STREAM_TOOLS, 0, "```\nint x;\n```\n", "text ```\vint x;\v```\v\nstop"},
    {"coder fence in a thought", STREAM_HERMES, STREAM_TOOLS, 0, "<think>```json\n{\"name\":\"f\",\"arguments\":{}}```</think>x",
     "thought ```json\v{\"name\":\"f\",\"arguments\":{}}```\ntext x\nstop"},
    {"coder fence cut", STREAM_HERMES, STREAM_TOOLS, 0, "```json\n{\"name\": \"f\", \"arguments\": {\"a",
     "call f call00001\nargs {\"a\ndrop\n" BAD "the answer ends within it\n"
     "text ```json\v{\"name\": \"f\", \"arguments\": {\"a\nstop"},
    {"coder bare", STREAM_HERMES, STREAM_TOOLS, 0, "{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n",
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"coder bare other json", STREAM_HERMES, STREAM_TOOLS, 0, "{\"type\": \"x\"} {", "text {\"type\": \"x\"} {\nstop"},
    {"coder tools", STREAM_HERMES, STREAM_TOOLS, 0,
     "<tools>\n[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]\n</tools>",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"coder tools talked about", STREAM_HERMES, STREAM_TOOLS, 0, "<tools> and </tools> enclose",
     "text <tools> and </tools> enclose\nstop"},
    {"qwen2.5-coder 1.5B, as it was", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\n  \"name\": \"send_email\",\n  \"arguments\": {\n    \"to\": [\"ann@example.com\", \"bob@example.com\"],\n"
     "    \"subject\": \"Lunch\",\n    \"body\": \"It's at 12, don't be \\\"late\\\".\"\n  }\n}\n```",
     "call send_email call00001\nargs {\"to\":[\"ann@example.com\",\"bob@example.com\"],\"subject\":\"Lunch\","
     "\"body\":\"It's at 12, don't be \\\"late\\\".\"}\nend\nstop"},
    {"qwen2.5-coder 1.5B, code", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\n  \"name\": \"run_python\",\n  \"arguments\": {\n    \"code\": \"for i in range(5):\\n    print(i**2)\"\n"
     "  }\n}\n```",
     "call run_python call00001\nargs {\"code\":\"for i in range(5):\\n    print(i**2)\"}\nend\nstop"},
    {"qwen2.5-coder 1.5B, three calls", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\n  \"name\": \"get_weather\",\n  \"arguments\": {\n    \"city\": \"Paris\",\n    \"unit\": \"celsius\"\n  }\n}\n"
     "{\n  \"name\": \"get_weather\",\n  \"arguments\": {\n    \"city\": \"Berlin\",\n    \"unit\": \"celsius\"\n  }\n}\n"
     "{\n  \"name\": \"add_numbers\",\n  \"arguments\": {\n    \"a\": 1,\n    \"b\": 2\n  }\n}\n```",
     "call get_weather call00001\nargs {\"city\":\"Paris\",\"unit\":\"celsius\"}\nend\n"
     "call get_weather call00002\nargs {\"city\":\"Berlin\",\"unit\":\"celsius\"}\nend\n"
     "call add_numbers call00003\nargs {\"a\":1,\"b\":2}\nend\nstop"},
    {"qwen2.5-coder 1.5B, a definition", STREAM_HERMES, STREAM_TOOLS, 0,
     "```json\n{\n  \"type\": \"function\",\n  \"function\": {\n    \"name\": \"add_numbers\"\n  }\n}\n```",
     "text ```json\v{\v  \"type\": \"function\",\v  \"function\": {\v    \"name\": \"add_numbers\"\v  }\v}\v```\nstop"},
    {"qwen2.5-coder 0.5B, as it was", STREAM_HERMES, STREAM_TOOLS, 0,
     "{\"name\": \"get_time\", \"arguments\": {\"type\": \"object\", \"properties\": {\"type\": \"string\", \"required\": []}}}",
     "call get_time call00001\nargs {\"type\":\"object\",\"properties\":{\"type\":\"string\",\"required\":[]}}\nend\nstop"},

#include "stream_samples_tags.inc"
};
/* clang-format on */

#endif
