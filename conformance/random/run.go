package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/conformance/random/generate"
	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// command is what the flags say.
type command struct {
	requests, first, only, jobs, record int
	seed                                uint64
	family, emulated                    string
	update, verbose, whole              bool
}

// family is a kind of histories.
type family struct {
	name string
	// share is how many of all histories are of the family.
	share int
	play  func(h *play.History, number int)
	// alone reports whether no other history may be played beside this one; nil: none.
	alone func(number int) bool
}

// families returns all families for a server with these kinds.
func families(kinds []*generate.Kind) []family {
	writable := slices.DeleteFunc(slices.Clone(kinds), func(k *generate.Kind) bool { return !k.Writable() })
	return []family{
		{name: "builtin", share: 8,
			play:  func(h *play.History, number int) { generate.BuiltIn(h, writable[number%len(writable)], number) },
			alone: func(number int) bool { return writable[number%len(writable)].Alone() }},
		{name: "custom", share: 1, play: generate.Custom},
		{name: "reads", share: 2, play: generate.Reads(kinds)},
		{name: "deletes", share: 2, play: generate.Deletes(kinds)},
		{name: "admission", share: 1, play: generate.Admission(kinds)},
	}
}

// result is what a history has shown.
type result struct {
	history *play.History
	task
	difference *play.Difference
}

// run plays histories until so many answers are compared.
func (c *command) run(ctx context.Context, w io.Writer) (err error) {
	servers, err := startPair(ctx, c.emulated)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.stop()) }()
	kinds, err := generate.Kinds(ctx, servers.config)
	if err != nil {
		return err
	}
	r := &runner{command: c, pair: servers, families: families(kinds)}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	results, err := r.playAll(ctx)
	if err != nil {
		return err
	}
	return r.report(ctx, w, results)
}

// runner plays histories on a pair of servers.
type runner struct {
	*command
	*pair
	families []family
}

// prepare makes what all histories use.
func (r *runner) prepare(ctx context.Context) error {
	h := play.NewHistory(ctx, "setup", "setup", rand.New(rand.NewPCG(0, 0)), r.real, r.ours)
	for _, step := range generate.Setup() {
		h.Do(step)
	}
	_, err := h.Result()
	return err
}

// task is a history that is to be played.
type task struct {
	family *family
	number int
}

// id is part of the names of all objects of the history, such as hb17h of builtin 17.
func (t task) id() string { return fmt.Sprintf("h%c%dh", t.family.name[0], t.number) }

// playAll plays histories, several at a time.
func (r *runner) playAll(ctx context.Context) ([]result, error) {
	tasks := make(chan task)
	var (
		mu       sync.Mutex
		results  []result
		compared int
		failed   error
		workers  sync.WaitGroup
	)
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return compared >= max(r.requests, r.record) || failed != nil || ctx.Err() != nil
	}
	begin := time.Now()
	play := func(t task) {
		one, err := r.playOne(ctx, t)
		mu.Lock()
		defer mu.Unlock()
		before := compared
		compared += one.history.Compared()
		if before/20_000 != compared/20_000 {
			fmt.Printf("%d answers compared in %v\n", compared, time.Since(begin).Round(time.Second))
		}
		if one.difference != nil || r.verbose || r.record > 0 {
			results = append(results, one)
		}
		failed = errors.Join(failed, err)
	}
	for range r.jobs {
		workers.Go(func() {
			for t := range tasks {
				play(t)
			}
		})
	}
	alone := r.feed(tasks, enough)
	workers.Wait()
	for _, t := range alone {
		play(t)
	}
	fmt.Printf("%d answers compared in %v\n", compared, time.Since(begin).Round(time.Second))
	slices.SortFunc(results, func(a, b result) int { return a.number*len(r.families) - b.number*len(r.families) })
	return results, errors.Join(failed, ctx.Err())
}

// feed sends the histories in their order. It returns those that no other history may be played beside.
func (r *runner) feed(tasks chan<- task, enough func() bool) (alone []task) {
	defer close(tasks)
	if r.only >= 0 {
		for i := range r.families {
			if r.family == "" || r.families[i].name == r.family {
				tasks <- task{&r.families[i], r.only}
			}
		}
		return nil
	}
	for number := r.first; !enough(); {
		for i := range r.families {
			f := &r.families[i]
			if r.family != "" && f.name != r.family {
				continue
			}
			for n := range f.share {
				t := task{f, number*f.share + n}
				if f.alone != nil && f.alone(t.number) {
					alone = append(alone, t)
				} else {
					tasks <- t
				}
			}
		}
		number++
	}
	return alone
}

// playOne plays a history.
func (r *runner) playOne(ctx context.Context, t task) (result, error) {
	h := r.history(ctx, t, t.id())
	t.family.play(h, t.number)
	difference, err := h.Result()
	return result{h, t, difference}, err
}

func (r *runner) history(ctx context.Context, t task, id string) *play.History {
	random := rand.New(rand.NewPCG(r.seed, uint64(t.number)))
	return play.NewHistory(ctx, fmt.Sprintf("%s %d", t.family.name, t.number), id, random, r.real, r.ours)
}
