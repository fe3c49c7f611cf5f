package fakecluster_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
)

// listed is the answer to a list: its items, or why it was refused.
type listed struct {
	code     int
	names    string // of the items
	revision string // its resourceVersion, as the table names it
	more     bool   // it has a continue token
	left     string // remainingItemCount
	message  string
}

// pastAndPresent is a cluster whose history has been compacted, of four objects
// that were made one after the other, with moments of it by the names that the
// table of lists uses.
//
//	compacted  a
//	exact      a b c
//	current    a b c d
//	future     nothing yet
type pastAndPresent struct {
	consistency.Wire
	moments map[string]string
	tokens  map[string]string
}

func newPastAndPresent(t *testing.T) *pastAndPresent {
	t.Helper()
	const kept = 2
	c := defined(t, fakecluster.InProcess(), fakecluster.WithWatchHistory(kept, 0))
	p := &pastAndPresent{Wire: newWire(t, c), moments: map[string]string{"": "", "0": "0", "garbage": "abc", "negative": "-1"}, tokens: map[string]string{"": ""}}
	p.moments["compacted"] = create(t, inDefault(c), cronTab("a")).GetResourceVersion()
	token := func(name string) {
		var l metav1.List
		_, body := p.Get(t, cronTabsPath+"?limit=1")
		must(t, json.Unmarshal([]byte(body), &l))
		p.tokens[name] = l.Continue
	}
	create(t, inDefault(c), cronTab("b"))
	token("compacted")
	p.moments["exact"] = create(t, inDefault(c), cronTab("c")).GetResourceVersion()
	token("exact")
	other := create(t, c.Dynamic().Resource(namespaces), newNamespace("other")) // of another resource
	p.moments["current"] = create(t, inDefault(c), cronTab("d")).GetResourceVersion()
	p.moments["future"] = strconv.Itoa(revision(t, other) + 1000)
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	p.tokens["garbage"] = "abc"
	p.tokens["of another version"] = encode(`{"v":"meta.k8s.io/v2","rv":1,"start":"a\u0000"}`)
	p.tokens["without a revision"] = encode(`{"v":"meta.k8s.io/v1","start":"a\u0000"}`)
	p.tokens["without a key"] = encode(`{"v":"meta.k8s.io/v1","rv":1}`)
	p.tokens["upwards"] = encode(`{"v":"meta.k8s.io/v1","rv":1,"start":"../../x"}`)
	return p
}

const cronTabsPath = "/apis/stable.example.com/v1/namespaces/default/crontabs"

// list requests a list. The last continue token that came is "next".
func (p *pastAndPresent) list(t *testing.T, rv, match string, limit int, token string, more ...string) listed {
	t.Helper()
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("resourceVersion", p.moments[rv])
	set("resourceVersionMatch", match)
	set("continue", p.tokens[token])
	for i := 0; i < len(more); i += 2 {
		set(more[i], more[i+1])
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	code, body := p.Get(t, cronTabsPath+"?"+q.Encode())
	var answer struct {
		Message  string
		Metadata metav1.ListMeta
		Items    []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	l := listed{code: code, revision: answer.Metadata.ResourceVersion, more: answer.Metadata.Continue != "", message: answer.Message}
	for _, item := range answer.Items {
		l.names += item.Metadata.Name
	}
	for name, moment := range p.moments {
		if moment == l.revision && moment != "" {
			l.revision = name
		}
		if len(moment) > 0 && code != http.StatusOK {
			l.message = strings.ReplaceAll(l.message, " "+moment+",", " <"+name+">,")
		}
	}
	if strings.HasSuffix(l.message, ", current: "+p.moments["current"]) {
		l.message = strings.TrimSuffix(l.message, p.moments["current"]) + "<current>"
	}
	if n := answer.Metadata.RemainingItemCount; n != nil {
		l.left = fmt.Sprint(*n)
	}
	if l.more {
		p.tokens["next"] = answer.Metadata.Continue
	}
	return l
}

const (
	needsVersion   = `resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`
	notWithToken   = `resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided`
	notExactlyZero = `resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`
	unknownMatch   = `resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""`
	tooOld         = `The resourceVersion for the provided list is too old.`
	tooNew         = `Timeout: Too large resource version: <future>, current: <current>`
	noNumber       = `invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`
	noNegative     = `invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`
	noVersion      = `specifying resource version is not allowed when using continue`
	tooOldToken    = `The provided continue parameter is too old to display a consistent list result. ` +
		`You can start a new list without the continue parameter, or use the continue token in this response to ` +
		`retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - ` +
		`objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.`
)

// refusal is a 422 of the list's options; several come in the order given.
func refusal(reasons ...string) listed {
	text := strings.Join(reasons, ", ")
	if len(reasons) > 1 {
		text = "[" + text + "]"
	}
	return listed{code: 422, message: `ListOptions.meta.k8s.io "" is invalid: ` + text}
}

func bad(message string) listed { return listed{code: 400, message: message} }

// The table has the answer to a list for every combination of resourceVersion, match, limit and
// continue. It follows upstream's ValidateListOptions of apimachinery and of storage, its cacher
// (which ignores the limit of a list from "0") and its etcd3 storage.
//
// In a bubble, the reads that wait for a revision take no time.
func TestListBySemanticsOfResourceVersion(t *testing.T) { synctest.Test(t, listBySemantics) }

func listBySemantics(t *testing.T) {
	complete := func(revision string) listed { return listed{code: 200, names: "abcd", revision: revision} }
	page := func(names, revision, left string) listed {
		return listed{code: 200, names: names, revision: revision, more: true, left: left}
	}
	const none, exact, newer, other = "", "Exact", "NotOlderThan", "Newest"
	type request struct {
		rv, match string
		limit     int
		token     string
	}
	p := newPastAndPresent(t)
	expect := map[request]listed{}
	// Without a token.
	for _, limit := range []int{0, 2, 4, 100, -1} {
		// A limit that cuts makes a page, others do not.
		latest, past := complete("current"), listed{code: 200, names: "abc", revision: "exact"}
		if limit == 2 {
			latest, past = page("ab", "current", "2"), page("ab", "exact", "1")
		}
		legacy := func(rv string, l listed) { expect[request{rv, none, limit, ""}] = l }
		legacy("", latest)
		legacy("0", complete("current"))
		legacy("current", latest)
		legacy("garbage", bad(noNumber))
		legacy("negative", bad(noNegative))
		legacy("future", listed{code: 504, message: tooNew})
		if limit > 0 { // then an old revision is meant exactly
			legacy("exact", past)
			legacy("compacted", listed{code: 410, message: tooOld})
		} else {
			legacy("exact", complete("current"))
			legacy("compacted", complete("current"))
		}
		for rv, l := range map[string]listed{
			"": refusal(needsVersion), "0": refusal(notExactlyZero), "current": latest, "exact": past,
			"compacted": {code: 410, message: tooOld}, "future": {code: 504, message: tooNew}, "garbage": bad(noNumber), "negative": bad(noNegative),
		} {
			expect[request{rv, exact, limit, ""}] = l
		}
		for rv, l := range map[string]listed{
			"": refusal(needsVersion), "0": complete("current"), "current": latest, "exact": latest,
			"compacted": latest, "future": {code: 504, message: tooNew}, "garbage": bad(noNumber), "negative": bad(noNegative),
		} {
			expect[request{rv, newer, limit, ""}] = l
		}
		for rv := range p.moments {
			expect[request{rv, other, limit, ""}] = refusal(unknownMatch)
		}
		expect[request{"", other, limit, ""}] = refusal(needsVersion, unknownMatch)
	}
	// With a token, there are no other choices.
	for _, limit := range []int{0, 1, 100} {
		for rv := range p.moments {
			for _, token := range []string{"exact", "compacted", "garbage", "of another version", "without a revision", "without a key", "upwards"} {
				var l listed
				switch token {
				case "exact":
					l = listed{code: 200, names: "bc", revision: "exact"}
					if limit == 1 && rv != "0" {
						l = page("b", "exact", "1")
					}
				case "compacted":
					l = listed{code: 410, message: tooOldToken, more: true}
				case "garbage":
					l = bad(`invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value`)
				case "of another version":
					l = bad(`invalid continue token: continue key is not valid: server does not recognize this encoded version meta.k8s.io/v2`)
				case "without a revision":
					l = bad(`invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)`)
				case "without a key":
					l = bad(`invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)`)
				case "upwards":
					l = bad(`invalid continue token: continue key is not valid: ../../x`)
				}
				if rv != "" && rv != "0" && (token == "exact" || token == "compacted") {
					l = bad(noVersion)
				}
				expect[request{rv, none, limit, token}] = l
				expect[request{rv, newer, limit, token}] = refusal(notWithToken)
				expect[request{rv, exact, limit, token}] = refusal(notWithToken)
				if rv == "" {
					expect[request{rv, newer, limit, token}] = refusal(needsVersion, notWithToken)
					expect[request{rv, exact, limit, token}] = refusal(needsVersion, notWithToken)
				}
				if rv == "0" {
					expect[request{rv, exact, limit, token}] = refusal(notWithToken, notExactlyZero)
				}
			}
		}
	}
	for r, want := range expect {
		if got := p.list(t, r.rv, r.match, r.limit, r.token); got != want {
			t.Errorf("resourceVersion %q, match %q, limit %d, token %q:\n got %+v\nwant %+v", r.rv, r.match, r.limit, r.token, got, want)
		}
	}
	t.Logf("%d requests", len(expect))
}

// sendInitialEvents belongs to watches.
func TestListRefusesSendInitialEvents(t *testing.T) {
	p := newPastAndPresent(t)
	want := refusal(`sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`)
	if got := p.list(t, "", "", 0, "", "sendInitialEvents", "true"); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
