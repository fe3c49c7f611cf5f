package cri

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// command is the effect of a container's command line that the agent can determine without running it.
type command struct {
	forever bool // it does not exit by itself
	runTime time.Duration
	code    int32
}

// parseCommand parses true, false, "exit n", "sleep n", and shell scripts that consist of them and of echo. It returns
// false for any other command.
func parseCommand(container *corev1.Container) (command, bool) {
	words := append(append([]string(nil), container.Command...), container.Args...)
	if len(words) == 0 {
		return command{}, false
	}
	switch path.Base(words[0]) {
	case "sh", "bash", "ash", "dash":
		if len(words) < 3 || !strings.HasPrefix(words[1], "-") || !strings.HasSuffix(words[1], "c") {
			return command{}, false
		}
		return parseScript(words[2])
	case "tail":
		return command{forever: true}, strings.Join(words[1:], " ") == "-f /dev/null"
	}
	c, _, ok := parseSimple(words)
	return c, ok
}

// parseScript parses commands that are separated by newlines, ";", "&&" and "||".
func parseScript(script string) (command, bool) {
	var expanded command
	for _, loop := range []string{"while true", "while :", "while sleep"} {
		if strings.HasPrefix(strings.TrimSpace(script), loop) {
			return command{forever: true}, true
		}
	}
	rest, run := script, true
	for rest != "" {
		end, separator := len(rest), ""
		for _, s := range []string{"\n", ";", "&&", "||"} {
			if i := strings.Index(rest, s); i >= 0 && i < end {
				end, separator = i, s
			}
		}
		words := strings.Fields(rest[:end])
		rest = rest[end+len(separator):]
		if len(words) > 0 {
			c, exits, ok := parseSimple(words)
			if !ok {
				return command{}, false
			}
			if run {
				expanded.runTime += c.runTime
				expanded.code, expanded.forever = c.code, c.forever || expanded.runTime > longest
				if exits || expanded.forever {
					return expanded, true
				}
			}
		}
		switch separator {
		case "&&":
			run = expanded.code == 0
		case "||":
			run = expanded.code != 0
		default:
			run = true
		}
	}
	return expanded, true
}

// longest is the duration from which a sleep counts as infinite. A time.Duration holds three times as much.
const longest = 100 * 365 * 24 * time.Hour

// parseSimple parses one command. exits: it ends the script.
func parseSimple(words []string) (c command, exits, ok bool) {
	switch path.Base(words[0]) {
	case "true", ":":
		return command{}, false, true
	case "false":
		return command{code: 1}, false, true
	case "echo":
		return command{}, false, !strings.ContainsAny(strings.Join(words, " "), "|<>&`$(")
	case "exit":
		if len(words) == 1 {
			return command{}, true, true
		}
		code, err := strconv.ParseUint(words[1], 10, 8)
		return command{code: int32(code)}, true, err == nil && len(words) == 2
	case "sleep":
		if len(words) != 2 {
			return command{}, false, false
		}
		if words[1] == "infinity" || words[1] == "inf" {
			return command{forever: true}, false, true
		}
		number, unit := strings.TrimRight(words[1], "smhd"), time.Second
		switch strings.TrimPrefix(words[1], number) {
		case "", "s":
		case "m":
			unit = time.Minute
		case "h":
			unit = time.Hour
		case "d":
			unit = 24 * time.Hour
		default:
			return command{}, false, false
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return command{}, false, false
		}
		if n *= float64(unit); n > float64(longest) {
			return command{forever: true}, false, true
		}
		return command{runTime: time.Duration(n)}, false, n >= 0
	}
	return command{}, false, false
}
