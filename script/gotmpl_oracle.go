// Renders cases from stdin with Ollama's own template package; see make_gotmpl_fixtures.py.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/template"
	"github.com/ollama/ollama/thinking"
)

type talk struct {
	Messages []api.Message   `json:"messages"`
	Tools    api.Tools       `json:"tools"`
	Think    *api.ThinkValue `json:"think"`
}

type input struct {
	Talks     []json.RawMessage `json:"talks"`
	Templates []string          `json:"templates"`
	Snippets  []struct {
		Template string `json:"template"`
		Talk     *int   `json:"talk"`
	} `json:"snippets"`
	Data map[string]any `json:"data"`
}

type result struct {
	Text  *string `json:"text,omitempty"`
	Error string  `json:"error,omitempty"`
	Load  string  `json:"load,omitempty"`
}

// As Ollama's server does: images are numbered in the text, thinking is on where there is a place
// for thoughts, and what stands in answers between <think> and </think> is a thought.
func render(t *template.Template, raw json.RawMessage) (r result) {
	defer func() {
		if e := recover(); e != nil {
			r = result{Error: fmt.Sprint(e)}
		}
	}()
	var c talk
	if err := json.Unmarshal(raw, &c); err != nil {
		panic(err)
	}
	vars, err := t.Vars()
	if err != nil {
		return result{Error: err.Error()}
	}
	for i, m := range c.Messages {
		if m.Role == "assistant" && m.Thinking == "" && slices.Contains(vars, "thinking") {
			p := thinking.Parser{OpeningTag: "<think>", ClosingTag: "</think>"}
			c.Messages[i].Thinking, c.Messages[i].Content = p.AddContent(m.Content)
		}
	}
	images := 0
	for i, m := range c.Messages {
		prefix := ""
		for range m.Images {
			tag := fmt.Sprintf("[img-%d]", images)
			images++
			if bytes.Contains([]byte(m.Content), []byte("[img]")) {
				m.Content = string(bytes.Replace([]byte(m.Content), []byte("[img]"), []byte(tag), 1))
			} else {
				prefix += tag
			}
		}
		c.Messages[i].Content = prefix + m.Content
	}
	if c.Think == nil && slices.Contains(vars, "thinking") {
		c.Think = &api.ThinkValue{Value: true}
	}
	v := template.Values{Messages: c.Messages, Tools: c.Tools, Think: c.Think.Bool(),
		ThinkLevel: c.Think.String(), IsThinkSet: c.Think != nil}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return result{Error: err.Error()}
	}
	s := b.String()
	return result{Text: &s}
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	out := struct {
		Go        string     `json:"go"`
		Templates [][]result `json:"templates"`
		Snippets  []result   `json:"snippets"`
	}{Go: runtime.Version()}
	for _, text := range in.Templates {
		t, err := template.Parse(text)
		if err != nil {
			panic(err)
		}
		var all []result
		for _, c := range in.Talks {
			all = append(all, render(t, c))
		}
		out.Templates = append(out.Templates, all)
	}
	for _, s := range in.Snippets {
		t, err := template.Parse(s.Template)
		if err != nil {
			out.Snippets = append(out.Snippets, result{Load: err.Error()})
			continue
		}
		if s.Talk != nil {
			out.Snippets = append(out.Snippets, render(t, in.Talks[*s.Talk]))
			continue
		}
		data := map[string]any{"System": "", "Prompt": "hi", "Response": "", "Think": false,
			"ThinkLevel": "", "IsThinkSet": false}
		for k, v := range in.Data {
			data[k] = v
		}
		var b bytes.Buffer
		if err := t.Template.Execute(&b, data); err != nil {
			out.Snippets = append(out.Snippets, result{Error: err.Error()})
			continue
		}
		text := b.String()
		out.Snippets = append(out.Snippets, result{Text: &text})
	}
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		panic(err)
	}
}
