package main

import (
	"cmp"
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
	setup, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	results, played, err := r.playAll(ctx)
	if err != nil {
		return err
	}
	if r.record > 0 {
		return r.write(setup, results)
	}
	return r.report(ctx, w, results, played)
}

// runner plays histories on a pair of servers.
type runner struct {
	*command
	*pair
	families []family
}

// prepare makes what all histories use.
func (r *runner) prepare(ctx context.Context) (play.Recording, error) {
	h := play.NewHistory(ctx, "setup", "setup", rand.New(rand.NewPCG(0, 0)), r.real, r.ours)
	for _, step := range generate.Setup() {
		h.Do(step)
	}
	_, err := h.Result()
	return h.Recording(), err
}

// write writes what the real server has answered, except in histories with a difference.
func (r *runner) write(setup play.Recording, results []result) error {
	recordings := []play.Recording{setup}
	exchanges := 0
	for _, one := range results {
		if one.difference == nil {
			recordings = append(recordings, one.history.Recording())
			exchanges += one.history.Compared()
		}
	}
	fmt.Printf("%d answers recorded, of %d histories\n", exchanges, len(recordings)-1)
	return play.WriteRecordings(recorded, recordings)
}

// recorded is the file with what a real kube-apiserver has answered.
const recorded = "random/testdata/recorded.jsonl.gz"

// task is a history that is to be played.
type task struct {
	family *family
	number int
}

// id is part of the names of all objects of the history, such as hb17h of builtin 17.
func (t task) id() string { return fmt.Sprintf("h%c%dh", t.family.name[0], t.number) }

// progress is what has been played so far. It is safe for concurrent use.
type progress struct {
	begin time.Time
	keep  bool // all results, and not only those with a difference

	mu       sync.Mutex
	results  []result
	compared int
	err      error
}

// reported is after how many answers the command says how far it is.
const reported = 20_000

// add adds a history.
func (p *progress) add(one result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.compared
	p.compared += one.history.Compared()
	if before/reported != p.compared/reported {
		fmt.Println(p)
	}
	if one.difference != nil || p.keep {
		p.results = append(p.results, one)
	}
	p.err = errors.Join(p.err, err)
}

func (p *progress) String() string {
	return fmt.Sprintf("%d answers compared in %v", p.compared, time.Since(p.begin).Round(time.Second))
}

// has reports whether so many answers were compared, or something has failed.
func (p *progress) has(requests int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.compared >= requests || p.err != nil
}

// playAll plays histories, several at a time, and then one after the other those that no other may be played beside. It returns
// their results in the order of their families and numbers, and what was played.
func (r *runner) playAll(ctx context.Context) (results []result, played string, err error) {
	done := &progress{begin: time.Now(), keep: r.verbose || r.record > 0}
	tasks := make(chan task)
	var workers sync.WaitGroup
	for range r.jobs {
		workers.Go(func() {
			for t := range tasks {
				done.add(r.playOne(ctx, t))
			}
		})
	}
	alone := r.feed(tasks, func() bool { return ctx.Err() != nil || done.has(r.requests) })
	workers.Wait()
	for _, t := range alone {
		done.add(r.playOne(ctx, t))
	}
	fmt.Println(done)
	slices.SortFunc(done.results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.family.name, b.family.name), cmp.Compare(a.number, b.number))
	})
	played = fmt.Sprintf("seed %d, histories from number %d on, families %s: %d answers", r.seed, r.first, cmp.Or(r.family, "all"), done.compared)
	return done.results, played, errors.Join(done.err, ctx.Err())
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
