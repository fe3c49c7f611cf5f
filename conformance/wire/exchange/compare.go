package exchange

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/client-go/rest"
)

// Comparison is a request and how the answers to it differ.
type Comparison struct {
	Request Request
	// Answer is what the first server said.
	Answer string
	// Differences are unified diffs from the first answer to those of the other servers; empty: they are alike.
	Differences []string
}

// First returns the first line of a difference that differs.
func First(difference string) string {
	if lines := Differing(difference); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// Differing returns the lines of a difference that differ.
func Differing(difference string) []string {
	var lines []string
	for line := range strings.Lines(difference) {
		if (line[0] == '-' || line[0] == '+') && strings.TrimSpace(line[1:]) != "" {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// atOnce is how many groups of requests a server gets at the same time.
const atOnce = 8

// Compare makes the requests of all servers. Those of a group, and of a sequence of groups, come one after the other. Groups with what
// others need come first, one after the other. matches says which requests are made, by what String returns.
func Compare(ctx context.Context, servers []*rest.Config, requests []Request, matches func(string) bool) ([]Comparison, error) {
	whole := map[string]bool{}
	for _, r := range requests {
		if r.Whole && matches(r.String()) {
			whole[r.Group] = true
		}
	}
	var chosen []Request
	for _, r := range requests {
		if r.Needed || whole[r.Group] || matches(r.String()) {
			chosen = append(chosen, r)
		}
	}
	answers, failed := make([][]string, len(servers)), make([]error, len(servers))
	var sides sync.WaitGroup
	for i, cfg := range servers {
		sides.Go(func() { answers[i], failed[i] = askAll(ctx, cfg, chosen) })
	}
	sides.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	var compared []Comparison
	for i, r := range chosen {
		c := Comparison{Request: r, Answer: answers[0][i]}
		for _, other := range answers[1:] {
			difference, err := difference(c.Answer, other[i])
			if err != nil {
				return nil, err
			}
			c.Differences = append(c.Differences, difference)
		}
		compared = append(compared, c)
	}
	return compared, nil
}

// difference returns a unified diff; empty: the answers are alike.
func difference(a, b string) (string, error) {
	if a == b {
		return "", nil
	}
	diff := difflib.UnifiedDiff{A: difflib.SplitLines(a), B: difflib.SplitLines(b), Context: 1}
	if len(diff.A) > longest {
		diff.A, diff.B = differing(diff.A, diff.B), differing(diff.B, diff.A)
	}
	return difflib.GetUnifiedDiffString(diff)
}

// longest is how many lines a text may have that is compared as a whole: the time for a diff grows with their square. OpenAPI documents have more.
const longest = 20_000

// differing returns some lines of a where it begins to differ from b.
func differing(a, b []string) []string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[i:min(len(a), i+10)]
}

// Ask makes the requests of one server, in the order of Compare, and does not look at the answers.
func Ask(ctx context.Context, cfg *rest.Config, requests []Request) error {
	_, err := askAll(ctx, cfg, requests)
	return err
}

// askAll makes all requests of one server, and returns the texts of the answers.
func askAll(ctx context.Context, cfg *rest.Config, requests []Request) ([]string, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	answers := make([]string, len(requests))
	groups := map[string][]int{}
	var names []string
	for i, r := range requests {
		name := cmp.Or(r.Sequence, r.Group)
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], i)
	}
	askGroup := func(name string) {
		for _, i := range groups[name] {
			answer, err := s.ask(ctx, requests[i])
			answers[i] = answer.text(requests[i].Unordered)
			if err != nil {
				answers[i] = err.Error()
			}
		}
	}
	free := make(chan struct{}, atOnce)
	var each sync.WaitGroup
	for _, name := range names {
		if requests[groups[name][0]].Needed {
			askGroup(name)
			continue
		}
		free <- struct{}{}
		each.Go(func() {
			askGroup(name)
			<-free
		})
	}
	each.Wait()
	return answers, ctx.Err()
}
