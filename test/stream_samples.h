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

    /* ---- Qwen3-Coder, Seed ---- */
    {"qwen xml", STREAM_QWEN_XML, 0, 0,
     "Sure.\n\n<tool_call>\n<function=get_weather>\n<parameter=text>\nM\xc3\xbcnchen\n</parameter>\n<parameter=number>\n3\n"
     "</parameter>\n</function>\n</tool_call>",
     "text Sure.\ncall get_weather call00001\nargs {\"text\":\"M\xc3\xbcnchen\",\"number\":3}\nend\nstop"},
    {"qwen xml types", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n<parameter=flag>\nTrue\n</parameter>\n<parameter=list>\n[1, 'a', {\"b\": null}]\n</parameter>\n"
     "<parameter=object>\n{\"k\": \"</x>\"}\n</parameter>\n<parameter=maybe>\nnull\n</parameter>\n<parameter=other>\n5\n"
     "</parameter>\n<parameter=number>\n-2.5e3 \n</parameter>\n</function>\n</tool_call>",
     "call f call00001\nargs {\"flag\":true,\"list\":[1,\"a\",{\"b\":null}],\"object\":{\"k\":\"</x>\"},\"maybe\":null,"
     "\"other\":\"5\",\"number\":-2.5e3}\nend\nstop"},
    {"qwen xml strings that look like more", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n<parameter=text>\nnull\n</parameter>\n<parameter=maybe>\n12\n</parameter>\n<parameter=any>\n"
     "[1]\n</parameter>\n</function>\n</tool_call>",
     "call f call00001\nargs {\"text\":\"null\",\"maybe\":\"12\",\"any\":\"[1]\"}\nend\nstop"},
    {"qwen xml any of several", STREAM_QWEN_XML, 0, 0,
     "<tool_call><function=f><parameter=any>\n{\"a\":1}\n</parameter></function></tool_call>",
     "call f call00001\nargs {\"any\":{\"a\":1}}\nend\nstop"},
    {"qwen xml no such value", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n<parameter=number>\nabout 3\n</parameter>\n<parameter=list>\n[1,\n</parameter>\n"
     "<parameter=flag>\n\"x\" y\n</parameter>\n</function>\n</tool_call>",
     "call f call00001\nargs {\"number\":\"about 3\",\"list\":\"[1,\",\"flag\":\"\\\"x\\\" y\"}\nend\nstop"},
    {"qwen xml code", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=write>\n<parameter=text>\n\n\tif (a < b) { s = \"</p>\"; }\n\n</parameter>\n</function>\n</tool_call>",
     "call write call00001\nargs {\"text\":\"\\n\\tif (a < b) { s = \\\"</p>\\\"; }\\n\"}\nend\nstop"},
    {"qwen xml tags in a value", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n<parameter=text>\n<parameter=x>\n</parameter>\n </x>\n</tool_call> <think>\n</parameter>\n"
     "</function>\n</tool_call>ok",
     "call f call00001\nargs {\"text\":\"<parameter=x>\\n</parameter>\\n </x>\\n</tool_call> <think>\"}\nend\ntext ok\nstop"},
    {"qwen xml no arguments", STREAM_QWEN_XML, 0, 0, "<tool_call>\n<function=f>\n</function>\n</tool_call>",
     "call f call00001\nargs {}\nend\nstop"},
    {"qwen xml empty value", STREAM_QWEN_XML, 0, 0,
     "<tool_call><function=f><parameter=text>\n</parameter><parameter=number></parameter></function></tool_call>",
     "call f call00001\nargs {\"text\":\"\",\"number\":\"\"}\nend\nstop"},
    {"qwen xml two calls", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n<parameter=text>\na\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n"
     "</function>\n</tool_call>\n",
     "call f call00001\nargs {\"text\":\"a\"}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"qwen xml two in one", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n</function>\n<function=g>\n</function>\n</tool_call>",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"qwen xml no opening mark", STREAM_QWEN_XML, STREAM_TOOLS, 0,
     "I look.\n\n<function=f>\n<parameter=text>\na\n</parameter>\n</function>\n</tool_call>",
     "text I look.\ncall f call00001\nargs {\"text\":\"a\"}\nend\nstop"},
    {"qwen xml no opening mark, no tools", STREAM_QWEN_XML, 0, 0, "<function=f>\n</function>",
     "text <function=f>\v</function>\nstop"},
    {"qwen xml talked about", STREAM_QWEN_XML, STREAM_TOOLS, 0, "Write <function=nobody> or <function= x>.",
     "text Write <function=nobody> or <function= x>.\nstop"},
    {"qwen xml function not closed", STREAM_QWEN_XML, 0, 0,
     "<tool_call>\n<function=f>\n<parameter=text>\na\n</parameter>\n</tool_call>b",
     "call f call00001\nargs {\"text\":\"a\"}\nend\ntext b\nstop"},
    {"qwen xml text behind", STREAM_QWEN_XML, 0, 0, "<tool_call>\n<function=f>\n</function>\n<b>x</b>",
     "call f call00001\nargs {}\nend\ntext \v<b>x</b>\nstop"},
    {"qwen xml json", STREAM_QWEN_XML, 0, 0, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"qwen xml thought", STREAM_QWEN_XML, STREAM_THOUGHT, 0,
     "Hm.\n</think>\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>",
     "thought Hm.\ncall f call00001\nargs {}\nend\nstop"},
    {"qwen xml cut", STREAM_QWEN_XML, 0, 0, "<tool_call>\n<function=f>\n<parameter=text>\na b\n</param",
     "call f call00001\nargs {\"text\":\"a b\ndrop\n" BAD "the answer ends within it\n"
     "text <tool_call>\v<function=f>\v<parameter=text>\va b\v</param\nstop"},
    {"qwen xml no name", STREAM_QWEN_XML, 0, 0, "<tool_call>\n<function=>\n</function>\n</tool_call>",
     BAD "it has no name\ntext <tool_call>\v<function=>\v</function>\v</tool_call>\nstop"},
    {"qwen xml blank in a name", STREAM_QWEN_XML, 0, 0, "<tool_call><function=a b></function></tool_call>",
     BAD "its name is no name\ntext <tool_call><function=a b></function></tool_call>\nstop"},
    {"qwen xml no parameter", STREAM_QWEN_XML, 0, 0, "<tool_call><function=f>x</function></tool_call>",
     "call f call00001\nargs {\ndrop\n" BAD "neither an argument nor its end\n"
     "text <tool_call><function=f>x</function></tool_call>\nstop"},
    {"qwen xml nameless parameter", STREAM_QWEN_XML, 0, 0, "<tool_call><function=f><parameter=>x",
     "call f call00001\nargs {\ndrop\n" BAD "an argument has no name\ntext <tool_call><function=f><parameter=>x\nstop"},
    {"qwen xml no function", STREAM_QWEN_XML, 0, 0, "a <tool_call>\nf\n</tool_call> b",
     "text a\n" BAD "no function is called\ntext  <tool_call>\vf\v</tool_call> b\nstop"},
    {"qwen xml token in a value", STREAM_QWEN_XML, 0, ~0u,
     "<tool_call><function=f><parameter=text>\na" CTRL("</tool_call>") "b",
     "call f call00001\nargs {\"text\":\"a\ndrop\n" BAD "its closing mark comes too early\n"
     "text <tool_call><function=f><parameter=text>\va</tool_call>b\nstop"},
    {"seed", STREAM_SEED, 0, 0,
     "<seed:think>Hm.</seed:think>\n<seed:tool_call>\n<function=f>\n<parameter=text>a</parameter>\n<parameter=number>1"
     "</parameter>\n</function>\n</seed:tool_call>",
     "thought Hm.\ncall f call00001\nargs {\"text\":\"a\",\"number\":1}\nend\nstop"},

    /* ---- GLM ---- */
    {"glm", STREAM_GLM, 0, 0,
     "<think>Hm.</think>\n<tool_call>get_weather\n<arg_key>text</arg_key>\n<arg_value>a\nb</arg_value>\n<arg_key>number</arg_key>\n"
     "<arg_value>7</arg_value>\n</tool_call>\n<tool_call>g\n</tool_call>",
     "thought Hm.\ncall get_weather call00001\nargs {\"text\":\"a\\nb\",\"number\":7}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"glm in a line", STREAM_GLM, 0, 0,
     "<tool_call>f<arg_key>list</arg_key><arg_value>[\"x\"]</arg_value></tool_call><tool_call>g</tool_call>ok",
     "call f call00001\nargs {\"list\":[\"x\"]}\nend\ncall g call00002\nargs {}\nend\ntext ok\nstop"},
    {"glm tags in a value", STREAM_GLM, 0, 0,
     "<tool_call>f\n<arg_key>text</arg_key>\n<arg_value></arg_value> </tool_call\n</arg_value>\n</tool_call>",
     "call f call00001\nargs {\"text\":\"</arg_value> </tool_call\\n\"}\nend\nstop"},
    {"glm tokens", STREAM_GLM, 0, 0,
     CTRL("<tool_call>") "f\n<arg_key>text</arg_key>\n<arg_value>x</arg_value>\n" CTRL("</tool_call>"),
     "call f call00001\nargs {\"text\":\"x\"}\nend\nstop"},
    {"glm no name", STREAM_GLM, 0, 0, "<tool_call>\n<arg_key>a</arg_key></tool_call>",
     BAD "it has no name\ntext <tool_call>\v<arg_key>a</arg_key></tool_call>\nstop"},
    {"glm no value", STREAM_GLM, 0, 0, "<tool_call>f\n<arg_key>a</arg_key>\n</tool_call>",
     "call f call00001\nargs {\ndrop\n" BAD "its closing mark comes too early\n"
     "text <tool_call>f\v<arg_key>a</arg_key>\v</tool_call>\nstop"},
    {"glm talked about", STREAM_GLM, 0, 0, "the <tool_call> mark.\n<tool_call> mark is",
     "text the\ncall mark. call00001\nargs {\ndrop\n" BAD "something else begins within it\ntext  <tool_call> mark.\v\n"
     BAD "its name is no name\ntext <tool_call> mark is\nstop"},

    /* ---- MiniMax ---- */
    {"minimax", STREAM_MINIMAX, 0, 0,
     "<think>\nHm.\n</think>\n\n<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"text\">a\n</parameter>\n"
     "<parameter name=\"number\">1</parameter>\n</invoke>\n<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>",
     "thought Hm.\ncall f call00001\nargs {\"text\":\"a\\n\",\"number\":1}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"minimax cut", STREAM_MINIMAX, 0, 0, "<minimax:tool_call>\n<invoke name=\"f",
     BAD "the answer ends within it\ntext <minimax:tool_call>\v<invoke name=\"f\nstop"},

    /* ---- DeepSeek, Kimi ---- */
    {"deepseek r1", STREAM_DEEPSEEK, STREAM_THOUGHT, 0,
     "Hm.\n</think>\n\n" D_LIST D_CALL "function" D_SEP "get_weather\n```json\n{\"city\": \"Par```is\"}\n```" D_END "\n" D_CALL
     "function" D_SEP "g\n```json\n{}\n```" D_END D_LIST_END,
     "thought Hm.\ncall get_weather call00001\nargs {\"city\":\"Par```is\"}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"deepseek v3.1", STREAM_DEEPSEEK, 0, 0, "Ok." D_LIST D_CALL "f" D_SEP "{\"a\": 1}" D_END D_CALL "g" D_SEP "{}" D_END D_LIST_END,
     "text Ok.\ncall f call00001\nargs {\"a\":1}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"deepseek tokens", STREAM_DEEPSEEK, 0, 0,
     CTRL(D_LIST) CTRL(D_CALL) "f" CTRL(D_SEP) "{\"a\": \"" D_END "\"}" CTRL(D_END) CTRL(D_LIST_END) "x",
     "call f call00001\nargs {\"a\":\"" D_END "\"}\nend\ntext x\nstop"},
    {"deepseek without the list's marks", STREAM_DEEPSEEK, 0, 0, D_CALL "function" D_SEP "f\n```json\n{\"a\": 1}\n```" D_END " x",
     "call f call00001\nargs {\"a\":1}\nend\ntext x\nstop"},
    {"deepseek no fence", STREAM_DEEPSEEK, 0, 0, D_LIST D_CALL "function" D_SEP "f\n{\"a\": 1}" D_END D_LIST_END,
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"deepseek list not closed", STREAM_DEEPSEEK, 0, 0, D_LIST D_CALL "f" D_SEP "{}" D_END "\nSo",
     "call f call00001\nargs {}\nend\ntext So\nstop"},
    {"deepseek talked about", STREAM_DEEPSEEK, 0, 0, "the " D_LIST " mark",
     "text the\n" BAD "no call in the list\ntext  " D_LIST " mark\nstop"},
    {"deepseek no object", STREAM_DEEPSEEK, 0, 0, D_LIST D_CALL "f" D_SEP "[1]" D_END D_LIST_END "x",
     BAD "its arguments are no object\ntext " D_LIST D_CALL "f" D_SEP "[1]" D_END D_LIST_END "x\nstop"},
    {"deepseek bad fence", STREAM_DEEPSEEK, 0, 0, D_CALL "function" D_SEP "f\n```js\n{}\n```" D_END,
     BAD "its arguments are no object\ntext " D_CALL "function" D_SEP "f\v```js\v{}\v```" D_END "\nstop"},
    {"deepseek second broken", STREAM_DEEPSEEK, 0, 0, D_LIST D_CALL "f" D_SEP "{}" D_END D_CALL "g" D_SEP "{\"a\": b}" D_END D_LIST_END "x",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {\"a\":\ndrop\n" BAD "a word that is no value\n"
     "text " D_END D_CALL "g" D_SEP "{\"a\": b}" D_END D_LIST_END "x\nstop"},
    {"deepseek broken, then a call", STREAM_DEEPSEEK, 0, 0, D_LIST D_CALL "f" D_CALL "g" D_SEP "{}" D_END D_LIST_END,
     BAD "something else begins within it\ntext " D_LIST D_CALL "f\ncall g call00001\nargs {}\nend\n"
     "text " D_LIST_END "\nstop"},
    {"deepseek cut", STREAM_DEEPSEEK, 0, 0, D_LIST D_CALL "function" D_SEP "f\n```json\n{\"a",
     "call f call00001\nargs {\"a\ndrop\n" BAD "the answer ends within it\n"
     "text " D_LIST D_CALL "function" D_SEP "f\v```json\v{\"a\nstop"},
    {"kimi", STREAM_KIMI, 0, 0,
     "Ok." CTRL("<|tool_calls_section_begin|>") CTRL("<|tool_call_begin|>") "functions.get.it:0"
     CTRL("<|tool_call_argument_begin|>") "{\"a\": 1}" CTRL("<|tool_call_end|>") CTRL("<|tool_call_begin|>") "g"
     CTRL("<|tool_call_argument_begin|>") "{}" CTRL("<|tool_call_end|>") CTRL("<|tool_calls_section_end|>"),
     "text Ok.\ncall get.it functions.get.it:0\nargs {\"a\":1}\nend\ncall g g\nargs {}\nend\nstop"},

    /* ---- Others ---- */
    {"phi", STREAM_PHI, 0, 0, CTRL("<|tool_call|>") "[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]" CTRL("<|/tool_call|>"),
     "call f call00001\nargs {\"a\":1}\nend\nstop"},
    {"phi functools", STREAM_PHI, STREAM_TOOLS, 0,
     "functools[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"phi functools talked about", STREAM_PHI, STREAM_TOOLS, 0, "functools.reduce is", "text functools.reduce is\nstop"},
    {"command", STREAM_COMMAND, 0, 0,
     CTRL("<|START_THINKING|>") "Hm." CTRL("<|END_THINKING|>") CTRL("<|START_ACTION|>")
     "[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"a\": 1}}\n]" CTRL("<|END_ACTION|>"),
     "thought Hm.\ncall f 0\nargs {\"a\":1}\nend\nstop"},
    {"command response", STREAM_COMMAND, 0, 0, CTRL("<|START_RESPONSE|>") "Hi." CTRL("<|END_RESPONSE|>"), "text Hi.\nstop"},
    {"nemotron", STREAM_NEMOTRON, 0, 0, "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {}}]</TOOLCALL>",
     "call f call00001\nargs {}\nend\nstop"},

    {"apriel", STREAM_NEMOTRON, 0, 0, "Ok.\n<tool_calls>[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\"}]</tool_calls>",
     "text Ok.\ncall f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"minimax m1", STREAM_NEMOTRON, 0, 0,
     "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": {}}\n</tool_calls>",
     "call f call00001\nargs {}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"minicpm", STREAM_MINICPM, STREAM_TOOLS, 0,
     "<think>\nHm.\n</think>\n\n<function name=\"f\"><param name=\"text\"><![CDATA[a </param> <b>\n]]></param><param name=\"number\">-3"
     "</param></function>\n<function name=\"g\"></function>",
     "thought Hm.\ncall f call00001\nargs {\"text\":\"a </param> <b>\\n\",\"number\":-3}\nend\ncall g call00002\nargs {}\nend\nstop"},
    {"minicpm almost within", STREAM_MINICPM, STREAM_TOOLS, 0,
     "<function name=\"f\"><param name=\"text\"><![CDATA</param><param name=\"maybe\"></param><param name=\"object\">{'a': True}</param>"
     "<param name=\"other\"><![CDATA[]]></param></function>",
     "call f call00001\nargs {\"text\":\"<![CDATA\",\"maybe\":\"\",\"object\":{\"a\":true},\"other\":\"\"}\nend\nstop"},
    {"minicpm talked about", STREAM_MINICPM, STREAM_TOOLS, 0, "the <function name=\"nobody\"> tag", "text the <function name=\"nobody\"> tag\nstop"},
    {"minicpm no tools", STREAM_MINICPM, 0, 0, "<function name=\"f\"></function>", "text <function name=\"f\"></function>\nstop"},
    {"minicpm cut", STREAM_MINICPM, STREAM_TOOLS, 0, "<function name=\"f\"><param name=\"text\"><![CDATA[a]]></par",
     "call f call00001\nargs {\"text\":\"a\ndrop\n" BAD "the answer ends within it\n"
     "text <function name=\"f\"><param name=\"text\"><![CDATA[a]]></par\nstop"},

    /* ---- gpt-oss ---- */
    {"harmony", STREAM_HARMONY, 0, 0,
     H_CHAN "analysis" H_MSG "Hm.\n" H_END H_START "assistant" H_CHAN "final" H_MSG "Yes.\n" H_RETURN,
     "thought Hm.\ntext Yes.\v\nstop"},
    {"harmony call", STREAM_HARMONY, 0, 0,
     H_CHAN "analysis" H_MSG "Hm." H_END H_START "assistant" H_CHAN "commentary to=functions.get.it " CTRL("<|constrain|>")
     "json" H_MSG "{\"a\": \"<|call|>\"}" H_CALL,
     "thought Hm.\ncall get.it call00001\nargs {\"a\":\"<|call|>\"}\nend\nstop"},
    {"harmony call first", STREAM_HARMONY, 0, 0, " to=functions.f" H_CHAN "commentary json" H_MSG "{}" H_CALL,
     "call f call00001\nargs {}\nend\nstop"},
    {"harmony preamble", STREAM_HARMONY, 0, 0,
     H_CHAN "commentary" H_MSG "I look." H_END H_START "assistant to=browser.search" H_CHAN "commentary" H_MSG "{\"q\": 1}" H_CALL,
     "text I look.\ncall browser.search call00001\nargs {\"q\":1}\nend\nstop"},
    {"harmony code", STREAM_HARMONY, 0, 0, H_CHAN "analysis to=python code" H_MSG "print(1)" H_CALL,
     BAD "its arguments are no object\ntext <|channel|>analysis to=python code<|message|>print(1)<|call|>\nstop"},
    {"harmony other channel", STREAM_HARMONY, 0, 0, H_CHAN "musing" H_MSG "a" H_END,
     "note a message of no channel that is known was taken for text\ntext a\nstop"},
    {"harmony no head", STREAM_HARMONY, 0, 0, " to the end", "text  to the end\nstop"},
    {"harmony opened by the prompt", STREAM_HARMONY, STREAM_THOUGHT, 0,
     "Hm." H_END H_START "assistant" H_CHAN "final" H_MSG "Yes.", "thought Hm.\ntext Yes.\nstop"},
    {"harmony thought not closed", STREAM_HARMONY, 0, 0,
     H_CHAN "analysis" H_MSG "Hm." H_START "assistant" H_CHAN "final" H_MSG "Yes.", "thought Hm.\ntext Yes.\nstop"},
    {"harmony cut in a head", STREAM_HARMONY, 0, 0, H_CHAN "analysis" H_MSG "a" H_END H_START "assistant" H_CHAN "fin",
     "thought a\nnote the answer ends within a message's head\ntext <|start|>assistant<|channel|>fin\nstop"},
    {"harmony head without end", STREAM_HARMONY, 0, 0, H_CHAN "final\nYes", "note a message's head did not end\n"
     "text <|channel|>final\vYes\nstop"},
    {"harmony empty message", STREAM_HARMONY, 0, 0, H_CHAN "final" H_END "a",
     "note a message ended before it began\ntext <|channel|>finala\nstop"},
    {"harmony cut in a call", STREAM_HARMONY, 0, 0, " to=functions.f" H_CHAN "commentary" H_MSG "{\"a\": 1",
     "call f call00001\nargs {\"a\":\ndrop\n" BAD "the answer ends within it\n"
     "text  to=functions.f<|channel|>commentary<|message|>{\"a\": 1\nstop"},
    {"harmony spelled", STREAM_HARMONY, 0, ~0u, "<|channel|>final<|message|>a <|end|>", "text a \nstop"},
};
/* clang-format on */

#endif
