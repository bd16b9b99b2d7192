package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/agenttool/tool/permission"
)

// answers is what the user of the script says to each question.
var answers = map[string]permission.Answer{
	"task explore":               {Reply: permission.Once},
	"webfetch $SITE/median.html": {Reply: permission.Once},
	"bash go test ./...":         {Reply: permission.Always},
	"edit stats.go":              {Reply: permission.Once},
	"bash rm -r golden":          {Reply: permission.Reject, Message: "golden/ is still needed, leave it"},
}

// prompter returns what shows a question and gets the answer: from the script,
// or from in.
func prompter(log *transcript, in io.Reader) func(context.Context, permission.Prompt) (permission.Answer, error) {
	var lines chan string
	if in != nil {
		lines = make(chan string)
		go func() { // ends with the program, as reading a terminal cannot be interrupted
			defer close(lines)
			for s := bufio.NewScanner(in); s.Scan(); {
				lines <- strings.TrimSpace(s.Text())
			}
		}()
	}
	return func(ctx context.Context, p permission.Prompt) (permission.Answer, error) {
		id := p.Request.CallID
		log.prompt(id, p)
		if in == nil {
			key := log.mask(p.Request.Permission + " " + strings.Join(p.Request.Patterns, ", "))
			a, ok := answers[key]
			if !ok {
				a = permission.Answer{Reply: permission.Reject, Message: "not in the script: " + key}
			}
			log.answer(id, a)
			return a, nil
		}
		for {
			log.note(id, "[o]nce, [a]lways, [r]eject, or r and a reason:")
			select {
			case <-ctx.Done():
				return permission.Answer{}, ctx.Err()
			case line, ok := <-lines:
				if !ok {
					return permission.Answer{}, fmt.Errorf("the input ended")
				}
				word, reason, _ := strings.Cut(line, " ")
				switch word {
				case "o", "once":
					return permission.Answer{Reply: permission.Once}, nil
				case "a", "always":
					return permission.Answer{Reply: permission.Always}, nil
				case "r", "reject":
					return permission.Answer{Reply: permission.Reject, Message: reason}, nil
				}
			}
		}
	}
}
