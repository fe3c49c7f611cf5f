package pod

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// look is a request for the files of a container without code. Most are never looked into, so their volumes get their
// contents, and the token of the Pod is requested, only with the first look.
type look struct {
	container string
	answer    chan<- seenFiles // has room for the answer
}

type seenFiles struct {
	root *files.Root
	err  error
}

// looks are the looks into the pods of a node. Its methods are safe for concurrent use.
type looks struct {
	mu    sync.Mutex
	asked map[types.UID][]look
}

func (l *looks) add(uid types.UID, wish look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[types.UID][]look{}
	}
	l.asked[uid] = append(l.asked[uid], wish)
}

// take removes and returns the looks into a pod.
func (l *looks) take(uid types.UID) []look {
	l.mu.Lock()
	defer l.mu.Unlock()
	wishes := l.asked[uid]
	delete(l.asked, uid)
	return wishes
}

// lookInto returns the files of a container of a pod. Goroutines of programs call it.
func (n *Node) lookInto(ctx context.Context, uid types.UID, container string) (*files.Root, error) {
	answer := make(chan seenFiles, 1)
	n.looks.add(uid, look{container, answer})
	n.config.Enqueue(uid)
	select {
	case seen := <-answer:
		return seen.root, seen.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer answers the looks into the containers of the pod.
func (p *Pod) answer(ctx context.Context, now time.Time) {
	for _, l := range p.node.looks.take(p.uid) {
		root, err := p.rootSeen(ctx, l.container, now)
		l.answer <- seenFiles{root, err}
	}
}

// rootSeen returns the files of a container that runs.
func (p *Pod) rootSeen(ctx context.Context, name string, now time.Time) (*files.Root, error) {
	if made := p.starts.configurations[name]; made.root != nil {
		return made.root, nil
	}
	c, spec := p.latest(name), p.specOf(name)
	if c == nil || spec == nil {
		return nil, cri.ErrExecExited
	}
	if !p.hasCode() {
		p.seenInto = true
		p.volumes.Fill(ctx, now)
	}
	made, ok := p.starts.configurations[name]
	if !ok { // a former agent has started it; the sources of its configuration may be deleted
		made.env, _ = p.environmentOf(ctx, spec)
	}
	root, err := p.root(spec, made.env, c.cgroup)
	if err != nil {
		return nil, err
	}
	made.root = root
	p.starts.configurations[name] = made
	return root, nil
}
