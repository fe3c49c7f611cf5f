package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// shownKinds is how many resources a line about a client names.
const shownKinds = 8

// clients lists the requests of each client, the busiest first. It leaves out fakecluster's components, which send most
// requests in a living cluster; refused lists their rejected requests if they matter.
func clients(stats inspect.Stats, requests []inspect.Request) (lines []string) {
	type client struct {
		name    string
		total   int64
		watches map[string]int64 // events, by resource
		verbs   map[string]int64 // requests, by verb and resource
	}
	clients := map[string]*client{}
	for counted, counts := range stats {
		if isOwn(counted.User, counted.UserAgent) {
			continue
		}
		name := shownClient(counted.User, counted.UserAgent)
		c := clients[name]
		if c == nil {
			c = &client{name: name, watches: map[string]int64{}, verbs: map[string]int64{}}
			clients[name] = c
		}
		c.total += counts.Requests
		if counted.Resource == "" {
			continue
		}
		kind := inspect.ObjectName(counted.Group, counted.Resource, counted.Subresource, "", "")
		if counted.Verb == "watch" && counts.Failures < counts.Requests {
			c.watches[kind] += counts.Events
			continue
		}
		c.verbs[counted.Verb+" "+kind] += counts.Requests
	}
	ordered := slices.SortedFunc(maps.Values(clients), func(a, b *client) int {
		return cmp.Or(cmp.Compare(b.total, a.total), strings.Compare(a.name, b.name))
	})
	for _, c := range ordered {
		var parts []string
		for _, verb := range mostFrequent(c.verbs) {
			parts = append(parts, fmt.Sprintf("%d %s", c.verbs[verb], verb))
		}
		for _, kind := range mostFrequent(c.watches) {
			parts = append(parts, fmt.Sprintf("watches %s (%s)", kind, printable.Count(c.watches[kind], "event")))
		}
		line := c.name + ": " + strings.Join(parts, ", ")
		if len(parts) == 0 {
			line = c.name + ": " + printable.Count(c.total, "request") + " for no resource"
			if onlyDiscovers(requests, c.name) {
				line += `; if it reports "no matches for kind", ` + define
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// shownClient returns the name of a client, with its user if that has another name.
func shownClient(user, agent string) string {
	name := inspect.ClientName(user, agent)
	if user != "" && user != name && !strings.HasSuffix(user, ":"+name) {
		name += " (" + user + ")"
	}
	return name
}

// mostFrequent returns the keys of the largest counts.
func mostFrequent(counts map[string]int64) []string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	return keys[:min(len(keys), shownKinds)]
}
