package generate

import (
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// Deletes returns the family of histories that delete objects: with options, finalizers, a grace period, in collections, and by evictions.
func Deletes(kinds []*Kind) func(h *play.History, number int) {
	return func(h *play.History, _ int) {
		s := newSeveral(h, kinds)
		for range 3 + s.IntN(3) {
			s.add()
		}
		for range 8 + s.IntN(8) {
			if s.Over() {
				break
			}
			switch n := s.IntN(12); {
			case n < 2:
				s.change()
			case n < 3:
				s.add()
			case n < 8:
				path := s.one()
				s.Do(s.delete(path))
				s.Do(play.Step{Method: "GET", Path: path})
			case n < 9 && s.kind.Resource == "pods":
				path := s.one()
				s.Do(s.evict(path))
				s.Do(play.Step{Method: "GET", Path: path})
			default:
				s.Do(s.deleteCollection())
				s.Do(play.Step{Method: "GET", Path: s.collection})
			}
		}
		if s.chance(25) {
			s.Do(play.Step{Method: "GET", Path: s.collection + "?watch=true&timeoutSeconds=1&resourceVersion=${firstResourceVersion}", Object: s.collection + "/" + s.names[0]})
		}
		s.end()
	}
}

// deleteQueries are parameters of a delete.
var deleteQueries = []string{"gracePeriodSeconds=0", "gracePeriodSeconds=1", "gracePeriodSeconds=30", "gracePeriodSeconds=-1", "gracePeriodSeconds=x", "propagationPolicy=Background", "propagationPolicy=Orphan", "propagationPolicy=Foreground",
	"propagationPolicy=Nope", "orphanDependents=true", "orphanDependents=false", "dryRun=All", "dryRun=Nope", "preconditions.uid=x", "ignoreStoreReadErrorWithClusterBreakingPotential=true", "unknown=1"}

func (s *several) delete(path string) play.Step {
	step := play.Step{Method: "DELETE", Path: path}
	var words []string
	for range s.IntN(3) {
		words = append(words, pick(s.Source, deleteQueries...))
	}
	if len(words) > 0 {
		step.Path += "?" + strings.Join(words, "&")
	}
	if s.chance(50) {
		step.Body = s.Source.text((&life{Source: s.Source}).deleteOptions())
	}
	if s.chance(4) {
		step.Type = pick(s.Source, "application/yaml", "text/plain", "application/cbor")
	}
	return step
}

func (s *several) deleteCollection() play.Step {
	step := s.delete(s.collection)
	list := s.list()
	if _, query, ok := strings.Cut(list.Path, "?"); ok && !strings.Contains(query, "watch=") {
		if strings.Contains(step.Path, "?") {
			step.Path += "&" + query
		} else {
			step.Path += "?" + query
		}
	}
	return step
}

func (s *several) evict(path string) play.Step {
	eviction := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": path[strings.LastIndex(path, "/")+1:]}}
	if s.chance(40) {
		eviction["deleteOptions"] = (&life{Source: s.Source}).deleteOptions()
	}
	return play.Step{Method: "POST", Path: path + "/eviction" + pick(s.Source, "", "", "?dryRun=All"), Body: s.Source.text(eviction), Object: path}
}
