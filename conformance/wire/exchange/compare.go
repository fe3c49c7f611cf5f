package exchange

import (
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
	// Difference is a unified diff from the first answer to the second; empty: they are alike.
	Difference string
}

// First returns the first line that differs.
func (c Comparison) First() string {
	for line := range strings.Lines(c.Difference) {
		if (line[0] == '-' || line[0] == '+') && strings.TrimSpace(line[1:]) != "" {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// atOnce is how many groups of requests a server gets at the same time.
const atOnce = 8

// Compare makes the requests of both servers. Those of a group come one after the other. Groups with what
// others need come first, one after the other. matches says which requests are made, by what String returns.
func Compare(ctx context.Context, first, second *rest.Config, requests []Request, matches func(string) bool) ([]Comparison, error) {
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
	var answers [2][]string
	var failed [2]error
	var both sync.WaitGroup
	for i, cfg := range []*rest.Config{first, second} {
		both.Go(func() { answers[i], failed[i] = askAll(ctx, cfg, chosen) })
	}
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	var all []Comparison
	for i, r := range chosen {
		difference := ""
		if a, b := answers[0][i], answers[1][i]; a != b {
			var err error
			if difference, err = difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(a), B: difflib.SplitLines(b), Context: 1}); err != nil {
				return nil, err
			}
		}
		all = append(all, Comparison{r, answers[0][i], difference})
	}
	return all, nil
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
		if groups[r.Group] == nil {
			names = append(names, r.Group)
		}
		groups[r.Group] = append(groups[r.Group], i)
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
