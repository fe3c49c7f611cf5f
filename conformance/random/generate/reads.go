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
			switch n := s.IntN(24); {
			case n < 4:
				s.change()
			case n < 6:
				s.Do(play.Step{Method: "DELETE", Path: s.one()})
			case n < 8:
				s.add()
			case n < 12:
				s.Do(s.versioned(play.Step{Method: "GET", Path: s.one() + s.readQuery(), Accept: s.accept()}))
			case n < 13:
				s.Do(s.watch())
			default:
				s.Do(s.list())
			}
		}
		if s.chance(40) {
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

// fixedSelectors are for the custom kinds.
var fixedSelectors = []string{"spec.color=red", "spec.color!=red", "spec.color=", "spec.replicas=1", "spec.replicas=01", "spec.on=true", "spec.on!=true", "spec.size=s", "spec.color=a\\,b", "spec.color=red,metadata.name!=NAME", "spec.made=x", "status.phase=x"}

// fieldSelector returns the value of a parameter.
func (s *several) fieldSelector() string {
	selector := pick(s.Source, fieldSelectors...)
	if s.custom() && s.chance(50) {
		selector = pick(s.Source, fixedSelectors...)
	}
	return url.QueryEscape(strings.ReplaceAll(strings.ReplaceAll(selector, "NAME", pick(s.Source, s.names...)), "NS", s.namespace))
}

// list returns a list with random parameters.
func (s *several) list() play.Step {
	words := []string{}
	add := func(name, value string) { words = append(words, name+"="+url.QueryEscape(value)) }
	if s.chance(35) {
		add("labelSelector", pick(s.Source, labelSelectors...))
	}
	if s.chance(25) {
		words = append(words, "fieldSelector="+s.fieldSelector())
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
		add(pick(s.Source, "pretty", "timeoutSeconds", "sendInitialEvents", "allowWatchBookmarks", "unknown", "watch", "timeout"), pick(s.Source, "true", "false", "1", "0", "5s", "x", "None", "Metadata", "Object"))
	}
	step := play.Step{Path: s.collection, Accept: s.accept()}
	if s.chance(12) || strings.Contains(step.Accept, "as=Table") && s.chance(30) {
		add("includeObject", pick(s.Source, "None", "Metadata", "Object", "Object", "x", ""))
	}
	switch n := s.IntN(100); {
	case !s.kind.Namespaced:
	case n < 6:
		step.Path = s.kind.collection("h0h-none") // a namespace that is not there
	case n < 18:
		step.Path = strings.Replace(step.Path, "/namespaces/"+s.namespace, "", 1) // all namespaces
	}
	if len(words) > 0 {
		step.Path += "?" + strings.Join(words, "&")
	}
	if strings.Contains(step.Path, "watch=") && !strings.Contains(step.Path, "timeoutSeconds=") {
		step.Path += "&timeoutSeconds=1"
	}
	step.Method = "GET"
	return s.versioned(s.within(step))
}

// within returns a step about several objects as one about those of the history, and without a limit, if objects of others are in the
// same collection: whether there are more of them than the limit is chance.
func (s *several) within(step play.Step) play.Step {
	path, query, _ := strings.Cut(step.Path, "?")
	if strings.Contains(path, "/namespaces/") {
		return step
	}
	words := []string{"labelSelector=h%3D" + s.ID}
	for _, word := range strings.Split(query, "&") {
		switch name, value, _ := strings.Cut(word, "="); {
		case word == "" || name == "limit" && (value == "1" || value == "2" || value == "3") || name == "continue" && strings.HasPrefix(value, "$"):
		case name == "labelSelector" && value != "" && !strings.HasPrefix(value, "h%3D"):
			words[0] += "%2C" + value
		case name == "labelSelector":
		default:
			words = append(words, word)
		}
	}
	step.Path = path + "?" + strings.Join(words, "&")
	return step
}

// watch returns a watch of a second of what has happened.
func (s *several) watch() play.Step {
	words := []string{"watch=" + pick(s.Source, "true", "1", "true"), "timeoutSeconds=1"}
	words = append(words, "resourceVersion="+pick(s.Source, "${listed}", "${listed}", "${listed}", "0", "", "abc"))
	if s.chance(40) {
		words = append(words, "labelSelector="+url.QueryEscape(pick(s.Source, labelSelectors...)))
	}
	if s.chance(35) {
		words = append(words, "fieldSelector="+pick(s.Source, "metadata.name%3D"+pick(s.Source, s.names...), s.fieldSelector()))
	}
	if s.chance(30) {
		words = append(words, "sendInitialEvents="+pick(s.Source, "true", "true", "false", "x"))
		if s.chance(80) {
			words = append(words, "resourceVersionMatch=NotOlderThan")
		}
		if s.chance(80) {
			words = append(words, "allowWatchBookmarks=true")
		}
	} else if s.chance(20) {
		words = append(words, "allowWatchBookmarks=true")
	}
	if s.chance(8) {
		words = append(words, "pretty="+pick(s.Source, "true", "1"))
	}
	step := play.Step{Method: "GET", Path: s.collection, Accept: pick(s.Source, "", "", "", acceptTable, acceptTable, acceptPartial, "application/yaml", "application/json;stream=watch", "application/cbor", "application/cbor-seq")}
	if strings.Contains(step.Accept, "as=Table") && s.chance(50) {
		words = append(words, "includeObject="+pick(s.Source, "None", "Metadata", "Object", "x"))
	}
	switch n := s.IntN(100); {
	case n < 15:
		step.Path = watchPath(s.collection)
	case n < 30:
		step.Path = watchPath(s.one())
	case n < 38:
		step.Path = s.one()
	case n < 48 && s.kind.Namespaced:
		step.Path = strings.Replace(s.collection, "/namespaces/"+s.namespace, "", 1)
	}
	if strings.Contains(step.Path, "/watch/") && s.chance(70) {
		words = words[1:]
	}
	step.Path += "?" + strings.Join(words, "&")
	return s.versioned(s.within(step))
}

// watchPath returns the path at which a watch needs no parameter.
func watchPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		return "/api/v1/watch/" + rest
	}
	parts := strings.SplitN(path, "/", 5) // "", apis, GROUP, VERSION, …
	return strings.Join(parts[:4], "/") + "/watch/" + parts[4]
}
