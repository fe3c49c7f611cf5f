package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/store"
)

// uncalled lists the configured webhooks that were never called, with their rules and the number of matching writes.
func (c Source) uncalled(stats inspect.Stats) (lines []string) {
	called := c.History.Calls()
	for _, plural := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		res := c.Registry.Resource(admissionregistrationv1.GroupName, plural)
		if res == nil {
			continue
		}
		list, err := c.Store.List(res.Prefix, store.ListOptions{})
		if err != nil {
			continue
		}
		for _, record := range list.Records {
			var configured admissionregistrationv1.MutatingWebhookConfiguration // the other kind has the same fields
			if json.Unmarshal([]byte(record.Value), &configured) != nil {
				continue
			}
			for _, hook := range configured.Webhooks {
				if called[history.Hook{Configuration: configured.Name, Webhook: hook.Name}] > 0 {
					continue
				}
				lines = append(lines, fmt.Sprintf("%s in the %s %s: its rules are %s", hook.Name, res.Names.Kind, configured.Name, rulesOf(hook.Rules, stats)))
			}
		}
	}
	return lines
}

// failedCalls lists the webhooks whose calls failed, equal reasons together. Nothing else shows a failure with the
// failurePolicy Ignore.
func (c Source) failedCalls(requests []inspect.Request) (lines []string) {
	type failure struct{ hook, message string }
	counts := map[failure]int{}
	newest := map[failure]*inspect.Request{}
	var order []failure
	for i := range requests {
		for _, call := range requests[i].Webhooks {
			if call.Outcome != "failed" {
				continue
			}
			f := failure{call.Webhook, call.Message}
			if counts[f]++; counts[f] == 1 {
				newest[f] = &requests[i]
				order = append(order, f)
			}
		}
	}
	for _, f := range order {
		q := newest[f]
		line := fmt.Sprintf("%s %s for %s %s %s", c.after(q.Time), f.hook, c.client(q), verbOf(q.Verb, q.Patch), q.Object())
		if counts[f] > 1 {
			line += fmt.Sprintf(" (%d times)", counts[f])
		}
		lines = append(lines, line+": "+f.message)
	}
	return lines
}

// rulesOf describes the rules of a webhook, and how many writes matched them.
func rulesOf(rules []admissionregistrationv1.RuleWithOperations, stats inspect.Stats) string {
	if len(rules) == 0 {
		return "missing"
	}
	var said []string
	for _, rule := range rules {
		var operations []string
		for _, o := range rule.Operations {
			operations = append(operations, string(o))
		}
		var kinds []string
		for _, group := range rule.APIGroups {
			for _, version := range rule.APIVersions {
				for _, resource := range rule.Resources {
					kinds = append(kinds, strings.TrimPrefix(group+"/", "/")+version+" "+resource)
				}
			}
		}
		writes := int64(0)
		for counted, counts := range stats {
			if writesObjects(counted.Verb) && matches(rule.APIGroups, counted.Group) && matches(rule.Resources, nameWith(counted.Resource, counted.Subresource)) {
				writes += counts.Requests
			}
		}
		said = append(said, fmt.Sprintf("%s of %s, and there were %s to these resources", strings.Join(operations, ", "), strings.Join(kinds, ", "), printable.Count(writes, "write")))
	}
	return strings.Join(said, "; ")
}

func nameWith(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

func writesObjects(verb string) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, verb)
}

// matches reports whether a rule names a group or a resource.
func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n == name || n == "*/*" || n == "*" && !strings.Contains(name, "/") || strings.HasSuffix(n, "/*") && strings.HasPrefix(name, strings.TrimSuffix(n, "*"))
	})
}
