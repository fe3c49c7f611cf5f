package remote

import (
	"context"
	"errors"
	"sync"
)

// clusterIndex finds the cluster of a container: in a bubble by its name, and outside by its URL, because
// names are unique in one host only.
type clusterIndex struct {
	mu      sync.Mutex
	known   map[string]*Cluster
	changed chan struct{} // closed, and replaced, when a cluster is added
}

func newClusterIndex() *clusterIndex {
	return &clusterIndex{known: map[string]*Cluster{}, changed: make(chan struct{})}
}

// outerClusters has the clusters outside of bubbles.
var outerClusters = newClusterIndex()

// indexed returns the index of the cluster, and its key.
func (c *Cluster) indexed() *clusterIndex {
	if c.bubble != nil {
		return c.bubble.index
	}
	return outerClusters
}

func (c *Cluster) indexKey() string {
	if c.bubble != nil {
		return c.description.Cluster
	}
	return c.description.URL
}

func (i *clusterIndex) add(c *Cluster) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known[c.indexKey()] = c
	close(i.changed)
	i.changed = make(chan struct{})
}

func (i *clusterIndex) remove(c *Cluster) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.known, c.indexKey())
}

// clusterOf returns the cluster of a container. It waits for a cluster that is just starting, until its start
// has been answered.
func clusterOf(ctx context.Context, started startedContainer) (*Cluster, error) {
	index, key := outerClusters, started.URL
	if b, inside := ctx.Value(bubbleKey{}).(*bubble); inside {
		index, key = b.index, started.Cluster
	}
	for {
		index.mu.Lock()
		c, changed := index.known[key], index.changed
		index.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.New("the cluster has ended before its container")
		}
	}
}
