package generate

import (
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// Deletes returns the family of histories that delete objects: with options, finalizers, owners, a grace period, in collections, by
// evictions, and with their namespace.
func Deletes(kinds []*Kind) func(h *play.History, number int) {
	return func(h *play.History, _ int) {
		s := newSeveral(h, kinds)
		if s.kind.Resource == "pods" && s.chance(40) {
			s.budget()
		}
		for range 3 + s.IntN(3) {
			s.add()
		}
		for range 8 + s.IntN(8) {
			if s.Over() {
				break
			}
			s.deleteSome()
		}
		if s.chance(25) {
			path := s.collection + "/" + s.names[0]
			s.Do(play.Step{Method: "GET", Path: s.collection + "?watch=true&timeoutSeconds=1&resourceVersion=${firstResourceVersion}&labelSelector=h%3D" + s.ID, Object: path})
		}
		s.end()
	}
}

// deleteSome makes a step, and reads what is left.
func (s *several) deleteSome() {
	switch n := s.IntN(24); {
	case n < 4:
		s.change()
	case n < 6:
		s.add()
	case n < 7 && s.kind.Namespaced && s.chance(40):
		s.Do(play.Step{Method: "DELETE", Path: namespaces + "/" + s.namespace})
	case n < 17:
		path := s.one()
		s.Do(s.versioned(s.delete(path)))
		s.Do(play.Step{Method: "GET", Path: path})
	case n < 20 && s.kind.Resource == "pods":
		path := s.one()
		s.Do(s.evict(path))
		s.Do(play.Step{Method: "GET", Path: path})
	default:
		s.Do(s.versioned(s.deleteCollection()))
		s.Do(play.Step{Method: "GET", Path: s.collection + "?labelSelector=h%3D" + s.ID})
	}
}

// deleteQueries are parameters of a delete.
var deleteQueries = []string{"gracePeriodSeconds=0", "gracePeriodSeconds=1", "gracePeriodSeconds=30", "gracePeriodSeconds=-1", "gracePeriodSeconds=x", "gracePeriodSeconds=", "propagationPolicy=Background", "propagationPolicy=Orphan", "propagationPolicy=Foreground",
	"propagationPolicy=Nope", "propagationPolicy=", "orphanDependents=true", "orphanDependents=false", "orphanDependents=", "orphanDependents=x", "dryRun=All", "dryRun=Nope", "dryRun=", "preconditions.uid=x", "uid=x", "uid=${uid}",
	"resourceVersion=1", "resourceVersion=${resourceVersion}", "preconditions=x", "ignoreStoreReadErrorWithClusterBreakingPotential=true", "ignoreStoreReadErrorWithClusterBreakingPotential=x", "unknown=1", "pretty=true", "timeout=10s"}

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
		step.Body = pick(s.Source, `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`, `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":1}`,
			`{"kind":"DeleteOptions","apiVersion":"apps/v1"}`, `{"kind":"DeleteOptions","apiVersion":"nope/v1"}`, `{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"Status","apiVersion":"v1"}`, `[]`, `null`, `{`, ` `, `"x"`, `{"dryRun":"All"}`)
	}
	if s.chance(4) {
		step.Type = pick(s.Source, "application/yaml", "text/plain", "application/cbor")
	}
	if s.chance(6) {
		step.Accept = s.accept()
	}
	return step
}

// deleteCollection deletes what a list with random parameters finds. References in its options are to one of the objects.
func (s *several) deleteCollection() play.Step {
	step := s.delete(s.collection)
	step.Object = s.one()
	list := s.list()
	if _, query, ok := strings.Cut(list.Path, "?"); ok && !strings.Contains(query, "watch=") {
		if strings.Contains(step.Path, "?") {
			step.Path += "&" + query
		} else {
			step.Path += "?" + query
		}
	}
	return s.within(step)
}

func (s *several) evict(path string) play.Step {
	eviction := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": path[strings.LastIndex(path, "/")+1:]}}
	if s.chance(10) {
		eviction = pick(s.Source, map[string]any{"apiVersion": "policy/v1beta1", "kind": "Eviction"}, map[string]any{}, map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "other"}},
			map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"namespace": "other"}}, map[string]any{"apiVersion": "v1", "kind": "Pod"})
	}
	if s.chance(40) {
		eviction["deleteOptions"] = (&life{Source: s.Source}).deleteOptions()
	}
	return play.Step{Method: "POST", Path: path + "/eviction" + pick(s.Source, "", "", "?dryRun=All", "?fieldValidation=Strict", "?dryRun=Nope"), Body: s.Source.text(eviction), Object: path}
}

// budget makes a PodDisruptionBudget of some of the Pods, with a status as its controller writes it.
func (s *several) budget() {
	path := "/apis/policy/v1/namespaces/" + s.namespace + "/poddisruptionbudgets"
	policy := pick(s.Source, "", `,"unhealthyPodEvictionPolicy":"AlwaysAllow"`, `,"unhealthyPodEvictionPolicy":"IfHealthyBudget"`)
	s.Do(play.Step{Method: "POST", Path: path, Body: `{"metadata":{"name":"budget"},"spec":{"minAvailable":1,"selector":` + pick(s.Source, `{"matchLabels":{"a":"x"}}`, `{}`, `{"matchLabels":{"h":"`+s.ID+`"}}`) + policy + `}}`})
	if s.chance(75) {
		status := pick(s.Source, `"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2,"observedGeneration":1`, `"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":2,"observedGeneration":1`,
			`"disruptionsAllowed":5,"currentHealthy":6,"desiredHealthy":1,"expectedPods":6,"observedGeneration":1`, `"disruptionsAllowed":-1,"currentHealthy":0,"desiredHealthy":1,"expectedPods":2`)
		s.Do(play.Step{Method: "PATCH", Path: path + "/budget/status", Type: play.MergePatch, Body: `{"status":{` + status + `}}`, Object: path + "/budget"})
	}
	if s.chance(10) { // a second one, which an eviction does not allow
		s.Do(play.Step{Method: "POST", Path: path, Body: `{"metadata":{"name":"second"},"spec":{"maxUnavailable":1,"selector":{}}}`})
	}
}
