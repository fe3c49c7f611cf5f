package generate

import (
	"net/url"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// Reads returns the family of histories that write a few objects and read them in all ways: lists with parameters, pages, watches and Tables.
func Reads(kinds []*Kind) func(h *play.History, number int) {
	return func(h *play.History, _ int) {
		s := newSeveral(h, kinds)
		for range 3 + s.IntN(4) {
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
				s.Do(play.Step{Method: "DELETE", Path: s.one()})
			case n < 4:
				s.add()
			case n < 6:
				s.Do(play.Step{Method: "GET", Path: s.one() + s.readQuery(), Accept: s.accept()})
			default:
				s.Do(s.list())
			}
		}
		if s.chance(25) {
			s.Do(s.watch())
		}
		s.end()
	}
}

func (s *several) accept() string {
	return pick(s.Source, "", "", "", "", acceptTable, acceptTable, acceptPartial, acceptPartialList, "application/yaml", "application/cbor", "text/plain",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "*/*", "application/json;pretty=1")
}

func (s *several) readQuery() string {
	if s.chance(60) {
		return ""
	}
	return "?" + pick(s.Source, "resourceVersion=0", "resourceVersion=${listed}", "resourceVersion=abc", "resourceVersion=-1", "resourceVersion=01", "pretty=true", "pretty=1", "includeObject=Object", "includeObject=None", "includeObject=Nope", "export=true", "resourceVersion=", "unknown=1", "fieldManager=m")
}

// selectors are right and wrong.
var labelSelectors = []string{"a=x", "a==x", "a!=x", "a", "!a", "a in (x,y)", "a notin (x)", "a=", "a in ()", "a=x,b", "a=x,,b", ",", "a b", "=x", "a=é", "a>1", "n>2", "n<2", "-a=x", "a=x=y", "metadata.name=a", " a = x ", "a in (x", "A/b/c=d"}

var fieldSelectors = []string{"metadata.name=NAME", "metadata.name!=NAME", "metadata.namespace=NS", "metadata.namespace!=NS", "metadata.name=", "metadata.nope=a", "spec.nodeName=n", "spec.nodeName=", "status.phase=Pending", "status.phase!=Pending", "metadata.name=NAME,metadata.namespace=NS",
	"metadata.name", "=", "metadata.name=a\\,b", "spec.clusterIP=None", "involvedObject.kind=Pod", "type=Normal", "reason=", "status.successful=0", "metadata.name>a", "spec.restartPolicy=Always", "metadata.labels.a=x", "NAME"}

// list returns a list with random parameters.
func (s *several) list() play.Step {
	words := []string{}
	add := func(name, value string) { words = append(words, name+"="+url.QueryEscape(value)) }
	if s.chance(35) {
		add("labelSelector", pick(s.Source, labelSelectors...))
	}
	if s.chance(25) {
		selector := pick(s.Source, fieldSelectors...)
		add("fieldSelector", strings.ReplaceAll(strings.ReplaceAll(selector, "NAME", pick(s.Source, s.names...)), "NS", s.namespace))
	}
	if s.chance(40) {
		add("limit", pick(s.Source, "1", "2", "3", "0", "100", "-1", "x", "1.5", ""))
	}
	if s.chance(25) {
		words = append(words, "continue="+pick(s.Source, "${continue}", "${continue}", "${continue}", "x", "", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6MSwic3RhcnQiOiJhIn0"))
	}
	if s.chance(35) {
		words = append(words, "resourceVersion="+pick(s.Source, "0", "${listed}", "${listed}", "1", "abc", "-1", "", "00"))
	}
	if s.chance(20) {
		add("resourceVersionMatch", pick(s.Source, "Exact", "NotOlderThan", "Nope", ""))
	}
	if s.chance(10) {
		add(pick(s.Source, "pretty", "timeoutSeconds", "includeObject", "sendInitialEvents", "allowWatchBookmarks", "unknown", "watch", "timeout"), pick(s.Source, "true", "false", "1", "0", "5s", "x", "None", "Metadata", "Object"))
	}
	path := s.collection
	if s.chance(8) {
		path = s.kind.collection("h0h-none") // a namespace that is not there
	}
	if len(words) > 0 {
		path += "?" + strings.Join(words, "&")
	}
	if strings.Contains(path, "watch=") && !strings.Contains(path, "timeoutSeconds=") {
		path += "&timeoutSeconds=1"
	}
	return play.Step{Method: "GET", Path: path, Accept: s.accept()}
}

// watch returns a watch of a second of what has happened.
func (s *several) watch() play.Step {
	words := []string{"watch=" + pick(s.Source, "true", "1", "true"), "timeoutSeconds=1"}
	words = append(words, "resourceVersion="+pick(s.Source, "${listed}", "${listed}", "${listed}", "0", "", "abc"))
	if s.chance(40) {
		words = append(words, "labelSelector="+url.QueryEscape(pick(s.Source, labelSelectors...)))
	}
	if s.chance(25) {
		words = append(words, "fieldSelector="+url.QueryEscape("metadata.name="+pick(s.Source, s.names...)))
	}
	if s.chance(30) {
		words = append(words, "sendInitialEvents="+pick(s.Source, "true", "true", "false", "x"))
		if s.chance(80) {
			words = append(words, "resourceVersionMatch=NotOlderThan")
		}
		if s.chance(80) {
			words = append(words, "allowWatchBookmarks=true")
		}
	}
	return play.Step{Method: "GET", Path: s.collection + "?" + strings.Join(words, "&"), Accept: pick(s.Source, "", "", "", acceptTable, acceptPartial, "application/yaml", "application/json;stream=watch")}
}
